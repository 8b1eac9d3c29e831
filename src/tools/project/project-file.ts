import { join } from 'node:path';
import { contentHash } from '../built-in/content-hash';
import { readBytes } from '../built-in/file-text';
import { openWorkspace } from '../built-in/open-workspace';
import type { Workspace } from '../built-in/workspace';

export interface ProjectFile {
  text: string;
  hash: string;
}

/**
 * Reads a text file below a folder; `undefined` if it is missing, too large, not text, or not a file. Such a file must not stop an agent. Symbolic
 * links are not followed: a repository would choose which other file a model and its provider receive, before anybody is asked.
 */
export async function readProjectFile(folder: string, path: string, mostBytes: number): Promise<ProjectFile | undefined> {
  try {
    const { workspace, real } = await placeOf(folder, path);
    const found = await readBytes(workspace, real, path, mostBytes);
    if (!found || found.bytes.includes(0)) return undefined;
    return { text: textOf(found.bytes), hash: contentHash(found.bytes) };
  } catch {
    return undefined;
  }
}

/** The beginning of such a file, up to `headBytes`, for whoever looks at many files. */
export async function readProjectHead(
  folder: string,
  path: string,
  { mostBytes, headBytes }: { mostBytes: number; headBytes: number },
): Promise<string | undefined> {
  try {
    const { workspace, real } = await placeOf(folder, path);
    const file = await workspace.openFile(real, path);
    try {
      const { size } = await file.stat();
      if (size > mostBytes) return undefined;
      const bytes = Buffer.alloc(Math.min(size, headBytes));
      let length = 0;
      for (let read = -1; read !== 0 && length < bytes.length; length += read) {
        read = (await file.read(bytes, length, bytes.length - length)).bytesRead;
      }
      const head = bytes.subarray(0, length);
      return head.includes(0) ? undefined : textOf(head);
    } finally {
      await file.close();
    }
  } catch {
    return undefined;
  }
}

async function placeOf(folder: string, path: string): Promise<{ workspace: Workspace; real: string }> {
  const workspace = await openWorkspace(folder);
  const real = await workspace.inside(path);
  if (real !== join(workspace.root, path)) throw new Error('a link leads there');
  return { workspace, real };
}

function textOf(bytes: Buffer): string {
  return bytes.toString('utf8').replace(/^\uFEFF/, '');
}
