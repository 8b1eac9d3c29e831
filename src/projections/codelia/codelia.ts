import type { AgentEvent } from '../../core/event';
import type { JsonObject } from '../../core/json';
import { type Message, shownContent } from '../../core/message';
import type { Projection } from '../projection';
import type { CodeliaRunError, Item } from './item';
import { CodeliaItems, type CodeliaOptions } from './items';
import {
  type CodeliaCallUsage,
  type CodeliaEvent,
  type CodeliaOutputRef,
  type CodeliaStatus,
  messageWords,
  providerOf,
  refWords,
  wholeText,
} from './words';

/** A projection to codelia's `AgentEvent`s, of all runs one after another. A run that completes ends with `final`. */
export function codeliaEvents(options: CodeliaOptions = {}): Projection<CodeliaEvent> {
  return from(options, (item) => (item.kind === 'event' ? [item.event] : []));
}

export type CodeliaNotification =
  | { method: 'agent.event'; params: { run_id: string; seq: number; event: CodeliaEvent } }
  | { method: 'run.status'; params: { run_id: string; status: CodeliaStatus; message?: string } }
  | { method: 'run.context'; params: { run_id: string; context_left_percent: number } }
  | { method: 'run.diagnostics'; params: { run_id: string } & CodeliaDiagnostics };

export type CodeliaDiagnostics =
  | { kind: 'llm_call'; call: CodeliaCall }
  | { kind: 'run_summary'; summary: { calls: number; input_tokens: number; output_tokens: number; total_tokens: number } };

export interface CodeliaCall {
  seq: number;
  provider: string;
  model: string;
  /** ISO 8601, UTC. */
  request_ts: string;
  response_ts: string;
  latency_ms: number;
  stop_reason: string;
  usage: CodeliaCallUsage;
  cache: { hit_state: 'hit' | 'miss'; cache_read_tokens: number; cache_read_ratio: number };
  /** Null if the model's price is not known. */
  cost_usd: number | null;
}

/**
 * A projection to the notifications of codelia's runtime: events numbered from 0 in each run, the run's status, and the remaining context whenever it
 * changes. `diagnostics` adds a notification for each model call.
 */
export function codeliaNotifications(
  options: CodeliaOptions & { diagnostics?: boolean | undefined } = {},
): Projection<CodeliaNotification> {
  const seq = numbering();
  let calls = 0;
  return from(options, (item): CodeliaNotification[] => {
    const { runId: run_id } = item;
    switch (item.kind) {
      case 'start':
        calls = 0;
        return [];
      case 'event':
        return [{ method: 'agent.event', params: { run_id, seq: seq(item), event: item.event } }];
      case 'status':
        return [{ method: 'run.status', params: { run_id, ...statusWords(item) } }];
      case 'context':
        return [{ method: 'run.context', params: { run_id, context_left_percent: item.percent } }];
      case 'response':
        calls += 1;
        return options.diagnostics ? [{ method: 'run.diagnostics', params: { run_id, kind: 'llm_call', call: callOf(item) } }] : [];
      case 'end': {
        const { inputTokens: input_tokens, outputTokens: output_tokens } = item.usage;
        const summary = { calls, input_tokens, output_tokens, total_tokens: input_tokens + output_tokens };
        return options.diagnostics ? [{ method: 'run.diagnostics', params: { run_id, kind: 'run_summary', summary } }] : [];
      }
      default:
        return [];
    }
  });
}

/** A line of codelia's run log. `ts` is ISO 8601, UTC. */
export type CodeliaRecord = { ts: string; run_id: string } & (
  | { type: 'header'; schema_version: 1; session_id: string; model?: string }
  | { type: 'run.start'; session_id: string; input: JsonObject }
  | { type: 'run.status'; status: CodeliaStatus; message?: string }
  | { type: 'agent.event'; seq: number; event: CodeliaEvent }
  | { type: 'run.context'; context_left_percent: number }
  /** `messages` are only those that earlier requests did not have. The whole list in each request would make the log grow quadratically. */
  | { type: 'llm.request'; seq: number; model?: string; input: { messages: JsonObject[] } }
  | { type: 'llm.response'; seq: number; messages: JsonObject[]; usage: CodeliaCallUsage; stop_reason: string; cost_usd: number | null }
  | { type: 'tool.output'; tool: string; tool_call_id: string; result_raw: string; is_error: boolean; output_ref?: CodeliaOutputRef }
  | ({ type: 'run.error' } & CodeliaRunError)
  | { type: 'run.end'; outcome: 'completed' | 'error' | 'cancelled'; final?: string }
);

