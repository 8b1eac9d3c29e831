/** How a query or a workflow task fails whose thread must be replayed first. It is worth another try, at once. */
export const replayFirst = 'The thread was read ahead of its history, and is replayed first.';
