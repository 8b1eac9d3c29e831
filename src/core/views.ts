import { utf8Length } from './context/carry';
import type { DurableEvent, PendingCall, RunStatus } from './event';
import { excerpt } from './json';
import { join } from './log';
import type { Message } from './message';
import { activeRun, type ThreadState } from './state';

/** What waits for someone outside. */
export function pendingCalls(state: ThreadState): PendingCall[] {
  return (activeRun(state)?.calls ?? []).flatMap((call): PendingCall[] => {
    if (call.phase !== 'awaiting-approval' && call.phase !== 'awaiting-output') return [];
    const kind = call.phase === 'awaiting-approval' ? 'approval' : 'output';
    const reason = call.verdict.kind === 'reject' ? undefined : call.verdict.approval?.reason;
    return [
      {
        kind,
        toolCallId: call.id,
        name: call.name,
        arguments: argumentsOf(state, call.id),
        ...(reason && kind === 'approval' ? { reason } : {}),
      },
    ];
  });
}

/** The arguments that a call of the current turn runs with: the model's own text, unless a person edited them. */
export function argumentsOf(state: ThreadState, callId: string): string {
  const edited = state.run?.calls.find((call) => call.id === callId)?.editedArguments;
  if (edited !== undefined) return edited;
  const answer = state.messages.findLast((m) => m.role === 'assistant');
  return (answer?.role === 'assistant' && answer.toolCalls.find((call) => call.id === callId)?.arguments) || '';
}

export function threadStatus(state: ThreadState): RunStatus | 'idle' {
  if (!state.run) return 'queued';
  return state.mode === 'conversation' && !activeRun(state) ? (state.queue.length > 0 ? 'queued' : 'idle') : state.run.status;
}

/** A page ends before this many bytes: a query result of 2 MiB is refused by the server, and a smaller one is sooner there. */
const pageBytes = 1_200_000;

/** As many items as fit into a page; at least one, so that a reader always gets on. */
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

/** The summary line of a model step in the Web UI: what it is, before it runs. */
export function modelSummary(turn: number, model: string, contextTokens: number): string {
  const context = contextTokens === 0 ? '' : ` · ${contextTokens < 1000 ? contextTokens : `${Math.round(contextTokens / 1000)}k`} context`;
  return excerpt(`turn ${turn} · ${model}${context}`, 180);
}

export function toolSummary(name: string, args: string): string {
  return excerpt(`${name} ${args.replace(/\s+/g, ' ')}`, 180);
}
