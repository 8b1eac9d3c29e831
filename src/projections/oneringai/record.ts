import { type AgentEvent, type DurableEvent, isDurable, isTerminal } from '../../core/event';
import { shownContent, toolCallsOf } from '../../core/message';
import type { ToolOutcome } from '../../core/tool';
import { executionIdOf, type OneRingResponse, responseOf } from './shapes';
import { toolErrorOf } from './tools';

/** OneRingAI's metrics. Durations are in milliseconds. */
export interface OneRingMetrics {
  totalDuration: number;
  llmDuration: number;
  toolDuration: number;
  hookDuration: number;
  iterationCount: number;
  toolCallCount: number;
  toolSuccessCount: number;
  toolFailureCount: number;
  toolTimeoutCount: number;
  inputTokens: number;
  outputTokens: number;
  totalTokens: number;
  errors: { type: string; error: string; timestamp: string }[];
}

/** The metrics of all runs in `events`, which may also end in the middle of a run. Live events are ignored. */
export function oneringaiMetrics(events: Iterable<AgentEvent>): OneRingMetrics {
  const metrics: OneRingMetrics = {
    totalDuration: 0,
    llmDuration: 0,
    toolDuration: 0,
    hookDuration: 0,
    iterationCount: 0,
    toolCallCount: 0,
    toolSuccessCount: 0,
    toolFailureCount: 0,
    toolTimeoutCount: 0,
    inputTokens: 0,
    outputTokens: 0,
    totalTokens: 0,
    errors: [],
  };
  let last: { runId: string | null; at: number } | undefined;
  for (const event of events) {
    if (!isDurable(event)) continue;
    const at = Date.parse(event.timestamp);
    if (last && last.runId === event.runId && event.runId !== null) metrics.totalDuration += Math.max(0, at - last.at);
    last = { runId: event.runId, at };
    count(metrics, event);
  }
  metrics.totalTokens = metrics.inputTokens + metrics.outputTokens;
  return metrics;
}

function count(metrics: OneRingMetrics, event: DurableEvent): void {
  const error = (type: string, words: string) => metrics.errors.push({ type, error: words, timestamp: event.timestamp });
  switch (event.type) {
    case 'thread.message.completed':
      metrics.iterationCount += 1;
      metrics.toolCallCount += toolCallsOf(event.data.message.content).length;
      return countModelCall(metrics, event.data);
    case 'agent.run.summarized':
      if (event.data.failed !== undefined) error('llm_error', event.data.failed);
      return countModelCall(metrics, event.data);
    case 'thread.context.compacted':
    case 'thread.context.kept':
      return event.data.spent && countModelCall(metrics, event.data.spent);
    case 'agent.tool.execution.completed': {
      // The outcome of a background call is counted when it is known.
      if (!event.data.background) countOutcome(metrics, event.data.status);
      metrics.toolDuration += event.data.durationMs ?? 0;
      const failure = toolErrorOf(event.data);
      if (failure) error('tool_error', failure.message);
      return;
    }
    case 'agent.tool.background.completed': {
      countOutcome(metrics, event.data.status);
      metrics.toolDuration += event.data.durationMs ?? 0;
      const failure = toolErrorOf({ ...event.data, output: shownContent(event.data.message) });
      if (failure) error('tool_error', failure.message);
      return;
    }
    case 'agent.hook.completed':
      metrics.hookDuration += event.data.durationMs;
      for (const { id, message } of event.data.errors ?? []) error('hook_error', `${event.data.hook} ${id}: ${message}`);
      return;
    default:
      if (isTerminal(event) && 'message' in event.data && event.type !== 'thread.run.incomplete')
        error('execution_error', event.data.message);
  }
}

function countModelCall(
  metrics: OneRingMetrics,
  { usage, durationMs }: Pick<DurableEvent<'thread.message.completed'>['data'], 'usage' | 'durationMs'>,
): void {
  metrics.llmDuration += durationMs;
  metrics.inputTokens += usage.inputTokens;
  metrics.outputTokens += usage.outputTokens;
}

const countOf: Record<ToolOutcome['status'], 'toolSuccessCount' | 'toolTimeoutCount' | 'toolFailureCount'> = {
  success: 'toolSuccessCount',
  'timed-out': 'toolTimeoutCount',
  failed: 'toolFailureCount',
  rejected: 'toolFailureCount',
  denied: 'toolFailureCount',
  unknown: 'toolFailureCount',
  cancelled: 'toolFailureCount',
  skipped: 'toolFailureCount',
};

function countOutcome(metrics: OneRingMetrics, status: ToolOutcome['status']): void {
  metrics[countOf[status]] += 1;
}

/** An iteration in the mode `summary`. */
export interface IterationSummary {
  executionId: string;
  iteration: number;
  tokens: number;
  toolCount: number;
  /** Milliseconds. */
  duration: number;
  timestamp: string;
}

/** An iteration in the mode `full`. */
export interface IterationRecord extends IterationSummary {
  response: OneRingResponse;
  toolResults: { tool_use_id: string; tool_name: string; content: unknown; error?: string }[];
  startTime: string;
  endTime: string;
}

const keptIterations = 10;

/** OneRingAI's history: the newest ten iterations. */
export function oneringaiHistory(events: Iterable<AgentEvent>, mode: 'none'): [];
export function oneringaiHistory(events: Iterable<AgentEvent>, mode?: 'summary'): IterationSummary[];
export function oneringaiHistory(events: Iterable<AgentEvent>, mode: 'full'): IterationRecord[];
export function oneringaiHistory(events: Iterable<AgentEvent>, mode: 'none' | 'summary' | 'full' = 'summary'): IterationSummary[] {
  if (mode === 'none') return [];
  const records: IterationRecord[] = [];
  let begun = { iteration: 0, startTime: '' };
  for (const event of events) {
    if (!isDurable(event)) continue;
    if (event.type === 'agent.run.step.created') begun = { iteration: event.data.turn - 1, startTime: event.timestamp };
    if (event.type === 'thread.message.completed') {
      records.push(recordOf(event, begun));
      if (records.length > keptIterations) records.shift();
    }
    if (event.type === 'agent.tool.execution.completed') addResult(records.at(-1), event);
  }
  if (mode === 'full') return records;
  return records.map(({ response: _, toolResults: __, startTime: ___, endTime: ____, ...summary }) => summary);
}

function recordOf(event: DurableEvent<'thread.message.completed'>, begun: { iteration: number; startTime: string }): IterationRecord {
  const { usage, message } = event.data;
  const startTime = begun.startTime || event.timestamp;
  return {
    executionId: executionIdOf(event.runId ?? ''),
    iteration: begun.iteration,
    tokens: usage.inputTokens + usage.outputTokens,
    toolCount: toolCallsOf(message.content).length,
    duration: Date.parse(event.timestamp) - Date.parse(startTime),
    timestamp: event.timestamp,
    response: responseOf(event),
    toolResults: [],
    startTime,
    endTime: event.timestamp,
  };
}

function addResult(record: IterationRecord | undefined, { data, timestamp }: DurableEvent<'agent.tool.execution.completed'>): void {
  if (!record) return;
  const error = toolErrorOf(data)?.message;
  const result = { tool_use_id: data.toolCallId, tool_name: data.name, content: data.output };
  record.toolResults.push({ ...result, ...(error !== undefined && { error }) });
  record.endTime = timestamp;
  record.duration = Date.parse(timestamp) - Date.parse(record.startTime);
}
