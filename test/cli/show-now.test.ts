import { nowLines, type PendingStep, runningCalls, stepLines } from '../../src/cli/views/show-now';
import type { DurableEvent, DurableEventData, DurableEventType } from '../../src/core/event';

const start = Date.UTC(2026, 0, 31, 12);
const at = start + 60_000;
const iso = (ms: number) => new Date(start + ms).toISOString();

function event<T extends DurableEventType>(type: T, data: Partial<DurableEventData[T]>, ms = 0): DurableEvent {
  return { seq: 1, type, timestamp: iso(ms), threadId: 't', runId: 'r', data } as unknown as DurableEvent;
}

const made = event('thread.run.step.tool_call.completed_by_llm', { toolCall: { id: 'c1', name: 'pay', arguments: '{"id":"812"}' } });
const begun = event('agent.tool.execution.started', { toolCallId: 'c1', name: 'pay' }, 18_000);
const now = (...events: DurableEvent[]) => nowLines(runningCalls(events), at).map(({ text }) => text);

test('what runs is shown with its arguments and for how long, until it has ended', () => {
  expect(now(made, begun)).toEqual(['pay "812" (c1) for 42 s']);
  const edited = event('agent.approval.decided', { toolCallId: 'c1', approved: true, editedArguments: '{"id":"813"}' });
  expect(now(made, edited, begun)).toEqual(['pay "813" (c1) for 42 s']);
  for (const end of [
    event('agent.tool.execution.completed', { toolCallId: 'c1', name: 'pay' }),
    event('agent.tool.outcome.unknown', { toolCallId: 'c1', name: 'pay' }),
    event('agent.tool.question.asked', { toolCallId: 'c1', name: 'pay' }),
    event('agent.tool.background.completed', { toolCallId: 'c1', name: 'pay' }),
    event('thread.run.cancelled', {}),
  ]) {
    expect(now(made, begun, end)).toEqual([]);
  }
  expect(now(made, begun, event('agent.tool.execution.completed', { toolCallId: 'c1', background: true }))).toHaveLength(1);
});

test('a call of the model is shown until its message is complete or given up', () => {
  const message = { id: 'm1', role: 'assistant' as const, content: [], attempt: 1 };
  const writing = event('thread.message.created', { message, inProgress: true }, 30_000);
  expect(now(writing)).toEqual(['the model for 30 s']);
  expect(now(writing, event('thread.message.completed', { message }))).toEqual([]);
  expect(now(writing, event('thread.message.incomplete', { messageId: 'm1' }))).toEqual([]);
});

test('a step is shown if more is known than that it runs: attempts, silence, or that it waits for a worker', () => {
  const lines = (step: Partial<PendingStep>, known = true) =>
    stepLines([{ name: 'runTool', attempt: 1, ...step }], known ? [] : undefined, at).map(({ text }) => text);
  const healthy = { runningSince: iso(50_000), heartbeatAt: iso(58_000) };
  expect(lines(healthy)).toEqual([]);
  expect(lines(healthy, false)).toEqual(['step runTool, attempt 1; begun 10 s ago; last sign of life 2 s ago']);
  expect(lines({ runningSince: iso(20_000), heartbeatAt: iso(30_000) })).toEqual([
    'step runTool, attempt 1; begun 40 s ago; last sign of life 30 s ago',
  ]);
  expect(lines({ attempt: 2, waitingSince: iso(40_000), lastFailure: 'its worker was lost' })).toEqual([
    'step runTool, attempt 2; waits for a worker, scheduled 20 s ago; the attempt before: its worker was lost',
  ]);
});
