import { contentHash } from './content-hash';
import { codeOf, type OpenFile, type Workspace, WorkspaceError } from './workspace';

/** Larger files are edited by a program in the shell. */
const mostBytes = 10 * 1024 * 1024;
/** Files with more lines need much more memory than their size. */
const mostLines = 1_000_000;

/** For zod: half of a character (a lone surrogate) can't be written as UTF-8. */
export const isText: [check: (text: string) => boolean, problem: string] = [
  (text) => !/\p{Surrogate}/u.test(text),
  'has half of a character in it (a lone surrogate); give whole characters',
];

/** A text file as a whole, for tools that change it. */
export interface FileText {
  /** Where it really is. */
  real: string;
  /** Without a byte order mark. */
  text: string;
  /** The byte order mark that the file begins with, or ''. */
  mark: string;
  hash: string;
  /** Permissions, without setuid and setgid bits. */
  mode: number;
}

export interface FileBytes {
  bytes: Buffer;
  mode: number;
}

/** Reads a file for editing. Refuses what could not be written back unchanged: binary files, and text that is not UTF-8. */
export async function readFileText(workspace: Workspace, path: string): Promise<FileText> {
  const real = await workspace.inside(path);
  const found = await readBytes(workspace, real, path);
  if (!found) throw new WorkspaceError(`'${path}' does not exist. Create it with write_file, or look for it with glob.`);
  const { bytes, mode } = found;
  const whole = decode(bytes, path);
  if (hasMoreLines(whole, mostLines))
    throw new WorkspaceError(`'${path}' has more than ${mostLines} lines, too many to edit. Change it with a program in the shell.`);
  const mark = whole.startsWith('\uFEFF') ? '\uFEFF' : '';
  return { real, text: whole.slice(mark.length), mark, hash: contentHash(bytes), mode };
}

/** The content of a file; `undefined` if it does not exist. `path` is for messages. */
export async function readBytes(workspace: Workspace, real: string, path: string, most = mostBytes): Promise<FileBytes | undefined> {
  const handle = await openIfThere(workspace, real, path);
  if (!handle) return undefined;
  try {
    const { size, mode } = await handle.stat();
    if (size > most) {
      throw new WorkspaceError(`'${path}' is too large to edit (${size} bytes, at most ${most}). Change it with a program in the shell.`);
    }
    return { bytes: await handle.readFile(), mode: mode & 0o777 };
  } finally {
    await handle.close();
  }
}

async function openIfThere(workspace: Workspace, real: string, path: string): Promise<OpenFile | undefined> {
  try {
    return await workspace.openFile(real, path);
  } catch (error) {
    if (codeOf((error as Error).cause) === 'ENOENT') return undefined;
    throw error;
  }
}

function decode(bytes: Buffer, path: string): string {
  if (bytes.includes(0)) throw new WorkspaceError(`'${path}' is a binary file (${bytes.length} bytes); only text can be edited.`);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new WorkspaceError(`'${path}' is not UTF-8 text. Convert it first, or change it with a program in the shell.`);
  }
}

function hasMoreLines(text: string, most: number): boolean {
  let breaks = 0;
  for (let at = text.indexOf('\n'); at !== -1 && breaks <= most; at = text.indexOf('\n', at + 1)) breaks += 1;
  return breaks > most;
}
