import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';

const out = join(__dirname, '../.longhaul/bench');

/**
 * Compiles the bench to JavaScript, which is what users run. Compiling on the fly would cost time at every start, and would enable source maps,
 * which make each promise in workflow code more expensive. Takes a second or two.
 */
export function build(): void {
  rmSync(out, { recursive: true, force: true });
  const tsc = join(dirname(require.resolve('typescript/package.json')), 'bin/tsc');
  const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', __dirname], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`The bench could not be compiled:\n${stdout}`);
}

/** The path of the compiled file; `name` is a file of this folder, without its extension. */
export function built(name: string): string {
  return join(out, 'bench', `${name}.js`);
}
