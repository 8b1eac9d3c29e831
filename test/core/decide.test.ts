import fc from 'fast-check';
import { type AgentFacts, type LimitName, type Limits, limitNames } from '../../src/core/agent';
import { afterAnswer, beforeTurn, limitWords } from '../../src/core/decide';
import { excessCalls, limitsOf, reached, remaining, spent, workedMs } from '../../src/core/spent';
import type { RunState, ThreadState } from '../../src/core/state';
import { Story } from './story';

function thread(agent: Partial<AgentFacts>, own?: Limits): { state: ThreadState; run: RunState; story: Story } {
  const story = new Story();
  story.say('mend the roof');
  const run = story.begin();
  Object.assign(story.state.facts ?? {}, agent);
  if (own) story.state.overrides.limits = own;
  return { state: story.state, run, story };
}

const now = 1_700_000_000_000;

describe('limits', () => {
  test('of a run override those of its agent, one by one', () => {
    expect(limitsOf(thread({ limits: { turns: 5, toolCalls: 9 } }, { turns: 2 }).state).run).toEqual({ turns: 2, toolCalls: 9 });
  });

  test('[B6] the number of turns is limited to 100 by default, and the model is never called more often', () => {
    const { state, run } = thread({});
    run.turn = 99;
    expect(beforeTurn(state, now)).toBeUndefined();
    run.turn = 100;
    expect(beforeTurn(state, now)).toEqual({ limit: 'turns', max: 100, scope: 'run' });
  });

  test('[B6][A88] any other limit can be set, such as 10 or 200, or none', () => {
    for (const turns of [10, 200]) {
      const { state, run } = thread({ limits: { turns } });
      run.turn = turns - 1;
      expect(beforeTurn(state, now)).toBeUndefined();
      run.turn = turns;
      expect(beforeTurn(state, now)).toMatchObject({ max: turns });
    }
    expect(beforeTurn(thread({ limits: { turns: 0 } }).state, now)).toEqual({ limit: 'turns', max: 0, scope: 'run' });
  });

  test('[B71] 0 is a limit: 0 of any kind forbids the first call, and an unset limit forbids none', () => {
    for (const name of ['turns', 'tokens', 'costUsd', 'wallClockMs', 'contextTokens'] as const) {
      expect(beforeTurn(thread({ limits: { [name]: 0 } }).state, now)).toMatchObject({ limit: name, max: 0 });
      expect(beforeTurn(thread({ threadLimits: { [name]: 0 } }).state, now)).toMatchObject({ limit: name, scope: 'thread' });
    }
    expect(beforeTurn(thread({}).state, now)).toBeUndefined();
  });

  test('of tool calls select the calls that exceed them, and never more than there are', () => {
    const calls = ['a', 'b', 'c'].map((id) => ({ id }));
    const { state, run } = thread({ limits: { toolCalls: 3 } });
    run.toolCalls = 2;
    expect(excessCalls(state, now, calls, undefined)).toEqual({ excess: ['b', 'c'], at: { limit: 'toolCalls', max: 3, scope: 'run' } });
    run.toolCalls = 5;
    expect(excessCalls(state, now, calls, undefined).excess).toEqual(['a', 'b', 'c']);
    expect(excessCalls(thread({}).state, now, calls, undefined)).toEqual({ excess: [] });
    const scarcer = thread({ limits: { toolCalls: 3 }, threadLimits: { toolCalls: 1 } }).state;
    expect(excessCalls(scarcer, now, calls, undefined).at).toEqual({ limit: 'toolCalls', max: 1, scope: 'thread' });
  });

  test('the rest and the spent amount add up to the limit, however much was spent', () => {
    const amount = fc.integer({ min: 0, max: 1_000 });
    fc.assert(
      fc.property(fc.constantFrom<LimitName>(...limitNames), amount, amount, (name, max, used) => {
        const { state, run } = thread({ limits: { [name]: max } });
        run.startedAt = now - used;
        Object.assign(run, { turn: used, toolRounds: used, toolCalls: used, costUsd: used, context: used });
        run.usage = { inputTokens: used, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 0, reasoningTokens: 0 };
        expect(spent(state, now).run[name]).toBe(used);
        expect(remaining(state, now).run[name]).toBe(Math.max(0, max - used));
        expect(reached(state, now, [name]) !== undefined).toBe(used >= max);
      }),
    );
  });

  test('of the thread count all its runs together', () => {
    const { state, story } = thread({ threadLimits: { turns: 3 } });
    const turn = { text: 'so be it', calls: [], said: [] };
    story.turn(turn);
    story.turn(turn);
    story.end('completed');
    story.say('and again');
    story.begin();
    Object.assign(state.facts ?? {}, { threadLimits: { turns: 3 } });
    expect(beforeTurn(state, now)).toBeUndefined();
    story.turn(turn);
    expect(beforeTurn(state, now)).toEqual({ limit: 'turns', max: 3, scope: 'thread' });
  });

  test('[A85] a time limit counts active time, not the time in which a run waits for a person', () => {
    const { run, story } = thread({});
    const begun = run.startedAt;
    expect(workedMs(run, begun + 5_000)).toBe(5_000);
    story.status('requires_action');
    const rested = run.waitingSince as number;
    expect(workedMs(run, rested + 1_000_000)).toBe(rested - begun);
  });

  test('are reported in a message that names the limit, its size and its owner', () => {
    expect(limitWords({ limit: 'costUsd', max: 2, scope: 'thread' })).toBe('The thread reached its limit of 2 USD.');
    expect(limitWords({ limit: 'turns', max: 5, scope: 'run' })).toBe('The run reached its limit of 5 turns.');
  });
});

