import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startTemporal } from '../../scripts/temporal.js';
import { bundleWorkflows } from './bundle';
import { compilePackage } from './compiled-package';

/** One server, one workflow bundle and one compiled package for all test files. */
export default async function globalSetup(): Promise<void> {
  const server = await startTemporal({ log: (line) => console.error(line) });
  const folder = mkdtempSync(join(tmpdir(), 'longhaul-bundle-'));
  const saved = join(folder, 'histories');
  mkdirSync(saved);
  globalThis.longhaulTestRun = { server, folder, saved, began: new Date() };
  process.env.LONGHAUL_TEST_HISTORIES = saved;
  process.env.LONGHAUL_TEST_TEMPORAL = server.address;
  process.env.LONGHAUL_TEST_NAMESPACE = server.namespace;

  await Promise.all([
    // Every test that needs one of them fails with its error; the other tests still run.
    provide('BUNDLE', async () => {
      const bundle = join(folder, 'workflow-bundle.js');
      writeFileSync(bundle, await bundleWorkflows());
      return bundle;
    }),
    provide('PACKAGE', () => compilePackage(join(folder, 'package'))),
  ]);
}

async function provide(name: string, make: () => Promise<string>): Promise<void> {
  try {
    process.env[`LONGHAUL_TEST_${name}`] = await make();
  } catch (error) {
    process.env[`LONGHAUL_TEST_${name}_ERROR`] = String(error);
  }
}
