import fc from 'fast-check';
import { askPolicy } from '../../src/core/ask-policy';
import { checkPerson, cleanName, nameKey, sameName } from '../../src/core/people';
import { checkDecision } from '../../src/core/requests';
import type { ThreadState } from '../../src/core/state';
import { Story } from './story';

const precomposed = 'Zo\u00eb';
const decomposed = 'Zoe\u0308';

test.each([
  ['dana', ' Dana\t'],
  [precomposed, decomposed.toUpperCase()],
  ['Ann Lee', 'ann  lee'],
  ['ｄａｎａ', 'dana'],
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

test.each(['da\u200bna', 'dana\u202e', 'da\nna', 'dana\u3164'])('the name %j is refused: it looks like another', (name) => {
  expect(checkPerson('by', name)).toMatch(/not seen/);
  expect(askPolicy({ users: [name] }).problems).toHaveLength(1);
});

test('a tool names people once, however it writes them', () => {
  expect(askPolicy({ users: ['dana', 'Dana '], approvers: 2 }).problems.join()).toMatch(/users names only 1/);
  expect(askPolicy({ users: [' dana '], groups: ['Leads '] }).policy).toEqual({ users: ['dana'], groups: ['Leads'] });
});

/** A call that two people must agree to, one of whom has. */
function voted(sameNames: boolean): { state: ThreadState; id: string } {
  const story = new Story();
  story.say('please');
  story.begin();
  const { state } = story;
  const id = 'call_x';
  if (state.facts && sameNames) state.facts.sameNames = true;
  if (state.run) {
    state.run.calls = [
      {
        id,
        name: 'pay',
        phase: 'awaiting-approval',
        verdict: { kind: 'run', effect: 'once', timeoutMs: 1, approval: { approvers: 2, groups: ['leads'] }, digest: 'abcdef0123456789' },
        ask: { since: 0, passed: 0, votes: ['dana'] },
      },
    ];
  }
  return { state, id };
}

test('one person has one vote, and a group is a group, however they are written', () => {
  const { state, id } = voted(true);
  const decision = { toolCallId: id, groups: ['Leads '] };
  expect(checkDecision(state, { ...decision, by: ' Dana' })).toMatchObject({
    ok: false,
    reason: expect.stringContaining('"Dana" has agreed'),
  });
  expect(checkDecision(state, { ...decision, by: 'da\u200bna' })).toMatchObject({ ok: false, reason: expect.stringContaining('not seen') });
  expect(checkDecision(state, { ...decision, by: 'lee ' })).toMatchObject({ ok: true, request: { by: 'lee', groups: ['Leads'] } });
});

test('a run that began with earlier code decides as it did then', () => {
  const { state, id } = voted(false);
  expect(checkDecision(state, { toolCallId: id, by: 'Dana ', groups: ['leads'] })).toMatchObject({ ok: true, request: { by: 'Dana ' } });
  expect(checkDecision(state, { toolCallId: id, by: 'lee', groups: ['Leads'] }).ok).toBe(false);
});

test('a decision that says what it is on is refused for anything else', () => {
  const { state, id } = voted(true);
  const decision = { toolCallId: id, by: 'lee', groups: ['leads'] };
  expect(checkDecision(state, { ...decision, expect: 'abcdef0123456789' })).toMatchObject({
    ok: true,
    request: { expect: 'abcdef0123456789' },
  });
  expect(checkDecision(state, { ...decision, expect: 'abcdef' })).toEqual({
    ok: false,
    reason: `approve: what waits as "call_x" (pay) has the digest abcdef0123456789, and "abcdef" was expected; look at it again before you decide`,
  });
  expect(checkDecision(state, { ...decision, expect: 7 })).toMatchObject({
    ok: false,
    reason: 'approve: `expect` must be a text; it is 7',
  });
});
