/**
 * Temporal's SDK takes a stack trace for every promise that workflow code makes, for the call stack in the Web UI. With a limit of 0 there is
 * nothing to take, and a replay costs less CPU. Errors of workflow code have no stack either;
 * `workflowBundleOptions({ stackTraces: true })` leaves this module out.
 */
(Error as { stackTraceLimit?: number }).stackTraceLimit = 0;

export {};
