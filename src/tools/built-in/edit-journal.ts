import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { isObject } from '../../core/json';
import { ownFolder } from '../../core/own-folder';
import { readBytes } from './file-text';
import { unlessMissing, type Workspace } from './workspace';

/** What a call is about to do to one file. Paths are relative to the workspace. */
export interface PlannedFile {
  path: string;
  /** The content's hash before the change; `null` if the file must not exist. */
  before: string | null;
  /** The whole new content; `null` deletes the file. */
  after: string | null;
  /** The permissions that it gets. Default: those that it has. */
  mode?: number;
}

/** All changes of one call, and what the model is told about them. */
export interface EditPlan {
  files: PlannedFile[];
  report: string;
}

/** `report` alone: the call was completed. */
interface Entry {
  report: string;
  files?: PlannedFile[];
}

/** JSON of the contents of all files that one call may change, with room for escapes. */
const mostEntryBytes = 256 * 1024 * 1024;
/** A call is not attempted again after this time. */
const keptMs = 7 * 24 * 3_600_000;

/**
 * Remembers, for each call that changes files, what it is about to do, in the workspace's `.longhaul/edits`. If the worker dies, the next attempt
 * at the call continues from there: it repeats no change that was made, and leaves none out. The folder is on the same file system as the files,
 * so any worker that sees the files sees it too.
 */
export class EditJournal {
  readonly #folder: string;
  readonly #file: string;

  constructor(
    private readonly workspace: Workspace,
    /** The same for each attempt at a call. */
    idempotencyKey: string,
  ) {
    this.#folder = join(workspace.root, ownFolder, 'edits');
    this.#file = join(this.#folder, `${createHash('sha256').update(idempotencyKey).digest('hex')}.json`);
  }

  /** What an earlier attempt wrote; `undefined` if there was none, or if it had not begun to change files. */
  async read(): Promise<Entry | undefined> {
    const found = await readBytes(this.workspace, this.#file, '.longhaul/edits', mostEntryBytes);
    try {
      const entry: unknown = JSON.parse(found?.bytes.toString('utf8') ?? 'null');
      if (!isObject(entry) || typeof entry.report !== 'string') return undefined;
      const { report, files } = entry;
      if (files === undefined) return { report };
      return Array.isArray(files) && files.every(isPlannedFile) ? { report, files: files.map(withPlainMode) } : undefined;
    } catch {
      return undefined;
    }
  }

  async begin(plan: EditPlan): Promise<void> {
    await this.#ignoredByGit();
    await this.#write(plan);
    await this.#forgetOld();
  }

  async complete(report: string): Promise<void> {
    await this.#write({ report });
  }

  /** The plan was not carried out, and nothing is left of it. */
  async cancel(): Promise<void> {
    await this.workspace.remove(this.#file, '.longhaul/edits').catch(unlessMissing);
  }

  async #write(entry: Entry): Promise<void> {
    await this.workspace.write(this.#file, JSON.stringify(entry), { asked: '.longhaul/edits', mode: 0o600 });
  }

  async #ignoredByGit(): Promise<void> {
    const target = join(this.#folder, '.gitignore');
    if (await this.workspace.stat(target)) return;
    await this.workspace.write(target, '*\n', { asked: '.longhaul/edits/.gitignore' });
  }

  async #forgetOld(): Promise<void> {
    const { entries } = await this.workspace.list(this.#folder);
    for (const { name } of entries) {
      if (!name.endsWith('.json')) continue;
      const path = join(this.#folder, name);
      const found = await this.workspace.stat(path);
      if (found && Date.now() - found.mtimeMs > keptMs) await this.workspace.remove(path).catch(unlessMissing);
    }
  }
}

function isPlannedFile(file: unknown): file is PlannedFile {
  return isObject(file) && typeof file.path === 'string' && isTextOrNull(file.before) && isTextOrNull(file.after);
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === 'string';
}

/** Without setuid, setgid and sticky bits, which no tool sets. */
function withPlainMode({ path, before, after, mode }: PlannedFile): PlannedFile {
  return { path, before, after, ...(typeof mode === 'number' && { mode: mode & 0o777 }) };
}
