import type { Attestation } from '../core/attestation';
import type { DurableEvent, DurableEventData, RunStatus, SpentOnCall, TerminalEvent } from '../core/event';
import type { FailedAttempt } from '../core/failure';
import { excerpt } from '../core/json';
import { textOf, type Usage } from '../core/message';
import type { ToolOutcome } from '../core/tool';
import { unreachable } from '../core/unreachable';
import type { Waste } from '../core/waste';

type Data<T extends keyof DurableEventData> = DurableEventData[T];
/** The tool of a call. */
interface Named {
  name: string;
}

/** The content of an entry. Durations and waits are in milliseconds. */
export type AuditFact =
  | {
      kind: 'model';
      turn: number;
      model: string;
      usage: Usage;
      durationMs: number;
      costUsd?: number;
      /** Attempts that failed before, each with the wait after it. */
      retries?: FailedAttempt[];
      /** The cost of attempts that gave no answer, such as one that was lost with its worker. */
      wasted?: Waste;
      /** The call gave no answer: it failed, was cancelled, or was aborted for a message that could not wait. */
      unanswered?: Data<'thread.message.incomplete'>['reason'];
      /** The closing answer, at a limit or before a suspension. */
      closing?: true;
      /** The summary of older parts of the transcript. `failed`: why it was not used. */
      compaction?: true;
      failed?: string;
    }
  | ({
      kind: 'tool';
      toolCallId: string;
      status: ToolOutcome['status'];
      durationMs?: number;
      attempts?: number;
      error?: string;
      /** For a question, a call that is executed outside, or a settled call: who answered, what (at most 500 characters), and after how long. */
      by?: string;
      answer?: string;
      waitedMs?: number;
      signed?: Attestation;
    } & Named)
  | ({ kind: 'hook'; hook: string; durationMs: number; answered?: string[] } & Pick<Data<'agent.hook.completed'>, 'ignored' | 'errors'>)
  | ({ kind: 'asked'; toolCallId: string } & Named & Omit<Data<'agent.approval.requested'>, 'stepId' | 'toolCall'>)
  | ({ kind: 'voted' } & Named & Data<'agent.approval.voted'>)
  | ({ kind: 'escalated' } & Named & Data<'agent.approval.escalated'>)
  | ({ kind: 'decided'; waitedMs?: number } & Named & Data<'agent.approval.decided'>)
  | ({ kind: 'outcome-unknown' } & Data<'agent.tool.outcome.unknown'>)
  | ({ kind: 'settled'; waitedMs?: number } & Named & Data<'agent.tool.outcome.settled'>)
  | ({ kind: 'compensated' } & Data<'agent.tool.compensation.completed'>)
  | ({ kind: 'compensation-failed' } & Data<'agent.tool.compensation.failed'>)
  | ({ kind: 'question-asked' } & Data<'agent.tool.question.asked'>)
  | ({ kind: 'question-answered'; waitedMs?: number } & Named & Data<'agent.tool.question.answered'>)
  | ({ kind: 'unanswered' } & Named & Data<'agent.input.expired'>)
  | ({ kind: 'limit-reached' } & Data<'agent.limit.reached'>)
  | ({ kind: 'limit-handed-out' } & Data<'agent.limit.handed_out'>)
  | ({ kind: 'limit-extended' } & Data<'agent.limit.extended'>)
  | ({ kind: 'model-fallback' } & Omit<Data<'agent.llm.fallback'>, 'stepId'>)
  | ({ kind: 'paused' } & Data<'agent.run.paused'>)
  | ({ kind: 'resumed' } & Data<'agent.run.resumed'>)
  | ({ kind: 'suspended' } & Omit<Data<'agent.run.suspended'>, 'output'>)
  | ({ kind: 'request-rejected' } & Data<'agent.request.rejected'>)
  | ({ kind: 'message-superseded' } & Pick<Data<'thread.message.superseded'>, 'messageId' | 'reason'>)
  | { kind: 'ended'; status: RunStatus; message?: string; code?: string; by?: string };

export type AuditEntry = { seq: number; at: string; runId: string | null } & AuditFact;

export interface Audit {
  entries: AuditEntry[];
  /** Older entries are missing: there are more than `limit`, or the server has deleted their part of the log. */
  truncated: boolean;
}

