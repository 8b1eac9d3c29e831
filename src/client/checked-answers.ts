import type { StatusView } from '../contract/thread';
import { show } from '../core/check-input';
import { type PendingCall, pendingKinds } from '../core/event';
import { isObject } from '../core/json';
import { LonghaulError } from './errors';

// Anyone who may start a workflow can start one that answers a thread's queries with anything, so what is read from an answer is checked first.

type Check = (value: unknown) => boolean;
/** A check for each field. A field that may be absent accepts undefined. */
type Fields<T> = { readonly [K in keyof T]-?: Check };

const isText: Check = (value) => typeof value === 'string';
const isTime: Check = (value) => typeof value === 'string' && !Number.isNaN(Date.parse(value));
const isNumber: Check = (value) => typeof value === 'number';
const isTrue: Check = (value) => value === true;
const isListOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);
const isOneOf =
  (...words: string[]): Check =>
  (value) =>
    words.includes(value as string);
const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);
const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);
const has =
  <T>(fields: Fields<T>): Check =>
  (value) =>
    isObject(value) && wrongField(fields, value) === undefined;

const callFields: Fields<PendingCall> = {
  kind: isOneOf(...Object.keys(pendingKinds)),
  toolCallId: isText,
  name: isText,
  arguments: isText,
  question: optional(
    has({
      id: isText,
      from: isText,
      message: isText,
      schema: optional(has({ type: isText, properties: isObject, required: optional(isListOf(isText)) })),
      url: optional(isText),
    }),
  ),
  since: optional(isTime),
  votes: optional(isListOf(isText)),
  signed: optional(isTrue),
  reason: optional(isText),
  users: optional(isListOf(isText)),
  groups: optional(isListOf(isText)),
  approvers: optional(isNumber),
  dueAt: optional(isTime),
  remember: optional(isListOf(has({ tool: isText, prefix: optional(isListOf(isText)), exact: optional(isTrue), host: optional(isText) }))),
  digest: optional(isText),
  agent: optional(isText),
};

const statusFields: Fields<StatusView> = {
  threadId: isText,
  agent: isText,
  model: orNull(isText),
  mode: isOneOf('one-shot', 'conversation'),
  paused: optional(has({ reason: isText, by: optional(isText) })),
  status: isText,
  runId: orNull(isText),
  turn: isNumber,
  messages: isNumber,
  queued: isNumber,
  pending: isListOf(has(callFields)),
  compensations: optional(isListOf(has({ toolCallId: isText, name: isText, status: isText, error: optional(isText) }))),
  remaining: has({ run: isObject, thread: isObject }),
  costUsd: isNumber,
  contextLeftPercent: orNull(isNumber),
  seq: isNumber,
  facts: orNull(isObject),
  closed: optional((value) => typeof value === 'boolean'),
  plan: optional(isText),
  loadedTools: optional(isListOf(isText)),
};

/** Returns a thread's answer to the query `pending`. Throws `answer-invalid` if it is none. */
export function checkedPending(threadId: string, answer: unknown): PendingCall[] {
  if (!Array.isArray(answer)) throw invalid(threadId, 'pending', `is no list of calls, but ${show(answer)}`);
  for (const [at, call] of answer.entries()) mustHave(callFields, call, { threadId, query: 'pending', what: `call ${at + 1}` });
  return answer as PendingCall[];
}

/** Returns a thread's answer to the query `status`. Throws `answer-invalid` if it is none. */
export function checkedStatus(threadId: string, answer: unknown): StatusView {
  mustHave(statusFields, answer, { threadId, query: 'status', what: 'the status' });
  return answer as StatusView;
}

/** Throws `answer-invalid` for a page that says that more follows and leads no further, which would be read without an end. */
export function mustLead(threadId: string, query: string, { more, next }: { more?: boolean; next: number }, from: number): void {
  if (more && !(next > from)) throw invalid(threadId, query, `says that more follows ${from}, and continues with ${show(next)}`);
}

function mustHave<T>(
  fields: Fields<T>,
  value: unknown,
  { threadId, query, what }: { threadId: string; query: string; what: string },
): void {
  if (!isObject(value)) throw invalid(threadId, query, `has ${show(value)} as ${what}`);
  const wrong = wrongField(fields, value);
  if (wrong !== undefined) throw invalid(threadId, query, `has ${show(value[wrong])} as \`${wrong}\` of ${what}`);
}

function wrongField<T>(fields: Fields<T>, value: Record<string, unknown>): string | undefined {
  return (Object.entries(fields) as [string, Check][]).find(([name, fits]) => !fits(value[name]))?.[0];
}

function invalid(threadId: string, query: string, why: string): LonghaulError {
  return new LonghaulError(
    'answer-invalid',
    `${query}: the answer of thread "${threadId}" ${why}. It may be another program's workflow, or a thread of a newer version; look at it in Temporal's Web UI, and terminate it there if it is no thread.`,
  );
}
