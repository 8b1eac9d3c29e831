/** What users need to test their agents: a model that says what it is told to, on the wire, and the replay of what their threads did. */
export { type History, historyFromJson, historyToJson, type RecordedHistory, readHistoryFile, writeHistoryFile } from './history-file';
export * from './model-server';
export { type Divergence, type Replayable, type ReplayOptions, type ReplayReport, replayHistories } from './replay';
export { type Execution, type ReplayThreadsOptions, replayThreads } from './replay-threads';