/** Extracts what was done and decided from a thread's events. */
export function auditOf(events: readonly DurableEvent[], { limit, missing }: { limit: number; missing: boolean }): Audit {
  const seen: Seen = { turn: 0, names: new Map(), asked: new Map(), settled: new Set() };
  const all = events.flatMap((event): AuditEntry[] => {
    const fact = factOf(event, seen);
    return fact ? [{ seq: event.seq, at: event.timestamp, runId: event.runId, ...fact }] : [];
  });
  const entries = limit > 0 ? all.slice(-limit) : [];
  return { entries, truncated: missing || entries.length < all.length };
}

interface Seen {
  turn: number;
  names: Map<string, string>;
  asked: Map<string, number>;
  settled: Set<string>;
}

function factOf(event: DurableEvent, seen: Seen): AuditFact | undefined {
  const named = (id: string): Named => ({ name: seen.names.get(id) ?? id });
  switch (event.type) {
    case 'agent.run.step.created':
      seen.turn = event.data.turn;
      return undefined;
    case 'thread.run.step.tool_call.created':
      seen.names.set(event.data.toolCall.id, event.data.toolCall.name);
      return undefined;
    case 'thread.message.completed':
    case 'agent.run.summarized':
      return modelFact(event.data, seen, event.type === 'agent.run.summarized' ? { closing: true } : {});
    case 'thread.message.incomplete':
      return event.data.spent && modelFact(event.data.spent, seen, { unanswered: event.data.reason });
    case 'thread.context.compacted':
      return event.data.spent && modelFact(event.data.spent, seen, { compaction: true });
    case 'thread.context.kept': {
      const { spent, failed } = event.data;
      return spent && modelFact(spent, seen, { compaction: true, ...(failed && { failed }) });
    }
    case 'agent.tool.execution.completed':
    case 'agent.tool.background.completed':
      return toolFact(event, seen);
    case 'agent.hook.completed': {
      const { hook, durationMs, answered, ignored, errors } = event.data;
      return { kind: 'hook', hook, durationMs, ...(answered && { answered }), ...(ignored && { ignored }), ...(errors && { errors }) };
    }
    case 'agent.approval.requested': {
      const { stepId: _, toolCall, ...asked } = event.data;
      seen.asked.set(toolCall.id, Date.parse(event.timestamp));
      return { kind: 'asked', toolCallId: toolCall.id, name: toolCall.name, arguments: toolCall.arguments, ...asked };
    }
    case 'agent.approval.voted':
      return { kind: 'voted', ...named(event.data.toolCallId), ...event.data };
    case 'agent.approval.escalated':
      return { kind: 'escalated', ...named(event.data.toolCallId), ...event.data };
    case 'agent.approval.decided':
      return { kind: 'decided', ...named(event.data.toolCallId), ...waitedSince(event, seen), ...event.data };
    case 'agent.tool.compensation.completed':
      return { kind: 'compensated', ...event.data };
    case 'agent.tool.compensation.failed':
      return { kind: 'compensation-failed', ...event.data };
    case 'agent.tool.outcome.unknown':
      seen.asked.set(event.data.toolCallId, Date.parse(event.timestamp));
      return { kind: 'outcome-unknown', ...event.data };
    case 'agent.tool.outcome.settled':
      if (event.data.outcome !== 'not-done') seen.settled.add(event.data.toolCallId);
      return { kind: 'settled', ...named(event.data.toolCallId), ...waitedSince(event, seen), ...event.data };
    case 'agent.tool.question.asked':
      seen.asked.set(event.data.toolCallId, Date.parse(event.timestamp));
      return { kind: 'question-asked', ...event.data };
    case 'agent.tool.question.answered':
      return { kind: 'question-answered', ...named(event.data.toolCallId), ...waitedSince(event, seen), ...event.data };
    case 'agent.input.expired':
      return { kind: 'unanswered', ...named(event.data.toolCallId), ...event.data };
    case 'agent.limit.reached':
      seen.names.set(event.data.id, event.data.limit);
      seen.asked.set(event.data.id, Date.parse(event.timestamp));
      return { kind: 'limit-reached', ...event.data };
    case 'agent.limit.handed_out':
      return { kind: 'limit-handed-out', ...event.data };
    case 'agent.limit.extended':
      return { kind: 'limit-extended', ...event.data };
    case 'agent.run.paused':
      return { kind: 'paused', ...event.data };
    case 'agent.run.resumed':
      return { kind: 'resumed', ...event.data };
    case 'agent.run.suspended': {
      const { output: _, ...suspension } = event.data;
      return { kind: 'suspended', ...suspension };
    }
    case 'agent.request.rejected':
      return { kind: 'request-rejected', ...event.data };
    case 'thread.message.superseded': {
      const { messageId, reason } = event.data;
      return { kind: 'message-superseded', messageId, reason };
    }
    case 'agent.llm.fallback': {
      const { stepId: _, ...fallback } = event.data;
      return { kind: 'model-fallback', ...fallback };
    }
    case 'thread.run.completed':
    case 'thread.run.failed':
    case 'thread.run.incomplete':
    case 'thread.run.cancelled':
    case 'thread.run.expired':
      return endFact(event);
    case 'thread.run.requires_action':
      for (const { kind, toolCallId, since = event.timestamp } of event.data.pending) {
        if (kind === 'question' || kind === 'output') seen.asked.set(toolCallId, Date.parse(since));
      }
      return undefined;
    // Messages and status changes: they do or decide nothing.
    case 'agent.run.created':
    case 'agent.run.status.changed':
    case 'thread.message.created':
    case 'thread.message.queued':
    case 'thread.run.step.tool_call.completed_by_llm':
    case 'agent.tool.execution.started':
    case 'agent.tools.loaded':
    case 'agent.tool.compensation.started':
    case 'agent.request.accepted':
    case 'thread.context.compaction.started':
    case 'thread.closed':
    case 'thread.reopened':
      return undefined;
    default:
      return unreachable(event);
  }
}

