import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSigner } from '../../src/client';
import { createVerifier } from '../../src/worker';
import { verifierOf } from '../../src/worker/verifier';

const pair = generateKeyPairSync('ed25519');
const other = generateKeyPairSync('ed25519');
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const pemOf = ({ publicKey }: typeof pair) => publicKey.export({ format: 'pem', type: 'spki' }) as string;
const lineOf = ({ publicKey }: typeof pair) => publicKey.export({ format: 'der', type: 'spki' }).toString('base64');
const privateOf = ({ privateKey }: typeof pair) => privateKey.export({ format: 'pem', type: 'pkcs8' }) as string;
const statement = '{"a":"ä"}';
const signature = createSigner({ privateKey: pair.privateKey }).sign(statement) as string;

const folder = mkdtempSync(join(tmpdir(), 'longhaul-signers-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.each([
  ['PEM', pemOf(pair)],
  ['one line of base64', lineOf(pair)],
  ['several keys', [pemOf(other), lineOf(pair)]],
])('a signature is verified with a key as %s', async (_, publicKey) => {
  const verifier = createVerifier({ Dana: { publicKey, groups: ['leads'] } });
  expect(await verifier.verify({ statement, signature, by: ' dana' })).toEqual({ by: 'Dana', groups: ['leads'] });
});

test.each([
  ['over another text', { statement: '{}', signature, by: 'dana' }],
  ['in the name of another', { statement, signature, by: 'eve' }],
  ['in the name of nobody who is known', { statement, signature, by: 'constructor' }],
  ['that is none', { statement, signature: 'not base64 ☃', by: 'dana' }],
  ['that is empty', { statement, signature: '', by: 'dana' }],
])('a signature %s is not valid for anyone', async (_, signed) => {
  const verifier = createVerifier({ dana: { publicKey: pemOf(pair) }, eve: { publicKey: pemOf(other) } });
  expect(await verifier.verify(signed)).toBeUndefined();
});

test.each([
  ['nobody', {}, /nobody is named/],
  ['a private key', { dana: { publicKey: privateOf(pair) } }, /"dana": publicKey is not an Ed25519 public key/],
  ['a key of another kind', { dana: { publicKey: pemOf(rsa as never) } }, /not an Ed25519 public key/],
  ['no key', { dana: { publicKey: [] } }, /has no key/],
  ['nothing', { dana: undefined }, /not an Ed25519 public key/],
  ['two spellings of one name', { dana: { publicKey: pemOf(pair) }, Dana: { publicKey: pemOf(other) } }, /equal to another one/],
  ['a name that is not seen', { 'da\u200bna': { publicKey: pemOf(pair) } }, /invisible characters/],
  ['a field of another name', { dana: { publicKey: pemOf(pair), group: ['leads'] } }, /group is not known; known are publicKey and groups/],
  ['groups that are none', { dana: { publicKey: pemOf(pair), groups: 'leads' } }, /groups must be a list/],
])('a verifier of %s is refused', (_, people, words) => {
  expect(() => createVerifier(people as never)).toThrow(words);
});

test.each([
  ['a public key', pemOf(pair)],
  ['a key of another kind', rsa.privateKey.export({ format: 'pem', type: 'pkcs8' }) as string],
  ['no key', 'secret words'],
])('a signer with %s is refused, and the error does not contain it', (_, privateKey) => {
  const making = () => createSigner({ privateKey });
  expect(making).toThrow(/privateKey/);
  expect(making).not.toThrow(/secret|MII/);
});

test('a signer without a name is refused', () => {
  expect(() => createSigner({ by: '', privateKey: pair.privateKey })).toThrow(/createSigner: by/);
});

test('a verifier lists the people that it knows', () => {
  expect(createVerifier({ Dana: { publicKey: pemOf(pair) } }).names).toEqual(['Dana']);
});

test('an unusable file of signers is an error that names it, with the reason', () => {
  const file = join(folder, 'signers.json');
  expect(() => verifierOf(file)).toThrow(/signers\.json can't be used: ENOENT/);
  writeFileSync(file, '[]');
  expect(() => verifierOf(file)).toThrow(/must be an object of people/);
  writeFileSync(file, JSON.stringify({ dana: { publicKey: lineOf(pair) } }));
  expect(verifierOf(file).verify({ statement, signature, by: 'dana' })).toEqual({ by: 'dana', groups: [] });
});
