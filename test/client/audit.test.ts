import { auditOf } from '../../src/client/audit';
import type { DurableEvent, DurableEventData, DurableEventType } from '../../src/core/event';

const usage = { inputTokens: 10, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 2, reasoningTokens: 0 };
const call = { id: 'c', name: 'deploy', arguments: '{}' };

/** One event a second. */
function told(...events: { [T in DurableEventType]: [T, DurableEventData[T]] }[DurableEventType][]): DurableEvent[] {
  return events.map(
    ([type, data], i) =>
      ({
        seq: i + 1,
        type,
        data,
        threadId: 't',
        runId: 'r',
        timestamp: new Date(Date.UTC(2026, 0, 1, 0, 0, i)).toISOString(),
      }) as DurableEvent,
  );
}

const facts = (events: DurableEvent[]) =>
  auditOf(events, { limit: 1_000, missing: false }).entries.map(({ seq: _, at: __, runId: ___, ...fact }) => fact);

test('requests to people, approvals, escalations and decisions on a call are reported by the name of its tool, with the time that it waited', () => {
  const events = told(
    ['thread.run.step.tool_call.created', { stepId: 's', toolCall: call }],
    ['agent.approval.requested', { stepId: 's', toolCall: call, groups: ['leads'], approvers: 2 }],
    ['agent.approval.voted', { toolCallId: 'c', by: 'dana', outstanding: 1 }],
    ['agent.approval.escalated', { toolCallId: 'c', groups: ['owners'] }],
    ['agent.approval.decided', { toolCallId: 'c', approved: true, by: 'lee', editedArguments: '{"to":"x"}' }],
    ['agent.input.expired', { toolCallId: 'q' }],
  );
  expect(facts(events)).toEqual([
    { kind: 'asked', toolCallId: 'c', name: 'deploy', arguments: '{}', groups: ['leads'], approvers: 2 },
    { kind: 'voted', toolCallId: 'c', name: 'deploy', by: 'dana', outstanding: 1 },
    { kind: 'escalated', toolCallId: 'c', name: 'deploy', groups: ['owners'] },
    { kind: 'decided', toolCallId: 'c', name: 'deploy', approved: true, by: 'lee', editedArguments: '{"to":"x"}', waitedMs: 3_000 },
    { kind: 'unanswered', toolCallId: 'q', name: 'q' },
  ]);
});

test('limits, pauses, suspensions and rejected requests are reported, and how the run ended', () => {
  const limit = { limit: 'turns', max: 3, scope: 'run' } as const;
  const events = told(
    ['agent.limit.reached', { id: 'l', ...limit }],
    ['agent.limit.extended', { id: 'l', ...limit, max: 6, by: 'dana' }],
    ['agent.limit.handed_out', { ...limit, toolCallIds: ['c'] }],
    ['agent.limit.reached', { id: 'm', ...limit }],
    ['agent.approval.decided', { toolCallId: 'm', approved: false }],
    ['agent.run.paused', { reason: 'lunch' }],
    ['agent.run.resumed', { by: 'dana' }],
    ['agent.run.suspended', { correlationId: 'mail', expiresAt: 'then', output: 'I wait.' }],
    ['agent.request.rejected', { request: 'approve', code: 'invalid-request', reason: 'nonsense' }],
    ['thread.message.superseded', { messageId: 'm', message: { id: 'm', role: 'user', content: 'x' }, reason: 'too late' }],
    ['thread.run.incomplete', { limit: 'turns', max: 6, message: 'The end.', output: '' }],
  );
  expect(facts(events)).toEqual([
    { kind: 'limit-reached', id: 'l', ...limit },
    { kind: 'limit-extended', id: 'l', ...limit, max: 6, by: 'dana' },
    { kind: 'limit-handed-out', ...limit, toolCallIds: ['c'] },
    { kind: 'limit-reached', id: 'm', ...limit },
    { kind: 'decided', toolCallId: 'm', name: 'turns', approved: false, waitedMs: 1_000 },
    { kind: 'paused', reason: 'lunch' },
    { kind: 'resumed', by: 'dana' },
    { kind: 'suspended', correlationId: 'mail', expiresAt: 'then' },
    { kind: 'request-rejected', request: 'approve', code: 'invalid-request', reason: 'nonsense' },
    { kind: 'message-superseded', messageId: 'm', reason: 'too late' },
    { kind: 'ended', status: 'incomplete', message: 'The end.' },
  ]);
});

test.each<[DurableEvent[], object]>([
  [told(['thread.run.failed', { code: 'auth', message: 'no key' }]), { status: 'failed', code: 'auth', message: 'no key' }],
  [told(['thread.run.cancelled', { by: 'dana', reason: 'enough' }]), { status: 'cancelled', by: 'dana', message: 'enough' }],
  [told(['thread.run.expired', { reason: 'suspended', message: 'No reply.' }]), { status: 'expired', message: 'No reply.' }],
  [told(['thread.run.completed', { finalMessages: [], output: 'ok', usage, turns: 1 }]), { status: 'completed' }],
])('an end is reported with its reason: %#', (events, end) => {
  expect(facts(events)).toEqual([{ kind: 'ended', ...end }]);
});

test('a call in the background is reported when it has ended, not when it starts; closing words are a model call', () => {
  const result = { stepId: 's', toolCallId: 'c', name: 'deploy', isError: false, messageId: 'm', output: '…' } as const;
  const events = told(
    ['agent.run.step.created', { stepId: 's', turn: 4 }],
    ['agent.tool.execution.completed', { ...result, status: 'success', background: true }],
    [
      'agent.tool.background.completed',
      {
        toolCallId: 'c',
        name: 'deploy',
        status: 'failed',
        isError: true,
        message: { id: 'n', role: 'user', content: 'x' },
        error: { name: 'Error', message: 'no disk' },
        durationMs: 5,
      },
    ],
    ['agent.run.summarized', { stepId: 's', output: 'So far.', usage, model: 'gpt', durationMs: 7, costUsd: 0.1 }],
  );
  expect(facts(events)).toEqual([
    { kind: 'tool', toolCallId: 'c', name: 'deploy', status: 'failed', durationMs: 5, error: 'Error: no disk' },
    { kind: 'model', turn: 4, model: 'gpt', usage, durationMs: 7, costUsd: 0.1, closing: true },
  ]);
});

test('[A203] the newest entries are kept up to the maximum, and the audit says that older ones are missing', () => {
  const events = told(
    ...Array.from({ length: 5 }, (_, i) => ['agent.run.paused', { reason: String(i) }] as ['agent.run.paused', { reason: string }]),
  );
  expect(auditOf(events, { limit: 2, missing: false })).toMatchObject({ truncated: true, entries: [{ reason: '3' }, { reason: '4' }] });
  expect(auditOf(events, { limit: 5, missing: false }).truncated).toBe(false);
  expect(auditOf(events, { limit: 5, missing: true }).truncated).toBe(true);
  expect(auditOf(events, { limit: 0, missing: false })).toEqual({ entries: [], truncated: true });
});

test('a model call without an answer is reported with what it cost, and one that cost nothing is not', () => {
  const wasted = { usage, estimated: true } as const;
  const spent = { usage, model: 'gpt', durationMs: 0, wasted };
  const events = told(
    ['thread.message.incomplete', { stepId: 's', messageId: 'm', reason: 'superseded', spent }],
    ['thread.message.incomplete', { stepId: 's', messageId: 'n', reason: 'failed' }],
  );
  expect(facts(events)).toEqual([{ kind: 'model', turn: 0, model: 'gpt', usage, durationMs: 0, wasted, unanswered: 'superseded' }]);
});
