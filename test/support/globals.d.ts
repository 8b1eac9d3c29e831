import type { TemporalServer } from '../../scripts/temporal.js';

declare global {
  /** From jest's global setup to its teardown; test files run in other processes and don't see it. */
  var longhaulTestRun:
    | {
        server: TemporalServer;
        folder: string;
        /** The folder for histories of servers that end before the run does. */
        saved: string;
        /** When the first test may have begun. */
        began: Date;
      }
    | undefined;
}
