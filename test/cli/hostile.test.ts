import fc from 'fast-check';
import { answerHint, shellWord } from '../../src/cli/answer-hint';
import { formatNames } from '../../src/cli/format-names';
import { createLines } from '../../src/cli/formats';
import { createView } from '../../src/cli/render';
import { questionParts, whomWords } from '../../src/cli/render-people';
import { auditLines } from '../../src/cli/show-audit';
import { paintWith, Styled, styled } from '../../src/cli/styled';
import { table } from '../../src/cli/table';
import { auditOf } from '../../src/client/audit';
import type { AgentEvent, DurableEvent, PendingCall } from '../../src/core/event';
import { logs } from '../core/projections/log';
import { hostilePieces, hostileText } from '../support/hostile-texts';

const same = (text: string) => text;
const paint = paintWith({ bold: same, dim: same, red: same, green: same, yellow: same, cyan: same });

/** What may never reach a terminal. Of the invisible only a part: which of them belong in a word is the business of `printable`. */
const control = /(?!\n)[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u00ad\u061c\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]/u;

/** The same with every text in it replaced, but for the words that say what it is. */
function poisoned<T>(value: T, text: () => string, key = ''): T {
  const kept = [
    'type',
    'role',
    'kind',
    'status',
    'previousStatus',
    'timestamp',
    'at',
    'dueAt',
    'expiresAt',
    'since',
    'limit',
    'scope',
    'hook',
    'delivery',
    'source',
  ];
  if (typeof value === 'string') return (kept.includes(key) ? value : text()) as T;
  if (Array.isArray(value)) return value.map((item) => poisoned(item, text, key)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, poisoned(item, text, name)])) as T;
}

const everyEvent = Object.values(logs).flatMap((log) => log().events as AgentEvent[]);

function expectHarmless(shown: string): void {
  expect(shown).not.toMatch(control);
}

test('no event has a text that controls the terminal, in no field of it', () => {
  expect(new Set(everyEvent.map(({ type }) => type)).size).toBeGreaterThan(20);
  fc.assert(
    fc.property(fc.array(hostileText, { minLength: 7, maxLength: 7 }), (texts) => {
      let at = 0;
      const next = () => texts[at++ % texts.length] as string;
      const view = createView({ paint, hint: answerHint(next()) });
      for (const event of everyEvent) expectHarmless(view(poisoned(event, next)).text);
    }),
    { numRuns: 100 },
  );
});

test('JSON lines of every format have none either, and are lines', () => {
  fc.assert(
    fc.property(hostileText, (text) => {
      for (const format of formatNames) {
        const lines = createLines(format);
        for (const event of logs.oneTool().events) {
          const printed = lines(format === 'longhaul' ? poisoned(event as AgentEvent, () => text) : (event as AgentEvent)).text;
          expectHarmless(printed);
          for (const line of printed.split('\n').filter((one) => one !== '')) JSON.parse(line);
        }
      }
    }),
    { numRuns: 30 },
  );
});

const call: fc.Arbitrary<PendingCall> = fc.record({
  kind: fc.constantFrom('approval' as const, 'question' as const, 'output' as const, 'limit' as const, 'reply' as const),
  toolCallId: hostileText,
  name: hostileText,
  arguments: fc.oneof(
    hostileText,
    fc.dictionary(hostileText, hostileText).map((args) => JSON.stringify(args)),
  ),
  reason: hostileText,
  users: fc.array(hostileText, { minLength: 1, maxLength: 2 }),
  groups: fc.array(hostileText, { minLength: 1, maxLength: 2 }),
  digest: hostileText,
});

test('what waits, in inbox, show and the prompt, has none, and no line of it is forged', () => {
  fc.assert(
    fc.property(call, hostileText, (pending, thread) => {
      const hint = answerHint(thread)(pending);
      expectHarmless(hint.text);
      expect(hint.text).not.toContain('\n');
      const parts = questionParts(pending, 'longhaul show');
      expectHarmless(Styled.join(parts, styled`\n`).text);
      for (const part of parts) expect(part.text).not.toContain('\n');
      expectHarmless(table(['A', 'B'], [{ cells: [pending.name, whomWords(pending)], below: [pending.reason ?? ''] }]).text);
      expect(table(['A', 'B'], [{ cells: [pending.name, thread] }]).text.split('\n')).toHaveLength(3);
    }),
    { numRuns: 300 },
  );
});

test('the audit has none', () => {
  const events = everyEvent.filter((event): event is DurableEvent => 'seq' in event);
  fc.assert(
    fc.property(hostileText, (text) => {
      const told = auditOf(
        events.map((event) => poisoned(event, () => text)),
        { limit: 1_000, missing: false } as never,
      );
      for (const line of auditLines(told)) {
        expectHarmless(line.text);
        expect(line.text).not.toContain('\n');
      }
    }),
    { numRuns: 50 },
  );
});

test.each(hostilePieces)('a word of a hint is one word of a shell, and nothing in it is carried out: %j', (piece) => {
  const word = shellWord(`a${piece}b`);
  expect(word).toMatch(/^(?:[\w@%+=:,./-]+|'[^']*'(?:\\''[^']*')*|\$'(?:[!-&(-[\]-~]|\\.)*')$/);
  expect(Styled.line(word).text).toBe(word);
});
