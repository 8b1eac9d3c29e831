import { symlink, writeFile as writeText } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32, deflateSync, inflateSync } from 'node:zlib';
import fc from 'fast-check';
import { imageHeader } from '../../src/tools/built-in/image-header';
import { viewImage } from '../../src/tools/built-in/view-image';
import { newFolder, removeFolders, run, told } from './tool-host';

afterEach(removeFolders);

function chunk(type: string, data: Buffer): Buffer {
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
  const content = Buffer.concat([Buffer.from(type), data]);
  length.writeUInt32BE(data.length);
  checksum.writeUInt32BE(crc32(content));
  return Buffer.concat([length, content, checksum]);
}

function png(width: number, height: number, padding = 0): Buffer {
  const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0]);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.alloc(8))),
    chunk('tEXt', Buffer.alloc(padding)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

test('a PNG whose parts are missing or changed is damaged', () => {
  const whole = png(64, 64);
  expect(imageHeader(whole)?.isComplete).toBe(true);
  const changed = Buffer.from(whole);
  changed[whole.indexOf('IDAT') + 5]! ^= 1;
  const headerOnly = Buffer.concat([whole.subarray(0, 33), Buffer.from('IEND')]);
  const noData = Buffer.concat([whole.subarray(0, 33), chunk('IEND', Buffer.alloc(0))]);
  for (const bytes of [changed, headerOnly, noData, whole.subarray(0, -1)]) expect(imageHeader(bytes)?.isComplete).toBe(false);
});

test('a JPEG in which a decoder would find another size is not read', () => {
  const frame = (width: number) => Buffer.from([0xff, 0xc0, 0, 11, 8, 0, 100, width >> 8, width & 0xff, 1, 1, 0x11, 0]);
  const start = Buffer.from([0xff, 0xd8]);
  expect(imageHeader(Buffer.concat([start, frame(300), Buffer.from([0xff, 0xd9])]))).toMatchObject({ width: 300, height: 100 });
  // Decoders skip the marker, which has no length, and find the large frame; who takes the next bytes as a length finds the small one.
  for (const marker of [0x01, 0xd0, 0xd7, 0xda, 0xd9]) {
    const hidden = Buffer.concat([start, Buffer.from([0xff, marker]), frame(60_000)]);
    const behind = Buffer.alloc(4 + hidden.readUInt16BE(4) - hidden.length);
    expect(imageHeader(Buffer.concat([hidden, behind, frame(300), Buffer.from([0xff, 0xd9])]))).toBeUndefined();
  }
  expect(imageHeader(Buffer.concat([start, Buffer.from([0xff, 0xe0, 0, 0]), frame(300)]))).toBeUndefined();
});

const latin = (text: string) => Buffer.from(text, 'latin1');
const images = {
  'image/png': png(300, 200),
  'image/gif': Buffer.concat([latin('GIF89a'), Buffer.from([44, 1, 200, 0, 0, 0, 0]), latin('\x2c....\x3b')]),
  'image/jpeg': latin('\xff\xd8\xff\xe0\x00\x04ab\xff\xff\xc4\x00\x02\xff\xc2\x00\x0b\x08\x00\xc8\x01\x2c\x01\x11\x00....\xff\xd9'),
  'image/webp': latin('RIFF\x16\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\x2b\x01\x00\xc7\x00\x00'),
};

describe('view_image', () => {
  test.each(Object.entries(images))('[B143][B159] gives the model %s as an image, with its size as text', async (mediaType, bytes) => {
    const workspace = await newFolder();
    await writeText(join(workspace, 'picture'), bytes);
    const { outcome } = await run(viewImage, { path: 'picture', detail: 'low' }, { workspace });
    expect(outcome).toMatchObject({ status: 'success' });
    expect(outcome.content).toEqual([
      { type: 'text', text: `picture: ${mediaType}, 300x200 pixels, ${bytes.length} bytes` },
      { type: 'image', url: `data:${mediaType};base64,${bytes.toString('base64')}`, detail: 'low' },
    ]);
  });

  test('other WebP files', () => {
    const lossy = latin('RIFF\x16\x00\x00\x00WEBPVP8 \x0a\x00\x00\x00...\x9d\x01\x2a\x2c\x01\xc8\x00');
    const lossless = latin('RIFF\x16\x00\x00\x00WEBPVP8L\x0a\x00\x00\x00\x2f\x2b\xc1\x31\x00.....');
    for (const bytes of [lossy, lossless]) expect(imageHeader(bytes)).toMatchObject({ width: 300, height: 200, isComplete: true });
  });

  test('what a provider would reject is refused, with what to do', async () => {
    const workspace = await newFolder();
    const refused = async (bytes: Buffer | string) => {
      await writeText(join(workspace, 'f'), bytes);
      return told(viewImage, { path: 'f' }, { workspace });
    };
    expect(await refused('text')).toBe("Error: 'f' is not an image in a known format (PNG, JPEG, GIF, WebP, BMP).");
    const gif = Buffer.concat([latin('GIF89a'), Buffer.from([44, 99, 200, 0, 0, 0, 0]), latin('\x2c....\x3b')]);
    expect(await refused(gif)).toMatch(/has 25388x200 pixels and 19 bytes; .*only PNG, JPEG and BMP images are scaled. Scale it down/);
    // Refused by the header, before anything is decoded.
    expect(await refused(png(50_000, 50_000))).toContain('images of more than 25000000 pixels are not scaled');
    expect(await refused(png(9_000, 10))).toMatch(/^Error: 'f' can't be shown: /);
    expect(await refused(images['image/png'].subarray(0, 60))).toContain('is a damaged image');
    expect(await refused(latin('BM\x1a\x00\x00\x00....\x1a\x00\x00\x00\x0c\x00\x00\x00\x2c\x01\x00\x00\xc8\x00\x00\x00'))).toMatch(
      /^Error: 'f' can't be shown: /,
    );
    expect(await refused(Buffer.alloc(11 * 1024 * 1024))).toContain('too large');
  });

  test('an image outside the workspace is refused', async () => {
    const workspace = await newFolder();
    const outside = await newFolder();
    await writeText(join(outside, 'i.png'), png(1, 1));
    await symlink(join(outside, 'i.png'), join(workspace, 'link'));
    for (const path of ['link', join(outside, 'i.png')]) {
      expect(await told(viewImage, { path }, { workspace })).toContain('outside the workspace');
    }
    expect(await told(viewImage, { path: 'none' }, { workspace })).toContain('does not exist');
  });

  test('any bytes are read without an error', () => {
    const signature = fc.constantFrom(...Object.values(images), latin('BM'), latin('RIFF....WEBP'));
    fc.assert(
      fc.property(signature, fc.nat(60), fc.uint8Array({ maxLength: 60 }), (bytes, end, rest) => {
        imageHeader(Buffer.concat([bytes.subarray(0, end), rest]));
      }),
      { numRuns: 2_000 },
    );
  });
});

type Color = readonly [number, number, number, number];

/** A PNG with a color for each pixel. */
function painted(width: number, height: number, colorAt: (x: number, y: number) => Color): Buffer {
  const rows = Buffer.alloc((width * 4 + 1) * height);
  for (let y = 0; y < height; y += 1) for (let x = 0; x < width; x += 1) rows.set(colorAt(x, y), y * (width * 4 + 1) + 1 + x * 4);
  const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 6, 0, 0, 0]);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  const data = deflateSync(rows, { level: 1 });
  return Buffer.concat([latin('\x89PNG\r\n\x1a\n'), chunk('IHDR', header), chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))]);
}

