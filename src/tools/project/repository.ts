import { access, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';

const markers = ['.git', '.jj'];
/** A deeper folder is not looked for the root of its repository. */
const mostFolders = 64;

/** The folders from the root of a folder's repository to the folder itself; the folder alone, if it is in none. Absolute paths without links. */
export async function foldersFromRoot(given: string): Promise<string[]> {
  const folder = await realpath(given).catch(() => given);
  const chain = [folder];
  for (let at = folder; chain.length <= mostFolders; at = dirname(at)) {
    if (at !== folder) chain.unshift(at);
    if (await isRoot(at)) return chain;
    if (dirname(at) === at) break;
  }
  return [folder];
}

async function isRoot(folder: string): Promise<boolean> {
  const found = await Promise.all(markers.map((name) => access(join(folder, name)).then(isThere, isMissing)));
  return found.includes(true);
}

const isThere = () => true;
const isMissing = () => false;
