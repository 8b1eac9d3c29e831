import { randomBytes } from 'node:crypto';
import { deflateSync, inflateSync } from 'node:zlib';
import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import * as fc from 'fast-check';
import { type EncodingOptions, payloadCodecs } from '../../src/encoding/encoding';
import { keyIdOf } from '../../src/encoding/key-provider';
import { encodingOf, metadataOf, parsePayload, serializePayload, utf8 } from '../../src/encoding/payload';
import { thrownBy } from '../workflows/scenes';
import { keys, newKey } from './keys';

const [first, second] = [newKey(), newKey()];
const idOf = (text: string) => keyIdOf(Buffer.from(text, 'base64'));

async function encoded(options: EncodingOptions, ...payloads: Payload[]): Promise<Payload[]> {
  let done = payloads;
  for (const codec of payloadCodecs(options)) done = await codec.encode(done);
  return done;
}

async function decoded(options: EncodingOptions, ...payloads: Payload[]): Promise<Payload[]> {
  let done = payloads;
  for (const codec of payloadCodecs(options).reverse()) done = await codec.decode(done);
  return done;
}

const payloadOf = (value: unknown) => defaultPayloadConverter.toPayload(value) as Payload;
const valueIn = (payload: Payload | undefined) => defaultPayloadConverter.fromPayload(payload as Payload);
const long = payloadOf('a text that repeats itself '.repeat(100));

const configurations: [string, EncodingOptions][] = [
  ['nothing', {}],
  ['compression', { compression: true }],
  ['encryption', { keys: keys(first), compression: false }],
  ['compression and encryption', { keys: keys(first) }],
];

test.each(configurations)('with %s, every value is the same after encoding and decoding', async (_, options) => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(fc.json(), fc.constant(undefined), fc.string({ minLength: 300 }))), async (values) => {
      const written = await encoded(options, ...values.map(payloadOf));
      expect((await decoded(options, ...written)).map(valueIn)).toEqual(values);
    }),
    { numRuns: 60 },
  );
});

test.each(configurations)(
  'what is written with %s can be read by a process that writes otherwise, if it has the key',
  async (_, options) => {
    for (const [, reader] of configurations) {
      if (options.keys && !reader.keys) continue;
      expect((await decoded(reader, ...(await encoded(options, long)))).map(valueIn)).toEqual([valueIn(long)]);
    }
  },
);

test('a payload is compressed only if it is long enough and becomes smaller', async () => {
  const [short, random, text] = await encoded({ compression: true }, payloadOf('short'), payloadOf(randomBytes(4_000)), long);
  expect([short, random, text].map((payload) => encodingOf(payload as Payload))).toEqual(['json/plain', 'binary/plain', 'binary/zlib']);
  expect(text?.data?.length).toBeLessThan((long.data?.length ?? 0) / 3);
});

test('what could be compressed more than ten times is padded, and larger payloads are not decompressed', async () => {
  const text = payloadOf('x'.repeat(100_000));
  const [written] = await encoded({ compression: true }, text);
  expect(written?.data?.length).toBe(Math.ceil(serializePayload(text).length / 10));
  expect((await decoded({}, written as Payload)).map(valueIn)).toEqual([valueIn(text)]);
  const bomb = { metadata: { encoding: utf8('binary/zlib') }, data: deflateSync(serializePayload(text)) };
  expect(await decoded({}, bomb)).toEqual([bomb]);
  const [large] = await encoded({ compression: true }, payloadOf('x'.repeat(5_000_000)));
  expect(encodingOf(large as Payload)).toBe('json/plain');
});

test("a compressed payload has the format of the codec for zlib in Temporal's Go SDK", async () => {
  const [payload] = await encoded({ compression: true }, long);
  expect(valueIn(parsePayload(inflateSync(payload?.data as Uint8Array)))).toBe(valueIn(long));
});

test('an encrypted payload names its key and shows nothing else, not even its length before compression', async () => {
  const [a, b] = await encoded({ keys: keys(first) }, long, payloadOf(null));
  for (const payload of [a, b]) {
    expect(Object.keys(payload?.metadata ?? {})).toEqual(['encoding', 'encryption-key-id']);
    expect(metadataOf(payload as Payload, 'encryption-key-id')).toBe(idOf(first));
  }
  expect(a?.data?.length).toBeLessThan((long.data?.length ?? 0) / 5);
  expect(Buffer.from(a?.data as Uint8Array).includes('repeats')).toBe(false);
});

