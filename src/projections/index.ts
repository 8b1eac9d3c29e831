/** Projections of the log to the event formats of other systems: docs/projections.md. */
export { type AgentBOptions, agentbEvents } from './agentb/agentb';
export { type AgentBRun, agentbRunRecord } from './agentb/run';
export type { AgentBEvent, AgentBEventData, AgentBMessage, AgentBToolResult } from './agentb/words';
export { type BaseAgentLine, baseagentLines } from './baseagent/baseagent';
export type { BaseAgentItem } from './baseagent/items';
export { type CodeliaNotification, type CodeliaRecord, codeliaEvents, codeliaNotifications, codeliaRunLog } from './codelia/codelia';
export { type CodeliaUsage, codeliaUsage, type SessionHistory, sessionHistory } from './codelia/history';
export type { CodeliaOptions } from './codelia/items';
export type { CodeliaEvent } from './codelia/words';
export { type AuditEntry, oneringaiAudit } from './oneringai/audit';
export type { OneRingConfig, OneRingEvent } from './oneringai/events';
export { oneringaiEvents } from './oneringai/oneringai';
export { type IterationRecord, type IterationSummary, type OneRingMetrics, oneringaiHistory, oneringaiMetrics } from './oneringai/record';
export { oneringaiStream } from './oneringai/stream';
export type { OneRingStreamEvent } from './oneringai/stream-events';
export * as StreamHelpers from './oneringai/stream-helpers';
export { type Projection, project } from './projection';
