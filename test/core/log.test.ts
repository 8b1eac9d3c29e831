import type { DurableEvent, DurableEventData, DurableEventType } from '../../src/core/event';
import { join, strip } from '../../src/core/log';
import type { AssistantMessage, ToolCall, ToolMessage, UserMessage } from '../../src/core/message';
import { newThread } from '../../src/core/state';
import { answerParts } from '../support/answer-parts';

const call: ToolCall = { id: 'call_1', name: 'pay', arguments: '{"cents":1}' };
const said: UserMessage = { id: 'm1', role: 'user', content: 'go' };
const queued: UserMessage = { id: 'm9', role: 'user', content: 'wait', origin: 'hook' };
const answer: AssistantMessage = { id: 'm2', role: 'assistant', content: answerParts('I pay.', [call]), attempt: 1 };
const result: ToolMessage = { id: 'm3', role: 'tool', toolCallId: 'call_1', name: 'pay', content: 'paid', isError: false };
const usage = { inputTokens: 5, cachedInputTokens: 1, cacheWriteTokens: 1, outputTokens: 2, reasoningTokens: 0 };
const spent = { usage, model: 'openai/x', durationMs: 3 };
const limit = { limit: 'turns', max: 2, scope: 'run' } as const;

/** One of each type. A new type, or a new field that an event must have, does not compile before it is here. */
const samples: { [T in DurableEventType]: DurableEventData[T] } = {
  'agent.run.created': { status: 'in_progress', initialMessages: [said] },
  'agent.run.status.changed': { status: 'in_progress', previousStatus: 'queued', details: 'LLM call for turn 1' },
  'agent.run.step.created': { stepId: 's', turn: 1 },
  'thread.message.created': { stepId: 's', message: result },
  'thread.message.completed': { stepId: 's', message: answer, finishReason: 'tool_calls', ...spent, costUsd: 1, problems: ['p'] },
  'thread.message.incomplete': { stepId: 's', messageId: 'm2', reason: 'failed', spent },
  'agent.llm.fallback': { stepId: 's', model: 'a', nextModel: 'b', code: 'overloaded', message: 'too busy' },
  'thread.run.step.tool_call.created': { stepId: 's', toolCall: { id: call.id, name: call.name } },
  'thread.run.step.tool_call.completed_by_llm': { stepId: 's', toolCall: call },
  'agent.tool.execution.started': { stepId: 's', toolCallId: 'call_1', name: 'pay' },
  'agent.tool.execution.completed': {
    stepId: 's',
    toolCallId: 'call_1',
    name: 'pay',
    status: 'success',
    isError: false,
    messageId: 'm3',
    output: 'paid',
    durationMs: 2,
    attempts: 1,
  },
  'agent.tools.loaded': { toolCallId: 'call_1', tools: ['find_order'], unloaded: ['pay'] },
  'agent.tool.compensation.started': { toolCallId: 'call_1', name: 'pay' },
  'agent.tool.compensation.completed': { toolCallId: 'call_1', name: 'pay', attempts: 1, durationMs: 2 },
  'agent.tool.compensation.failed': { toolCallId: 'call_1', name: 'pay', message: 'no route', attempts: 3 },
  'agent.tool.question.asked': {
    toolCallId: 'call_1',
    name: 'pay',
    questionId: 'question_1',
    from: 'bank',
    message: 'Which account?',
    schema: { type: 'object', properties: { account: { type: 'string' } }, required: ['account'] },
    groups: ['leads'],
    dueAt: '2026-01-01T00:00:00.000Z',
  },
  'agent.tool.question.answered': {
    toolCallId: 'call_1',
    questionId: 'question_1',
    action: 'accept',
    content: { account: 'main' },
    by: 'dana',
  },
  'agent.tool.outcome.unknown': { toolCallId: 'call_1', name: 'pay', message: 'the worker was lost' },
  'agent.tool.outcome.settled': { toolCallId: 'call_1', outcome: 'done', by: 'dana', reason: 'I saw it' },
  'agent.tool.background.completed': { toolCallId: 'call_1', name: 'pay', status: 'success', isError: false, message: said, durationMs: 2 },
  'agent.approval.requested': { stepId: 's', toolCall: call, arguments: '{"cents": 1}', reason: 'money', users: ['dana'], digest: 'abc' },
  'agent.approval.voted': { toolCallId: 'call_1', by: 'dana', reason: 'fine', outstanding: 1 },
  'agent.approval.escalated': { toolCallId: 'call_1', groups: ['leads'], dueAt: '2026-01-01T00:00:00.000Z' },
  'agent.approval.decided': {
    toolCallId: 'call_1',
    approved: true,
    reason: 'fine',
    editedArguments: '{}',
    arguments: '{"cents":2}',
    digest: 'd',
    source: 'hook',
  },
  'agent.input.expired': { toolCallId: 'call_1' },
  'agent.limit.reached': { id: 'l', ...limit },
  'agent.limit.handed_out': { ...limit, toolCallIds: ['call_1'] },
  'agent.limit.extended': { id: 'l', ...limit, reason: 'more' },
  'agent.run.paused': { reason: 'later', by: 'dana' },
  'agent.run.resumed': { by: 'dana', reason: 'now' },
  'agent.run.suspended': { correlationId: 'c', expiresAt: '2026-01-01T00:00:00.000Z', metadata: { a: 1 }, output: 'I sleep.' },
  'agent.hook.completed': { hook: 'before:tool', toolCallId: 'call_2', durationMs: 1, answered: ['args'], editedArguments: '{"b":1}' },
  'thread.run.requires_action': { pending: [{ kind: 'approval', toolCallId: 'call_1', name: 'pay', arguments: '{"cents":1}' }] },
  'thread.message.queued': { message: queued, delivery: 'now' },
  'thread.message.superseded': { messageId: 'm8', message: { ...said, id: 'm8' }, reason: 'the thread is over' },
  'thread.closed': { reason: 'idle' },
  'thread.reopened': { reason: 'one more question', by: 'dana' },
  'agent.request.accepted': { request: 'cancel', reason: 'enough', by: 'dana' },
  'agent.request.rejected': { request: 'approve', code: 'not-waiting', reason: 'nothing waits' },
  'thread.context.compaction.started': { stepId: 'run_1-turn-1', reason: 'window' },
  'thread.context.kept': { bytes: 3, requestedBy: 'dana', requestReason: 'it is long' },
  'thread.context.compacted': { reason: 'requested', prunedOutputs: 1, droppedMessages: 2, bytes: 3 },
  'agent.run.summarized': { stepId: 's', output: 'In short.', ...spent, failed: 'no' },
  'thread.run.completed': { finalMessages: [answer], output: 'I pay.', usage, turns: 1 },
  'thread.run.failed': { code: 'server', message: 'it broke', details: { model: 'm', status: 500 } },
  'thread.run.incomplete': { limit: 'turns', max: 2, message: 'enough', output: 'half' },
  'thread.run.cancelled': { reason: 'enough', by: 'dana' },
  'thread.run.expired': { reason: 'suspended', message: 'nobody came' },
};

