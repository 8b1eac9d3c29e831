/**
 * Temporal's SDK takes a stack trace for every promise that workflow code makes, for the call stack in the Web UI. A limit of 0 makes these empty,
 * and a replay costs less CPU. Errors of workflow code then have no stack either. `workflowBundleOptions({ stackTraces: true })` leaves this
 * module out.
 */
(Error as { stackTraceLimit?: number }).stackTraceLimit = 0;

export {};
