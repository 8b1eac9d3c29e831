import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { type ArtifactStore, Artifacts, folderArtifacts, memoryArtifacts } from '../../src/artifacts';
import { outputKeys } from '../../src/encoding/encoding';
import { type KeyProvider, keyIdOf } from '../../src/encoding/key-provider';
import { keys, newKey } from '../encoding/keys';

const [first, second] = [newKey(), newKey()];
const never = new AbortController().signal;
const text = Buffer.from(`The plan is xyzzy.\n${'more\n'.repeat(100)}`);
const idOf = (key: string) => keyIdOf(Buffer.from(key, 'base64'));

function open(store: ArtifactStore, provider?: KeyProvider): Artifacts {
  return new Artifacts(store, undefined, outputKeys(provider ? { keys: provider } : {}));
}

async function kept(artifacts: Artifacts, threadId = 't', bytes = text): Promise<string> {
  return (await artifacts.keep(threadId, bytes, 'text/plain'))?.id ?? '';
}

async function storedIn(store: ArtifactStore, threadId: string, id: string): Promise<Buffer> {
  return Buffer.from((await store.get({ threadId, id }, never)) ?? '');
}

test('with a key, neither the files of a folder nor their names tell anything about the content', async () => {
  const path = mkdtempSync(join(tmpdir(), 'longhaul-sealing-'));
  try {
    const id = await kept(open(folderArtifacts({ path }), keys(first)));
    const files = readdirSync(path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    expect(files.map(({ name }) => name)).toEqual([id, id]);
    for (const { parentPath, name } of files) expect(readFileSync(join(parentPath, name)).includes('xyzzy')).toBe(false);
    // Who knows a content could otherwise test whether a thread has it.
    expect(createHash('sha256').update(text).digest('hex')).not.toContain(id);
  } finally {
    rmSync(path, { recursive: true, force: true });
  }
});

test('any content is read back as it was, with its number of lines', async () => {
  const artifacts = open(memoryArtifacts(), keys(first));
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 2_000 }), fc.string({ minLength: 1, unit: 'binary' }), async (bytes, threadId) => {
      expect(Buffer.from(bytes).equals(await artifacts.read(threadId, await kept(artifacts, threadId, Buffer.from(bytes))))).toBe(true);
    }),
    { numRuns: 50 },
  );
  const large = Buffer.alloc(3_500_000, 'line\n');
  expect(await artifacts.keep('t', large, 'text/plain')).toMatchObject({ bytes: 3_500_000, lines: 700_000 });
  expect(large.equals(await artifacts.read('t', await kept(artifacts, 't', large)))).toBe(true);
});

test('equal content of a thread is stored once, and has another reference in another thread', async () => {
  const store = memoryArtifacts();
  const artifacts = open(store, keys(first));
  const [a, again, other] = [await kept(artifacts, 'a'), await kept(artifacts, 'a'), await kept(artifacts, 'b')];
  expect(again).toBe(a);
  expect(other).not.toBe(a);
});

test('an output of one thread can not be read as that of another, nor under another reference', async () => {
  const store = memoryArtifacts();
  const artifacts = open(store, keys(first));
  const [secret, mine] = [await kept(artifacts, 'theirs'), await kept(artifacts, 'mine', Buffer.from('my own text'))];
  const bytes = await storedIn(store, 'theirs', secret);
  await store.put({ threadId: 'mine', id: secret, bytes }, never);
  await expect(artifacts.read('mine', secret)).rejects.toThrow('is damaged');
  await store.put({ threadId: 'theirs', id: mine, bytes }, never);
  await expect(artifacts.read('theirs', mine)).rejects.toThrow('is damaged');
});

test('whatever part of a stored output is changed or cut off, it is refused', async () => {
  const store = memoryArtifacts();
  const artifacts = open(store, keys(first));
  const id = await kept(artifacts);
  const bytes = await storedIn(store, 't', id);
  const refuses = async (changed: Buffer) => {
    await store.put({ threadId: 't', id, bytes: changed }, never);
    await expect(artifacts.read('t', id)).rejects.toThrow(/is damaged|can't be read now/);
  };
  for (let at = 0; at < bytes.length; at += 7) {
    const changed = Buffer.from(bytes);
    changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
    await refuses(changed);
  }
  for (const length of [0, 1, 11, 30, 60, bytes.length - 1]) await refuses(bytes.subarray(0, length));
  await refuses(text);
});

test('after a rotation, earlier outputs are read with the earlier key, and new ones need only the new key', async () => {
  const store = memoryArtifacts();
  const before = await kept(open(store, keys(first)));
  const rotated = open(store, keys(second, first));
  const after = await kept(rotated);
  expect(after).not.toBe(before);
  expect(await rotated.read('t', before)).toEqual(text);
  expect(await open(store, keys(second)).read('t', after)).toEqual(text);
});

test.each([
  [
    'has another key',
    keys(second),
    `which this process does not have (it has ${idOf(second)}). Add that key to the keys of this process. Try again later.`,
  ],
  ['has no keys', undefined, 'and this process has no encryption keys. Set LONGHAUL_ENCRYPTION_KEYS_FILE'],
])('a process that %s is told which key an output needs, and does not take it for damaged', async (_, provider, words) => {
  const store = memoryArtifacts();
  const id = await kept(open(store, keys(first)));
  const error: Error = await open(store, provider)
    .read('t', id)
    .then(
      () => new Error('read'),
      (thrown) => thrown,
    );
  expect(error).toMatchObject({ name: 'ArtifactError', cause: { name: 'EncryptionKeyUnavailable' } });
  expect(error.message).toContain(`The stored output with ref '${id}' can't be read now: it is encrypted with key "${idOf(first)}", `);
  expect(error.message).toContain(words);
});

test('a key that can not be had fails no call: the output is not kept, and certainly not in plain text', async () => {
  const store = memoryArtifacts();
  const put = jest.spyOn(store, 'put');
  const away: KeyProvider = { current: () => Promise.reject(new Error('the service is away')), byId: async () => undefined };
  const warnings: string[] = [];
  const artifacts = new Artifacts(store, (words) => warnings.push(words), outputKeys({ keys: away }));
  expect(await artifacts.keep('t', text, 'text/plain')).toBeUndefined();
  expect(put).not.toHaveBeenCalled();
  expect(warnings).toEqual([expect.stringContaining('no key is available: the service is away')]);
});

test('what was stored before there was a key stays readable, and nothing else that is not encrypted', async () => {
  const store = memoryArtifacts();
  const plain = await kept(open(store));
  const artifacts = open(store, keys(first));
  expect(await artifacts.read('t', plain)).toEqual(text);
  const sealed = await kept(artifacts, 't', Buffer.from('encrypted'));
  await store.put({ threadId: 't', id: sealed, bytes: Buffer.from('encrypted') }, never);
  await expect(artifacts.read('t', sealed)).rejects.toThrow('is damaged');
});
