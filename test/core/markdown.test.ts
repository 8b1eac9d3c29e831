import fc from 'fast-check';
import { details, taskDetails } from '../../src/core/details';
import { Markdown, markdown } from '../../src/core/markdown';
import { newThread, type ThreadState } from '../../src/core/state';
import { closingSummary, modelSummary, summary, toolSummary, waitSummary } from '../../src/core/views';
import { answerParts } from '../support/answer-parts';
import { hostilePieces, hostileText } from '../support/hostile-texts';
import { type MarkdownNode, parseMarkdown } from '../support/markdown';
import { rounds } from '../support/rounds';

const used = new Set(['root', 'paragraph', 'text', 'strong', 'inlineCode', 'code', 'list', 'listItem', 'break']);

/** Pages that are made of hostile texts; a fixed seed, so that one process can parse them all. */
function pagesOf<T>(arbitrary: fc.Arbitrary<T>, page: (value: T) => string, numRuns = rounds(60)): { page: string; value: T }[] {
  return fc.sample(arbitrary, { numRuns, seed: 20_260_101 }).map((value) => ({ page: page(value), value }));
}

function expectNoMarkup(pages: { page: string }[]): MarkdownNode[][][] {
  const parsed = parseMarkdown(pages.map(({ page }) => page));
  for (const [i, trees] of parsed.entries()) {
    for (const nodes of trees) {
      const strange = nodes.filter(({ type }) => !used.has(type));
      expect({ page: pages[i]?.page, strange }).toEqual({ page: pages[i]?.page, strange: [] });
    }
  }
  return parsed;
}

const asText = (text: string) => markdown`They said: ${text}, and left.`.toString();

test('no piece of markup has an effect within text', () => {
  const around = (piece: string) => [piece, `a${piece}b`, `\`${piece}\``, `\\${piece}](x)`];
  expectNoMarkup(hostilePieces.flatMap(around).map((text) => ({ page: asText(text) })));
});

test('text stays text whatever it contains, and reads unchanged', () => {
  expectNoMarkup(pagesOf(hostileText, asText, rounds(200)));
  expect(parseMarkdown([asText('a*b* [c](d) <e> &amp; `f`')])[0]?.[1]).toEqual([
    { type: 'root' },
    { type: 'paragraph' },
    { type: 'text', value: 'They said: a*b* [c](d) <e> &amp; `f`, and left.' },
  ]);
});

test('an address is shown as text, not as a link', () => {
  const nodes = parseMarkdown([asText('see https://evil.example/?q=[1] or dana@evil.example')])[0]?.[1];
  expect(nodes?.filter(({ type }) => type !== 'text').map(({ type, value }) => value ?? type)).toEqual(
    ['root', 'paragraph', 'https://evil.example/?q=[1]', 'dana@evil.example,'].map((value) => value.replace(/,$/, '')),
  );
});

test('code is code whatever is in it', () => {
  const pages = pagesOf(
    hostileText,
    (text) => markdown`The id ${Markdown.code(text)} waits.\n\n${Markdown.block(text)}\n\nThe end.`.toString(),
    rounds(200),
  );
  for (const trees of expectNoMarkup(pages)) {
    for (const nodes of trees) {
      expect(nodes.filter(({ type }) => type === 'code')).toHaveLength(1);
      expect(nodes.at(-1)).toEqual({ type: 'text', value: 'The end.' });
    }
  }
});

/** A thread whose every word is somebody's. */
const hostileState: fc.Arbitrary<ThreadState> = fc.array(hostileText, { minLength: 24, maxLength: 24 }).map((words) => {
  let at = 0;
  const next = () => words[at++ % words.length] as string;
  const state = newThread({ threadId: next(), agent: next(), mode: 'conversation', overrides: { model: next() }, queue: [] });
  const calls = (['awaiting-approval', 'awaiting-output', 'running'] as const).map((phase) => ({ id: next(), name: next(), phase }));
  state.messages = [
    { id: 'm1', role: 'user', content: next() },
    {
      id: 'm2',
      role: 'assistant',
      content: answerParts(
        next(),
        calls.map(({ id, name }) => ({ id, name, arguments: words.length % 2 ? next() : JSON.stringify({ [next()]: next() }) })),
      ),
      attempt: 1,
    },
  ];
  const ask = { reason: next(), users: [next()], groups: [next()], approvers: 2 };
  state.run = {
    id: next(),
    number: 1,
    status: 'requires_action',
    turn: 1,
    toolRounds: 0,
    toolCalls: 0,
    costUsd: 1,
    waitedMs: 0,
    usage: state.usage,
    startedAt: 0,
    sentBack: { verify: 0, verifyInAll: 0, output: 0, empty: 0, nudge: 0, completion: 0 },
    context: 0,
    opening: [],
    calls: calls.map((call) => ({
      ...call,
      verdict: call.phase === 'awaiting-output' ? { kind: 'external', ask } : { kind: 'run', effect: 'once', timeoutMs: 1, approval: ask },
      ask: { since: 0, votes: [next()], passed: 0, groups: [next()] },
    })),
  };
  state.paused = { reason: next(), by: next(), since: 0 };
  return state;
});

test('the page of a thread has only the markup of Longhaul', () => {
  expectNoMarkup(pagesOf(hostileState, details));
});

test('summaries and the page of a task have none', () => {
  const pages = pagesOf(fc.tuple(hostileText, hostileText), ([a, b]) => toolSummary(a, b));
  expectNoMarkup([
    ...pages,
    ...pagesOf(hostileText, (text) => modelSummary(1, text, 1)),
    ...pagesOf(hostileText, closingSummary),
    ...pagesOf(hostileText, (name) => waitSummary({ kind: 'approval', name })),
    ...pagesOf(hostileText, (text) => summary(`coder: ${text}`)),
    ...pagesOf(hostileText, taskDetails),
  ]);
});
