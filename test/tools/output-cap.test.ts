import fc from 'fast-check';
import type { Part } from '../../src/core/message';
import { toContent } from '../../src/core/tool';
import { capContent, capText, maxImageBytes } from '../../src/tools/running/output-cap';
import { OutputWindow } from '../../src/tools/running/output-window';

const marker = /\[\.\.\. (\d+) bytes \(about \d+ tokens\) left out, not kept \.\.\.\]\n/;
const bytes = (text: string) => Buffer.byteLength(text);
/** Well-formed text: with lone surrogates there would be nothing to compare with. */
const text = fc.string({ unit: fc.constantFrom('a', 'é', '漢', '😀', '\n', '[', ' '), maxLength: 1_500, size: 'max' });

/** What is kept is a beginning and an end of the whole, and the number is what is missing between them. */
function expectHeadAndTail(whole: string, view: string): void {
  const found = marker.exec(view);
  if (!found) throw new Error(`no marker in ${JSON.stringify(view)}`);
  const tail = view.slice(found.index + found[0].length);
  const before = view.slice(0, found.index);
  // The line break in front of the marker is ours where the text had none.
  const head = whole.startsWith(before) && bytes(before) + bytes(tail) + Number(found[1]) === bytes(whole) ? before : before.slice(0, -1);
  expect(whole.startsWith(head)).toBe(true);
  expect(whole.endsWith(tail)).toBe(true);
  expect(bytes(head) + bytes(tail) + Number(found[1])).toBe(bytes(whole));
  expect(view).not.toContain('\uFFFD');
}

describe('capText', () => {
  test('a text that fits is not changed', () => {
    fc.assert(fc.property(text, (whole) => expect(capText(whole, Math.max(320, bytes(whole)))).toBe(whole)));
  });

  test('a longer text keeps its beginning and its end, whole characters, within the cap', () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 320, max: 1_000 }), (whole, max) => {
        fc.pre(bytes(whole) > max);
        const view = capText(whole, max);
        expect(bytes(view)).toBeLessThanOrEqual(max);
        expectHeadAndTail(whole, view);
      }),
      { numRuns: 300 },
    );
  });

  test('a first line longer than the cap is not lost', () => {
    const view = capText(`${'x'.repeat(200_000)}\nend`);
    expect(view.startsWith('x'.repeat(20_000))).toBe(true);
    expect(view.endsWith('\nend')).toBe(true);
  });

  test('cuts are between lines if lines are short', () => {
    const whole = Array.from({ length: 10_000 }, (_, at) => `line ${at}`).join('\n');
    for (const line of capText(whole).split('\n')) expect(line).toMatch(/^(line \d+|\[\.\.\. \d+ bytes .* \.\.\.\])$/);
  });

  test('malformed text is cut without an error', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 400, maxLength: 2_000, size: 'max' }), (whole) => {
        expect(bytes(capText(whole, 320))).toBeLessThanOrEqual(Math.max(320, bytes(whole)));
      }),
    );
  });
});

describe('capContent', () => {
  test('text parts share one cap, with a note of what was dropped', () => {
    const parts: Part[] = Array.from({ length: 2_000 }, (_, at) => ({ type: 'text', text: `${at} ${'y'.repeat(100)}` }));
    const capped = capContent(parts, { max: 10_000 }) as Part[];
    const total = capped.reduce((sum, part) => sum + (part.type === 'text' ? bytes(part.text) : 0), 0);
    expect(total).toBeLessThanOrEqual(10_000 + 160);
    expect(capped.at(-2)).toMatchObject({ text: expect.stringMatching(/bytes .* left out/) });
    expect(capped.at(-1)).toMatchObject({ text: '[... parts after the first 500 left out ...]' });
  });

  test('an image that fits is kept, one that does not is replaced by a note', () => {
    const small: Part = { type: 'image', url: `data:image/png;base64,${'A'.repeat(100_000)}` };
    const large: Part = { type: 'image', url: `data:image/png;base64,${'A'.repeat(maxImageBytes)}` };
    expect(capContent([small, large])).toEqual([small, { type: 'text', text: expect.stringMatching(/^\[image left out: \d+ bytes/) }]);
  });
});

describe('OutputWindow', () => {
  test('gives the same result as capping the complete output, in whatever pieces it arrives', () => {
    fc.assert(
      fc.property(text, fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 20 }), (whole, sizes) => {
        const window = new OutputWindow(300);
        const all = Buffer.from(whole);
        for (let at = 0, turn = 0; at < all.length; turn += 1) {
          const size = sizes[turn % sizes.length] ?? 1;
          window.add(all.subarray(at, at + size));
          at += size;
        }
        if (all.length <= 300) expect(window.text()).toBe(whole);
        else expectHeadAndTail(whole, window.text());
      }),
      { numRuns: 300 },
    );
  });

  test('holds no more than it shows, however much arrives', () => {
    const window = new OutputWindow(10_000);
    const chunk = Buffer.alloc(64 * 1024, 'z');
    for (let turn = 0; turn < 2_000; turn += 1) window.add(chunk);
    expect(window.text().length).toBeLessThan(10_200);
    expect(window.text()).toContain(`[... ${2_000 * 65_536 - 10_000} bytes (about `);
  });
});

describe('toContent', () => {
  test('[B148] [A32] any JSON value can be parsed from it unchanged', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), (value) => {
        const content = toContent(value);
        if (typeof value === 'string') expect(content).toBe(value);
        else expect(JSON.parse(content as string)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  test('it always returns a content', () => {
    fc.assert(
      fc.property(fc.oneof(fc.anything(), fc.func(fc.anything())), (value) => {
        let content: unknown;
        try {
          content = toContent(value);
        } catch {
          return;
        }
        expect(typeof content === 'string' || Array.isArray(content)).toBe(true);
      }),
    );
  });
});
