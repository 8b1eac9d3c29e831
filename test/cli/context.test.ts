import { linesOf } from '../../src/cli/commands/context';
import type { ContextView } from '../../src/core/context/view';

const parts = { instructions: 1_200, tools: 3_400, objective: 40, summary: 800, outputs: 61_000, turns: 9_000 };
const view: ContextView = {
  usedTokens: 75_440,
  windowTokens: 128_000,
  reserveTokens: 32_000,
  leftPercent: 41,
  compactAtTokens: 81_600,
  parts,
  next: { kind: 'outputs', count: 1, tokens: 21_000 },
};
const textOf = (shown: ContextView) => linesOf(shown).map((line) => (line as { text: string }).text);

test('a context is shown with what is used and left, its parts, and what would go next', () => {
  expect(textOf(view)).toEqual([
    'used           75,440 tokens of 128,000 (41 % left)',
    'for the answer 32,000',
    'shortened      above 81,600',
    'instructions   1,200',
    'tools          3,400',
    'objective      40',
    'summary        800',
    'outputs        61,000',
    'turns          9,000',
    'next           1 old output cleared, about 21,000 tokens',
  ]);
  expect(textOf({ ...view, next: { kind: 'messages', count: 12, tokens: 5 } }).at(-1)).toMatch(/12 messages replaced by a summary/);
});

test('a context of a model whose window is not known says so, and when it is shortened nevertheless', () => {
  const lines = textOf({ ...view, windowTokens: null, reserveTokens: null, leftPercent: null, compactAtTokens: null, next: null });
  expect(lines.slice(0, 2)).toEqual([
    "used           75,440 tokens, of a window that isn't known",
    'shortened      on request, or if the provider rejects it as too long',
  ]);
  expect(lines.at(-1)).toBe('next           nothing that would be worth it');
});
