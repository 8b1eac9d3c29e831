import fc from 'fast-check';
import { divideAtCompaction, sinceCompaction, withCompaction, withoutCompactions } from '../../src/core/context/provider-compaction';
import { transcriptText } from '../../src/core/context/summary';
import { type AnswerPart, type AssistantMessage, compactionIn, type Message, textOf, withText } from '../../src/core/message';

const user = (id: string): Message => ({ id, role: 'user', content: `said ${id}` });
const tool = (id: string): Message => ({
  id: `r-${id}`,
  role: 'tool',
  toolCallId: id,
  name: 'read',
  content: `read ${id}`,
  isError: false,
});
const call = (id: string): AnswerPart => ({ type: 'tool-call', id, name: 'read', arguments: '{}' });
const summary = (text: string): AnswerPart => ({ type: 'compaction', text, opaque: { item: 'sealed' } });
const answer = (id: string, ...content: AnswerPart[]): AssistantMessage => ({ id, role: 'assistant', content, attempt: 1, model: 'm' });
const ids = (messages: readonly Message[]) => messages.map(({ id }) => id);

let made = 0;
beforeEach(() => {
  made = 0;
});
/** Takes in the compaction of an answer, as the thread does. */
function compact(messages: Message[], answerId: string, opening: string[] = []): Message[] {
  const compacted = divideAtCompaction(messages, answerId, opening);
  const notes = { background: [], archives: ['out_1'] };
  return compacted ? withCompaction(compacted, { retained: ['a fact'], notes, newId: () => `new-${++made}` }).messages : messages;
}
const everyone = () => true;
const nobody = () => false;

const older = [user('u1'), answer('a1', call('1')), tool('1'), user('u2'), answer('a2', call('2')), tool('2')];
const compacting = (text: string) => answer('a3', summary(text), { type: 'text', text: 'so' }, call('3'));

test('a readable compaction replaces what is older by a summary for others, and the objective and the beginning of the run stay', () => {
  const messages = compact([...older, compacting('All of it.')], 'a3', ['u2']);
  expect(ids(messages)).toEqual(['u1', 'u2', 'new-2', 'new-1', 'a3']);
  expect(messages[2]).toMatchObject({ role: 'user', origin: 'engine', summary: true });
  expect(textOf(messages[2]!.content)).toMatch(/- a fact\n[\s\S]*<summary>\nAll of it\.\n<\/summary>[\s\S]*ref=out_1/);
});

test('a model that reads it gets the answer first, then its results, a note, and word for word what the work began with', () => {
  const messages = [...compact([...older, compacting('All of it.')], 'a3', ['u2']), tool('3'), user('u3')];
  const seen = sinceCompaction(messages, everyone);
  expect(ids(seen)).toEqual(['a3', 'r-3', 'new-1', 'u1', 'u2', 'u3']);
  expect(textOf(seen[2]!.content)).toMatch(/- a fact\n[\s\S]*ref=out_1/);
  expect(textOf(seen[2]!.content)).not.toContain('All of it.');
  expect(seen.slice(3, 5)).toEqual([user('u1'), user('u2')]);
});

test('other models get the summary in its place, and neither the compaction nor the note', () => {
  const seen = sinceCompaction([...compact([...older, compacting('All of it.')], 'a3', ['u2']), tool('3')], nobody);
  expect(ids(seen)).toEqual(['u1', 'u2', 'new-2', 'a3', 'r-3']);
  expect(seen[3]).toEqual(answer('a3', { type: 'text', text: 'so' }, call('3')));
});

test('if nobody else can read a compaction, other models get all that it replaced', () => {
  const messages = [...compact([...older, compacting('')], 'a3', ['u2']), tool('3')];
  expect(ids(sinceCompaction(messages, nobody))).toEqual([...ids(older), 'a3', 'r-3']);
  expect(ids(sinceCompaction(messages, everyone))).toEqual(['a3', 'r-3', 'new-1', 'u1', 'u2']);
});

test('the next compaction counts only what was not replaced before, and its note takes the place of the one before', () => {
  const first = [
    ...compact([...older, compacting('')], 'a3'),
    tool('3'),
    user('u3'),
    answer('a4', { type: 'text', text: 'x' }, summary('')),
  ];
  expect(ids(divideAtCompaction(first, 'a4', ['u3'])?.replaced ?? [])).toEqual(['a3', 'r-3']);
  const second = compact(first, 'a4', ['u3']);
  expect(ids(second)).toEqual([...ids(older), 'a3', 'r-3', 'u3', 'new-2', 'a4']);
  expect(ids(sinceCompaction(second, everyone))).toEqual(['a4', 'new-2', 'u1', 'u3']);
});

test('what precedes the compaction in its answer is left out, unless it is a call, whose result needs it', () => {
  const behind = (before: AnswerPart) => compact([...older, answer('a3', before, summary(''))], 'a3');
  expect(sinceCompaction(behind({ type: 'text', text: 'before' }), everyone)[0]).toEqual(answer('a3', summary('')));
  expect(sinceCompaction([...behind(call('3')), tool('3')], everyone)[0]).toEqual(answer('a3', call('3'), summary('')));
});

