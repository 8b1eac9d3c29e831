import fc from 'fast-check';
import { checkThreadInput } from '../../src/core/thread-input';

test('a thread needs only an agent and an input', () => {
  expect(checkThreadInput({ agent: 'coder', input: 'hi' })).toBeUndefined();
  expect(
    checkThreadInput({
      agent: 'coder',
      input: [{ type: 'text', text: 'hi' }],
      mode: 'conversation',
      model: 'openai/gpt-5',
      settings: { temperature: 0, maxTokens: 10, toolChoice: { tool: 'shell' }, providerOptions: { seed: 1 } },
      limits: { turns: 0, toolCalls: 3, toolRounds: 2, tokens: 5_000, costUsd: 0.25, wallClockMs: 60_000, contextTokens: 0 },
      threadLimits: { costUsd: 10 },
      atLimit: 'hand-out',
      strategy: 'parallel',
      idleTimeoutMs: 0,
    }),
  ).toBeUndefined();
});

const good = { agent: 'coder', input: 'hi' };
test.each([
  [undefined, 'a thread is started with { agent, input }'],
  ['hi', 'it was given "hi"'],
  [{ input: 'hi' }, 'agent must be the name of an agent; it is undefined'],
  [{ agent: ' ', input: 'hi' }, 'agent must be the name of an agent'],
  [{ agent: 'coder' }, 'the input must be a string'],
  [{ agent: 'coder', input: '' }, 'the input is empty'],
  [{ ...good, mode: 'chat' }, 'mode must be "one-shot" or "conversation"; it is "chat"'],
  [{ ...good, model: 5 }, "model must be a model's name, or a list of 1 to 10; it is 5"],
  [{ ...good, strategy: 'fast' }, 'strategy must be'],
  [
    { ...good, idleTimeoutMs: -1 },
    'idleTimeoutMs must be a whole number of milliseconds, at most 315360000000 (ten years; 0 is for ever); it is -1',
  ],
  [{ ...good, settings: [] }, 'settings must be an object'],
  [{ ...good, settings: { temperature: 3 } }, 'settings.temperature must be a number from 0 to 2; it is 3'],
  [{ ...good, settings: { temperature: '1' } }, 'settings.temperature must be a number'],
  [{ ...good, settings: { maxTokens: 0 } }, 'settings.maxTokens must be a whole number above 0'],
  [{ ...good, settings: { toolChoice: 'shell' } }, 'settings.toolChoice must be "auto"'],
  [{ ...good, settings: { providerOptions: 'x' } }, 'settings.providerOptions must be an object'],
  [{ ...good, settings: { providerOptions: { x: 'x'.repeat(100_000) } } }, 'at most 100000 go with a request'],
  [{ ...good, limits: 5 }, 'limits must be an object'],
  [{ ...good, limits: { turns: 1.5 } }, 'limits.turns must be a whole number, 0 or more; it is 1.5'],
  [{ ...good, limits: { token: 5 } }, 'limits.token is not a limit; known are turns, toolRounds, toolCalls, tokens'],
  [{ ...good, limits: { tokens: -1 } }, 'limits.tokens must be a whole number, 0 or more; it is -1'],
  [{ ...good, limits: { costUsd: -0.01 } }, 'limits.costUsd must be a number of dollars, 0 or more; it is -0.01'],
  [{ ...good, limits: { costUsd: '1' } }, 'limits.costUsd must be a number of dollars'],
  [{ ...good, threadLimits: [] }, 'threadLimits must be an object'],
  [{ ...good, threadLimits: { turns: '5' } }, 'threadLimits.turns must be a whole number, 0 or more; it is "5"'],
  [{ ...good, atLimit: 'halt' }, 'atLimit must be one of "stop", "summarize", "hand-out", "ask", "fail"; it is "halt"'],
  [{ ...good, idleTimeoutMs: 1e15 }, 'at most 315360000000'],
  [{ ...good, maxTurns: 5 }, 'maxTurns is not known; known are agent, input'],
  [{ ...good, settings: { max_tokens: 5 } }, 'settings.max_tokens is not known; known are temperature'],
])('a start with %j is refused with the reason', (input, words) => {
  expect(checkThreadInput(input)).toContain(words);
});

test('no JSON value makes the check throw', () => {
  const fields = ['mode', 'model', 'settings', 'limits', 'threadLimits', 'atLimit', 'strategy', 'idleTimeoutMs', 'input', 'agent'];
  const anything = fc.oneof(
    fc.jsonValue(),
    fc.dictionary(fc.constantFrom(...fields), fc.jsonValue()).map((extra) => ({ ...good, ...extra })),
  );
  fc.assert(
    fc.property(anything, (input) => {
      expect(['string', 'undefined']).toContain(typeof checkThreadInput(input));
    }),
    { numRuns: 500 },
  );
});