type Answered = 'agent.approval.decided' | 'agent.tool.question.answered' | 'agent.tool.outcome.settled' | 'agent.tool.execution.completed';

function waitedSince({ timestamp, data }: DurableEvent<Answered>, { asked }: Seen): { waitedMs?: number } {
  const since = asked.get(data.toolCallId);
  return since === undefined ? {} : { waitedMs: Date.parse(timestamp) - since };
}

type ModelFact = Extract<AuditFact, { kind: 'model' }>;

function modelFact(
  { model, usage, durationMs, costUsd, attempts, wasted }: SpentOnCall,
  { turn }: Seen,
  purpose: Pick<ModelFact, 'closing' | 'compaction' | 'failed' | 'unanswered'>,
): ModelFact {
  return {
    kind: 'model',
    turn,
    model,
    usage,
    durationMs,
    ...(costUsd !== undefined && { costUsd }),
    ...(attempts && { retries: attempts }),
    ...(wasted && { wasted }),
    ...purpose,
  };
}

function toolFact(
  event: DurableEvent<'agent.tool.execution.completed' | 'agent.tool.background.completed'>,
  seen: Seen,
): AuditFact | undefined {
  const { data } = event;
  // A placeholder result does not end a background call.
  if ('background' in data && data.background) return undefined;
  const { toolCallId, name, status, durationMs, error } = data;
  const attempts = 'attempts' in data ? data.attempts : undefined;
  return {
    kind: 'tool',
    toolCallId,
    name,
    status,
    ...(durationMs !== undefined && { durationMs }),
    ...(attempts !== undefined && { attempts }),
    ...(error && { error: `${error.name}: ${error.message}` }),
    ...(event.type === 'agent.tool.execution.completed' && answerOf(event, seen)),
  };
}

/** Who gave a call its outcome in place of the tool, and what it is. */
function answerOf(event: DurableEvent<'agent.tool.execution.completed'>, seen: Seen) {
  const { toolCallId, by, signed, output } = event.data;
  if (!by && !seen.settled.has(toolCallId)) return {};
  return { ...(by && { by }), ...(signed && { signed }), answer: excerpt(textOf(output), 500), ...waitedSince(event, seen) };
}

function endFact(event: TerminalEvent): AuditFact {
  switch (event.type) {
    case 'thread.run.completed':
      return { kind: 'ended', status: 'completed' };
    case 'thread.run.failed':
      return { kind: 'ended', status: 'failed', code: event.data.code, message: event.data.message };
    case 'thread.run.incomplete':
      return { kind: 'ended', status: 'incomplete', message: event.data.message };
    case 'thread.run.cancelled': {
      const { reason, by } = event.data;
      return { kind: 'ended', status: 'cancelled', ...(reason && { message: reason }), ...(by && { by }) };
    }
    case 'thread.run.expired':
      return { kind: 'ended', status: 'expired', message: event.data.message };
    default:
      return unreachable(event);
  }
}
