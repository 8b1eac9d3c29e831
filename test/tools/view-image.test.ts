import { symlink, writeFile as writeText } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32, deflateSync } from 'node:zlib';
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
    expect(await refused('text')).toBe("Error: 'f' is not an image in a known format (PNG, JPEG, GIF, WebP).");
    expect(await refused(png(9_000, 10))).toContain('has 9000x10 pixels; models take at most 8000 on a side. Scale it down');
    expect(await refused(png(10, 10, 800_000))).toMatch(/has 800\d+ bytes; at most 785408 can be shown. Scale it down/);
    expect(await refused(images['image/png'].subarray(0, 60))).toContain('is a damaged image');
    expect(await refused(latin('BM\x1a\x00\x00\x00....\x1a\x00\x00\x00\x0c\x00\x00\x00\x2c\x01\x00\x00\xc8\x00\x00\x00'))).toContain(
      'is a BMP image',
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
