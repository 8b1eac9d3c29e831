import { contentHash } from '../content-hash';
import type { EditPlan, PlannedFile } from '../edit-journal';
import { readBytes, readFileText } from '../file-text';
import { Effort } from '../line-search';
import type { Workspace } from '../workspace';
import { applyHunks } from './apply-hunks';
import { type FilePatch, PatchError } from './file-patch';

/** Bounds of one patch. The contents of all files are in memory, and in the journal. */
const mostFiles = 200;
const mostCharacters = 32_000_000;

/** A file that the patch takes from its place. */
interface Taken {
  path: string;
  real: string;
  hash: string;
}

/** A file that the patch puts in a place. */
interface Put {
  path: string;
  real: string;
  content: string;
  mode?: number;
}

/** What becomes of one file. An update takes the file and puts it back, possibly elsewhere. */
interface Step {
  taken?: Taken;
  put?: Put;
  /** For the report. */
  line: string;
  fuzz: string[];
}

/** Reads the files that a patch names, and decides what becomes of them. Changes nothing. Throws `PatchError` and `WorkspaceError`. */
export async function planPatch(workspace: Workspace, patches: readonly FilePatch[], dryRun: boolean): Promise<EditPlan> {
  if (patches.length > mostFiles)
    throw new PatchError(`The patch changes ${patches.length} files. Use several patches of at most ${mostFiles}.`);
  const steps: Step[] = [];
  const effort = new Effort();
  let characters = 0;
  for (const patch of patches) {
    const step = await stepOf(workspace, patch, effort);
    characters += step.put?.content.length ?? 0;
    if (characters > mostCharacters) throw new PatchError('The files that the patch changes are too large together. Use several patches.');
    steps.push(step);
  }
  return { files: await filesOf(workspace, steps), report: reportOf(steps, dryRun) };
}

async function stepOf(workspace: Workspace, patch: FilePatch, effort: Effort): Promise<Step> {
  const { path } = patch;
  if (patch.kind === 'add') {
    const { content, mode } = patch;
    return { put: { path, real: await workspace.inside(path), content, ...(mode !== undefined && { mode }) }, line: `A ${path}`, fuzz: [] };
  }
  if (patch.kind === 'delete') return deletion(workspace, patch, effort);
  const { moveTo, hunks } = patch;
  if (moveTo !== undefined) await refuseLink(workspace, path);
  const { real, hash, text, mark, mode } = await readFileText(workspace, path);
  const patched = applyHunks(text, hunks, path, effort);
  const target = moveTo === undefined ? { path, real } : { path: moveTo, real: await workspace.inside(moveTo), mode };
  return {
    taken: { path, real, hash },
    put: { ...target, content: mark + patched.text },
    line: moveTo === undefined ? `M ${path}` : `M ${path} -> ${moveTo}`,
    fuzz: patched.fuzz,
  };
}

async function deletion(workspace: Workspace, patch: Extract<FilePatch, { kind: 'delete' }>, effort: Effort): Promise<Step> {
  const { path, hunks } = patch;
  await refuseLink(workspace, path);
  const real = await workspace.inside(path);
  const found = await readBytes(workspace, real, path);
  if (!found) throw new PatchError(`'${path}' does not exist, so it can't be deleted.`);
  const rest = hunks.length === 0 ? { text: '', fuzz: [] } : applyHunks((await readFileText(workspace, path)).text, hunks, path, effort);
  if (rest.text !== '')
    throw new PatchError(`The patch deletes '${path}', but the file has lines that the patch does not remove. Read it again.`);
  return { taken: { path, real, hash: contentHash(found.bytes) }, line: `D ${path}`, fuzz: rest.fuzz };
}

/** The file behind a link would be deleted, and the link would remain. */
async function refuseLink(workspace: Workspace, path: string): Promise<void> {
  const found = await workspace.stat(path);
  if (found?.isSymbolicLink()) throw new PatchError(`'${path}' is a symbolic link. Delete or move it in the shell.`);
}

/** The changes by place. A place that one file leaves may be taken by another. */
async function filesOf(workspace: Workspace, steps: readonly Step[]): Promise<PlannedFile[]> {
  const taken = byPlace(steps.flatMap((step) => step.taken ?? []));
  const put = byPlace(steps.flatMap((step) => step.put ?? []));
  for (const { path, real } of put.values()) {
    if (!taken.has(real) && (await workspace.stat(real))) {
      throw new PatchError(`'${path}' exists already. Use '*** Update File:' to change it, or another path.`);
    }
  }
  return [...new Set([...put.keys(), ...taken.keys()])].map((real) => {
    const { content = null, mode } = put.get(real) ?? {};
    return { path: workspace.show(real), before: taken.get(real)?.hash ?? null, after: content, ...(mode !== undefined && { mode }) };
  });
}

function byPlace<T extends { path: string; real: string }>(all: readonly T[]): Map<string, T> {
  const found = new Map<string, T>();
  for (const one of all) {
    if (found.has(one.real)) throw new PatchError(`The patch names '${one.path}' twice. Put all changes of a file in one section.`);
    found.set(one.real, one);
  }
  return found;
}

function reportOf(steps: readonly Step[], dryRun: boolean): string {
  const count = steps.length === 1 ? '1 file' : `${steps.length} files`;
  const fuzz = steps.flatMap((step) => step.fuzz);
  const notes = fuzz.length === 0 ? [] : ['Not everything fitted as it was given:', ...fuzz.map((note) => `- ${note}`)];
  return [dryRun ? `Would change ${count}:` : `Changed ${count}:`, ...steps.map(({ line }) => line), ...notes].join('\n');
}