test('the same value is encrypted differently each time', async () => {
  const [a, b] = await encoded({ keys: keys(first) }, long, long);
  expect(a?.data).not.toEqual(b?.data);
});

test('after a rotation, new payloads have the new key and old ones are still readable', async () => {
  const before = await encoded({ keys: keys(first) }, long);
  const rotated = { keys: keys(second, first) };
  const after = await encoded(rotated, long);
  expect([...before, ...after].map((payload) => metadataOf(payload, 'encryption-key-id'))).toEqual([idOf(first), idOf(second)]);
  expect((await decoded(rotated, ...before, ...after)).map(valueIn)).toEqual([valueIn(long), valueIn(long)]);
});

test('a process without the key of a payload gets an error that names the key and what to do', async () => {
  const encrypted = await encoded({ keys: keys(first) }, long);
  const withoutKeys = (await thrownBy(decoded({}, ...encrypted))) as Error;
  expect(withoutKeys.name).toBe('EncryptionKeyUnavailable');
  expect(withoutKeys.message).toContain(`key "${idOf(first)}"`);
  expect(withoutKeys.message).toContain('Set LONGHAUL_ENCRYPTION_KEYS_FILE');
  const withAnother = (await thrownBy(decoded({ keys: keys(second) }, ...encrypted))) as Error;
  expect(withAnother.name).toBe('EncryptionKeyUnavailable');
  expect(withAnother.message).toContain(`key "${idOf(first)}", which this process does not have (it has ${idOf(second)})`);
});

test('a provider that has other bytes under the same id gets an error that names the key', async () => {
  const provider = (text: string) => ({
    current: async () => ({ id: 'main', key: Buffer.from(text, 'base64') }),
    byId: async () => Buffer.from(text, 'base64'),
  });
  const encrypted = await encoded({ keys: provider(first) }, long);
  expect((await decoded({ keys: provider(first) }, ...encrypted)).map(valueIn)).toEqual([valueIn(long)]);
  expect(await thrownBy(decoded({ keys: provider(second) }, ...encrypted))).toMatchObject({
    name: 'EncryptionKeyUnavailable',
    message: expect.stringContaining('key "main", and the bytes of that key'),
  });
});

test('every changed byte of an encrypted payload is noticed', async () => {
  const [payload] = await encoded({ keys: keys(first) }, payloadOf('a decision'));
  const data = payload?.data as Uint8Array;
  for (const i of data.keys()) {
    const changed = Uint8Array.from(data, (byte, at) => (at === i ? byte ^ 1 : byte));
    await expect(decoded({ keys: keys(first) }, { ...payload, data: changed })).rejects.toThrow(/do not decrypt it/);
  }
});

test.each([
  ['an encrypted payload without a key id', { metadata: { encoding: utf8('binary/encrypted') }, data: randomBytes(100) }],
  [
    'an encrypted payload that is too short',
    { metadata: { encoding: utf8('binary/encrypted'), 'encryption-key-id': utf8('k') }, data: randomBytes(20) },
  ],
  ['bytes that are not compressed', { metadata: { encoding: utf8('binary/zlib') }, data: randomBytes(100) }],
  ['compressed bytes that are not a payload', { metadata: { encoding: utf8('binary/zlib') }, data: deflateSync(Buffer.alloc(10, 255)) }],
  ['a small payload that fills the memory', { metadata: { encoding: utf8('binary/zlib') }, data: deflateSync(Buffer.alloc(100_000_000)) }],
])('%s is left as it is, for every process, so that the payload converter reports it', async (_, payload) => {
  for (const [, options] of configurations) expect(await decoded(options, payload)).toEqual([payload]);
});

test('a serialized payload is the one of the protocol', () => {
  expect(Buffer.from(serializePayload({ metadata: { a: utf8('b') }, data: utf8('c') })).toString('hex')).toBe(
    '0a060a01611201621201' + '63',
  );
});
