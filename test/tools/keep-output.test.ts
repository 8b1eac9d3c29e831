import { z } from 'zod';
import { parseArtifactUrl } from '../../src/core/artifact-url';
import type { Content, OutputRef, Part } from '../../src/core/message';
import { defineTool } from '../../src/tools/defining/define-tool';
import { type KeepBytes, shownOutput } from '../../src/tools/running/keep-output';
import { capContent, maxImageBytes, maxOutputBytes } from '../../src/tools/running/output-cap';
import { run } from './tool-host';

/** A store in memory; `ids` count the distinct contents. */
function store() {
  const kept: { bytes: Buffer; mediaType: string }[] = [];
  const keep: KeepBytes = async (bytes, mediaType) => {
    kept.push({ bytes: Buffer.from(bytes), mediaType });
    return { id: String(kept.length).padStart(32, '0'), bytes: bytes.length, lines: 1, mediaType };
  };
  return { kept, keep };
}

const failing: KeepBytes = async () => undefined;
const ref = (id: number) => String(id).padStart(32, '0');
const bytesOf = (content: Content) => Buffer.byteLength(typeof content === 'string' ? content : JSON.stringify(content));

test('a short output is shown as it is, without a reference', async () => {
  const { kept, keep } = store();
  expect(await shownOutput('short', keep)).toEqual({ content: 'short' });
  expect(await shownOutput('', keep)).toEqual({ content: '' });
  expect(kept).toEqual([]);
});

test('[B120] an output that pruning may clear is stored, and shown whole', async () => {
  const { kept, keep } = store();
  const text = 'x'.repeat(1_000);
  expect(await shownOutput(text, keep)).toEqual({ content: text, outputRef: expect.objectContaining({ id: ref(1), bytes: 1_000 }) });
  expect(kept[0]?.bytes.toString()).toBe(text);
});

test('[B101] [B102] [B121] a long output is cut at lines to its head and tail, with the number of tokens left out and a reference', async () => {
  const { kept, keep } = store();
  const whole = Array.from({ length: 20_000 }, (_, at) => `line ${at} é漢😀`).join('\n');
  const { content, outputRef } = await shownOutput(whole, keep);
  const [head = '', tail = ''] = (content as string).split(
    /\[\.\.\. \d+ bytes \(about \d+ tokens\) left out \.\.\.\]\n\[tool output truncated; ref=0{31}1\]\n/,
  );
  expect(whole.startsWith(head) && head.endsWith('\n')).toBe(true);
  expect(whole.endsWith(tail) && tail.startsWith('line ')).toBe(true);
  expect(head.length + tail.length).toBeGreaterThan(30_000);
  expect(bytesOf(content)).toBeLessThanOrEqual(maxOutputBytes);
  expect(outputRef).toEqual({ id: ref(1), bytes: Buffer.byteLength(whole), lines: 1, mediaType: 'text/plain', trimmed: true });
  expect(kept[0]?.bytes.toString()).toBe(whole);
});

