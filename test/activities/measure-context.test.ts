import { measureContext } from '../../src/activities/steps/measure-context';
import { summaryInput } from '../../src/activities/steps/summary-input';
import { type Message, noUsage, textOf } from '../../src/core/message';
import { answerParts } from '../support/answer-parts';

const user = (content: string): Message => ({ id: 'u', role: 'user', content });
const sent = (text: string) => ({ instructions: 'i'.repeat(400), tools: 't'.repeat(800), messages: [user(text)] });
const answer = (inputTokens: number, outputTokens: number) => ({
  parts: answerParts('x'.repeat(40)),
  finishReason: 'stop' as const,
  usage: { ...noUsage, inputTokens, outputTokens },
});

describe('a measure of the context', () => {
  test('[A159] goes by what the provider counted, with the tokenizer of the model of the run', () => {
    const text = '漢'.repeat(8_800);
    expect(measureContext('m', sent(text), answer(5_004, 100), { windowTokens: 9_000, reserveTokens: 500 })).toEqual({
      usedTokens: 5_104,
      windowTokens: 9_000,
      reserveTokens: 500,
      instructionTokens: 200,
      toolTokens: 400,
      charsPerToken: 2,
    });
  });

  test('is an estimate for the family of the model if the provider counted nothing', () => {
    const of = (model: string, text: string) => measureContext(model, sent(text), answer(0, 0), {});
    expect(of('gpt-5', 'x'.repeat(2_800))).toMatchObject({ usedTokens: 1_016, charsPerToken: 4 });
    expect(of('claude-opus-4-5', 'x'.repeat(2_800)).usedTokens).toBeGreaterThan(1_140);
    expect(of('gpt-5', '漢'.repeat(2_800)).usedTokens).toBeGreaterThan(3_000);
  });

  test('after a compaction by the provider is what the answer took, or else an estimate without what was replaced', () => {
    const long = sent('x'.repeat(400_000));
    const compacted = (text: string, more: object = {}) => ({
      ...answer(100_000, 900),
      parts: [{ type: 'compaction' as const, text, opaque: { item: 'y'.repeat(393) } }, ...answerParts('x'.repeat(40))],
      ...more,
    });
    const after = { ...noUsage, inputTokens: 600, outputTokens: 20 };
    expect(measureContext('gpt-5', long, compacted('z'.repeat(400), { usageAfterCompaction: after }), {})).toMatchObject({
      usedTokens: 620,
      charsPerToken: 4,
    });
    // 300 of instructions and tools, 10 of text, and 101 that only the provider can read, each rounded up.
    const { usedTokens } = measureContext('gpt-5', long, compacted(''), {});
    expect(usedTokens).toBeGreaterThanOrEqual(411);
    expect(usedTokens).toBeLessThan(415);
  });

  test('does not take a short request, or an absurd count, for the ratio of a tokenizer', () => {
    const short = { instructions: '', tools: '', messages: [user('hi')] };
    expect(measureContext('m', short, answer(900, 1), {}).charsPerToken).toBeLessThanOrEqual(4);
    expect(measureContext('m', sent('x'.repeat(50_000)), answer(10, 1), {}).charsPerToken).toBe(8);
    expect(measureContext('m', sent('x'.repeat(50_000)), answer(10_000_000, 1), {}).charsPerToken).toBe(0.5);
  });
});

describe('what a model gets for a summary', () => {
  const turn = (n: number): Message[] => [
    { id: `a${n}`, role: 'assistant', content: answerParts(`step ${n}`, [{ id: `c${n}`, name: 'read', arguments: '{}' }]), attempt: 1 },
    { id: `t${n}`, role: 'tool', toolCallId: `c${n}`, name: 'read', content: `output ${n} ${'x'.repeat(4_000)}`, isError: false },
  ];
  const messages = [user('the task'), ...Array.from({ length: 10 }, (_, i) => turn(i)).flat()];
  const input = (maxTokens: number, windowTokens: number | undefined, maxInputTokens?: number) =>
    textOf(
      summaryInput(
        messages,
        { end: messages.length, maxTokens, charsPerToken: 4, ...(maxInputTokens && { maxInputTokens }) },
        { id: 'm', windowTokens, wanted: undefined },
      )[0]!.content as string,
    );

  test('is all of it if the window is not known or large enough', () => {
    for (const text of [input(500, undefined), input(500, 100_000)]) expect(text.match(/x{4000}/g)).toHaveLength(10);
  });

  test('is what fits into the window of the model that writes it: the oldest outputs are left out first', () => {
    const text = input(500, 8_000);
    expect(text.length / 4).toBeLessThan(7_500);
    expect(text).toMatch(/the task[\s\S]*step 0[\s\S]*Old tool result content cleared[\s\S]*output 9 x{4000}/);
    expect(input(500, undefined, 3_000).length / 4).toBeLessThan(4_000);
  });

  test('is the beginning of the transcript, up to the turns that stay', () => {
    const [message] = summaryInput(
      messages,
      { end: 5, maxTokens: 500, charsPerToken: 4 },
      { id: 'm', windowTokens: undefined, wanted: undefined },
    );
    expect(textOf(message!.content as string)).toMatch(/step 1/);
    expect(textOf(message!.content as string)).not.toMatch(/step 2/);
  });
});
