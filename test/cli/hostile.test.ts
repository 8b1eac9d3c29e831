import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import { answerHint, shellWord } from '../../src/cli/commands/answer-hint';
import { askPerson } from '../../src/cli/commands/ask-person';
import { NoAnswer } from '../../src/cli/commands/prompt';
import { waitsLines } from '../../src/cli/commands/show';
import { formatNames } from '../../src/cli/views/format-names';
import { createLines } from '../../src/cli/views/formats';
import { createView } from '../../src/cli/views/render';
import { questionParts, whomWords } from '../../src/cli/views/render-people';
import { auditLines } from '../../src/cli/views/show-audit';
import { paintWith, Styled, styled } from '../../src/cli/views/styled';
import { table } from '../../src/cli/views/table';
import { columnsOf } from '../../src/cli/views/wrap';
import type { Thread } from '../../src/client';
import { auditOf } from '../../src/client/audit';
import type { AgentEvent, DurableEvent, PendingCall } from '../../src/core/event';
import { logs } from '../projections/log';
import { hostilePieces, hostileText } from '../support/hostile-texts';
import { rounds } from '../support/rounds';

const same = (text: string) => text;
const paint = paintWith({ bold: same, dim: same, red: same, green: same, yellow: same, cyan: same });

/** What may never reach a terminal. Of the invisible only a part: which of them belong in a word is the business of `printable`. */
const control = /(?!\n)[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u00ad\u061c\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]/u;

/** The same with every text in it replaced, except for the types. */
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

test('no event has a text that controls the terminal, in any field', () => {
  expect(new Set(everyEvent.map(({ type }) => type)).size).toBeGreaterThan(20);
  fc.assert(
    fc.property(fc.array(hostileText, { minLength: 7, maxLength: 7 }), (texts) => {
      let at = 0;
      const next = () => texts[at++ % texts.length] as string;
      const view = createView({ paint, hint: answerHint(next()) });
      for (const event of everyEvent) expectHarmless(view(poisoned(event, next)).text);
    }),
    { numRuns: rounds(20) },
  );
});

