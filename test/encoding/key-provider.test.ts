import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readEncoding } from '../../src/config';
import { KeyCache } from '../../src/encoding/key-cache';
import { type EncryptionKey, keyIdOf, keysFromFile, keysFromText } from '../../src/encoding/key-provider';
import { thrownBy } from '../workflows/scenes';
import { newKey } from './keys';

const folder = mkdtempSync(join(tmpdir(), 'longhaul-keys-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => jest.useRealTimers());

const idOf = (text: string) => keyIdOf(Buffer.from(text, 'base64'));

test('the first key of a text is current, and comments are ignored', async () => {
  const [a, b, c] = [newKey(), newKey(), newKey()];
  const keys = keysFromText(`# since May\n${a}\n${b}, ${c}\n\n  # old\n`);
  expect((await keys.current()).id).toBe(idOf(a));
  expect(keys.ids?.()).toEqual([a, b, c].map(idOf));
  expect(await keys.byId(idOf(c))).toEqual(Buffer.from(c, 'base64'));
  expect(await keys.byId('unknown')).toBeUndefined();
});

test.each([
  ['no key', '# nothing\n', /there is no encryption key/],
  ['a key of 16 bytes', randomBytes(16).toString('base64'), /key 1 is not the base64 of 32 bytes/],
  ['a second key that is not base64', `${newKey()}\nnot-a-key!`, /key 2 is not/],
])('a text with %s is refused, and the error does not contain the text', (_, text, message) => {
  expect(() => keysFromText(text)).toThrow(message);
  expect(() => keysFromText(text)).not.toThrow(text.trim());
});

test('a key that is added to a file, and a new current key, are in use without a restart', async () => {
  const [a, b] = [newKey(), newKey()];
  const file = join(folder, 'keys');
  writeFileSync(file, a);
  const cache = new KeyCache(keysFromFile(file));
  expect((await cache.current())?.id).toBe(idOf(a));
  await expect(cache.byId(idOf(b))).rejects.toThrow(idOf(b));
  writeFileSync(file, `${b}\n${a}`);
  expect((await cache.byId(idOf(b))).export()).toEqual(Buffer.from(b, 'base64'));
  expect((await cache.current())?.id).toBe(idOf(a));
  jest.useFakeTimers({ now: Date.now() + 31_000 });
  expect((await cache.current())?.id).toBe(idOf(b));
});

test('a file that does not exist is refused at once, with its name', () => {
  expect(() => keysFromFile(join(folder, 'none'))).toThrow(/file of encryption keys .*none can't be used/);
});

test('while a provider is away, the last current key and the keys that were found stay in use', async () => {
  let away = false;
  let asked = 0;
  const key = randomBytes(32);
  const provided = async (): Promise<EncryptionKey> => {
    asked += 1;
    if (away) throw new Error('the service is away');
    return { id: 'k1', key };
  };
  const cache = new KeyCache({ current: provided, byId: async () => (await provided()).key });
  await Promise.all([cache.current(), cache.current(), cache.byId('k1'), cache.byId('k1')]);
  expect(asked).toBe(2);
  away = true;
  jest.useFakeTimers({ now: Date.now() + 31_000 });
  expect((await cache.current())?.id).toBe('k1');
  expect((await cache.byId('k1')).export()).toEqual(key);
  expect(await thrownBy(cache.byId('k2'))).toMatchObject({
    name: 'EncryptionKeyUnavailable',
    message: 'A payload is encrypted with key "k2", which could not be read: the service is away',
  });
});

// A step that ran but whose result can't be encrypted must not look like one that never began.
test('a provider that has never given a key is another error than a missing key', async () => {
  const cache = new KeyCache({ current: () => Promise.reject(new Error('the service is away')), byId: async () => undefined });
  expect(await thrownBy(cache.current())).toMatchObject({
    name: 'Error',
    message: "Payloads can't be encrypted, because no key is available: the service is away",
  });
});

test.each([
  ['of another length', { id: 'k1', key: randomBytes(16) }, /"k1" is not 32 bytes long/],
  ['without an id', { id: '', key: randomBytes(32) }, /has no id/],
])('a current key %s is refused', async (_, key, message) => {
  await expect(new KeyCache({ current: async () => key, byId: async () => undefined }).current()).rejects.toThrow(message);
});

test('an id that anybody may have written into a payload is printed without control characters', async () => {
  await expect(new KeyCache(undefined).byId('a\u001b[31m"b')).rejects.toThrow('key "a?[31m?b"');
});

test('the environment gives keys in one way, and compression is on or off', () => {
  expect(readEncoding({})).toEqual({});
  expect(readEncoding({ LONGHAUL_ENCRYPTION_KEYS: ' k ', LONGHAUL_COMPRESSION: 'off' })).toEqual({ keys: 'k', compression: false });
  expect(() => readEncoding({ LONGHAUL_COMPRESSION: 'yes' })).toThrow('LONGHAUL_COMPRESSION is "yes"; it must be on or off.');
  expect(() => readEncoding({ LONGHAUL_ENCRYPTION_KEYS: 'k', LONGHAUL_ENCRYPTION_KEYS_FILE: 'f' })).toThrow(/both set/);
});
