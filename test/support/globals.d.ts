import type { TemporalServer } from '../../scripts/temporal.js';

declare global {
  /** From jest's global setup to its teardown; test files run in other processes and don't see it. */
  // biome-ignore lint/style/noVar: only `var` declares a property of globalThis.
  var longhaulTestRun: { server: TemporalServer; folder: string } | undefined;
}