test('JSON lines of every format have none, either, and are single lines', () => {
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

test('pending calls in inbox, show and the prompt have none, and no line of them is forged', () => {
  fc.assert(
    fc.property(call, hostileText, (pending, thread) => {
      const hint = answerHint(thread)(pending);
      expectHarmless(hint.text);
      expect(hint.text).not.toContain('\n');
      const parts = questionParts(pending, 'longhaul show');
      expectHarmless(Styled.join(parts, styled`\n`).text);
      for (const part of parts) expect(part.text).not.toContain('\n');
      expectHarmless(table(['A', 'B'], [{ cells: [pending.name, whomWords(pending)], below: [pending.reason ?? ''] }], 80).text);
      expect(table(['A', 'B'], [{ cells: [pending.name, thread] }], undefined).text.split('\n')).toHaveLength(3);
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

test.each(hostilePieces)('a word in a hint is one word of a shell command, and nothing in it is executed: %j', (piece) => {
  const word = shellWord(`a${piece}b`);
  expect(word).toMatch(/^(?:[\w@%+=:,./-]+|'[^']*'(?:\\''[^']*')*|\$'(?:[!-&(-[\]-~]|\\.)*')$/);
  expect(Styled.line(word).text).toBe(word);
});

describe('an argument on a terminal', () => {
  const command = 'terraform apply -auto-approve -var env=prod #';
  const forged = `${command}${' '.repeat(22)}    dry_run: true`;
  const waiting = {
    kind: 'approval',
    toolCallId: 'call_1',
    name: 'shell',
    arguments: JSON.stringify({ command: forged, timeout: 60 }),
  } as const;
  const requested = {
    type: 'agent.approval.requested',
    data: { stepId: 's', toolCall: { id: 'call_1', name: 'shell', arguments: waiting.arguments } },
    threadId: 't',
  } as unknown as AgentEvent;

  test('has no row that begins like another argument: wrapped rows are marked', () => {
    const rows = [`    command: ${command}${' '.repeat(21)}`, '    ┆      dry_run: true', '    timeout: 60'];
    const below = questionParts(waiting, 'longhaul show');
    expect(
      table(['A'], [{ cells: ['a'], below }], 80)
        .text.split('\n')
        .slice(2, 5),
    ).toEqual(rows);
    expect(createView({ paint, columns: 80 })(requested).text.split('\n').slice(1, 4)).toEqual(rows);
  });

  test('is not wrapped where there is no terminal', () => {
    const rows = [`command: ${forged}`, 'timeout: 60'];
    expect(questionParts(waiting, 'longhaul show').map(({ text }) => text)).toEqual(rows);
    expect(createView({ paint })(requested).text.split('\n').slice(1, 3)).toEqual(rows.map((row) => `    ${row}`));
  });

  test('fits the terminal in every script, and loses nothing', () => {
    const joined = fc.constantFrom(
      '👨‍👩‍👧',
      '🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}',
      '❤️',
      '1️⃣',
      'می‌خواهم',
      '漢\u{e0100}',
      'x',
    );
    const texts = fc.oneof(
      hostileText,
      fc.array(fc.oneof(joined, hostileText), { maxLength: 60 }).map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(texts, fc.integer({ min: 35, max: 120 }), fc.constantFrom(0, 2, 4), (text, columns, indent) => {
        const oneLine = Styled.line(text).text.trimStart();
        const before = ' '.repeat(indent);
        const colours = [`${before}\u001b[1m`, '\u001b[22m'] as const;
        const lines = Styled.coloured((line) => `${colours[0]}${line}${colours[1]}`)(oneLine)
          .fit(columns)
          .text.split('\n');
        for (const line of lines.map(stripVTControlCharacters)) expect(columnsOf(line)).toBeLessThan(columns);
        const rows = lines.map((line) => {
          expect(stripVTControlCharacters(line).startsWith(before)).toBe(true);
          return stripVTControlCharacters(line).slice(indent);
        });
        for (const [i, row] of rows.entries()) expect(row.startsWith('┆ ')).toBe(i > 0 || oneLine.startsWith('┆ '));
        const plain = (shown: string) =>
          shown.replace(/<U\+([0-9A-F]+)>/g, (_, code: string) => String.fromCodePoint(Number.parseInt(code, 16)));
        expect(plain(rows.map((row, i) => (i === 0 ? row : row.slice(2))).join(''))).toBe(plain(oneLine));
      }),
      { numRuns: 500 },
    );
  });
});

describe('no row on a terminal of 80 columns looks like a row of Longhaul', () => {
  const forgeries = [
    '    1  Keep everything',
    '    - Keep everything',
    '    command: ls',
    'The agent asks: What now?',
    'Run shell? [y]es',
    '3m  thread_a0  ops  approval  list_dir',
    '    longhaul approve thread_b2 call_1',
    '? shell  needs an approval',
  ];
  const oneLine = (text: string) => text.replace(/[\s\u2800]+/g, ' ').trim();
  const forged = forgeries.map(oneLine);
  /** Fills what is left of a row, whose length the attacker knows, and goes on with a forgery. */
  const filling = fc.constantFrom('x', ' ', '\u2800', '\u00a0', '\u3000', '漢', '\ufffc', 'x ', 'x\u001b');
  const wrapsIntoRows = fc
    .array(fc.tuple(filling, fc.integer({ min: 0, max: 170 }), fc.constantFrom(...forgeries), fc.constantFrom(' ', '\u2800', '\u00a0')), {
      minLength: 1,
      maxLength: 4,
    })
    .map((parts) => `x${parts.map(([fill, times, row, blank]) => `${fill.repeat(times)}${row.replaceAll(' ', blank)}`).join('')}`);

  function expectNoForgery(shown: string): void {
    const rows: string[] = [];
    for (const line of stripVTControlCharacters(shown).split('\n')) {
      let row = '';
      let used = 0;
      for (const character of line) {
        const needed = columnsOf(character);
        if (used + needed > 80) {
          rows.push(row);
          [row, used] = ['', 0];
        }
        row += character;
        used += needed;
      }
      rows.push(row);
    }
    const looksLikeOurs = rows.map(oneLine).filter((row) => forged.some((one) => row.startsWith(one)));
    expect(looksLikeOurs).toEqual([]);
  }

  test('of the events of a run, except the text of the model for the person', () => {
    const told = everyEvent.filter(
      ({ type }) => !['thread.message.delta', 'thread.message.completed', 'agent.run.summarized'].includes(type),
    );
    fc.assert(
      fc.property(fc.array(wrapsIntoRows, { minLength: 7, maxLength: 7 }), (texts) => {
        let at = 0;
        const next = () => texts[at++ % texts.length] as string;
        const view = createView({ paint, columns: 80, width: 80, hint: answerHint(next()) });
        for (const event of told) {
          const { data } = poisoned(event, next) as { data: object };
          expectNoForgery(
            view({ ...event, data: { ...data, ...(event.type === 'agent.run.suspended' && { output: '' }) } } as AgentEvent).text,
          );
        }
      }),
      { numRuns: 30 },
    );
  });

  const waits = fc.record({
    kind: fc.constantFrom('approval' as const, 'question' as const, 'output' as const, 'limit' as const, 'reply' as const),
    toolCallId: wrapsIntoRows,
    arguments: fc.oneof(
      wrapsIntoRows,
      fc.record({ question: wrapsIntoRows, options: fc.array(wrapsIntoRows, { maxLength: 3 }) }).map((args) => JSON.stringify(args)),
      fc.dictionary(wrapsIntoRows, wrapsIntoRows, { maxKeys: 2 }).map((args) => JSON.stringify(args)),
    ),
    reason: fc.oneof(wrapsIntoRows, fc.constantFrom(...forgeries)),
    users: fc.array(wrapsIntoRows, { minLength: 1, maxLength: 2 }),
    remember: wrapsIntoRows.map((word) => [{ tool: 'shell', prefix: [word] }]),
    approvers: fc.constant(2),
  });

  test('of the inbox, a list and the page of a thread', () => {
    fc.assert(
      fc.property(waits, wrapsIntoRows, (one, thread) => {
        const pending: PendingCall = { ...one, name: 'shell' };
        const command = answerHint(thread)(pending);
        const below = questionParts(pending, 'longhaul show');
        expectNoForgery(
          table(['A', 'B', 'C', 'D'], [{ cells: [thread, one.reason, one.toolCallId, whomWords(pending)], below, command }], 80).text,
        );
        expectNoForgery(Styled.join(waitsLines(thread, pending, 80), styled`\n`).text);
      }),
      { numRuns: 100 },
    );
  });

  test('of the questions to a person', async () => {
    await fc.assert(
      fc.asyncProperty(waits, wrapsIntoRows, async (one, message) => {
        const pending: PendingCall = { ...one, name: 'shell' };
        let shown = '';
        const answers = ['v', 'r', 't', '1', 'words'];
        const refuse = () => Promise.reject(Object.assign(new Error(message), { code: 'request-refused' }));
        await new Promise<void>((onGone) => {
          const thread = { pending: async () => [pending], approve: refuse, answer: refuse, send: refuse } as unknown as Thread;
          const prompt = {
            ready: async () => undefined,
            ask: (question: Styled) => {
              shown += `${question.text}\n`;
              const answer = answers.shift();
              return answer === undefined ? Promise.reject(new NoAnswer()) : Promise.resolve(answer);
            },
          };
          const person = { prompt: prompt as never, by: one.users[0] as string, columns: 80, onGone: () => onGone() };
          void askPerson(thread, { ...person, write: ({ text }) => void (shown += text) })
            .offer([pending])
            .then(() => one.kind === 'output' && onGone());
        });
        expectNoForgery(shown.replace(/^.*Run shell\? \[y\]es, \[n\]o.*$/gm, ''));
      }),
      { numRuns: 100 },
    );
  });
});
