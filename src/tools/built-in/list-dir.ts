import { join } from 'node:path';
import { z } from 'zod';
import { bounds } from '../../core/bounds';
import { defineTool, type ToolContext } from '../defining/define-tool';
import { fewAtOnce } from '../running/few-at-once';
import { inOrder } from './entry-order';
import { openWorkspace } from './open-workspace';
import { type Entry, mostCounted, pathError, type Workspace, WorkspaceError } from './workspace';

/** Calls of one process run one after another: each may hold all entries of a large folder. */
const inTurn = fewAtOnce(1);

/** Lists names relative to the folder, folders first, with `/` after a folder and `@` after a symbolic link, which is never followed. */
export const listDir = defineTool({
  name: 'list_dir',
  description:
    'List a folder, two levels deep unless depth says otherwise. Folders come first and end with "/", symbolic links end with "@". Where "[... K more entries ...]" ends the answer, go on with offset.',
  input: z.object({
    path: z.string().min(1).default('.').describe('Relative to the workspace, or absolute.'),
    depth: z.number().int().min(1).max(20).default(2).describe('How many levels.'),
    offset: z.number().int().min(1).default(1).describe('The first entry, counted from 1.'),
    limit: z.number().int().min(1).max(1_000).default(50).describe('How many entries at most.'),
  }),
  effect: 'pure',
  execute: (args, ctx) => inTurn(() => listed(args, ctx), ctx.threadId),
});

interface Asked {
  path: string;
  depth: number;
  offset: number;
  limit: number;
}

async function listed({ path, depth, offset, limit }: Asked, ctx: ToolContext): Promise<string> {
  ctx.signal.throwIfAborted();
  const workspace = await openWorkspace(ctx.workspace, ctx);
  const folder = await workspace.inside(path);
  if ((await workspace.stat(folder))?.isFile()) throw new WorkspaceError(`'${path}' is a file. Use read_file to see it.`);
  const walk = new Walk(workspace, ctx.signal);
  await walk.add(await walk.read(folder, path), { real: folder, prefix: '', depth });
  const { found } = walk;
  if (found.length === 0) return '(empty directory)';
  if (offset > found.length) return [`[offset ${offset} is past the end: there are ${found.length} entries]`, ...walk.notes()].join('\n');
  const shown = found.slice(offset - 1, offset - 1 + limit).map(({ prefix, entry }) => shownName(prefix + entry.name, entry));
  const more = found.length - (offset - 1) - shown.length;
  return [...shown, ...(more > 0 ? [`[... ${more} more entries ...]`] : []), ...walk.notes()].join('\n');
}

/** Collects the entries of folders, parents before children, within the bounds of one call. */
class Walk {
  /** The names are put together only when they are shown: a hundred thousand long paths take hundreds of megabytes. */
  readonly found: { prefix: string; entry: Entry }[] = [];
  #entries = 0;
  #folders = 0;
  /** The folder that was not read to its end. It leaves no room for others. */
  #cut: { name: string; unread: number } | undefined;
  /** Folders that were not read at all. */
  #skipped = 0;

  constructor(
    private readonly workspace: Workspace,
    private readonly signal: AbortSignal,
  ) {}

  async add(entries: readonly Entry[], { real, prefix, depth }: { real: string; prefix: string; depth: number }): Promise<void> {
    for (const entry of entries) {
      this.found.push({ prefix, entry });
      if (!entry.isDirectory() || depth <= 1) continue;
      const [below, name] = [join(real, entry.name), prefix + entry.name];
      await this.add(await this.#readBelow(below, name), { real: below, prefix: `${name}/`, depth: depth - 1 });
    }
  }

  /** The entries of a folder in order, as many as there is room for. */
  async read(real: string, name: string): Promise<Entry[]> {
    this.signal.throwIfAborted();
    this.#folders += 1;
    try {
      const { entries, unread } = await this.workspace.list(real, { most: bounds.listedEntries - this.#entries, signal: this.signal });
      this.#entries += entries.length;
      if (unread > 0) this.#cut = { name, unread };
      return await inOrder(entries);
    } catch (error) {
      this.signal.throwIfAborted();
      throw pathError(error, name);
    }
  }

  /** One that can't be read is shown without its content. */
  async #readBelow(real: string, name: string): Promise<Entry[]> {
    if (this.#entries < bounds.listedEntries && this.#folders < bounds.listedFolders) {
      return this.read(real, name).catch(() => {
        this.signal.throwIfAborted();
        return [];
      });
    }
    this.#skipped += 1;
    return [];
  }

  /** What was not read. */
  notes(): string[] {
    const notes: string[] = [];
    if (this.#cut) {
      const { name, unread } = this.#cut;
      const count = unread < mostCounted ? `${unread}` : `${mostCounted} or more`;
      notes.push(`[${count} entries of ${shownPath(name)} were not read: a call reads ${bounds.listedEntries}]`);
    }
    if (this.#skipped > 0) {
      const most = `${bounds.listedEntries} entries in ${bounds.listedFolders} folders`;
      notes.push(`[${this.#skipped} folders were not read: a call reads ${most}; list one of them, or use less depth]`);
    }
    return notes;
  }
}

/** In quotes, if it has control characters: a line break in a name would look like another entry. */
export function shownPath(name: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
  return /[\u0000-\u001f\u007f]/.test(name) ? JSON.stringify(name) : name;
}

function shownName(name: string, entry: Entry): string {
  const safe = shownPath(name);
  if (entry.isDirectory()) return `${safe}/`;
  return entry.isSymbolicLink() ? `${safe}@` : safe;
}
