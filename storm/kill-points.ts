import { existsSync, mkdirSync, readdirSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KillPoint } from './plan-faults';

const folderOf = (folder: string): string => join(folder, 'kill-points');

/** Arms a kill point: the next process that reaches it is killed there. */
export function arm(folder: string, point: KillPoint): void {
  mkdirSync(folderOf(folder), { recursive: true });
  writeFileSync(join(folderOf(folder), point), '');
}

/** Disarms a kill point. True if no process had reached it. */
export function disarm(folder: string, point: KillPoint): boolean {
  try {
    unlinkSync(join(folderOf(folder), point));
    return true;
  } catch {
    return false;
  }
}

export function disarmAll(folder: string): void {
  if (!existsSync(folderOf(folder))) return;
  for (const name of readdirSync(folderOf(folder))) disarm(folder, name as KillPoint);
}

/** True for exactly one of the processes that reach the point while it is armed. */
export function claim(folder: string, point: KillPoint): boolean {
  const file = join(folderOf(folder), point);
  if (!existsSync(file)) return false;
  try {
    renameSync(file, join(folder, `claimed-${point}-${process.pid}`));
    return true;
  } catch {
    return false;
  }
}

/** Kills this process if the point is armed: with SIGKILL, so that no handler runs, as after a power failure. */
export function mayDieAt(folder: string, point: KillPoint): void {
  if (claim(folder, point)) process.kill(process.pid, 'SIGKILL');
}
