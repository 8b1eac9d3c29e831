import type { TemporalServer } from '../../scripts/temporal.js';

declare global {
  /** From jest's global setup to its teardown; test files run in other processes and don't see it. */
  var longhaulTestRun: { server: TemporalServer; folder: string } | undefined;
}