/** A BMP from its rows, the lowest first. */
function bmp(width: number, height: number, bits: number, palette: number[], rows: Buffer): Buffer {
  const header = Buffer.alloc(54);
  header.write('BM');
  header.writeUInt32LE(54 + palette.length + rows.length, 2);
  header.writeUInt32LE(54 + palette.length, 10);
  header.writeUInt32LE(40, 14);
  header.writeInt32LE(width, 18);
  header.writeInt32LE(height, 22);
  header.writeUInt16LE(1, 26);
  header.writeUInt16LE(bits, 28);
  return Buffer.concat([header, Buffer.from(palette), rows]);
}

/** The colors of a PNG of eight bits with an alpha channel. */
function pixelsOf(file: Buffer): Color[][] {
  const [width, height] = [file.readUInt32BE(16), file.readUInt32BE(20)];
  expect([file[24], file[25], file[28]]).toEqual([8, 6, 0]);
  const chunks: Buffer[] = [];
  for (let at = 8; at < file.length; at += file.readUInt32BE(at) + 12) {
    if (file.toString('latin1', at + 4, at + 8) === 'IDAT') chunks.push(file.subarray(at + 8, at + 8 + file.readUInt32BE(at)));
  }
  const raw = inflateSync(Buffer.concat(chunks));
  const stride = width * 4;
  const out = Buffer.alloc(stride * height);
  for (let i = 0; i < out.length; i += 1) {
    const [y, x] = [Math.floor(i / stride), i % stride];
    const [left, up] = [x < 4 ? 0 : (out[i - 4] ?? 0), y === 0 ? 0 : (out[i - stride] ?? 0)];
    const corner = x < 4 || y === 0 ? 0 : (out[i - stride - 4] ?? 0);
    const [a, b, c] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)];
    const paeth = a <= b && a <= c ? left : b <= c ? up : corner;
    const filter = raw[y * (stride + 1)] ?? 0;
    out[i] = (raw[y * (stride + 1) + 1 + x] ?? 0) + ([0, left, up, Math.floor((left + up) / 2), paeth][filter] ?? 0);
  }
  return Array.from({ length: height }, (_, y) =>
    Array.from({ length: width }, (_, x) => [...out.subarray(y * stride + x * 4, y * stride + x * 4 + 4)] as unknown as Color),
  );
}

