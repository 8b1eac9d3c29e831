import { Artifacts, memoryArtifacts } from '../../src/artifacts';
import { createOutputTools } from '../../src/tools/built-in/output-tools';
import { createShell } from '../../src/tools/built-in/shell';
import type { Tool } from '../../src/tools/defining/define-tool';
import { maxOutputBytes } from '../../src/tools/running/output-cap';
import { hostWith, run } from './tool-host';

const artifacts = new Artifacts(memoryArtifacts());
const [readOutput, readLine, grep] = createOutputTools((...asked) => artifacts.use(...asked)) as [Tool, Tool, Tool];

async function stored(content: string | Buffer): Promise<string> {
  const ref = await artifacts.keep(hostWith().threadId, Buffer.from(content), 'text/plain');
  return ref?.id ?? '';
}

/** What the model sees. Never cut again, and never empty. */
async function told(tool: Tool, args: object): Promise<string> {
  const { outcome } = await run(tool, args);
  const text = outcome.content as string;
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(maxOutputBytes);
  expect(text).not.toBe('');
  expect(text).not.toContain('not kept');
  return text;
}

const numbered = Array.from({ length: 5_000 }, (_, at) => `line ${at + 1}`).join('\n');

describe('[B128] read_output', () => {
  test('returns numbered lines, with a hint how to go on', async () => {
    const ref = await stored(numbered);
    expect(await told(readOutput, { ref, offset: 10, limit: 2 })).toBe(
      'L10: line 10\nL11: line 11\n[... 4989 more lines; go on with offset 12 ...]',
    );
    expect(await told(readOutput, { ref, offset: 4_999 })).toBe('L4999: line 4999\nL5000: line 5000');
    expect(await told(readOutput, { ref, offset: 6_000 })).toBe('[... offset 6000 is past the end: the output has 5000 lines ...]');
  });

  test('the pages of an output are all of it, each below 50 KiB', async () => {
    const whole = Array.from({ length: 3_000 }, (_, at) => `${at} ${'é'.repeat(at % 200)}`);
    const ref = await stored(whole.join('\n'));
    const lines: string[] = [];
    for (let offset: number | undefined = 1; offset !== undefined; ) {
      const page: string = await told(readOutput, { ref, offset, limit: 100_000 });
      const [, next] = /\n\[\.\.\. \d+ more lines; go on with offset (\d+) \.\.\.\]$/.exec(page) ?? [];
      lines.push(...page.replace(/\n\[\.\.\. \d+ more lines;.*$/, '').split('\n'));
      offset = next === undefined ? undefined : Number(next);
    }
    expect(lines.map((line) => line.replace(/^L\d+: /, ''))).toEqual(whole);
  });

  test('a line of 10 MB is clipped', async () => {
    const text = await told(readOutput, { ref: await stored(`first\n${'x'.repeat(10_000_000)}\nlast`) });
    expect(text).toMatch(/^L1: first\nL2: x{2000}… \[9998000 more characters\]\nL3: last$/);
  });

  test.each([
    ['', '(empty output)'],
    ['\n', 'L1: '],
    ['one', 'L1: one'],
  ])('the output %j', async (text, shown) => expect(await told(readOutput, { ref: await stored(text) })).toBe(shown));

  test('64 million line breaks are counted in time', async () => {
    const ref = await stored(Buffer.alloc(60_000_000, '\n'));
    const started = performance.now();
    expect(await told(readOutput, { ref, offset: 59_999_999, limit: 1 })).toContain('1 more lines');
    expect(performance.now() - started).toBeLessThan(5_000);
  });
});

describe('[B129] read_output_line', () => {
  test('pages through a long line without splitting what is seen as one character', async () => {
    const family = '👨‍👩‍👧‍👦';
    const line = `a${family}e\u0301🇩🇪`.repeat(3_000);
    const ref = await stored(`first\n${line}\nlast`);
    let read = '';
    for (let offset: number | undefined = 0; offset !== undefined; ) {
      const page: string = await told(readLine, { ref, line: 2, offset, limit: 1_001 });
      const [, next] = /\n\[\.\.\. \d+ more characters; go on with offset (\d+) \.\.\.\]$/.exec(page) ?? [];
      const piece = page.replace(/\n\[\.\.\. .*$/, '');
      expect(piece).toMatch(/^(a|👨‍👩‍👧‍👦|e\u0301|🇩🇪)/u);
      expect(piece).toMatch(/(a|👨‍👩‍👧‍👦|e\u0301|🇩🇪)$/u);
      read += piece;
      offset = next === undefined ? undefined : Number(next);
    }
    expect(read).toBe(line);
  });

  test('an offset inside a character begins with the whole of it', async () => {
    expect(await told(readLine, { ref: await stored('ab👨‍👩‍👧‍👦cd'), offset: 6 })).toBe('👨‍👩‍👧‍👦cd');
  });

  test('in the middle of 10 MB it looks only at what is near', async () => {
    const ref = await stored('x'.repeat(10_000_000));
    const before = process.cpuUsage();
    expect(await told(readLine, { ref, offset: 5_000_000, limit: 10 })).toBe(
      'xxxxxxxxxx\n[... 4999990 more characters; go on with offset 5000010 ...]',
    );
    // CPU and not time, which depends on how busy the machine is.
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(2_000);
  });

  test('one character that is larger than a page is split, and its pages come to an end', async () => {
    const ref = await stored(`a${'\u0301'.repeat(100_000)}`);
    let pages = 0;
    for (let offset: number | undefined = 0; offset !== undefined; pages += 1) {
      const page: string = await told(readLine, { ref, offset });
      const [, next] = /go on with offset (\d+) \.\.\.\]$/.exec(page) ?? [];
      if (next !== undefined) expect(Number(next)).toBeGreaterThan(offset);
      offset = next === undefined ? undefined : Number(next);
    }
    expect(pages).toBeLessThan(50);
  });

  test('a line or an offset that does not exist is said', async () => {
    const ref = await stored('one\n\nthree');
    expect(await told(readLine, { ref, line: 9 })).toBe('[... the output has no line 9 ...]');
    expect(await told(readLine, { ref, line: 2 })).toBe('(empty line)');
    expect(await told(readLine, { ref, line: 1, offset: 3 })).toBe('[... offset 3 is past the end: the line has 3 characters ...]');
  });
});

describe('[B130] grep_output', () => {
  test('finds literal text, with lines around it', async () => {
    const ref = await stored(numbered);
    expect(await told(grep, { ref, pattern: 'line 100', before: 1, after: 1, max_matches: 2 })).toBe(
      'L99- line 99\nL100: line 100\nL101- line 101\n--\nL999- line 999\nL1000: line 1000\n[... more matches; use a narrower pattern, or a higher max_matches ...]',
    );
    expect(await told(grep, { ref, pattern: '.' })).toBe('[... no match in 5000 lines ...]');
  });

  test('finds patterns', async () => {
    const ref = await stored('alpha\nBeta\n\tgamma\n');
    expect(await told(grep, { ref, pattern: '^b|m{2}', regex: true, ignore_case: true })).toBe('L2: Beta\nL3: \tgamma');
    expect(await told(grep, { ref, pattern: '^$', regex: true })).toBe('[... no match in 3 lines ...]');
  });

  test('lines around neighbouring matches are shown once', async () => {
    const ref = await stored('a\nx\nb\nx\nc\nd\ne');
    expect(await told(grep, { ref, pattern: 'x', before: 1, after: 1 })).toBe('L1- a\nL2: x\nL3- b\nL4: x\nL5- c');
  });

  test('in a long line, each match comes with its place', async () => {
    const ref = await stored(`${'-'.repeat(5_000)}needle${'-'.repeat(5_000)}needle`);
    const text = await told(grep, { ref, pattern: 'needle' });
    expect(text.split('\n')).toEqual([
      expect.stringMatching(/^L1 \(character 5000 of 10012\): …-{200}needle-{200}…$/),
      expect.stringMatching(/^L1 \(character 10006 of 10012\): …-{200}needle…$/),
    ]);
  });

  test('its output is bounded', async () => {
    const ref = await stored('match '.repeat(100).concat('\n').repeat(5_000));
    expect(await told(grep, { ref, pattern: 'match', max_matches: 1_000 })).toMatch(/more matches; use a narrower pattern/);
  });

  test('a pattern that would never end is given up, and the worker goes on meanwhile', async () => {
    const ref = await stored(`${'a'.repeat(50)}!`);
    let ticks = 0;
    const ticking = setInterval(() => {
      ticks += 1;
    }, 20);
    const { outcome } = await run(grep, { ref, pattern: '^(a+)+$', regex: true });
    clearInterval(ticking);
    expect(outcome).toMatchObject({ status: 'failed', content: 'Error: the search took more than 5 s. Use a simpler pattern.' });
    expect(ticks).toBeGreaterThan(50);
  }, 20_000);

  test('an invalid pattern is said', async () => {
    expect((await run(grep, { ref: await stored('x'), pattern: '(', regex: true })).outcome.content).toMatch(
      /^Error: Invalid regular expression/,
    );
  });
});

test('[B154] a large output of the shell is shown by its head and tail with an id, by which all of it can be read and searched', async () => {
  const { outcome } = await run(
    createShell(),
    { command: 'seq 1 30000; echo an error >&2; seq 30001 60000' },
    { keep: (bytes, mediaType) => artifacts.keep(hostWith().threadId, bytes, mediaType) },
  );
  expect(outcome.content).toMatch(/^1\n2\n3\n[\s\S]*\n59999\n60000$/);
  const [, ref = ''] = /\[tool output truncated; ref=(\w+)\]/.exec(outcome.content as string) ?? [];
  expect(outcome.outputRef).toMatchObject({ id: ref, lines: 60_001, trimmed: true });
  expect(await told(readOutput, { ref, offset: 30_000, limit: 3 })).toMatch(/^L30000: 30000\nL30001: an error\nL30002: 30001\n/);
  expect(await told(grep, { ref, pattern: 'an error' })).toBe('L30001: an error');
});

describe('what can not be read', () => {
  test.each(['read_output', 'read_output_line', 'grep_output'])('%s tells the model', async (name) => {
    const tool = [readOutput, readLine, grep].find((one) => one.name === name) as Tool;
    const binary = await stored(Buffer.from([0xff, 0xfe]));
    expect((await run(tool, { ref: binary, pattern: 'x' })).outcome.content).toContain('is 2 bytes of binary data; only text can be read');
    const other = await run(tool, { ref: await stored('secret'), pattern: 'x' }, { threadId: 'another-thread' });
    expect(other.outcome).toMatchObject({
      status: 'failed',
      content: expect.stringContaining('This thread has no stored output with ref'),
    });
    expect((await run(tool, { ref: '../../etc/passwd', pattern: 'x' })).outcome.content).toContain('has no stored output with ref');
  });
});
