import { bounds } from './bounds';
import { findCall, isCarriedOut, waits } from './calls';
import { utf8Length } from './context/carry';
import { limitWords } from './decide';
import type { DurableEvent, PendingCall, RunStatus } from './event';
import { excerpt } from './json';
import { join } from './log';
import { Markdown, markdown } from './markdown';
import { type Message, toolCallsOf } from './message';
import { printableLine } from './printable';
import { activeRun, type CallState, type ThreadState } from './state';
import { jsonBytes } from './text';
import type { AskPolicy, CheckedCall, Verdict } from './tool';

/** Returns everything that waits for someone outside. */
export function pendingCalls(state: ThreadState): PendingCall[] {
  const run = activeRun(state);
  if (!run) return [];
  const { limitAsk, suspension } = run;
  const signed = state.facts?.signedDecisions && { signed: true as const };
  return [
    ...run.calls.flatMap((call) => pendingCall(state, call)),
    ...(limitAsk
      ? [
          {
            kind: 'limit' as const,
            toolCallId: limitAsk.id,
            name: limitAsk.limit,
            arguments: '',
            ...since(limitAsk),
            ...signed,
            reason: limitWords(limitAsk),
          },
        ]
      : []),
    ...(suspension && run.status === 'suspended'
      ? [
          {
            kind: 'reply' as const,
            toolCallId: suspension.correlationId,
            name: 'reply',
            arguments: '',
            ...since(suspension),
            dueAt: iso(suspension.expiresAt),
          },
        ]
      : []),
  ];
}

function pendingCall(state: ThreadState, call: CallState): PendingCall[] {
  const { id, name, phase, verdict, ask, question: asks } = call;
  if (!waits(call)) return [];
  const approval = phase === 'awaiting-approval';
  const unsettled = phase === 'unsettled';
  const policy = askPolicyOf(verdict, phase);
  const question = verdict.kind === 'external' && verdict.question;
  const groups = ask?.groups ?? policy?.groups;
  const checked = checkedCall(call);
  return [
    {
      kind: approval ? 'approval' : unsettled ? 'outcome' : asks ? 'tool-question' : question ? 'question' : 'output',
      toolCallId: id,
      name,
      arguments: shownArguments(state, call),
      ...(asks && { question: asks }),
      ...(unsettled
        ? { reason: `${unknownWords(call.unknown ?? '')}. Find out, then settle the call` }
        : policy?.reason && { reason: policy.reason }),
      ...(policy?.users && { users: policy.users }),
      ...(groups && { groups }),
      ...(policy?.approvers && { approvers: policy.approvers }),
      ...(ask && since(ask)),
      ...(ask?.dueAt !== undefined && { dueAt: iso(ask.dueAt) }),
      ...(ask && ask.votes.length > 0 && { votes: ask.votes }),
      ...(approval && policy?.remember && { remember: policy.remember }),
      ...((approval || unsettled) && checked.digest && { digest: checked.digest }),
      ...(state.facts?.signedDecisions && { signed: true }),
    },
  ];
}

/** Why an outcome is unknown, for people: the text that is recorded ends with advice to the model. */
export function unknownWords(message: string): string {
  return message
    .replace(/^Error: /, '')
    .replace(/[;.]\s*check before you call it again\.?\s*$/i, '')
    .replace(/\.$/, '');
}

/** Returns the arguments that people are shown. An approved call is also carried out outside with these, not with the model's text. */
export function shownArguments(state: ThreadState, call: CallState): string {
  const isShown = call.phase === 'awaiting-approval' || call.phase === 'unsettled' || call.approved;
  return (isShown && checkedCall(call).arguments) || argumentsOf(state, call.id);
}

/** Returns what people who are asked about a call are shown, as far as it differs from the model's own text. */
export function checkedCall({ verdict, editedArguments, checked }: CallState): CheckedCall {
  const known = editedArguments === undefined ? (verdict as CheckedCall) : checked;
  return { ...(known?.arguments !== undefined && { arguments: known.arguments }), ...(known?.digest && { digest: known.digest }) };
}

/** Returns the policy by which people are asked about a call in this phase: for its approval, for its output, for an answer, or to settle it. */
export function askPolicyOf(verdict: Verdict, phase: CallState['phase']): AskPolicy | undefined {
  if (phase === 'awaiting-approval') return isCarriedOut(verdict) ? verdict.approval : undefined;
  if (phase === 'unsettled') return settledBy(verdict);
  if (phase === 'awaiting-answer') return verdict.kind === 'run' ? verdict.questions : undefined;
  return verdict.kind === 'external' ? verdict.ask : undefined;
}

