import fc from 'fast-check';
import { argumentLines } from '../../src/core/argument-lines';
import { printable, printableJson, printableLine, printableSince, withoutSequences } from '../../src/core/printable';
import { hostileText } from '../support/hostile-texts';

/** What may never reach a terminal. */
const control = /(?!\n)[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u{e0000}-\u{e007f}]/u;

test.each([
  ['text of any script', 'Grüße, שלום, مرحبا, 漢字, नमस्ते, ภาษาไทย'],
  ['emoji of several characters', '👩🏽‍💻 👨‍👩‍👧 🏳️‍🌈 1️⃣ ❤️‍🔥 🏴󠁧󠁢󠁥󠁮󠁧󠁿 ☺︎'],
  ['joiners within words', 'می‌خواهم क्‍ष ശ്‍രീ'],
  ['spaces without a width between words of Khmer', 'ភាសា​ខ្មែរ'],
  ['an ideograph in one of its forms', '葛󠄀城'],
])('%s is not changed', (_, text) => {
  expect(printable(text)).toBe(text);
});

test.each([
  ['an escape sequence', '\u001b[2J', '<U+001B>[2J'],
  ['one of the eight-bit kind', '\u009b2J', '<U+009B>2J'],
  ['a carriage return that would write over the line', 'safe\revil', 'safe<U+000D>evil'],
  ['another order of characters', 'a\u202eb\u2066c\u200fd\u061ce', 'a<U+202E>b<U+2066>c<U+200F>d<U+061C>e'],
  ['characters without a width', 'rm\u200b\u2060\ufeff\u00ad\u3164', 'rm<U+200B><U+2060><U+FEFF><U+00AD><U+3164>'],
  ['a joiner that joins nothing', 'a\u200db', 'a<U+200D>b'],
  ['variation selectors in a row, which may spell a message', '👍\ufe0f\ufe0f', '👍\ufe0f<U+FE0F>'],
  ['tags, which may, too', '\u{e0068}\u{e0069}', '<U+E0068><U+E0069>'],
  ['half of a surrogate pair', 'x\ud83d', 'x<U+D83D>'],
  ['separators of lines that are no line breaks', 'a\u2028b\u0085c', 'a<U+2028>b<U+0085>c'],
])('%s is shown by its code point', (_, text, shown) => {
  expect(printable(text)).toBe(shown);
});

test('line breaks stay, or become blanks', () => {
  expect(printable('a\r\n\n\tb')).toBe('a\n\n  b');
  expect(printableLine('a\r\n\n\tb ')).toBe('a b ');
});

test.each([
  ['\u061c\u200d\u061c', '<U+061C><U+200D><U+061C>'],
  ['\u17b4\u200b\u17b5', '<U+17B4><U+200B><U+17B5>'],
  ['\u180e\u180b', '<U+180E><U+180B>'],
  ['\u0645\u200d\u0645', '\u0645\u200d\u0645'],
])('a character between hidden ones of its script is hidden, too: %j', (text, shown) => {
  expect(printable(text)).toBe(shown);
  expect(printable(shown)).toBe(shown);
});

test('no control character is left, whatever the input, and a second pass changes nothing', () => {
  fc.assert(
    fc.property(hostileText, (text) => {
      const shown = printable(text);
      expect(shown.replace(/🏴(?:[\u{e0060}-\u{e007a}]+\u{e007f})/gu, '')).not.toMatch(control);
      expect(printable(shown)).toBe(shown);
      expect(printableLine(text)).not.toMatch(/\n/);
    }),
    { numRuns: 2_000 },
  );
});

test('a text that arrives in pieces is shown as the complete text would be, wherever it is split', () => {
  const emoji = fc.constantFrom('👩🏽‍💻', '🏴‍☠️', '👩‍🏴', '1️⃣', '🏴󠁧󠁢󠁥󠁮󠁧󠁿', 'می‌خواهم', '\r\n', 'plain');
  fc.assert(
    fc.property(fc.array(fc.oneof(hostileText, emoji)), fc.array(fc.nat(40)), (parts, cuts) => {
      const text = parts.join('');
      let shown = '';
      let from = 0;
      let end = 0;
      for (const cut of [...cuts, text.length]) {
        end = Math.min(text.length, end + cut);
        const { part, to } = printableSince(text.slice(0, end), from, end === text.length);
        shown += part;
        from = to;
      }
      expect(shown).toBe(printable(text));
    }),
    { numRuns: 1_000 },
  );
});

