import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { codeOf } from '../workspace';

/** Without O_NONBLOCK, opening a named pipe waits for a writer forever. */
const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Opens a file or folder by its names from a folder on, each in the folder that was opened before it, so that no symbolic link is followed.
 * `undefined` if there is none. The caller closes it.
 */
export function openBelow(folder: string, names: readonly string[]): number | undefined {
  let handle = openSync(folder, flags | constants.O_DIRECTORY);
  try {
    for (const name of names) {
      const next = openSync(`/proc/self/fd/${handle}/${name}`, flags);
      closeSync(handle);
      handle = next;
    }
    const stat = fstatSync(handle);
    if (stat.isFile() || stat.isDirectory()) return handle;
  } catch (error) {
    if (!['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO'].includes(codeOf(error))) {
      closeSync(handle);
      throw error;
    }
  }
  closeSync(handle);
  return undefined;
}
