import { execFileSync } from 'node:child_process';
import { readFile as readBytes, symlink, writeFile as writeText } from 'node:fs/promises';
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
    expect(await refused(gif)).toMatch(/^Error: 'f' can't be shown: /);
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

interface GifFrame {
  left: number;
  top: number;
  width: number;
  height: number;
  /** Indices in the palette. */
  colors(x: number, y: number): number;
}

/** A GIF; `transparent`: an index that stands for no color. */
function gif(
  width: number,
  height: number,
  palette: number[],
  frames: GifFrame[],
  isInterlaced: boolean,
  transparent?: number,
  isCompressed = true,
): Buffer {
  const words = (...numbers: number[]) => Buffer.from(new Uint16Array(numbers).buffer);
  const bits = Math.max(2, Math.ceil(Math.log2(palette.length / 3)));
  const blocks = frames.flatMap(({ left, top, width: w, height: h, colors }) => {
    const ys = Array.from({ length: h }, (_, y) => y);
    const order = isInterlaced
      ? [
          [0, 8],
          [4, 8],
          [2, 4],
          [1, 2],
        ].flatMap(([from = 0, by = 1]) => ys.filter((y) => y % by === from))
      : ys;
    const indices = order.flatMap((y) => Array.from({ length: w }, (_, x) => colors(x, y)));
    const control = transparent === undefined ? [] : [Buffer.from([0x21, 0xf9, 4, 1, 0, 0, transparent, 0])];
    const data = lzw(indices, bits, isCompressed);
    const parts = Array.from({ length: Math.ceil(data.length / 255) }, (_, i) => data.subarray(i * 255, i * 255 + 255));
    const image = [latin('\x2c'), words(left, top, w, h), Buffer.from([isInterlaced ? 0x40 : 0, bits])];
    return [...control, ...image, ...parts.flatMap((part) => [Buffer.from([part.length]), part]), Buffer.from([0])];
  });
  const colors = Buffer.concat([Buffer.from(palette), Buffer.alloc(3 * 2 ** bits)], 3 * 2 ** bits);
  const head = [latin('GIF89a'), words(width, height), Buffer.from([0x80 | (bits - 1), 0, 0]), colors];
  return Buffer.concat([...head, Buffer.from([0x21, 0xfe, 2, 65, 65, 0]), ...blocks, latin('\x3b')]);
}

/** Uncompressed: each index is a code of its own, and the table is cleared before the codes become longer. */
function lzw(indices: readonly number[], bits: number, isCompressed: boolean): Buffer {
  const [clear, end] = [1 << bits, (1 << bits) + 1];
  const bytes: number[] = [];
  let [value, filled, size, next] = [0, 0, bits + 1, end + 1];
  const put = (code: number) => {
    value |= code << filled;
    for (filled += size; filled >= 8; filled -= 8) {
      bytes.push(value & 255);
      value >>>= 8;
    }
  };
  let table = new Map<string, number>();
  const reset = () => {
    put(clear);
    table = new Map();
    [size, next] = [bits + 1, end + 1];
  };
  reset();
  let text = '';
  const codeOf = (one: string) => table.get(one) ?? Number(one);
  for (const [at, index] of indices.entries()) {
    if (!isCompressed) {
      if (at % (clear - 2) === 0 && at > 0) put(clear);
      put(index);
      continue;
    }
    const longer = text === '' ? String(index) : `${text},${index}`;
    if (text === '' || table.has(longer)) {
      text = longer;
      continue;
    }
    put(codeOf(text));
    table.set(longer, next);
    if (next === 1 << size) size += 1;
    next += 1;
    if (next === 4_096) reset();
    text = String(index);
  }
  if (text !== '') put(codeOf(text));
  put(end);
  if (filled > 0) bytes.push(value & 255);
  return Buffer.from(bytes);
}

/** A lossless WebP. The codec runs in a process of its own: it is an ES module. */
async function webp(width: number, height: number, colorAt: (x: number, y: number) => Color): Promise<Buffer> {
  const data = new Uint8Array(width * height * 4);
  for (let y = 0; y < height; y += 1) for (let x = 0; x < width; x += 1) data.set(colorAt(x, y), (y * width + x) * 4);
  const folder = await newFolder();
  await writeText(join(folder, 'pixels'), data);
  const encode = `
    const { readFileSync, writeFileSync } = require('node:fs');
    const [folder, width, height] = process.argv.slice(1);
    (async () => {
      const { default: encode, init } = await import('@jsquash/webp/encode.js');
      await init(new WebAssembly.Module(readFileSync(require.resolve('@jsquash/webp/codec/enc/webp_enc_simd.wasm'))));
      const image = { data: new Uint8ClampedArray(readFileSync(folder + '/pixels')), width: Number(width), height: Number(height) };
      writeFileSync(folder + '/webp', Buffer.from(await encode(image, { lossless: 1 })));
    })();`;
  execFileSync(process.execPath, ['--eval', encode, folder, String(width), String(height)], { stdio: 'inherit' });
  return readBytes(join(folder, 'webp'));
}

/** An animation whose frames are at 2,4. */
function animated(width: number, height: number, frames: readonly Buffer[]): Buffer {
  const riff = (name: string, data: Buffer) => {
    const head = Buffer.alloc(8);
    head.write(name, 'latin1');
    head.writeUInt32LE(data.length, 4);
    return Buffer.concat([head, data, Buffer.alloc(data.length & 1)]);
  };
  const sizes = (...numbers: number[]) =>
    Buffer.concat(numbers.map((number) => Buffer.from([number & 255, (number >> 8) & 255, number >> 16])));
  const parts = frames.map((file) => {
    const { width: w = 0, height: h = 0 } = imageHeader(file) ?? {};
    return riff('ANMF', Buffer.concat([sizes(1, 2, w - 1, h - 1, 100), Buffer.from([0]), file.subarray(12)]));
  });
  const header = Buffer.concat([Buffer.from([0x12, 0, 0, 0]), sizes(width - 1, height - 1)]);
  return riff('RIFF', Buffer.concat([latin('WEBP'), riff('VP8X', header), riff('ANIM', Buffer.alloc(6)), ...parts]));
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
    const file = painted(8_192, 128, (x, y) => (y < 64 ? (x < 4_096 ? red : blue) : green) as Color);
    const { text, mediaType, image } = await viewed(file);
    expect(text).toBe(`f: image/png, 8192x128 pixels, ${file.length} bytes; shown as image/png, 2048x32 pixels`);
    expect(mediaType).toBe('image/png');
    const pixels = pixelsOf(image);
    expect([pixels[0]?.length, pixels.length]).toEqual([2_048, 32]);
    expect([pixels[0]?.[0], pixels[15]?.[2_047], pixels[16]?.[0], pixels[0]?.[1_023], pixels[0]?.[1_024]]).toEqual([
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
    const noise = painted(1_600, 800, () => [next(), next(), next(), 255]);
    const kept = await viewed(noise, true);
    expect(kept).toMatchObject({ mediaType: 'image/jpeg', text: expect.stringMatching(/shown as image\/jpeg, 1536x768 pixels$/) });
    expect(imageHeader(kept.image)).toMatchObject({ mediaType: 'image/jpeg', width: 1_536, height: 768, isComplete: true });
    expect(kept.image.length).toBeGreaterThan(785_408);
    const again = await viewed(kept.image);
    expect(again).toMatchObject({
      mediaType: 'image/jpeg',
      text: expect.stringMatching(/^f: image\/jpeg, 1536x768 pixels, .*; shown as image\/jpeg/),
    });
    expect(imageHeader(again.image)).toMatchObject({ width: 1_536, height: 768, isComplete: true });
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

  test('[B143] a GIF that is too large is scaled, and of an animation its first frame is shown', async () => {
    const palette = [...[red, blue, green].flatMap((color) => color?.slice(0, 3) ?? []), 9, 9, 9];
    const colors = (x: number, y: number) => (y < 64 ? (x < 4_096 ? 0 : 1) : 2);
    for (const isInterlaced of [false, true]) {
      const file = gif(8_192, 128, palette, [{ left: 0, top: 0, width: 8_192, height: 128, colors }], isInterlaced);
      const { text, mediaType, image } = await viewed(file);
      expect(text).toBe(`f: image/gif, 8192x128 pixels, ${file.length} bytes; shown as image/png, 2048x32 pixels`);
      expect(mediaType).toBe('image/png');
      const pixels = pixelsOf(image);
      expect([pixels[0]?.[0], pixels[15]?.[2_047], pixels[16]?.[0], pixels[31]?.[9]]).toEqual([red, blue, green, green]);
    }
    const part = { left: 100, top: 0, width: 8_100, height: 8, colors: (x: number) => (x < 4_000 ? 1 : 3) };
    const moving = await viewed(gif(8_200, 8, palette, [part, { ...part, colors: () => 2 }], false, 3));
    expect(moving.text).toMatch(/; its first frame is shown as image\/png, 2048x2 pixels$/);
    const row = pixelsOf(moving.image)[0] ?? [];
    // Outside of the frame, and where its index is the transparent one, nothing is seen.
    expect([row[0]?.[3], row[200], row[2_000]?.[3]]).toEqual([0, blue, 0]);
  });

  test('[B143] the texts of a GIF are read as they were written', async () => {
    const next = random(11);
    const palette = Array.from({ length: 256 * 3 }, (_, i) => (i * 7) & 255);
    const indices = Array.from({ length: 8_100 * 20 }, () => next() & (next() > 200 ? 255 : 3));
    const frame = { left: 0, top: 0, width: 8_100, height: 20, colors: (x: number, y: number) => indices[y * 8_100 + x] ?? 0 };
    const [compressed, plain] = [true, false].map((isCompressed) => gif(8_100, 20, palette, [frame], false, undefined, isCompressed));
    const [one, other] = [await viewed(compressed as Buffer), await viewed(plain as Buffer)];
    expect(compressed?.length).toBeLessThan(plain?.length ?? 0);
    expect(pixelsOf(one.image)).toEqual(pixelsOf(other.image));
  });

  test('[B143] a WebP that is too large is scaled, and of an animation its first frame is shown', async () => {
    const still = await webp(8_192, 64, (x) => (x < 4_096 ? red : blue) as Color);
    const { text, image } = await viewed(still);
    expect(text).toBe(`f: image/webp, 8192x64 pixels, ${still.length} bytes; shown as image/png, 2048x16 pixels`);
    const pixels = pixelsOf(image);
    expect([pixels[0]?.[0], pixels[15]?.[2_047]]).toEqual([red, blue]);
    const frames = [await webp(8_100, 4, () => green as Color), await webp(8_100, 4, () => red as Color)];
    const moving = await viewed(animated(8_192, 8, frames));
    expect(moving.text).toMatch(/; its first frame is shown as image\/png, 2048x2 pixels$/);
    // The frame is at 2,4.
    expect([pixelsOf(moving.image)[0]?.[9]?.[3], pixelsOf(moving.image)[1]?.[9]]).toEqual([0, green]);
    for (const bytes of [animated(8_192, 8, []), animated(8_100, 4, frames), still.subarray(0, 40)]) {
      expect((await viewed(bytes)).text).toMatch(/can't be shown|damaged/);
    }
  });

  test('damaged GIF and WebP files do not end the thread without an answer', async () => {
    const good = gif(9_000, 2, [1, 2, 3, 4, 5, 6], [{ left: 0, top: 0, width: 9_000, height: 2, colors: (x) => x & 1 }], false);
    const next = random(3);
    for (let round = 0; round < 15; round += 1) {
      const bad = Buffer.from(good);
      for (let n = 0; n < 5; n += 1) bad[19 + ((next() * 256 + next()) % (bad.length - 20))] = next();
      expect((await viewed(bad)).text).toMatch(/^f: image\/gif|^Error: 'f' can't be shown: /);
    }
  }, 60_000);

  test('other work of the process goes on meanwhile', async () => {
    const file = painted(3_000, 2_900, (x, y) => [x & 255, y & 255, 0, 255]);
    const large = Buffer.concat([file.subarray(0, -12), chunk('tEXt', Buffer.alloc(800_000)), chunk('IEND', Buffer.alloc(0))]);
    const began = performance.now();
    let [longest, last] = [0, began];
    const ticks = setInterval(() => {
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
    }, 5);
    const { text } = await viewed(large).finally(() => clearInterval(ticks));
    expect(text).toMatch(/shown as image\/jpeg, 794x768 pixels$/);
    // On this thread, the decoder would leave no time for anything else.
    expect(longest).toBeLessThan((performance.now() - began) / 2);
  });
});
