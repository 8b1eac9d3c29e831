import fc from 'fast-check';
import { actionAt, lateDecision, lateOutputs, lateReply } from '../../src/core/deadlines';
import { newThread, type RunState, type ThreadState } from '../../src/core/state';
import type { AskPolicy, DeadlineAction } from '../../src/core/tool';
import { Story } from './story';

const dueAt = 1_000;

/** A thread in which an approval, `a`, and an output, `o`, wait until 1,000, and of whose deadlines so many have passed. */
function waiting(policy: AskPolicy, passed = 0): ThreadState {
  const story = new Story();
  story.say('go');
  story.begin();
  const ask = { since: 0, dueAt, votes: [], passed };
  const { state } = story;
  Object.assign(state.run as RunState, {
    calls: [
      { id: 'a', name: 'pay', verdict: { kind: 'run', effect: 'once', timeoutMs: 1, approval: policy }, ask, phase: 'awaiting-approval' },
      { id: 'o', name: 'fetch', verdict: { kind: 'external', ask: policy }, ask, phase: 'awaiting-output' },
    ],
    suspension: { correlationId: 'mail-7', since: 0, expiresAt: dueAt },
  });
  return state;
}
const outputs = { outputs: [{ toolCallId: 'o', output: 'x' }] };
const actions: DeadlineAction[] = ['deny', 'approve', 'ask-again', 'cancel', { escalate: ['owners'] }];

test('a decision at or after its deadline is late, unless the same people are asked the same again', () => {
  fc.assert(
    fc.property(fc.nat(2_000), fc.array(fc.constantFrom(...actions), { maxLength: 3 }), fc.nat(3), (now, onDeadline, passed) => {
      const state = waiting({ onDeadline }, passed);
      const counts = now < dueAt || actionAt(onDeadline, passed) === 'ask-again';
      expect(lateDecision(state, { toolCallId: 'a' }, now) === undefined).toBe(counts);
      expect(lateOutputs(state, outputs, now) === undefined).toBe(counts);
    }),
  );
});

test('a refusal is never late', () => {
  for (const action of actions) {
    expect(lateDecision(waiting({ onDeadline: [action] }), { toolCallId: 'a', approved: false }, dueAt + 1)).toBeUndefined();
  }
});

test('a reply is late from the moment its run expires; a message without that correlation id is not', () => {
  const state = waiting({});
  expect(lateReply(state, { input: 'x', correlationId: 'mail-7' }, dueAt - 1)).toBeUndefined();
  expect(lateReply(state, { input: 'x', correlationId: 'mail-7' }, dueAt)).toEqual({
    code: 'deadline-passed',
    reason: expect.stringMatching(/"mail-7" was waited for until 1970-01-01T00:00:01\.000Z/),
  });
  expect(lateReply(state, { input: 'x' }, dueAt)).toBeUndefined();
  expect(lateReply(state, { input: 'x', correlationId: 'other' }, dueAt)).toBeUndefined();
});

test('a call without a deadline, or one that does not wait, is not late', () => {
  const state = waiting({});
  for (const call of state.run?.calls ?? []) delete call.ask?.dueAt;
  expect(lateDecision(state, { toolCallId: 'a' }, 9_999)).toBeUndefined();
  expect(lateDecision(state, { toolCallId: 'none' }, 9_999)).toBeUndefined();
  const idle = newThread({ threadId: 't', agent: 'a', mode: 'conversation', overrides: {}, queue: [] });
  expect(lateDecision(idle, { toolCallId: 'a' }, 9_999)).toBeUndefined();
});