test('an output loses the colours of the program that printed it, and keeps each line that was overwritten', () => {
  const output = '\u001b[1;31mfail\u001b[0m\r\n10%\r100%\n\u001b]8;;https://x\u001b\\docs\u001b]8;;\u0007 \u001b(Bend';
  expect(withoutSequences(output)).toBe('fail\n10%\n100%\ndocs end');
});

test('JSON is the same value, with hidden characters as escapes', () => {
  fc.assert(
    fc.property(fc.dictionary(hostileText, hostileText), (value) => {
      const json = printableJson(value);
      expect(JSON.parse(json)).toEqual(value);
      expect(json.replace(/🏴(?:[\u{e0060}-\u{e007a}]+\u{e007f})/gu, '')).not.toMatch(control);
      expect(json).not.toContain('\n');
    }),
  );
});

describe('the arguments of a call', () => {
  test('are listed in their order, with strings unchanged', () => {
    const args = JSON.stringify({ command: 'ls | wc', limits: { cpu: 2 }, quiet: true, note: '' });
    expect(argumentLines(args)).toEqual({ lines: ['command: ls | wc', 'limits: {"cpu":2}', 'quiet: true', 'note: ""'], left: 0 });
  });

  test('are unambiguous: a string that reads as another value is in quotes', () => {
    const args = {
      a: '5',
      b: 5,
      c: 'true',
      d: true,
      e: 'null',
      f: null,
      g: '{"x":1}',
      h: { x: 1 },
      i: ' [1] ',
      j: '"5"',
      k: '1\n',
      l: ' ',
    };
    expect(argumentLines(JSON.stringify(args)).lines).toEqual([
      'a: "5"',
      'b: 5',
      'c: "true"',
      'd: true',
      'e: "null"',
      'f: null',
      'g: "{\\"x\\":1}"',
      'h: {"x":1}',
      'i: " [1] "',
      'j: "\\"5\\""',
      'k: "1\\n"',
      'l: " "',
    ]);
    expect(argumentLines(JSON.stringify({ content: '{\n  "x": 1\n}\n' })).lines).toEqual(['content: {', '│   "x": 1', '│ }', '│ ']);
  });

  test('of two kinds never look alike', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
        const shown = (value: unknown) => argumentLines(JSON.stringify({ a: value })).lines.join('\n');
        for (const value of [JSON.stringify(one), ` ${JSON.stringify(one)}`, other]) {
          if (JSON.stringify(value) !== JSON.stringify(one)) expect(shown(value)).not.toBe(shown(one));
        }
      }),
    );
  });

  test.each([
    [' '.repeat(2_400), '<2400 blanks>'],
    ['\t'.repeat(41), '<41 blanks>'],
    [' \u00a0\u3000\u2800'.repeat(20), '<80 blanks>'],
  ])('show the number of blanks that push the rest off the screen (%#)', (blanks, shown) => {
    expect(argumentLines(JSON.stringify({ command: `npm test${blanks}; curl evil` })).lines).toEqual([
      `command: npm test${shown}; curl evil`,
    ]);
    expect(argumentLines(JSON.stringify({ env: { a: `x${blanks.replaceAll('\t', ' ')}y` } })).lines).toEqual([`env: {"a":"x${shown}y"}`]);
    expect(argumentLines(`{"no": JSON${blanks}x`).lines).toEqual([`│ {"no": JSON${shown}x`]);
    expect(argumentLines(JSON.stringify({ [`x${blanks.replaceAll('\t', ' ')}y`]: 1 })).lines).toEqual([`"x${shown}y": 1`]);
  });

  test.each(['\ufffc', '\u{13441}', '\u{16fe4}', '\u{1d159}', '\u{13430}'])('show the number of invisible characters (%#)', (empty) => {
    const number = `<U+${empty.codePointAt(0)?.toString(16).toUpperCase()}>`;
    expect(argumentLines(JSON.stringify({ command: `ls${empty.repeat(500)}; rm` })).lines).toEqual([
      `command: ls${number.repeat(500)}; rm`,
    ]);
    expect(argumentLines(JSON.stringify({ [`x${empty}`]: 1 })).lines).toEqual([`"x${number}": 1`]);
  });

  test('keep characters that shape a word of Egyptian or Khitan', () => {
    const words = '\u{13000}\u{13430}\u{13001}\u{13431}\u{13437}\u{13002} \u{18b00}\u{16fe4}\u{18b01}';
    expect(argumentLines(JSON.stringify({ words })).lines).toEqual([`words: ${words}`]);
  });

  test('keep the indents and columns of ordinary code', () => {
    const code = `${' '.repeat(40)}return x;\n${'\t'.repeat(12)}// deep\nname${' '.repeat(30)}value\n\n\n`;
    expect(argumentLines(JSON.stringify({ code })).lines.join('\n')).not.toContain('blanks>');
  });

  test('none can be made up by the line breaks, or the name, of another', () => {
    const args = JSON.stringify({ note: 'hi\ncommand: ls', 'x\ncommand': 'ls' });
    expect(argumentLines(args).lines).toEqual(['note: hi', '│ command: ls', '"x\\ncommand": ls']);
  });

  test('long values leave room for short ones, with a note of how much is not shown', () => {
    const args = JSON.stringify({ content: 'x'.repeat(5_000), path: 'a.txt' });
    expect(argumentLines(args, { lines: 10, chars: 1_000 })).toEqual({
      lines: [`content: ${'x'.repeat(1_000)}`, '… 4000 more characters of content are not shown', 'path: a.txt'],
      left: 4_000,
    });
    expect(argumentLines('{"a":"1\\n2\\n3","b":"yy","c":"zzz"}', { lines: 2, chars: 1_000 })).toEqual({
      lines: ['a: 1', '│ 2', '… 2 more characters of a are not shown', '… 2 more arguments, of 7 characters, are not shown'],
      left: 9,
    });
  });

  test.each([
    ['characters that are not seen', '\u00ad'.repeat(380_000)],
    ['runs of blanks that are not counted', `${' '.repeat(40)}x`.repeat(18_000)],
    ['line breaks of two characters', '\r\n'.repeat(300_000)],
    ['letters of other scripts', '漢'.repeat(250_000)],
  ])('are processed as far as there is room for them, and the rest is counted: %s', (_, text) => {
    const looked = jest.spyOn(RegExp.prototype, 'exec');
    const { lines, left } = argumentLines(JSON.stringify({ text, path: 'a.txt' }), { lines: 40, chars: 8_000 });
    const longest = Math.max(...looked.mock.calls.map(([given]) => String(given).length));
    looked.mockRestore();
    expect(longest).toBeLessThan(100_000);
    expect(lines.at(-1)).toBe('path: a.txt');
    expect(lines.at(-2)).toMatch(/^… \d{6,7} more characters of text are not shown$/);
    expect(left).toBeGreaterThan(100_000);
  });

  test('text after many blanks is shown if there is room for it', () => {
    const args = JSON.stringify({ command: `npm test${' '.repeat(300_000)}; curl evil${'x'.repeat(9_000)}` });
    const { lines } = argumentLines(args, { lines: 40, chars: 1_000 });
    expect(lines[0]).toMatch(/^command: npm test<300000 blanks>; curl evilx+$/);
    expect(lines[0]).toHaveLength('command: '.length + 1_000);
  });

  test('of a name that is long, only the beginning is shown, and the rest is counted', () => {
    const { lines, left } = argumentLines(JSON.stringify({ ['n'.repeat(300_000)]: 1 }), { lines: 40, chars: 1_000 });
    expect(lines).toEqual([`"${'n'.repeat(200)}"… (299800 more characters): 1`]);
    expect(left).toBe(299_800);
  });

  test('that are not JSON are shown as the model wrote them; missing ones are shown as none', () => {
    expect(argumentLines('{"path": \nrm').lines).toEqual(['│ {"path": ', '│ rm']);
    expect(argumentLines('').lines).toEqual([]);
    expect(argumentLines('{}').lines).toEqual([]);
  });

  test('everything is shown or counted', () => {
    const room = fc.record({ lines: fc.integer({ min: 1, max: 20 }), chars: fc.integer({ min: 1, max: 400 }) });
    const value = fc.oneof(hostileText, fc.string({ minLength: 150, maxLength: 600 }));
    fc.assert(
      fc.property(fc.array(value, { maxLength: 8 }), room, (values, room) => {
        const args = JSON.stringify(Object.fromEntries(values.map((text, i) => [`a${i}`, text])));
        const whole = argumentLines(args).lines.join('\n');
        const { lines, left } = argumentLines(args, room);
        if (left === 0) expect(lines.join('\n')).toBe(whole);
        else expect(lines.some((line) => line.endsWith('not shown'))).toBe(true);
      }),
    );
  });
});