const state = {
  ...newThread({ threadId: 't', agent: 'a', mode: 'conversation', overrides: {}, queue: [queued] }),
  messages: [said, answer, result],
};

function recorded<T extends DurableEventType>(type: T, data: DurableEventData[T]) {
  return { seq: 7, type, at: 0, runId: 'run_1', data: strip(type, data) };
}

test.each(Object.keys(samples) as DurableEventType[])('%s reads as it was recorded, after serialization', (type) => {
  const record = JSON.parse(JSON.stringify(recorded(type, samples[type])));
  const event = { seq: 7, type, timestamp: '1970-01-01T00:00:00.000Z', threadId: 't', runId: 'run_1', data: samples[type] };
  expect(join(record, state)).toEqual(event as DurableEvent);
});

test('the content of a message, a call or an output is in the state once, and not in the log again', () => {
  const kept = JSON.stringify((Object.keys(samples) as DurableEventType[]).map((type) => recorded(type, samples[type])));
  for (const words of ['I pay.', '"paid"', '\\"cents\\":1']) expect(kept).not.toContain(words);
});

test('an output that differs from the last message is kept, and one that is equal is not', () => {
  const data = samples['thread.run.completed'];
  expect(recorded('thread.run.completed', data).data).not.toHaveProperty('output');
  const other = { ...data, output: 'more than that' };
  expect(join(recorded('thread.run.completed', other), state).data).toEqual(other);
});

test('an answer in progress is shown without its later result', () => {
  const data = { stepId: 's', message: { ...answer, content: [] }, inProgress: true as const };
  expect(join(recorded('thread.message.created', data), state).data).toEqual(data);
});

test('calls are shown with the arguments that were valid at that time', () => {
  const log = [
    { ...recorded('agent.approval.decided', { toolCallId: 'call_1', approved: true, editedArguments: '{"cents":2}' }), seq: 5 },
    { ...recorded('agent.approval.decided', { toolCallId: 'call_1', approved: true, editedArguments: '{"cents":3}' }), seq: 9 },
  ];
  const shown = (decided: typeof log) =>
    join(recorded('thread.run.requires_action', samples['thread.run.requires_action']), { ...state, log: decided }).data;
  expect(shown(log)).toMatchObject({ pending: [{ arguments: '{"cents":2}' }] });
  const checked = { toolCallId: 'call_1', approved: true, editedArguments: '{"cents":2}', arguments: '{"cents":2,"note":"none"}' };
  const asTaken = [{ ...recorded('agent.approval.decided', checked), seq: 5 }];
  expect(shown(asTaken)).toMatchObject({ pending: [{ arguments: '{"cents":2,"note":"none"}' }] });
});
