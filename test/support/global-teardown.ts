import { rmSync } from 'node:fs';

export default async function globalTeardown(): Promise<void> {
  const run = globalThis.longhaulTestRun;
  await run?.server.stop();
  if (run) rmSync(run.folder, { recursive: true, force: true });
}
