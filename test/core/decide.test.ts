import type { Limits } from '../../src/core/agent';
import { affordableCalls, afterAnswer, beforeTurn, limitsOf } from '../../src/core/decide';
import type { RunState, ThreadState } from '../../src/core/state';
import { Story } from './story';

function thread(agent: Limits, own?: Limits): { state: ThreadState; run: RunState } {
  const story = new Story();
  story.say('go');
  const run = story.begin();
  Object.assign(story.state.facts ?? {}, { limits: agent });
  if (own) story.state.overrides.limits = own;
  return { state: story.state, run };
}

describe('limits', () => {
  test('of a run win over those of its agent, one by one', () => {
    expect(limitsOf(thread({ turns: 5, toolCalls: 9 }, { turns: 2 }).state)).toEqual({ turns: 2, toolCalls: 9 });
  });

  test('[B6] the number of turns is bounded by default, at 100, and the model is never called more often', () => {
    const { state, run } = thread({});
    run.turn = 99;
    expect(beforeTurn(state, run)).toBeUndefined();
    run.turn = 100;
    expect(beforeTurn(state, run)).toEqual({ type: 'incomplete', limit: 'turns', max: 100 });
  });

  test('[B6] any other bound can be set, also 200, and also none at all', () => {
    const two = thread({ turns: 200 });
    two.run.turn = 199;
    expect(beforeTurn(two.state, two.run)).toBeUndefined();
    two.run.turn = 200;
    expect(beforeTurn(two.state, two.run)).toMatchObject({ max: 200 });
    const none = thread({ turns: 0 });
    expect(beforeTurn(none.state, none.run)).toEqual({ type: 'incomplete', limit: 'turns', max: 0 });
  });

  test('of tool calls count down, and never below nothing', () => {
    const { state, run } = thread({ toolCalls: 3 });
    run.toolCalls = 2;
    expect(affordableCalls(state, run)).toBe(1);
    run.toolCalls = 5;
    expect(affordableCalls(state, run)).toBe(0);
    expect(affordableCalls(thread({}).state, run)).toBe(Number.POSITIVE_INFINITY);
  });
});

describe('an answer', () => {
  test('[A79] without calls ends the run', () => {
    expect(afterAnswer('stop', 0)).toEqual({ type: 'completed' });
    expect(afterAnswer('unknown', 0)).toEqual({ type: 'completed' });
  });

  test('[A45] with calls has them followed, whatever reason the provider gave', () => {
    for (const reason of ['tool_calls', 'stop', 'unknown'] as const) expect(afterAnswer(reason, 1)).toBeUndefined();
  });

  test('that was cut or filtered fails the run, also where it has calls: their arguments can not be trusted', () => {
    for (const calls of [0, 2]) {
      expect(afterAnswer('length', calls)).toMatchObject({
        type: 'failed',
        code: 'llm_finish_reason_error',
        message: expect.stringContaining('maxTokens'),
      });
      expect(afterAnswer('content_filter', calls)).toMatchObject({ type: 'failed', code: 'llm_finish_reason_error' });
    }
  });

  test('that announces calls and has none fails the run instead of ending it well', () => {
    expect(afterAnswer('tool_calls', 0)).toMatchObject({ type: 'failed', message: expect.stringContaining('sent none') });
  });
});