/**
 * A projection to codelia's run log, of all runs one after another. A request and its response have the same `seq`, which counts the model calls of the
 * thread from 1. A request without a response failed or was aborted.
 */
export function codeliaRunLog(options: CodeliaOptions = {}): Projection<CodeliaRecord> {
  const seq = numbering();
  return from(options, (item): CodeliaRecord[] => {
    const head = { ts: item.at, run_id: item.runId };
    switch (item.kind) {
      case 'start': {
        const session_id = item.threadId;
        return [
          { type: 'header', ...head, schema_version: 1, session_id, ...(item.model && { model: item.model }) },
          { type: 'run.start', ...head, session_id, input: inputOf(item.input) },
        ];
      }
      case 'event':
        return [{ type: 'agent.event', ...head, seq: seq(item), event: item.event }];
      case 'status':
        return [{ type: 'run.status', ...head, ...statusWords(item) }];
      case 'context':
        return [{ type: 'run.context', ...head, context_left_percent: item.percent }];
      case 'request': {
        const { model, messages } = item;
        return [{ type: 'llm.request', ...head, seq: item.seq, ...(model && { model }), input: { messages: messages.map(messageWords) } }];
      }
      case 'response': {
        const { messages, usage, stopReason: stop_reason, costUsd = null } = item;
        return [
          { type: 'llm.response', ...head, seq: item.seq, messages: messages.map(messageWords), usage, stop_reason, cost_usd: costUsd },
        ];
      }
      case 'output':
        return [
          {
            type: 'tool.output',
            ...head,
            tool: item.tool,
            tool_call_id: item.toolCallId,
            result_raw: wholeText(item.content),
            is_error: item.isError,
            ...(item.outputRef && { output_ref: refWords(item.outputRef) }),
          },
        ];
      case 'error':
        return [{ type: 'run.error', ...head, ...item.error }];
      case 'end':
        return [{ type: 'run.end', ...head, outcome: item.outcome, ...(item.final !== undefined && { final: item.final }) }];
      default:
        return [];
    }
  });
}

function from<Out>(options: CodeliaOptions, tell: (item: Item) => Out[]): Projection<Out> {
  const items = new CodeliaItems(options);
  return { push: (event: AgentEvent) => items.push(event).flatMap(tell) };
}

/** Numbers the items of each run from 0. */
function numbering(): (item: Item) => number {
  let run = '';
  let next = 0;
  return ({ runId }) => {
    if (runId !== run) next = 0;
    run = runId;
    return next++;
  };
}

function statusWords({ status, message }: Extract<Item, { kind: 'status' }>): { status: CodeliaStatus; message?: string } {
  return { status, ...(message !== undefined && { message }) };
}

function inputOf(messages: readonly Message[]): JsonObject {
  const texts = messages.map(shownContent);
  const [only] = texts;
  if (texts.length === 1 && typeof only !== 'string') return { type: 'parts', parts: only as unknown as JsonObject[] };
  return { type: 'text', text: texts.map(wholeText).join('\n\n') };
}

function callOf({ seq, requestedAt, at, stopReason, usage, costUsd }: Extract<Item, { kind: 'response' }>): CodeliaCall {
  const { model, input_cached_tokens: read, input_tokens: input } = usage;
  return {
    seq,
    provider: providerOf(model),
    model,
    request_ts: requestedAt,
    response_ts: at,
    latency_ms: Math.max(0, Date.parse(at) - Date.parse(requestedAt)),
    stop_reason: stopReason,
    usage,
    cache: { hit_state: read > 0 ? 'hit' : 'miss', cache_read_tokens: read, cache_read_ratio: input > 0 ? read / input : 0 },
    cost_usd: costUsd ?? null,
  };
}
