import { createHash } from 'node:crypto';
import { lstat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { makeWorkspace } from './open-workspace';
import { WorkspaceError } from './workspace';

/** In the path of a workspace, a folder of this name stands for a folder of each thread's own. */
const placeholder = '{threadId}';

/** Readable characters of a thread's id in the name of its folder. The hash tells ids apart, also where file names ignore case. */
const readableChars = 40;

/**
 * The path of the folder in which a thread's tools work, for a `workspace` of an agent or a worker. `{threadId}` in it becomes a name that no other
 * thread has: `/srv/work/{threadId}` becomes `/srv/work/order-17-5f0c2b9d8a714e36`. The folder may not exist yet.
 */
export function threadWorkspace(workspace: string, threadId: string): string {
  if (!isPerThread(workspace)) return resolve(workspace);
  const hash = createHash('sha256').update(threadId).digest('hex').slice(0, 16);
  const readable = threadId.replace(/[^A-Za-z0-9_-]+/g, '-').slice(0, readableChars);
  return resolve(workspace.replace(placeholder, `${readable}-${hash}`));
}

/** Whether each thread has a folder of its own. */
export function isPerThread(workspace: string): boolean {
  return workspace.includes(placeholder);
}

/** As `threadWorkspace`, and creates the folder of a thread. Throws `WorkspaceError` if it is a link, and the file system's error. */
export async function makeThreadWorkspace(workspace: string, threadId: string): Promise<string> {
  const folder = threadWorkspace(workspace, threadId);
  if (!isPerThread(workspace)) return folder;
  await makeWorkspace(folder);
  // Another thread's commands could put a link in its place.
  const own = threadWorkspace(workspace.slice(0, workspace.indexOf(placeholder) + placeholder.length), threadId);
  const isFolder = await Promise.all([own, folder].map(async (path) => (await lstat(path)).isDirectory()));
  if (isFolder.includes(false)) throw new WorkspaceError(`The folder of the thread, ${folder}, is a link, and is not used.`);
  return folder;
}

/** The folder that contains the folders of threads; without such folders, the workspace itself. */
export function fixedPart(workspace: string): string {
  return resolve(workspace.split(placeholder)[0] || '.');
}

/** What is wrong with the path of a workspace, as the end of a sentence; undefined if nothing is. */
export function problemOfWorkspacePath(workspace: unknown): string | undefined {
  if (typeof workspace !== 'string' || workspace.trim() === '') return 'give the path of a folder';
  const names = workspace.split(/[/\\]/);
  const named = names.filter((name) => /\{thread_?id\}/i.test(name));
  if (named.length === 0) return undefined;
  if (named.length > 1 || named[0] !== placeholder)
    return `${JSON.stringify(workspace)}: ${placeholder} stands for a whole folder name, once`;
  return names.slice(names.indexOf(placeholder)).includes('..')
    ? `${JSON.stringify(workspace)}: no .. can follow ${placeholder}`
    : undefined;
}
