/** Helpers to test agents: a scripted model server, a workspace in memory, crashes at every event, calls as a confused model makes them, and the replay of recorded histories. */
export { createMemoryWorkspace, type MemoryWorkspace } from '../tools/built-in/memory-workspace';
export { type CrashOptions, crashEverywhere } from './crash/crash-everywhere';
export type { CrashRun, Difference } from './crash/judge';
export { type Effect, type NotedEffect, notedEffects, noteEffect } from './crash/ledger';
export type { CrashPoint, Way } from './crash/points';
export { assertCrashSafe, type CrashReport, type CrashResult } from './crash/report';
export { type FuzzFinding, type FuzzOptions, type FuzzReport, fuzzTool } from './fuzz-tool';
export { type History, historyFromJson, historyToJson, type RecordedHistory, readHistoryFile, writeHistoryFile } from './history-file';
export * from './model-server';
export { type Divergence, type Replayable, type ReplayOptions, type ReplayReport, replayHistories } from './replay';
export { type Execution, type ReplayThreadsOptions, replayThreads } from './replay-threads';
