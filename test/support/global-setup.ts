import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startTemporal } from '../../scripts/temporal.js';
import { bundleWorkflows } from './bundle';

/** One server and one workflow bundle for all test files; they reach them through `sharedServer()`. */
export default async function globalSetup(): Promise<void> {
  const server = await startTemporal({ log: (line) => console.error(line) });
  const folder = mkdtempSync(join(tmpdir(), 'longhaul-bundle-'));
  const saved = join(folder, 'histories');
  mkdirSync(saved);
  globalThis.longhaulTestRun = { server, folder, saved, began: new Date() };
  process.env.LONGHAUL_TEST_HISTORIES = saved;
  process.env.LONGHAUL_TEST_TEMPORAL = server.address;
  process.env.LONGHAUL_TEST_NAMESPACE = server.namespace;

  if (!existsSync(join(__dirname, '../../src/workflows/index.ts'))) return;
  try {
    const bundle = join(folder, 'workflow-bundle.js');
    writeFileSync(bundle, await bundleWorkflows());
    process.env.LONGHAUL_TEST_BUNDLE = bundle;
  } catch (error) {
    // Every test that needs the bundle fails with this; those that don't still tell what they know.
    process.env.LONGHAUL_TEST_BUNDLE_ERROR = String(error);
  }
}
