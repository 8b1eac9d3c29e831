/** Helpers to test agents: a scripted model server, calls as a confused model makes them, and the replay of recorded histories. */
export { type FuzzFinding, type FuzzOptions, type FuzzReport, fuzzTool } from './fuzz-tool';
export { type History, historyFromJson, historyToJson, type RecordedHistory, readHistoryFile, writeHistoryFile } from './history-file';
export * from './model-server';
export { type Divergence, type Replayable, type ReplayOptions, type ReplayReport, replayHistories } from './replay';
export { type Execution, type ReplayThreadsOptions, replayThreads } from './replay-threads';
