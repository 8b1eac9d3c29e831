import { ApplicationFailure, setHandler } from '@temporalio/workflow';
import { failureTypes } from '../contract/activities';
import { queries } from '../contract/requests';
import type { StatusView } from '../contract/thread';
import { decodeFailureOf } from '../contract/undecodable';
import { show } from '../core/check-input';
import { contextLeft, contextView } from '../core/context/view';
import { excerpt, isBytes, isObject } from '../core/json';
import { receiptOf } from '../core/receipts';
import { compensationsOf } from '../core/sagas';
import { remaining, shownSpent, shownUsd } from '../core/spent';
import { inForce, type ThreadState, transcriptRef } from '../core/state';
import { eventPage, messagePage, pendingCalls, threadStatus } from '../core/views';
import { closedThread } from './carry-over';
import type { ThreadContext } from './thread-context';

/** Registers the thread's queries. They change nothing. */
export function answerQueries(thread: ThreadContext): void {
  const { state } = thread;
  setHandler(queries.events, (payload) => {
    const asked = readQuery('events', payload, ['from', 'limit']);
    const from = count(asked.from, 'from', 1);
    const first = state.log[0]?.seq ?? state.nextSeq;
    const idle = state.mode === 'conversation' && threadStatus(state) === 'idle';
    const page = { ...eventPage(state, from, count(asked.limit, 'limit', 1_000)), idle };
    return from < first && state.previousExecution ? { ...page, earlier: { execution: state.previousExecution, before: first } } : page;
  });
  setHandler(queries.status, () => statusOf(state));
  setHandler(queries.messages, (payload) => messagePage(state.messages, count(readQuery('messages', payload, ['from']).from, 'from', 0)));
  setHandler(queries.pending, () => pendingCalls(state));
  setHandler(queries.usage, () => ({
    thread: state.usage,
    run: state.run?.usage ?? null,
    runId: state.run?.id ?? null,
    runs: state.run?.number ?? 0,
    turns: state.run?.turn ?? 0,
    costUsd: costOf(state),
    spent: shownSpent(state, Date.now()),
    remaining: remaining(state, Date.now()),
    metrics: state.metrics,
  }));
  setHandler(queries.context, () => contextView(state));
  setHandler(queries.receipt, (payload) => {
    const { id } = readQuery('receipt', payload, ['id']);
    return receiptOf(state, typeof id === 'string' ? id : refuse(`receipt takes { id }; id is ${show(id)}`)) ?? null;
  });
  setHandler(queries.closed, () => closedThread(thread));
  setHandler(queries.transcript, (payload) => {
    const asked = readQuery('transcript', payload, ['epoch', 'from', 'length']);
    const [epoch = 0, from = 0, length = 0] = ['epoch', 'from', 'length'].map((name) => count(asked[name] ?? 'missing', name, 0));
    const { epoch: now, length: have } = transcriptRef(state);
    if (epoch !== now || length > have) return { stale: true };
    return { messages: messagePage(state.messages.slice(0, length), from).messages };
  });
}

function statusOf(state: ThreadState): StatusView {
  const compensations = compensationsOf(state.run);
  return {
    threadId: state.threadId,
    agent: state.agent,
    model: inForce(state).model ?? null,
    mode: state.mode,
    ...(state.paused && { paused: { reason: state.paused.reason, ...(state.paused.by && { by: state.paused.by }) } }),
    closed: state.closed,
    status: threadStatus(state),
    runId: state.run?.id ?? null,
    turn: state.run?.turn ?? 0,
    messages: state.messages.length,
    queued: state.queue.length,
    pending: pendingCalls(state),
    ...(compensations && { compensations }),
    remaining: remaining(state, Date.now()),
    costUsd: costOf(state),
    contextLeftPercent: contextLeft(state),
    ...(state.plan !== undefined && { plan: state.plan }),
    ...(state.loadedTools && { loadedTools: state.loadedTools.map(({ name }) => name) }),
    seq: state.nextSeq - 1,
    facts: state.facts,
  };
}

function costOf({ before, run }: ThreadState): number {
  return shownUsd(before.costUsd + (run?.costUsd ?? 0));
}

/** Returns the fields of a query's argument. Throws if it is not an object or has unknown fields. */
function readQuery(name: string, payload: unknown, known: string[]): Record<string, unknown> {
  if (payload === undefined || payload === null) return {};
  const undecodable = decodeFailureOf(payload);
  const isFields = isObject(payload) && !isBytes(payload);
  const unknown = isFields ? Object.keys(payload).find((key) => !known.includes(key)) : undefined;
  const wrong = undecodable ?? (!isFields ? `it was given ${show(payload)}` : unknown && `${unknown} is not known`);
  if (wrong) refuse(`${name} takes { ${known.join(', ')} }: ${wrong}`);
  return payload as Record<string, unknown>;
}

function refuse(reason: string): never {
  throw ApplicationFailure.nonRetryable(reason, failureTypes.queryRefused);
}

function count(value: unknown, name: string, otherwise: number): number {
  if (value === undefined || value === null) return otherwise;
  if (!Number.isSafeInteger(value) || (value as number) < 0) {
    refuse(`${name} must be a whole number, 0 or more; it is ${excerpt(JSON.stringify(value) ?? '', 60)}`);
  }
  return value as number;
}
