import fc from 'fast-check';
import type { AgentFacts } from '../../src/core/agent';
import { askPolicy } from '../../src/core/ask-policy';
import { checkDecision } from '../../src/core/decisions';
import { checkPerson, cleanName, nameKey, sameName } from '../../src/core/people';
import type { ThreadState } from '../../src/core/state';
import { Story } from './story';

const precomposed = 'Zo\u00eb';
const decomposed = 'Zoe\u0308';

test.each([
  ['dana', ' Dana\t'],
  [precomposed, decomposed.toUpperCase()],
  ['Ann Lee', 'ann  lee'],
  ['ｄａｎａ', 'dana'],
  ['دا', 'د\u200cا'],
  ['王', '王\u{e0100}'],
  ['☎', '☎\ufe0e'],
  ['ᠠ', 'ᠠ\u180b'],
  ['ไทย', 'ไ\u200bทย'],
  ['dana', 'dana\u2800'],
  ['dana', 'da\u034fna'],
  ['STRASSE', 'straße'],
  ['STRAẞE', 'strasse'],
  ['ΝΙΚΟΣ', 'νικοσ'],
  ['νικος', 'νικοσ'],
  ['dani', 'dani\u0307'],
])('%j and %j are one person', (one, other) => {
  expect(sameName(one, other)).toBe(true);
});

test('other names are other people', () => {
  expect(sameName('dana', 'danа')).toBe(false);
  expect(sameName('dana', 'dan')).toBe(false);
});

test('a name is kept as it is written, and a second time changes nothing', () => {
  expect(cleanName(` ${decomposed} `)).toBe(precomposed);
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 12 }), (name) => {
      expect(cleanName(cleanName(name))).toBe(cleanName(name));
      expect(nameKey(nameKey(name))).toBe(nameKey(name));
      expect(sameName(name, cleanName(name))).toBe(true);
    }),
  );
});

test.each(['da\u200bna', 'dana\u202e', 'da\nna', 'dana\u3164', 'dana\u2800', 'dana\u{1d159}'])(
  'the name %j is refused: it looks like another',
  (name) => {
    expect(checkPerson('by', name)).toMatch(/invisible characters/);
    expect(askPolicy({ users: [name] }).problems).toHaveLength(1);
  },
);

test('invisible characters do not distinguish names', () => {
  const unseen = fc.oneof(
    fc.constantFrom(
      '\u2800',
      '\u3164',
      '\u115f',
      '\u1160',
      '\uffa0',
      '\u00ad',
      '\u034f',
      '\u200b',
      '\u{16fe4}',
      '\u{1d159}',
      '\0',
      '\ufffc',
    ),
    fc.integer({ min: 0, max: 15 }).map((n) => String.fromCodePoint(0xfe00 + n)),
    fc.integer({ min: 0, max: 0xfff }).map((n) => String.fromCodePoint(0xe0000 + n)),
  );
  const letter = fc.oneof(
    fc.constantFrom('دا', '王', '☎', 'ß', 'Σ', 'i\u0307', 'e\u0301', ' '),
    fc.string({ unit: 'binary', maxLength: 3 }),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(letter, fc.array(unseen, { maxLength: 3 }))), (pieces) => {
      const plain = pieces.map(([text]) => text).join('');
      const filled = pieces.map(([text, between]) => text + between.join('')).join('');
      expect(nameKey(filled)).toBe(nameKey(plain));
      expect(nameKey(nameKey(filled))).toBe(nameKey(filled));
    }),
    { numRuns: 2_000 },
  );
});

test('each character that fonts ignore, by the tables of this Node, is left out', () => {
  const ignored = Array.from({ length: 0x110000 }, (_, code) => (code >= 0xd800 && code < 0xe000 ? '' : String.fromCodePoint(code)))
    .filter((character) => /[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Zl}\p{Zp}]/u.test(character) && nameKey(`a${character}b`) !== 'ab')
    .map((character) => character.codePointAt(0));
  // Blanks in a name, which are one.
  expect(ignored).toEqual([0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x2028, 0x2029]);
});