/** Who may settle a call: those who could approve it, also after an escalation. */
function settledBy(verdict: Verdict): AskPolicy | undefined {
  const { users, groups = [], onDeadline = [] } = (isCarriedOut(verdict) && verdict.approval) || {};
  if (!users && groups.length === 0) return undefined;
  const escalated = onDeadline.flatMap((action) => (typeof action === 'object' ? action.escalate : []));
  const all = [...groups, ...escalated];
  return { ...(users && { users }), ...(all.length > 0 && { groups: all }) };
}

function since({ since: at }: { since: number }): { since: string } {
  return { since: iso(at) };
}

function iso(at: number): string {
  return new Date(at).toISOString();
}

/** Returns the arguments that a call of the current turn runs with: the model's own text, unless a person or a hook edited them. */
export function argumentsOf(state: ThreadState, callId: string): string {
  const edited = findCall(state.run, callId)?.editedArguments;
  if (edited !== undefined) return edited;
  const answer = state.messages.findLast((m) => m.role === 'assistant');
  return (answer?.role === 'assistant' && toolCallsOf(answer.content).find((call) => call.id === callId)?.arguments) || '';
}

export function threadStatus(state: ThreadState): RunStatus | 'idle' {
  if (!state.run) return 'queued';
  if (state.paused && state.run.status === 'in_progress') return 'paused';
  return state.mode === 'conversation' && !activeRun(state) ? (state.queue.length > 0 ? 'queued' : 'idle') : state.run.status;
}

/** Maximum bytes of a page. The server rejects a query result above 2 MiB, and a smaller one arrives sooner. */
const pageBytes = 1_200_000;

/** Returns as many items as fit into a page, but at least one, so that a reader always makes progress. */
export function page<T, R>(items: readonly T[], start: number, limit: number, show: (item: T) => R): { items: R[]; next: number } {
  const result: R[] = [];
  let bytes = 0;
  let at = start;
  for (; at < items.length && result.length < Math.max(1, limit); at++) {
    const shown = show(items[at] as T);
    bytes += utf8Length(JSON.stringify(shown));
    if (result.length > 0 && bytes > pageBytes) break;
    result.push(shown);
  }
  return { items: result, next: at };
}

export function eventPage(state: ThreadState, from: number, limit: number): { events: DurableEvent[]; next: number; more: boolean } {
  const first = state.log[0]?.seq ?? state.nextSeq;
  const { items, next } = page(state.log, Math.max(0, from - first), limit, (record) => join(record, state));
  return { events: items, next: Math.max(first + next, from), more: next < state.log.length };
}

export function messagePage(messages: readonly Message[], from: number): { messages: Message[]; next: number; more: boolean } {
  const { items, next } = page(messages, from, Number.POSITIVE_INFINITY, (m) => m);
  return { messages: items, next, more: next < messages.length };
}

/** The summary line of a model step in the Web UI's history. */
export function modelSummary(turn: number, model: string, contextTokens: number): string {
  const context = contextTokens === 0 ? '' : ` · ${contextTokens < 1000 ? contextTokens : `${Math.round(contextTokens / 1000)}k`} context`;
  return lineOfHistory(`turn ${turn} · ${model}${context}`);
}

export function closingSummary(model: string): string {
  return lineOfHistory(`closing words · ${model}`);
}

export function compactionSummary(model: string): string {
  return lineOfHistory(`compaction · ${model}`);
}

/** The summary line of the timer that bounds a wait. */
export function waitSummary({ kind, name }: Pick<PendingCall, 'kind' | 'name'>): string {
  return lineOfHistory(`${excerpt(name, 60)} waits for ${waitsFor[kind]}`);
}

const waitsFor: Record<PendingCall['kind'], string> = {
  approval: 'an approval',
  output: 'its output',
  question: 'an answer',
  'tool-question': 'an answer to its question',
  outcome: 'someone to settle its outcome',
  limit: 'more of it',
  reply: 'a reply',
};

export function toolSummary(name: string, args: string): string {
  const begun = printableLine(args.slice(0, 2 * bounds.summaryBytes));
  return fitting((chars) => Markdown.literal(`${excerpt(name, 60)} ${excerpt(begun, chars)}`));
}

/** Formats a summary line. The server stores it as Markdown, but the Web UI's history shows its source. */
function lineOfHistory(text: string): string {
  const line = printableLine(text.slice(0, 2 * bounds.summaryBytes));
  return fitting((chars) => Markdown.literal(excerpt(line, chars)));
}

/** Formats a line of text as Markdown that renders as the text itself. */
export function summary(text: string): string {
  const line = printableLine(text.slice(0, 2 * bounds.summaryBytes));
  return fitting((chars) => markdown`${excerpt(line, chars)}`);
}

/** Returns the longest text within the server's limit, which is in bytes. */
function fitting(source: (chars: number) => Markdown): string {
  for (let chars = 160; ; chars -= 10) {
    const text = source(chars).toString();
    if (jsonBytes(text) <= bounds.summaryBytes || chars <= 10) return text;
  }
}
