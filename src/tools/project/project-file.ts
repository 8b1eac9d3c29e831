import { join } from 'node:path';
import { contentHash } from '../built-in/content-hash';
import { readBytes } from '../built-in/file-text';
import { openWorkspace } from '../built-in/open-workspace';

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
    const workspace = await openWorkspace(folder);
    const real = await workspace.inside(path);
    if (real !== join(workspace.root, path)) return undefined;
    const found = await readBytes(workspace, real, path, mostBytes);
    if (!found || found.bytes.includes(0)) return undefined;
    return { text: found.bytes.toString('utf8').replace(/^\uFEFF/, ''), hash: contentHash(found.bytes) };
  } catch {
    return undefined;
  }
}
