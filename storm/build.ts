import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { workflowBundleOptions } from '../src/workflow-bundle';

const out = join(__dirname, '../.longhaul/storm');

/** Compiles the storm once, because its processes start often; a worker then starts within a second. */
export function build(): void {
  rmSync(out, { recursive: true, force: true });
  const tsc = join(dirname(require.resolve('typescript/package.json')), 'bin/tsc');
  const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', __dirname], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`The storm could not be compiled:\n${stdout}`);
}

/** The path of the compiled file; `name` is a file of this folder, without its extension. */
export function built(name: string): string {
  return join(out, 'storm', `${name}.js`);
}

/** Bundles the workflow code that every worker runs. Returns the bundle's path. */
export async function bundle(folder: string): Promise<string> {
  const { code } = await bundleWorkflowCode({ ...workflowBundleOptions(), logger: new DefaultLogger('ERROR') });
  const path = join(folder, 'workflows.js');
  writeFileSync(path, code);
  return path;
}
