import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { excerpt } from '../../../core/json';
import { systemFolders } from '../shell-environment';
import { argumentsOf, firstHandle, systemMounts } from './mounts';

/** How to run bubblewrap on this machine, or why it can't be used. */
export type Bubblewrap = { command: readonly string[]; problem?: undefined } | { command?: undefined; problem: string };

const found = new Map<boolean, Bubblewrap>();

/** Finds out once per process, by running it: a program that is installed may still be refused its namespaces. */
export function bubblewrap({ network }: { network: boolean }): Bubblewrap {
  const known = found.get(network) ?? tryBubblewrap(network);
  found.set(network, known);
  return known;
}

function tryBubblewrap(network: boolean): Bubblewrap {
  if (process.platform !== 'linux') return { problem: `it needs Linux, and this is ${process.platform}` };
  // Not the worker's PATH: where npx starts it, it contains folders of the workspace.
  const program = systemFolders.map((folder) => join(folder, 'bwrap')).find(existsSync);
  if (program === undefined) return { problem: 'bwrap is not installed (on Debian and Ubuntu: apt-get install bubblewrap)' };
  const plain = [program, ...isolation(network)];
  // Before bubblewrap 0.8 there is no such option. It spares the kernel the requests that only the owner of a namespace can make.
  const [strict, usual] = [[...plain, '--disable-userns'], plain].map((command) => ({ command, problem: problemOf(command) }));
  const working = [strict, usual].find((one) => one !== undefined && one.problem === undefined);
  return working ? { command: working.command } : { problem: `bwrap does not work here: ${usual?.problem}` };
}

/** `--die-with-parent`: of the worker and of bubblewrap itself. `--new-session`: without a terminal that a command could type into. */
function isolation(network: boolean): string[] {
  const namespaces = ['user', 'pid', 'ipc', 'uts', 'cgroup-try', ...(network ? [] : ['net'])].map((name) => `--unshare-${name}`);
  return [...namespaces, '--cap-drop', 'ALL', '--die-with-parent', '--new-session'];
}

/** Runs a shell that does nothing, with all kinds of mounts; returns what went wrong. */
function problemOf([program = '', ...isolated]: readonly string[]): string | undefined {
  const handle = openSync('/usr', 'r');
  try {
    const mounts = [...systemMounts(), { at: '/tmp/usr', handle, kind: 'read' as const }];
    const { status, error, stderr } = spawnSync(program, [...isolated, ...argumentsOf(mounts, '/tmp'), '/bin/sh', '-c', ':'], {
      env: {},
      timeout: 10_000,
      encoding: 'utf8',
      stdio: ['ignore', 'ignore', 'pipe', ...places(firstHandle - 3), handle],
    });
    if (status === 0) return undefined;
    return excerpt(error?.message ?? (stderr.trim().replace(/^bwrap: /, '') || `exit code ${status}`), 300).replace(/\.$/, '');
  } finally {
    closeSync(handle);
  }
}

function places(count: number): 'ignore'[] {
  return Array.from({ length: count }, () => 'ignore' as const);
}
