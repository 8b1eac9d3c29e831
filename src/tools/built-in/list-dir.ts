import { join } from 'node:path';
import { z } from 'zod';
import { defineTool } from '../defining/define-tool';
import { openWorkspace } from './open-workspace';
import { type Entry, pathError, type Workspace, WorkspaceError } from './workspace';

/** Maximum entries of a walk; a folder like node_modules has ten times as many. */
const maxEntries = 10_000;

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
  async execute({ path, depth, offset, limit }, ctx) {
    const workspace = await openWorkspace(ctx.workspace, ctx);
    const found: string[] = [];
    const folder = await workspace.inside(path);
    if ((await workspace.stat(folder))?.isFile()) throw new WorkspaceError(`'${path}' is a file. Use read_file to see it.`);
    const complete = await walk(workspace, folder, '', depth, found, ctx.signal, path);
    if (found.length === 0) return '(empty directory)';
    const total = `${complete ? '' : 'more than '}${found.length}`;
    if (offset > found.length) return `[offset ${offset} is past the end: there are ${total} entries]`;
    const shown = found.slice(offset - 1, offset - 1 + limit);
    const more = found.length - (offset - 1) - shown.length;
    if (more === 0 && complete) return shown.join('\n');
    return `${shown.join('\n')}\n[... ${complete ? '' : 'more than '}${more} more entries ...]`;
  },
});

/** Adds the entries below `real`, parents before children. Returns `false` if there are too many. */
async function walk(
  workspace: Workspace,
  real: string,
  prefix: string,
  depth: number,
  found: string[],
  signal: AbortSignal,
  asked?: string,
): Promise<boolean> {
  signal.throwIfAborted();
  for (const entry of await entriesOf(workspace, real, asked)) {
    if (found.length >= maxEntries) return false;
    const name = prefix + entry.name;
    found.push(shownName(name, entry));
    if (!entry.isDirectory() || depth <= 1) continue;
    if (!(await walk(workspace, join(real, entry.name), `${name}/`, depth - 1, found, signal))) return false;
  }
  return true;
}

/** Folders first, then by name, case-insensitive. A subfolder that can't be read is shown without its content. */
async function entriesOf(workspace: Workspace, real: string, asked?: string): Promise<Entry[]> {
  try {
    const entries = await workspace.list(real);
    return entries.sort((a, b) => Number(b.isDirectory()) - Number(a.isDirectory()) || byName(a.name, b.name));
  } catch (error) {
    if (asked === undefined) return [];
    throw pathError(error, asked);
  }
}

/** Not `localeCompare`: the order must not depend on the worker's language. */
function byName(a: string, b: string): number {
  const [x, y] = [a.toLowerCase(), b.toLowerCase()];
  if (x !== y) return x < y ? -1 : 1;
  return a < b ? -1 : Number(a > b);
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
