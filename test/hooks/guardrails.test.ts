import { inputGuard } from '../../examples/guardrail-input';
import { outputGuard } from '../../examples/guardrail-output';
import { toolGuard } from '../../examples/guardrail-tools';
import type { Message } from '../../src/core/message';
import { hostWith, inputs } from './hook-host';

// The guards of the examples, without an engine around them.
const said = (...texts: string[]): Message[] => texts.map((content, i) => ({ id: `m${i}`, role: 'user', content }));

describe('the guard on input', () => {
  test.each([
    ['My card is 4111 1111 1111 1111', 'without the card number'],
    ['4111111111111111', 'without the card number'],
    ['I will sue you', 'legal@paint.example'],
    ['My order is 4111 1111 1111 1112', undefined],
    ['Is blue in stock?', undefined],
  ])('of %j', async (text, reason) => {
    const messages = said('Hello', text);
    const before = await inputGuard.run('before:execution', { messages }, hostWith());
    const later = await inputGuard.run('before:llm', inputs['before:llm'], hostWith({ messages: async () => messages }));
    for (const { answer } of [before, later]) expect(answer).toEqual(reason ? { block: expect.stringContaining(reason) } : {});
  });

  test('stops a conversation that it can not read', async () => {
    const { reports } = await inputGuard.run('before:llm', inputs['before:llm'], hostWith());
    expect(reports).toEqual([expect.objectContaining({ id: 'transcript-guard', error: expect.any(String), mode: 'fail' })]);
  });
});

test.each([
  ['Write to dana@paint.example, please.', { text: 'Write to [address removed], please.' }],
  ['The key is sk-abcdefghijklmnopqrstuvwx.', { block: 'The answer had a key in it.' }],
  ['Blue is in stock.', {}],
])('the guard on output, of %j', async (text, expected) => {
  expect((await outputGuard.run('after:llm', { ...inputs['after:llm'], text }, hostWith())).answer).toEqual(expected);
});

describe('the guard on tools', () => {
  const discount = (args: object) => ({ call: { id: 'c1', name: 'set_discount', arguments: JSON.stringify(args) } });

  test.each([
    [{ percent: 10 }, { approved: true }],
    [{ percent: 40 }, { ask: { reason: '40 percent is more than usual', users: ['kim'] } }],
    [{ percent: 90 }, { approved: false, reason: 'no discount is above 50 percent' }],
    [{ percent: 'all of it' }, { approved: false, reason: 'no discount is above 50 percent' }],
  ])('decides on %j', async (args, expected) => {
    expect((await toolGuard.run('approve:tool', discount(args), hostWith())).answer).toEqual(expected);
  });

  test('refuses arguments that it can not read', async () => {
    const call = { id: 'c1', name: 'set_discount', arguments: '{' };
    expect((await toolGuard.run('approve:tool', { call }, hostWith())).answer).toMatchObject({ approved: false });
  });

  test('limits the days of a discount, and leaves other calls alone', async () => {
    const days = async (args: object) => (await toolGuard.run('before:tool', discount(args), hostWith())).answer;
    expect(await days({ percent: 10, days: 7 })).toEqual({});
    expect(await days({ percent: 10, days: 400 })).toEqual({ args: { percent: 10, days: 14 } });
    expect(await days({ percent: 10 })).toEqual({ args: { percent: 10, days: 14 } });
    const other = { call: { id: 'c1', name: 'other', arguments: '{}' } };
    expect((await toolGuard.run('approve:tool', other, hostWith())).answer).toEqual({});
    expect((await toolGuard.run('before:tool', other, hostWith())).answer).toEqual({});
  });
});