test('[B122] a first line longer than the cap keeps a usable beginning', async () => {
  const { content } = await shownOutput(`${'x'.repeat(10_000_000)}\nend`, store().keep);
  expect(content).toMatch(/^x{20000,}\n\[\.\.\. \d+ bytes/);
  expect(content).toMatch(/\nend$/);
});

test('[B127] what could not be stored is cut all the same, and the view says that it is lost', async () => {
  const { content, outputRef } = await shownOutput('y'.repeat(200_000), failing);
  expect(content).toContain('left out, not kept');
  expect(outputRef).toBeUndefined();
});

describe('hostile outputs', () => {
  const tool = (value: () => unknown) =>
    defineTool({ name: 'hostile', description: 'Returns it.', input: z.object({}), effect: 'pure', execute: value });
  const shown = async (value: () => unknown) => {
    const { kept, keep } = store();
    const { outcome } = await run(tool(value), {}, { keep });
    return { outcome, kept };
  };

  test('50 MB of text', async () => {
    const { outcome, kept } = await shown(() => 'z'.repeat(50_000_000));
    expect(outcome.status).toBe('success');
    expect(bytesOf(outcome.content)).toBeLessThanOrEqual(maxOutputBytes);
    expect(kept[0]?.bytes.length).toBe(50_000_000);
  });

  test('half a surrogate', async () => {
    const { outcome, kept } = await shown(() => `${'a'.repeat(300)}\ud83d`);
    expect(outcome.content).toBe(`${'a'.repeat(300)}\ufffd`);
    expect(kept[0]?.bytes.toString()).toBe(outcome.content);
  });

  test('bytes that are text are shown as text', async () => {
    expect((await shown(() => Buffer.from('héllo'))).outcome.content).toBe('héllo');
  });

  test('binary data and invalid UTF-8 are stored and named', async () => {
    const bytes = Buffer.from([0xff, 0xfe, 0x00, 0x80]);
    const { outcome, kept } = await shown(() => bytes);
    expect(outcome.content).toBe(`[4 bytes of binary data; ref=${ref(1)}]`);
    expect(outcome.outputRef).toMatchObject({ mediaType: 'application/octet-stream', trimmed: true });
    expect(kept[0]?.bytes.equals(bytes)).toBe(true);
    expect(await shownOutput(bytes)).toEqual({ content: '[4 bytes of binary data, not kept]' });
  });

  test('10,000 parts', async () => {
    const { outcome, kept } = await shown(() => Array.from({ length: 10_000 }, (_, at) => ({ type: 'text', text: `part ${at}` })));
    expect((outcome.content as Part[]).length).toBe(501);
    expect((outcome.content as Part[]).at(-1)).toEqual({
      type: 'text',
      text: `[... parts after the first 500 left out ...]\n[tool output truncated; ref=${ref(1)}]`,
    });
    expect(kept[0]?.bytes.toString().split('\n')).toHaveLength(10_000);
  });

  test('an object of more JSON than is shown is stored whole', async () => {
    const rows = Array.from({ length: 50_000 }, (_, id) => ({ id }));
    const { outcome, kept } = await shown(() => rows);
    expect(bytesOf(outcome.content)).toBeLessThanOrEqual(maxOutputBytes);
    expect(JSON.parse(kept[0]?.bytes.toString() ?? '')).toEqual(rows);
  });

  test('a part with a getter that throws', async () => {
    const part = {
      type: 'text',
      get text(): string {
        if (this.type === 'text' && reads++ > 0) throw new Error('no');
        return 'x';
      },
    };
    let reads = 0;
    expect((await shown(() => [part])).outcome).toMatchObject({ status: 'failed', error: { name: 'UnserializableToolResultError' } });
  });
});

describe('[B124] images and files', () => {
  const image = (bytes: number): Part => ({ type: 'image', url: `data:image/png;base64,${Buffer.alloc(bytes, 7).toString('base64')}` });

  test('those that fit into the history stay in it, next to their text', async () => {
    const { kept, keep } = store();
    const content: Part[] = [{ type: 'text', text: 'a chart' }, image(10_000)];
    expect(await shownOutput(content, keep)).toEqual({ content });
    expect(kept).toEqual([]);
  });

  test('one of 5 MB is stored, and its part refers to it', async () => {
    const { kept, keep } = store();
    const { content } = await shownOutput([{ type: 'text', text: 'a photo' }, image(5_000_000)], keep);
    const part = (content as Part[])[1];
    expect(part?.type === 'image' && parseArtifactUrl(part.url)).toEqual({ mediaType: 'image/png', id: ref(1) });
    expect(kept[0]?.bytes.equals(Buffer.alloc(5_000_000, 7))).toBe(true);
  });

  test('the store keeps the text, with a line for each of them', async () => {
    const { kept, keep } = store();
    const file: Part = {
      type: 'file',
      url: `data:application/pdf;base64,${'A'.repeat(2_000_000)}`,
      mediaType: 'application/pdf',
      name: 'a.pdf',
    };
    const { outputRef } = await shownOutput([{ type: 'text', text: 't'.repeat(60_000) }, file, image(10)], keep);
    expect(outputRef).toMatchObject({ trimmed: true });
    expect(kept.map(({ mediaType }) => mediaType)).toEqual(['application/pdf', 'text/plain']);
    expect(kept[1]?.bytes.toString()).toBe(
      `${'t'.repeat(60_000)}\n[File a.pdf (application/pdf): artifact:application/pdf,${ref(1)}]\n[Image]`,
    );
  });

  test('one that can not be stored is left out as without a store', async () => {
    const large = image(maxImageBytes);
    expect(await shownOutput([large], failing)).toEqual({ content: capContent([large]) });
  });
});

test('a failed call stores its output, too', async () => {
  const kept: OutputRef[] = [];
  const tool = defineTool({
    name: 'fails',
    description: 'Fails.',
    input: z.object({}),
    execute: () => {
      throw new Error('e'.repeat(100_000));
    },
  });
  const keep: KeepBytes = async (bytes, mediaType) => {
    const one = { id: ref(9), bytes: bytes.length, lines: 1, mediaType };
    kept.push(one);
    return one;
  };
  const { outcome } = await run(tool, {}, { keep });
  expect(outcome).toMatchObject({ status: 'failed', outputRef: { id: ref(9), trimmed: true } });
  expect(outcome.content).toContain(`ref=${ref(9)}`);
});
