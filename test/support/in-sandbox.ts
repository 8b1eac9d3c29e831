import { readdirSync, readFileSync } from 'node:fs';
import { bubblewrap } from '../../src/tools/built-in/sandbox/bubblewrap';

const { problem } = bubblewrap({ network: false });
if (problem !== undefined) console.warn(`The sandbox for commands was not tested: ${problem}.`);

/** A test that needs a sandbox for commands. Skipped, with a warning that says why, where there can be none. */
export const testInSandbox = problem === undefined ? test : test.skip;

/** The processes on this machine, in any namespace, that have this in their command line. Those that have ended don't count. */
export function processesWith(text: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text);
    } catch {
      return false;
    }
  });
}