describe('an answer', () => {
  const answer = { finishReason: 'stop', calls: 0, text: 'The roof is mended.' } as const;

  test('[A79][A76] without calls ends the run, even if the provider gives no finish reason', () => {
    expect(afterAnswer(thread({}).state, answer)).toEqual({ type: 'completed' });
    expect(afterAnswer(thread({}).state, { ...answer, finishReason: 'unknown' })).toEqual({ type: 'completed' });
  });

  test('[A45] with calls has them carried out, whatever finish reason the provider gave', () => {
    for (const finishReason of ['tool_calls', 'stop', 'unknown'] as const) {
      expect(afterAnswer(thread({}).state, { ...answer, finishReason, calls: 1 })).toBeUndefined();
    }
  });

  test('[A74][A75] that was cut or filtered fails the run, even if it has calls, because their arguments can not be trusted', () => {
    for (const calls of [0, 2]) {
      expect(afterAnswer(thread({}).state, { ...answer, finishReason: 'length', calls })).toMatchObject({
        type: 'failed',
        code: 'llm_finish_reason_error',
        message: expect.stringContaining('maxTokens'),
      });
      expect(afterAnswer(thread({}).state, { ...answer, finishReason: 'content_filter', calls })).toMatchObject({
        type: 'failed',
        code: 'llm_finish_reason_error',
      });
    }
  });

  test('[A77] that announces calls and has none fails the run instead of completing it', () => {
    expect(afterAnswer(thread({}).state, { ...answer, finishReason: 'tool_calls' })).toMatchObject({
      type: 'failed',
      code: 'llm_finish_reason_error',
      message: expect.stringContaining('sent none'),
    });
  });

  test('[A84] that is empty ends the run, or is requested again as often as the agent sets', () => {
    const empty = { ...answer, text: ' \n' };
    expect(afterAnswer(thread({}).state, empty)).toEqual({ type: 'completed' });
    const { state, run } = thread({ emptyRetries: 2 });
    expect(afterAnswer(state, empty)).toMatchObject({ type: 'send-back', count: 'empty', waitMs: 1_000 });
    run.sentBack.empty = 1;
    expect(afterAnswer(state, empty)).toMatchObject({ waitMs: 2_000 });
    run.sentBack.empty = 2;
    expect(afterAnswer(state, empty)).toEqual({ type: 'completed' });
  });

  test('that does not match the output schema is sent back with the problems, and fails the run after the set number of times', () => {
    const { state, run } = thread({ outputRetries: 1 });
    const wrong = { ...answer, problems: ['answer.price: expected number'] };
    expect(afterAnswer(state, wrong)).toMatchObject({
      type: 'send-back',
      count: 'output',
      prompt: expect.stringContaining('answer.price: expected number'),
    });
    run.sentBack.output = 1;
    expect(afterAnswer(state, wrong)).toMatchObject({
      type: 'failed',
      code: 'output_invalid',
      message: expect.stringContaining('2 attempts'),
    });
  });
});

describe('an agent that verifies', () => {
  const verify = { kind: 'verify', rounds: 1, max: 3 } as const;
  const answer = { finishReason: 'stop', calls: 0, text: 'Done.' } as const;

  function withTask(stop: AgentFacts['stop']) {
    const made = thread({ stop });
    made.state.messages.push({ id: made.run.opening[0] as string, role: 'user', content: 'mend the roof' });
    return made;
  }

  test('[B2][B15] has its first answer sent back with the task word for word, but only if verification is enabled', () => {
    const { state } = withTask(verify);
    expect(afterAnswer(state, answer)).toMatchObject({
      type: 'send-back',
      count: 'verify',
      prompt: expect.stringMatching(/mend the roof/),
    });
    expect(afterAnswer(withTask({ kind: 'immediate' }).state, answer)).toEqual({ type: 'completed' });
  });

  test('[B3] may end with its second consecutive answer', () => {
    const { state, run } = withTask(verify);
    run.sentBack.verify = 1;
    expect(afterAnswer(state, answer)).toEqual({ type: 'completed' });
  });

  test('[B5] is verified at most a set number of times in a run, however many tools it calls in between', () => {
    const { state, run } = withTask(verify);
    run.sentBack.verifyInAll = 3;
    expect(afterAnswer(state, answer)).toEqual({ type: 'completed' });
  });

  test('[B21][B22] must call the tool `done` if the agent requires that, and gets a reminder', () => {
    const { state } = thread({ stop: { kind: 'done-tool' } });
    expect(afterAnswer(state, answer)).toMatchObject({ type: 'send-back', count: 'nudge', prompt: expect.stringContaining('`done`') });
  });
});
