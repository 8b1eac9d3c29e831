import fc from 'fast-check';
import { bounds } from '../../src/core/bounds';
import { noUsage, toolCallsOf } from '../../src/core/message';
import { isWellFormed } from '../../src/core/text';
import type { ModelFailure } from '../../src/models/model';
import { soundAnswer } from '../../src/models/sound-answer';
import { hostileValue } from '../support/hostile-values';

const answer = (parts: unknown, more: object = {}) => ({ parts, finishReason: 'stop', usage: noUsage, ...more });

test('a valid answer is not changed, with each kind of part', () => {
  const parts = [
    { type: 'reasoning', text: 'hm', opaque: { signature: 's' } },
    { type: 'reasoning', text: '', opaque: { redacted: 'r' } },
    { type: 'text', text: 'so' },
    { type: 'hosted-tool', id: 'h', name: 'web-search', input: { query: 'q' }, output: ['found'], isError: true },
    { type: 'source', url: 'https://a.example', title: 'A', quote: 'words' },
    { type: 'image', url: 'data:image/png;base64,AA==' },
    { type: 'file', url: 'https://a.example/b.pdf', mediaType: 'application/pdf', name: 'b.pdf' },
    { type: 'tool-call', id: 'c', name: 'add', arguments: '{}', opaque: 'o' },
    { type: 'refusal', text: 'no' },
  ];
  expect(soundAnswer(answer(parts)).parts).toEqual(parts);
});

test('empty text is left out, and reasoning that no provider needs back is cut to its limit', () => {
  const long = 'x'.repeat(bounds.keptReasoningChars * 2);
  const { parts } = soundAnswer(
    answer([
      { type: 'text', text: '' },
      { type: 'reasoning', text: '' },
      { type: 'reasoning', text: long },
      { type: 'reasoning', text: long, opaque: { signature: 's' } },
    ]),
  );
  expect(parts.map((part) => ('text' in part ? part.text.length : 0))).toEqual([bounds.keptReasoningChars, long.length]);
});

test.each([
  ['no object', 'text', /it is not an object/],
  ['no parts', { text: 'old shape' }, /its parts are not a list/],
  ['a part that is no object', answer(['text']), /one of its parts is not an object/],
  ['a kind of part that does not exist', answer([{ type: 'video' }]), /the unknown type "video"/],
  ['text that is no text', answer([{ type: 'text', text: 1 }]), /the text of one of its parts is not a string/],
  ['a call without a name', answer([{ type: 'tool-call', id: 'c' }]), /has no name/],
  ['data that is no JSON', answer([{ type: 'text', text: 'x', opaque: { n: 1n } }]), /can't be written as JSON/],
  ['too many parts', answer(Array(2_001).fill({ type: 'text', text: 'x' })), /2001 parts; at most 2000/],
  ['too many calls', answer(Array(129).fill({ type: 'tool-call', id: '', name: 'f' })), /129 tool calls; at most 128/],
])('an invalid answer fails the call with the reason: %s', (_what, given, words) => {
  expect(() => soundAnswer(given)).toThrow(expect.objectContaining({ name: 'ModelFailure', message: expect.stringMatching(words) }));
});

test('whatever a provider returns, it is an answer that a thread can keep, or a failure of the model', () => {
  const types = ['text', 'reasoning', 'tool-call', 'hosted-tool', 'source', 'image', 'file', 'refusal'];
  const part = fc.record({
    type: fc.constantFrom(...types),
    text: hostileValue,
    id: hostileValue,
    name: hostileValue,
    arguments: hostileValue,
    input: hostileValue,
    output: hostileValue,
    url: hostileValue,
    mediaType: hostileValue,
    opaque: hostileValue,
  });
  fc.assert(
    fc.property(fc.array(fc.oneof(part, hostileValue), { maxLength: 4 }), hostileValue, hostileValue, (parts, finishReason, usage) => {
      try {
        const sound = soundAnswer({ parts, finishReason, usage });
        expect(JSON.parse(JSON.stringify(sound))).toEqual(sound);
        expect(isWellFormed(JSON.stringify(sound))).toBe(true);
        for (const call of toolCallsOf(sound.parts)) expect(call.id.length).toBeLessThanOrEqual(bounds.callIdChars);
      } catch (error) {
        expect((error as ModelFailure).name).toBe('ModelFailure');
      }
    }),
  );
});

test('what a list and its parts say differently when read again does not get past the limits', () => {
  let reads = 0;
  const changing = () => ({
    get type() {
      reads += 1;
      return reads <= 300 ? 'text' : 'tool-call';
    },
    text: 'x',
    name: 'add',
  });
  const { parts } = soundAnswer(answer(Array.from({ length: 300 }, changing)));
  expect(toolCallsOf(parts)).toEqual([]);
  class Odd extends Array<unknown> {
    override flatMap(): never[] {
      return 'no list' as never;
    }
  }
  expect(soundAnswer(answer(Odd.from([{ type: 'text', text: 'so' }]))).parts).toEqual([{ type: 'text', text: 'so' }]);
});
