/** The error of a query or workflow task whose thread must be replayed first. It can be tried again immediately. */
export const replayFirst = 'The thread was read ahead of its history, and is replayed first.';
