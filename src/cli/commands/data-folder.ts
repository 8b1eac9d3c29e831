import { createHash } from 'node:crypto';
import { existsSync, realpathSync } from 'node:fs';
import { basename, join } from 'node:path';
import { stateHome } from '../../config';

/**
 * The default folder in which `dev` keeps the threads of a folder. It is not in the folder itself: the folder's author could put threads there that
 * contain approved calls or remembered approvals, and the worker would run those calls without asking the user.
 */
export function usualData(folder: string = process.cwd()): string {
  const path = realpathSync.native(folder);
  const name = basename(path)
    .replace(/[^\w.-]+/g, '_')
    .slice(0, 40);
  return join(stateHome(), 'longhaul', `${name}-${createHash('sha256').update(path).digest('hex').slice(0, 16)}`);
}

/** The default folder of long outputs of tools, of workers that are started in this folder. */
export function usualOutputs(data: string = usualData()): string {
  return join(data, 'outputs');
}

/** The threads that are in the folder itself: from earlier versions, which kept them there, or because they came with the folder. */
export function broughtData(folder: string = process.cwd()): string | undefined {
  return existsSync(join(folder, '.longhaul', 'temporal.db')) ? '.longhaul' : undefined;
}
