import fc from 'fast-check';
import { callById } from '../../src/core/calls';
import type { Checked } from '../../src/core/checked';
import { checkSubmit } from '../../src/core/decisions';
import { checkSettle, outcomeMark } from '../../src/core/settling';
import type { ThreadState } from '../../src/core/state';
import type { AskPolicy } from '../../src/core/tool';
import { pendingCalls } from '../../src/core/views';
import { Story } from './story';

/** A thread with a call whose outcome is unknown. */
function unsettled(approval?: AskPolicy): { state: ThreadState; id: string; story: Story } {
  const story = new Story();
  story.say('go');
  story.begin();
  const play = story.call;
  story.call = () => undefined;
  const verdict = { kind: 'run' as const, effect: 'once' as const, timeoutMs: 1, ...(approval && { approval }) };
  story.turn({ text: '', said: [], calls: [{ arguments: '{"cents":1}', status: 'success', output: 'x', verdict }] });
  story.call = play;
  const id = story.state.run?.calls[0]?.id ?? '';
  story.record('agent.tool.execution.started', { stepId: 's', toolCallId: id, name: 'pay' });
  story.record('agent.tool.outcome.unknown', { toolCallId: id, name: 'pay', message: 'the worker was lost' });
  return { state: story.state, id, story };
}

const code = (checked: Checked<unknown>) => (checked.ok ? 'accepted' : checked.code);

test('an unknown outcome is pending, with the arguments of the call and why it is unknown', () => {
  const { state, id } = unsettled();
  expect(pendingCalls(state)).toMatchObject([
    {
      kind: 'outcome',
      toolCallId: id,
      arguments: '{"cents":1}',
      reason: 'the worker was lost. Find out, then settle the call',
      since: expect.any(String),
    },
  ]);
});

test('it is settled as done with an output, as not done, or as failed with a reason', () => {
  const { state, id } = unsettled();
  const settle = (request: object) => code(checkSettle(state, { toolCallId: id, ...request }));
  expect(settle({ outcome: 'done', output: 'paid', by: 'dana' })).toBe('accepted');
  expect(settle({ outcome: 'done', output: null })).toBe('accepted');
  expect(settle({ outcome: 'not-done', reason: 'the bank says so' })).toBe('accepted');
  expect(settle({ outcome: 'failed', reason: 'half of it' })).toBe('accepted');
});

test.each([
  ['no outcome', {}],
  ['another outcome', { outcome: 'perhaps' }],
  ['done without an output', { outcome: 'done' }],
  ['an output of what was not done', { outcome: 'not-done', output: 'paid' }],
  ['a failure without a reason', { outcome: 'failed' }],
  ['a reason that is no text', { outcome: 'failed', reason: 7 }],
  ['an output that no thread can store', { outcome: 'done', output: 'x'.repeat(2_000_000) }],
])('%s is refused', (_, request) => {
  const { state, id } = unsettled();
  expect(code(checkSettle(state, { toolCallId: id, ...request }))).toBe('invalid-request');
});

test('with expect, only the loss that was shown is settled: not the same call after it ran again', () => {
  const { state, id, story } = unsettled();
  const settle = (expect: unknown) => code(checkSettle(state, { toolCallId: id, outcome: 'failed', reason: 'no', expect }));
  const shown = () => outcomeMark(pendingCalls(state)[0] ?? {});
  const first = shown();
  expect(settle(first)).toBe('accepted');
  expect(settle('2020-01-01T00:00:00.000Z')).toBe('not-as-expected');
  expect(settle(`0000000000000000@${first}`)).toBe('not-as-expected');
  expect(settle(7)).not.toBe('accepted');
  story.record('agent.tool.outcome.settled', { toolCallId: id, outcome: 'not-done' });
  story.record('agent.tool.execution.started', { stepId: 's2', toolCallId: id, name: 'pay' });
  story.record('agent.tool.outcome.unknown', { toolCallId: id, name: 'pay', message: 'the worker was lost' });
  expect(settle(first)).toBe('not-as-expected');
  expect(settle(shown())).toBe('accepted');
});

test('a call that is not unsettled is not settled', () => {
  const { state, id, story } = unsettled();
  expect(code(checkSettle(state, { toolCallId: 'call_x', outcome: 'not-done' }))).toBe('not-waiting');
  story.record('agent.tool.outcome.settled', { toolCallId: id, outcome: 'not-done' });
  expect(callById(state.run, id)).toMatchObject({ phase: 'ready', again: true });
  expect(code(checkSettle(state, { toolCallId: id, outcome: 'not-done' }))).toBe('already-decided');
});

