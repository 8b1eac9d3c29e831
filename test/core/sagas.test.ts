import { bounds } from '../../src/core/bounds';
import { compensationRetry, whyNoMoreSagas } from '../../src/core/sagas';
import type { RunState } from '../../src/core/state';
import type { ToolOutcome } from '../../src/core/tool';
import { Story } from './story';

/** A run with a `saga` call that began. */
function began(): { story: Story; id: string; sagas: () => RunState['sagas'] } {
  const story = new Story();
  story.say('go');
  story.begin();
  const play = story.call;
  story.call = () => undefined;
  const verdict = { kind: 'run' as const, effect: 'saga' as const, timeoutMs: 7, retry: { maxAttempts: 3 } };
  story.turn({ text: '', said: [], calls: [{ arguments: '{"seat":1}', status: 'success', output: 'x', verdict }] });
  story.call = play;
  const call = story.state.run?.calls[0];
  const id = call?.id ?? '';
  story.record('agent.tool.execution.started', { stepId: 's', toolCallId: id, name: call?.name ?? '' });
  return { story, id, sagas: () => story.state.run?.sagas };
}

function end({ story, id }: ReturnType<typeof began>, status: ToolOutcome['status'], result?: string): void {
  const isError = status !== 'success';
  const data = { stepId: 's', toolCallId: id, name: 'book', status, isError, messageId: 'm', output: 'booked' };
  story.record('agent.tool.execution.completed', data, result === undefined ? {} : { result });
}

test('a saga call is noted when it begins, and gets what the tool returned when it succeeds', () => {
  const run = began();
  const noted = { id: run.id, arguments: '{"seat":1}', timeoutMs: 7, retry: { maxAttempts: 3 } };
  expect(run.sagas()).toMatchObject([noted]);
  end(run, 'success', 'seat 1');
  expect(run.sagas()).toMatchObject([{ ...noted, output: 'seat 1' }]);
});

test.each(['failed', 'timed-out', 'unknown', 'cancelled'] as const)(
  'a call that is %s may have been carried out: it stays, without an output',
  (status) => {
    const run = began();
    end(run, status);
    expect(run.sagas()).toHaveLength(1);
    expect(run.sagas()?.[0]).not.toHaveProperty('output');
  },
);

test.each(['skipped', 'denied'] as const)('a call that is %s after all is not compensated', (status) => {
  const run = began();
  end(run, status);
  expect(run.sagas()).toEqual([]);
});

test('an output that is too long is not kept', () => {
  const run = began();
  end(run, 'success', 'x'.repeat(bounds.sagaOutputBytes));
  expect(run.sagas()?.[0]).not.toHaveProperty('output');
});

test('a run keeps a bounded amount, and says no to a call for which there is no room', () => {
  const { story, sagas } = began();
  const run = story.state.run as RunState;
  expect(whyNoMoreSagas(run, '{}')).toBeUndefined();
  expect(whyNoMoreSagas(run, 'x'.repeat(bounds.sagaBytes))).toMatchObject({ name: 'TooManyCallsError' });
  const [one] = sagas() ?? [];
  const many = one ? Array.from({ length: 200 }, () => one) : [];
  expect(whyNoMoreSagas({ ...run, sagas: many }, '{}')?.message).toContain('after 200 such calls');
});

test('a compensation is retried by the policy of its tool, or for about ten minutes', () => {
  expect(compensationRetry(undefined)).toEqual({ maxAttempts: 15, initialMs: 1_000, maxMs: 60_000 });
  expect(compensationRetry({ maxAttempts: 2, initialMs: 100_000 })).toEqual({ maxAttempts: 2, initialMs: 100_000, maxMs: 100_000 });
});
