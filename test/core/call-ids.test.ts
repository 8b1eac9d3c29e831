import fc from 'fast-check';
import { callIds, sentId } from '../../src/core/call-ids';
import { fit as shrink } from '../../src/core/context/carry';
import { type Message, type ToolCall, toolCallsOf } from '../../src/core/message';
import { answerParts } from '../support/answer-parts';

let count = 0;
const random = () => (count++).toString(16).padStart(12, '0');

const call = (id: string): ToolCall => ({ id, name: 'charge', arguments: '{}' });

/** What happens to a thread, as far as ids go: an answer whose calls the provider calls so, or a rewriting of the transcript. */
type Step = { answer: string[] } | { keep: number };

/** Plays a thread and returns every call it ever had, and each transcript as it was sent. */
function play(steps: readonly Step[], ofOurs: boolean) {
  let messages: Message[] = [{ id: 'msg_0', role: 'user', content: 'go' }];
  let epoch = 0;
  const calls: { providerId: string; call: ToolCall }[] = [];
  const sent: Message[][] = [];
  for (const step of steps) {
    if ('keep' in step) {
      const fitted = shrink(messages, step.keep);
      if (fitted) [messages, epoch] = [fitted.messages, epoch + 1];
      continue;
    }
    sent.push(messages);
    // A model that writes its ids itself may write one that it was shown before.
    const imitated = ofOurs ? calls.map((one) => one.call.id).slice(0, 1) : [];
    const given = [...step.answer, ...imitated];
    const named = callIds(messages, epoch, random).assign(given.map(call));
    calls.push(...named.map((one, i) => ({ providerId: given[i] ?? '', call: one })));
    const id = `msg_${messages.length}_${calls.length}`;
    messages = [
      ...messages,
      { id, role: 'assistant', content: answerParts('x'.repeat(100), named), attempt: 1 },
      ...named.map(
        (one): Message => ({ id: `${id}_${one.id}`, role: 'tool', toolCallId: one.id, name: one.name, content: 'ok', isError: false }),
      ),
    ];
  }
  return { calls, sent };
}

const anyId = fc.oneof(fc.constantFrom('call_1', 'call_2', '', 'a'), fc.string({ maxLength: 4 }));
const steps = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ answer: fc.array(anyId, { maxLength: 4 }) }) },
    { weight: 1, arbitrary: fc.record({ keep: fc.integer({ min: 0, max: 2_000 }) }) },
  ),
  { maxLength: 30 },
);

test('no two calls of a thread have one id, whatever the provider calls them and however often the transcript was rewritten', () => {
  fc.assert(
    fc.property(steps, fc.boolean(), (steps, imitates) => {
      const ids = play(steps, imitates).calls.map((one) => one.call.id);
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids).not.toContain('');
    }),
    { numRuns: 500 },
  );
});

test('no two calls of a transcript are sent under one id, and the provider gets its own id if it is free', () => {
  fc.assert(
    fc.property(steps, fc.boolean(), (steps, imitates) => {
      const { calls, sent } = play(steps, imitates);
      for (const messages of sent) {
        const ids = messages.flatMap((m) => (m.role === 'assistant' ? toolCallsOf(m.content).map(sentId) : []));
        expect(new Set(ids).size).toBe(ids.length);
      }
      for (const { providerId, call } of calls) expect([providerId, call.id]).toContain(sentId(call));
    }),
    { numRuns: 500 },
  );
});

test('a provider that restarts the numbers of its calls in every answer gets its own ids after a compaction, and the thread uses others', () => {
  const first = callIds([], 0, random).assign([call('call_1'), call('call_2')]);
  expect(first).toEqual([call('call_1'), call('call_2')]);
  // The answer with these two made way.
  const [again] = callIds([{ id: 'msg_0', role: 'user', content: 'go' }], 1, random).assign([call('call_1')]);
  expect(again).toMatchObject({ id: expect.stringMatching(/^call_[0-9a-f]{12}$/), providerId: 'call_1' });
  expect(sentId(again!)).toBe('call_1');
});

test('a streamed call has the id that it will have in the complete answer', () => {
  for (const epoch of [0, 1]) {
    const ids = callIds([{ id: 'm', role: 'assistant', content: answerParts('', [call('call_1')]), attempt: 1 }], epoch, random);
    const streamed = ['call_1', 'call_2'].map((id) => ids.of(id));
    expect(ids.assign([call('call_1'), call('call_2'), call('call_1')]).map(({ id }) => id)).toEqual([
      ...streamed,
      expect.stringMatching(/^call_[0-9a-f]{12}$/),
    ]);
  }
});