test('a tool names people once, whatever the spelling', () => {
  expect(askPolicy({ users: ['dana', 'Dana '], approvers: 2 }).problems.join()).toMatch(/users names only 1/);
  expect(askPolicy({ users: [' dana '], groups: ['Leads '] }).policy).toEqual({ users: ['dana'], groups: ['Leads'] });
});

/** A call that two people must agree to, one of whom has. */
function voted(sameNames: AgentFacts['sameNames'], by = 'dana'): { state: ThreadState; id: string } {
  const story = new Story();
  story.say('please');
  story.begin();
  const { state } = story;
  const id = 'call_x';
  if (state.facts && sameNames) state.facts.sameNames = sameNames;
  if (state.run) {
    state.run.calls = [
      {
        id,
        name: 'pay',
        phase: 'awaiting-approval',
        verdict: { kind: 'run', effect: 'once', timeoutMs: 1, approval: { approvers: 2, groups: ['leads'] }, digest: 'abcdef0123456789' },
        ask: { since: 0, passed: 0, votes: [by] },
      },
    ];
  }
  return { state, id };
}

test('one person has one vote, and a group is a group, however they are written', () => {
  const { state, id } = voted('as-seen');
  const decision = { toolCallId: id, groups: ['Leads '] };
  expect(checkDecision(state, { ...decision, by: ' Dana' })).toMatchObject({
    ok: false,
    reason: expect.stringContaining('"Dana" has agreed'),
  });
  expect(checkDecision(state, { ...decision, by: 'da\u200bna' })).toMatchObject({
    ok: false,
    reason: expect.stringContaining('invisible characters'),
  });
  expect(checkDecision(state, { ...decision, by: 'lee ' })).toMatchObject({ ok: true, request: { by: 'lee', groups: ['Leads'] } });
});

test.each([
  ['دا', 'د\u200cا'],
  ['王', '王\u{e0100}'],
  ['STRASSE', 'straße'],
])('%j and %j have one vote, and two in a run whose history says so', (one, other) => {
  const decision = { by: other, groups: ['leads'] };
  const now = voted('as-seen', one);
  expect(checkDecision(now.state, { toolCallId: now.id, ...decision })).toMatchObject({
    ok: false,
    reason: expect.stringContaining('has agreed'),
  });
  const then = voted(true, one);
  expect(checkDecision(then.state, { toolCallId: then.id, ...decision })).toMatchObject({ ok: true });
  expect(checkDecision(then.state, { toolCallId: then.id, ...decision, by: 'dana\u2800' })).toMatchObject({ ok: true });
});

test('a run that began with earlier code decides as that code did', () => {
  const { state, id } = voted(undefined);
  expect(checkDecision(state, { toolCallId: id, by: 'Dana ', groups: ['leads'] })).toMatchObject({ ok: true, request: { by: 'Dana ' } });
  expect(checkDecision(state, { toolCallId: id, by: 'lee', groups: ['Leads'] }).ok).toBe(false);
});

test('a decision that names its subject is refused for any other', () => {
  const { state, id } = voted('as-seen');
  const decision = { toolCallId: id, by: 'lee', groups: ['leads'] };
  expect(checkDecision(state, { ...decision, expect: 'abcdef0123456789' })).toMatchObject({
    ok: true,
    request: { expect: 'abcdef0123456789' },
  });
  expect(checkDecision(state, { ...decision, expect: 'abcdef' })).toEqual({
    ok: false,
    code: 'not-as-expected',
    reason: `approve: what waits as "call_x" (pay) has the digest abcdef0123456789, and "abcdef" was expected; look at it again before you decide`,
  });
  expect(checkDecision(state, { ...decision, expect: 7 })).toMatchObject({
    ok: false,
    reason: 'approve: `expect` must be a string; it is 7',
  });
});
