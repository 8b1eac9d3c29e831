import type { TemporalServer } from '../../scripts/temporal.js';

declare global {
  /** Passed from jest's global setup to its teardown; test files run in other processes and can't access it. */
  var longhaulTestRun:
    | {
        server: TemporalServer;
        folder: string;
        /** The folder for histories of servers that stop before the end of the test run. */
        saved: string;
        /** When the first test may have begun. */
        began: Date;
      }
    | undefined;
}
