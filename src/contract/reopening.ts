/** The answer to a query of a thread that does not have its state yet, because it is being reopened. It can be tried again immediately. */
export const reopening = 'The thread is being reopened.';

/** The history of an execution that ended before a worker took its first task: started, task scheduled, ended. */
export const eventsBeforeFirstTask = 3;