const random = (seed: number) => {
  let at = seed;
  return () => {
    at = (at * 48_271) % 2_147_483_647;
    return at & 255;
  };
};

describe('view_image of images that models do not take as they are', () => {
  /** What the model gets of a file. `keep`: the worker has a store. */
  const viewed = async (bytes: Buffer, keep = false) => {
    const workspace = await newFolder();
    await writeText(join(workspace, 'f'), bytes);
    const kept: [Uint8Array, string][] = [];
    const store = keep ? { keep: async (...one: [Uint8Array, string]) => void kept.push(one) } : {};
    const { outcome } = await run(viewImage, { path: 'f' }, { workspace, ...store });
    const parts = outcome.content as { type: string; text?: string; url?: string }[];
    const [, mediaType, base64 = ''] = /^data:([^;]+);base64,(.*)$/.exec(parts[1]?.url ?? '') ?? [];
    const text = parts[0]?.text ?? String(outcome.content);
    return kept[0]
      ? { text, mediaType: kept[0][1], image: Buffer.from(kept[0][0]) }
      : { text, mediaType, image: Buffer.from(base64, 'base64') };
  };
  const [red, blue, green]: Color[] = [
    [255, 0, 0, 255],
    [0, 0, 255, 255],
    [0, 255, 0, 255],
  ];

  test('[B143] one that is too large is scaled to at most 2048x768, with its proportions and colors', async () => {
    const file = painted(8_192, 1_024, (x, y) => (y < 512 ? (x < 4_096 ? red : blue) : green) as Color);
    const { text, mediaType, image } = await viewed(file);
    expect(text).toBe(`f: image/png, 8192x1024 pixels, ${file.length} bytes; shown as image/png, 2048x256 pixels`);
    expect(mediaType).toBe('image/png');
    const pixels = pixelsOf(image);
    expect([pixels[0]?.length, pixels.length]).toEqual([2_048, 256]);
    expect([pixels[0]?.[0], pixels[127]?.[2_047], pixels[128]?.[0], pixels[0]?.[1_023], pixels[0]?.[1_024]]).toEqual([
      red,
      blue,
      green,
      red,
      blue,
    ]);
    const high = await viewed(painted(100, 8_100, () => red as Color));
    expect(high.text).toMatch(/shown as image\/png, 9x768 pixels$/);
  });

  test('[B143] one with too many bytes is scaled and becomes a JPEG, which is scaled in turn', async () => {
    const next = random(7);
    const noise = painted(2_100, 800, () => [next(), next(), next(), 255]);
    const kept = await viewed(noise, true);
    expect(kept).toMatchObject({ mediaType: 'image/jpeg', text: expect.stringMatching(/shown as image\/jpeg, 2016x768 pixels$/) });
    expect(imageHeader(kept.image)).toMatchObject({ mediaType: 'image/jpeg', width: 2_016, height: 768, isComplete: true });
    expect(kept.image.length).toBeGreaterThan(785_408);
    const again = await viewed(kept.image);
    expect(again).toMatchObject({
      mediaType: 'image/jpeg',
      text: expect.stringMatching(/^f: image\/jpeg, 2016x768 pixels, .*; shown as image\/jpeg/),
    });
    expect(imageHeader(again.image)).toMatchObject({ width: 2_016, height: 768, isComplete: true });
    expect(again.image.length).toBeLessThanOrEqual(785_408);
  });

  test.each<[string, Buffer]>([
    ['24 bits', bmp(3, 2, 24, [], Buffer.from([0, 255, 0, 0, 255, 0, 0, 255, 0, 0, 0, 0, 0, 0, 255, 255, 0, 0, 0, 0, 255, 0, 0, 0]))],
    [
      '32 bits, from the top',
      bmp(3, -2, 32, [], Buffer.from([0, 0, 255, 0, 255, 0, 0, 0, 0, 0, 255, 0, ...[0, 255, 0, 0, 0, 255, 0, 0, 0, 255, 0, 0]])),
    ],
    ['8 bits', bmp(3, 2, 8, [0, 0, 255, 0, 255, 0, 0, 0, 0, 255, 0, 0], Buffer.from([2, 2, 2, 0, 0, 1, 0, 0]))],
    ['4 bits', bmp(3, 2, 4, [0, 0, 255, 0, 255, 0, 0, 0, 0, 255, 0, 0], Buffer.from([0x22, 0x20, 0, 0, 0x01, 0x00, 0, 0]))],
  ])('[B143] a BMP with %s becomes a PNG', async (_, file) => {
    const { text, mediaType, image } = await viewed(file);
    expect(text).toBe(`f: image/bmp, 3x2 pixels, ${file.length} bytes; shown as image/png, 3x2 pixels`);
    expect(mediaType).toBe('image/png');
    expect(pixelsOf(image)).toEqual([
      [red, blue, red],
      [green, green, green],
    ]);
  });

  test('other work of the process goes on meanwhile', async () => {
    const file = painted(5_000, 4_900, (x, y) => [x & 255, y & 255, 0, 255]);
    const large = Buffer.concat([file.subarray(0, -12), chunk('tEXt', Buffer.alloc(800_000)), chunk('IEND', Buffer.alloc(0))]);
    const began = performance.now();
    let [longest, last] = [0, began];
    const ticks = setInterval(() => {
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
    }, 5);
    const { text } = await viewed(large).finally(() => clearInterval(ticks));
    expect(text).toMatch(/shown as image\/jpeg, 784x768 pixels$/);
    // On this thread, the decoder would leave no time for anything else.
    expect(longest).toBeLessThan((performance.now() - began) / 2);
  });
});