test('a call that runs again is counted once', () => {
  const { state, id, story } = unsettled();
  story.record('agent.tool.outcome.settled', { toolCallId: id, outcome: 'not-done' });
  story.record('agent.tool.execution.started', { stepId: 's', toolCallId: id, name: 'pay' });
  expect(state.run?.toolCalls).toBe(1);
});

test('people who must approve a call must settle it; if several must, none of them lets it run again alone', () => {
  const one = unsettled({ groups: ['leads'], onDeadline: [{ escalate: ['owners'] }] });
  const settle = (who: object) => code(checkSettle(one.state, { toolCallId: one.id, outcome: 'not-done', ...who }));
  expect(settle({ by: 'eve' })).toBe('not-entitled');
  expect(settle({ by: 'dana', groups: ['leads'] })).toBe('accepted');
  expect(settle({ by: 'lee', groups: ['owners'] })).toBe('accepted');
  const two = unsettled({ approvers: 2 });
  expect(code(checkSettle(two.state, { toolCallId: two.id, outcome: 'not-done', by: 'dana' }))).toBe('not-entitled');
  expect(code(checkSettle(two.state, { toolCallId: two.id, outcome: 'failed', reason: 'no', by: 'dana' }))).toBe('accepted');
});

test('no value makes the check throw', () => {
  const { state, id } = unsettled();
  const any = fc.record(
    {
      toolCallId: fc.oneof(fc.constant(id), fc.jsonValue()),
      outcome: fc.oneof(fc.constantFrom('done', 'failed'), fc.jsonValue()),
      output: fc.anything(),
      reason: fc.jsonValue(),
      by: fc.jsonValue(),
    },
    { requiredKeys: [] },
  );
  fc.assert(fc.property(fc.oneof(fc.jsonValue(), any), (payload) => void checkSettle(state, payload)));
});

test('a late settlement, and a late answer, are told who was first', () => {
  const { state, id, story } = unsettled();
  story.record('agent.tool.outcome.settled', { toolCallId: id, outcome: 'done', by: 'dana' });
  const outcome = {
    stepId: 's',
    toolCallId: id,
    name: 'pay',
    status: 'success',
    isError: false,
    messageId: 'm',
    output: 'x',
    by: 'dana',
  } as const;
  story.record('agent.tool.execution.completed', outcome);
  const late = checkSettle(state, { toolCallId: id, outcome: 'not-done' });
  expect(late).toMatchObject({ ok: false, code: 'already-decided', reason: expect.stringMatching(/\(settled as done by dana, 20\S+Z\)/) });
  const answered = new Story();
  answered.say('go');
  answered.begin();
  const asked = { kind: 'external' as const, question: true as const };
  answered.turn({ text: '', said: [], calls: [{ arguments: '{}', status: 'success', output: 'blue', verdict: asked }] });
  const call = answered.state.run?.calls[0]?.id ?? '';
  answered.state.log.push({
    seq: 1,
    at: 0,
    runId: 'r',
    type: 'agent.tool.execution.completed',
    data: { ...outcome, toolCallId: call, by: 'mia' },
  });
  const second = checkSubmit(answered.state, { outputs: [{ toolCallId: call, output: 'red' }] });
  expect(second).toMatchObject({ ok: false, reason: expect.stringContaining('(answered by mia, 1970-01-01T00:00:00.000Z)') });
});

test('a call that a person edited is shown as the tool takes it, which its digest stands for', () => {
  const { state, id, story } = unsettled();
  if (state.facts) state.facts.judgesDecisions = true;
  const edit = { toolCallId: id, approved: true, editedArguments: '{"cents":2}', arguments: '{"cents":2,"note":"none"}', digest: 'd' };
  story.record('agent.approval.decided', edit);
  story.record('agent.tool.execution.started', { stepId: 's', toolCallId: id, name: 'pay' });
  story.record('agent.tool.outcome.unknown', { toolCallId: id, name: 'pay', message: 'the worker was lost' });
  expect(pendingCalls(state)).toMatchObject([{ kind: 'outcome', arguments: '{"cents":2,"note":"none"}', digest: 'd' }]);
});
