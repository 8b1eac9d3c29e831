import fc from 'fast-check';
import type { HookName } from '../../src/core/hooks';
import { hookNames } from '../../src/core/hooks';
import { checkAnswer } from '../../src/hooks/check-answer';
import { capContent } from '../../src/tools/running/output-cap';

const answerOf = (name: HookName, value: unknown) => checkAnswer(name, value, capContent);

describe('an answer', () => {
  test.each<[HookName, object]>([
    ['before:execution', { messages: ['Mind the budget.', [{ type: 'text', text: 'a' }]], block: 'no' }],
    ['after:execution', {}],
    ['pause:check', { pause: true, reason: 'maintenance' }],
    ['before:llm', { model: 'openai/gpt-5', settings: { temperature: 0 }, instructions: 'Be brief.', skip: false }],
    ['after:llm', { text: '' }],
    ['before:tool', { args: {}, skip: true, mockResult: { a: [1] } }],
    ['after:tool', { content: [{ type: 'text', text: 'a' }], retry: true }],
    ['approve:tool', { approved: false, reason: 'no', stop: true }],
    ['approve:tool', { ask: {} }],
    [
      'approve:tool',
      {
        ask: {
          reason: 'large',
          users: ['dana', 'kim'],
          approvers: 2,
          deadlineMs: 60_000,
          onDeadline: ['ask-again', { escalate: ['board'] }, 'deny'],
          remember: [
            { tool: 'shell', prefix: ['git', 'status'] },
            { tool: 'shell', prefix: ['node', 'a b', ''], exact: true },
            { tool: 'pay' },
          ],
        },
      },
    ],
    ['check:completion', { prompt: 'The tests are missing.' }],
  ])('of %s may be %j', (name, answer) => {
    expect(answerOf(name, answer)).toEqual({ answer });
  });

  test.each<[HookName, unknown, string]>([
    ['before:llm', 'skip', '"skip" is not an object'],
    ['before:llm', [], 'a list is not an object'],
    ['before:llm', [Object.assign(Object.create(null), { a: 5n })], 'a list is not an object'],
    ['before:llm', false, 'false is not an object'],
    ['after:execution', { text: 'a' }, '"text" is not known; after:execution may answer nothing'],
    ['before:llm', { modified: {} }, '"modified" is not known; before:llm may answer model, settings, instructions, skip, block'],
    ['before:llm', { constructor: 1 }, '"constructor" is not known'],
    ['before:llm', { model: '' }, 'model must be a string that is not blank'],
    ['before:llm', { settings: { temperature: 9 } }, 'settings.temperature must be a number from 0 to 2'],
    ['before:llm', { settings: [] }, 'settings must be an object'],
    ['before:llm', { skip: 1 }, 'skip must be true or false'],
    ['before:llm', { block: true }, 'block must be a string that is not blank; it is true'],
    ['before:llm', { block: ' ' }, 'block must be a string that is not blank; it is " "'],
    ['before:llm', { block: null }, 'block must be a string'],
    ['before:execution', { messages: 'hello' }, 'messages must be a list'],
    ['before:execution', { messages: ['a', ''] }, 'messages [1]: the input is empty'],
    ['after:llm', { text: 5 }, 'text must be a string'],
    ['before:tool', { args: '{}' }, 'args must be an object'],
    ['before:tool', { args: [] }, 'args must be an object'],
    ['before:tool', { mockResult: 5n }, "it can't be written as JSON"],
    ['after:tool', { content: 5n }, "it can't be written as JSON"],
    ['check:completion', { prompt: '' }, 'prompt must be a string that is not blank'],
    ['pause:check', { pause: 'yes' }, 'pause must be true or false'],
    ['approve:tool', { ask: true }, 'ask must be an object that says how people are asked'],
    ['approve:tool', { ask: { group: 'finance' } }, 'ask has "group", which is not known; known are reason, users, groups'],
    [
      'approve:tool',
      { ask: { groups: [] } },
      'ask has groups, which must be a list of names, each of at most 200 characters and none of them invisible; it is []',
    ],
    ['approve:tool', { ask: { reason: '' } }, 'ask has reason, which must be a string'],
    ['approve:tool', { ask: { approvers: 0 } }, 'ask has approvers, which must be a whole number above 0'],
    ['approve:tool', { ask: { users: ['dana', 'dana'], approvers: 2 } }, 'ask needs 2 approvers, but names only 1 users and no group'],
    ['approve:tool', { ask: { deadlineMs: 0 } }, 'ask has deadlineMs'],
    ['approve:tool', { ask: { deadlineMs: 0.5, onDeadline: ['ask-again'] } }, 'ask has deadlineMs, which must be milliseconds from 1'],
    ['approve:tool', { ask: { deadlineMs: 1e20 } }, 'ask has deadlineMs'],
    ['approve:tool', { ask: { onDeadline: 'deny' } }, 'ask has onDeadline'],
    ['approve:tool', { ask: { onDeadline: [{ escalate: [] }] } }, 'ask has onDeadline'],
    ['approve:tool', { ask: { remember: [{ prefix: ['git'] }] } }, 'ask has remember'],
    ['approve:tool', { ask: { remember: [{ tool: 'shell', exact: true }] } }, 'ask has remember'],
    ['approve:tool', { stop: true }, 'stop goes with approved: false'],
  ])('of %s may not be %p', (name, answer, problem) => {
    expect(answerOf(name, answer)).toEqual({ error: expect.stringContaining(`returned an invalid answer: ${problem}`) });
  });

  test('is invalid if it has no end, and no more of it is read than an answer may have', () => {
    let read = 0;
    const row = { toJSON: () => `row ${++read} of some length` };
    expect(answerOf('before:execution', { messages: Array(5_000_000).fill(row) })).toEqual({
      error: expect.stringContaining('it has more than 2500000 characters'),
    });
    expect(read).toBeLessThan(400_000);
    const endless = (): object => ({ toJSON: () => ({ again: endless() }) });
    expect(answerOf('before:tool', { args: { a: endless() } })).toEqual({
      error: expect.stringContaining('nested deeper than 1000 levels'),
    });
    // Of a result the model sees the beginning and the end.
    expect(answerOf('before:tool', { skip: true, mockResult: Array(5_000_000).fill('row') })).toHaveProperty('answer.mockResult');
  });

  test('is invalid if it has more bytes than a payload can hold', () => {
    const much: [HookName, object, string][] = [
      ['before:llm', { block: 'x'.repeat(5_000) }, 'block has 5002 bytes; at most 4000'],
      ['before:execution', { messages: Array(4).fill('x'.repeat(500_000)) }, 'messages has 2000013 bytes; at most 1500000'],
      ['after:llm', { text: 'x'.repeat(1_600_000) }, 'text has 1600002 bytes'],
      ['before:tool', { args: { a: 'x'.repeat(500_000) } }, 'args has 500008 bytes; at most 500000'],
    ];
    for (const [name, answer, problem] of much) {
      expect(answerOf(name, answer)).toEqual({ error: expect.stringContaining(`returned an invalid answer: ${problem}`) });
    }
  });

  test('that can not be serialized is invalid, not a failure of the step', () => {
    const circle: Record<string, unknown> = {};
    circle.args = circle;
    const trap = {
      get args() {
        throw new Error('a trap');
      },
    };
    for (const value of [circle, trap])
      expect(answerOf('before:tool', value)).toEqual({ error: expect.stringContaining('written as JSON') });
  });

  test('keeps a mock result that is false, 0, empty or null, and shortens one that is too long for the model', () => {
    for (const mockResult of [false, 0, '', null, [], { a: 1 }]) {
      expect(answerOf('before:tool', { skip: true, mockResult })).toEqual({ answer: { skip: true, mockResult } });
    }
    expect(answerOf('before:tool', { skip: true, mockResult: undefined })).toEqual({ answer: { skip: true } });
    const { answer } = answerOf('before:tool', { mockResult: { log: 'x'.repeat(100_000) } }) as { answer: { mockResult: string } };
    expect(answer.mockResult).toContain('left out, not kept');
    expect(Buffer.byteLength(answer.mockResult)).toBeLessThanOrEqual(50 * 1024);
  });

  test('is a copy: later changes by the hook have no effect', () => {
    const args = { list: [1] };
    const { answer } = answerOf('before:tool', { args }) as { answer: { args: typeof args } };
    args.list.push(2);
    expect(answer.args).toEqual({ list: [1] });
  });

  test('of any kind is plain JSON that fits into a payload, or invalid, and never throws', () => {
    const fields = ['messages', 'text', 'args', 'skip', 'mockResult', 'content', 'approved', 'ask', 'stop', 'reason', 'block', 'prompt'];
    const any = fc.oneof(
      fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true }),
      fc.dictionary(fc.constantFrom(...fields), fc.anything()),
    );
    fc.assert(
      fc.property(fc.constantFrom(...hookNames), any, (name, value) => {
        const checked = answerOf(name, value);
        if ('error' in checked) return expect(checked.error).toMatch(/^returned an invalid answer: /);
        expect(JSON.parse(JSON.stringify(checked.answer))).toEqual(checked.answer);
      }),
      { numRuns: 500 },
    );
  });
});
