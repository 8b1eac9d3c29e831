import type { AnswerPart, ToolCall } from '../../src/core/message';

/** The parts of an answer, in the order in which most providers send them. */
export function answerParts(text: string, calls: readonly ToolCall[] = [], { refusal = '' }: { refusal?: string } = {}): AnswerPart[] {
  return [
    ...(text === '' ? [] : [{ type: 'text' as const, text }]),
    ...(refusal === '' ? [] : [{ type: 'refusal' as const, text: refusal }]),
    ...calls.map((call) => ({ type: 'tool-call' as const, ...call })),
  ];
}
