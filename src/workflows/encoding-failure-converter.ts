import { DefaultFailureConverter } from '@temporalio/common';
import { boundFailures } from './failure-converter';

/** The failure converter for activities of workers that encrypt payloads. Loaded by its path. */
export const failureConverter = boundFailures(new DefaultFailureConverter(), { encode: () => true });