test('a rewritten answer is the same object in each turn, so that it is encoded once', () => {
  const messages = compact([...older, answer('a3', { type: 'text', text: 'before' }, summary(''))], 'a3');
  expect(sinceCompaction(messages, everyone)[0]).toBe(sinceCompaction(messages, everyone)[0]);
  expect(sinceCompaction(messages, nobody).at(-1)).toBe(sinceCompaction(messages, nobody).at(-1));
});

test('a compaction that replaces nothing changes nothing', () => {
  expect(divideAtCompaction([user('u1'), compacting('All.')], 'a3', [])).toBeUndefined();
  expect(divideAtCompaction([...older, answer('a3', call('3'))], 'a3', [])).toBeUndefined();
});

test('a compaction without a note is sent to its model with all messages: the thread has not taken it in', () => {
  expect(sinceCompaction([...older, compacting('All.')], everyone)).toEqual([...older, compacting('All.')]);
});

test('a summary by the engine takes the place of compactions, and is not told of their notes', () => {
  const messages = compact([...older, compacting('All of it.')], 'a3');
  expect(withoutCompactions(messages.slice(-2))).toEqual([answer('a3', { type: 'text', text: 'so' }, call('3'))]);
  expect(transcriptText(messages)).not.toContain('directly after this note');
});

test('a text that a hook changes stays behind the compaction', () => {
  expect(withText([summary('All.'), call('3')], 'new')).toEqual([summary('All.'), { type: 'text', text: 'new' }, call('3')]);
});

/** A conversation with compactions of both kinds, each taken in, and calls with their results. */
const conversations = fc.array(
  fc.record({
    says: fc.boolean(),
    calls: fc.nat(2),
    compacts: fc.constantFrom(undefined, undefined, '', 'All of it.'),
    late: fc.boolean(),
  }),
  { maxLength: 12 },
);
type Turn = { says: boolean; calls: number; compacts: string | undefined; late: boolean };

function play(turns: readonly Turn[]): { state: Message[]; all: Message[] } {
  const all: Message[] = [];
  let state: Message[] = [];
  const add = (message: Message) => {
    all.push(message);
    state.push(message);
  };
  let opening = '';
  turns.forEach(({ says, calls, compacts, late }, turn) => {
    if (says || turn === 0) add(user((opening = `u${turn}`)));
    const wanted = Array.from({ length: calls }, (_, i) => `${turn}-${i}`);
    const compaction = compacts === undefined ? [] : [summary(compacts)];
    const text: AnswerPart = { type: 'text', text: `turn ${turn}` };
    add(answer(`a${turn}`, ...(late ? [text, ...compaction] : [...compaction, text]), ...wanted.map(call)));
    if (compacts !== undefined) state = compact(state, `a${turn}`, [opening]);
    for (const id of wanted) add(tool(id));
  });
  return { state, all };
}

/** Every call has its results directly behind it. */
function expectPaired(messages: readonly Message[]): void {
  let owed: string[] = [];
  for (const message of messages) {
    if (message.role === 'tool') {
      expect(message.toolCallId).toBe(owed.shift());
      continue;
    }
    expect(owed).toEqual([]);
    if (message.role === 'assistant') owed = message.content.flatMap((part) => (part.type === 'tool-call' ? [part.id] : []));
  }
  expect(owed).toEqual([]);
}

test('whatever was compacted: every model gets paired calls, the objective, each message at most once, and all since the last compaction', () => {
  fc.assert(
    fc.property(conversations, (turns) => {
      const { state, all } = play(turns);
      const last = all.findLastIndex((message) => message.role === 'assistant' && compactionIn(message.content));
      for (const reads of [everyone, nobody]) {
        const seen = sinceCompaction(state, reads);
        expectPaired(seen);
        expect(new Set(ids(seen)).size).toBe(seen.length);
        if (all.length > 0) expect(ids(seen)).toContain('u0');
        expect(ids(seen)).toEqual(expect.arrayContaining(ids(all.slice(Math.max(last, 0)))));
      }
      // Nothing that only one provider reads reaches another one.
      for (const message of sinceCompaction(state, nobody)) {
        if (message.role === 'assistant') expect(compactionIn(message.content)).toBeUndefined();
        if (message.role === 'user') expect(message.repeats).toBeUndefined();
      }
      expect(JSON.parse(JSON.stringify(state))).toEqual(state);
    }),
    { numRuns: 300 },
  );
});

test('whatever was compacted: a request begins with the one before, byte for byte, until the next compaction', () => {
  fc.assert(
    fc.property(conversations, (turns) => {
      turns.forEach((next, i) => {
        if (i === 0 || next.compacts !== undefined) return;
        made = 0;
        const before = sinceCompaction(play(turns.slice(0, i)).state, everyone);
        made = 0;
        expect(sinceCompaction(play(turns.slice(0, i + 1)).state, everyone).slice(0, before.length)).toEqual(before);
      });
    }),
    { numRuns: 100 },
  );
});
