import type { LonghaulError } from '../../src/client';
import { checkedPending, checkedStatus, mustLead } from '../../src/client/checked-answers';
import { pagesFrom } from '../../src/client/log-pages';
import type { EventsPage } from '../../src/contract/thread';

const call = { kind: 'approval', toolCallId: 'c', name: 'pay', arguments: '{}', since: '2026-11-24T00:00:00.000Z' };
const status = {
  threadId: 't',
  agent: 'a',
  model: null,
  mode: 'one-shot',
  status: 'requires_action',
  runId: 'run_1',
  turn: 1,
  messages: 1,
  queued: 0,
  pending: [call],
  remaining: { run: {}, thread: {} },
  costUsd: 0,
  contextLeftPercent: null,
  seq: 3,
  facts: null,
};

function wrongIn(check: () => unknown): string {
  try {
    check();
  } catch (error) {
    expect((error as LonghaulError).code).toBe('answer-invalid');
    return (error as LonghaulError).message;
  }
  throw new Error('was accepted');
}

test('the answers of threads are returned as they are', () => {
  const whole = {
    ...call,
    users: ['dana'],
    groups: [],
    approvers: 2,
    votes: ['erin'],
    remember: [{ tool: 'shell', prefix: ['ls'], exact: true }],
  };
  expect(checkedPending('t', [call, whole])).toEqual([call, whole]);
  expect(checkedStatus('t', status)).toEqual(status);
});

test.each<[string, unknown, RegExp]>([
  ['null', null, /is no list of calls, but null/],
  ['an object', {}, /is no list of calls, but \{\}/],
  ['a list of null', [null], /has null as call 1/],
  ['a kind that is none', [call, { ...call, kind: 'constructor' }], /"constructor" as `kind` of call 2/],
  ['no name', [{ ...call, name: undefined }], /undefined as `name` of call 1/],
  ['arguments that are no text', [{ ...call, arguments: null }], /null as `arguments`/],
  ['a digest that is an object', [{ ...call, digest: {} }], /\{\} as `digest`/],
  ['an id that is an object', [{ ...call, toolCallId: { a: 1 } }], /as `toolCallId`/],
  ['a group that is an object', [{ ...call, groups: [{}] }], /as `groups`/],
  ['people that are a text', [{ ...call, users: 'dana' }], /as `users`/],
  ['votes that are a number', [{ ...call, votes: 5 }], /5 as `votes`/],
  ['a time that is none', [{ ...call, since: 'long ago' }], /"long ago" as `since`/],
  ['a deadline that is empty', [{ ...call, dueAt: '' }], /"" as `dueAt`/],
  ['a rule without a tool', [{ ...call, remember: [{ prefix: ['ls'] }] }], /as `remember`/],
])('an answer to `pending` with %s is refused', (_, answer, wrong) => {
  const message = wrongIn(() => checkedPending('odd', answer));
  expect(message).toMatch(/^pending: the answer of thread "odd" (is|has) /);
  expect(message).toMatch(wrong);
});

test.each<[string, unknown]>([
  ['null', null],
  ['a text', 'running'],
  ['a call that is none', { ...status, pending: [{}] }],
  ['a pause that is a text', { ...status, paused: 'x' }],
  ['numbers that are texts', { ...status, costUsd: '1' }],
  ['no limits', { ...status, remaining: undefined }],
])('an answer to `status` with %s is refused', (_, answer) => {
  expect(wrongIn(() => checkedStatus('odd', answer))).toMatch(/^status: the answer of thread "odd" has /);
});

test.each([2, 1, Number.NaN, undefined as unknown as number])(
  'a page that says that more follows and goes on at %s, after 2, is refused',
  (next) => {
    expect(wrongIn(() => mustLead('odd', 'messages', { more: true, next }, 2))).toMatch(
      /^messages: .* says that more follows 2, and continues/,
    );
  },
);

test('pages that lead further, or are the last, are read', () => {
  mustLead('t', 'messages', { more: true, next: 3 }, 2);
  mustLead('t', 'messages', { more: false, next: 2 }, 2);
});

test('an execution that names itself as the one before it is not read without an end', async () => {
  const ask = async () => ({ events: [], next: 5, more: false, earlier: { execution: 'a', before: 5 } }) as EventsPage;
  const read = async () => {
    for await (const _ of pagesFrom(ask, 1, 'a'));
  };
  await expect(read()).rejects.toThrow('execution a names itself, or a later one');
});
