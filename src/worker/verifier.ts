import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { DecisionVerifier } from '../activities';
import { isObject } from '../core/json';
import { checkPerson, cleanName, nameKey } from '../core/people';

export interface SignerKeys {
  /** An Ed25519 public key: PEM, or the base64 of its DER (SPKI), as `longhaul keygen` prints it. Give several while you replace a key. */
  publicKey: string | string[];
  /** The person's groups. */
  groups?: string[] | undefined;
}

/**
 * Creates a verifier from people's public keys, by name.
 * @throws TypeError if a name, a key or a group is invalid
 */
export function createVerifier(people: Record<string, SignerKeys>): DecisionVerifier {
  const known = new Map<string, { by: string; groups: string[]; keys: KeyObject[] }>();
  for (const [name, entry] of Object.entries(people)) {
    const wrong = checkPerson('the name', name) ?? (known.has(nameKey(name)) ? 'the name is equal to another one' : undefined);
    if (wrong) throw new TypeError(`createVerifier: ${JSON.stringify(name)}: ${wrong}`);
    known.set(nameKey(name), { by: cleanName(name), ...readKeys(name, entry) });
  }
  if (known.size === 0) throw new TypeError('createVerifier: nobody is named, so nobody could decide anything. Give at least one person.');
  return Object.freeze({
    names: [...known.values()].map(({ by }) => by),
    verify({ statement, signature, by }: { statement: string; signature: string; by: string }) {
      const person = known.get(nameKey(by));
      const text = Buffer.from(statement, 'utf8');
      const bytes = Buffer.from(signature, 'base64');
      if (!person?.keys.some((key) => verify(null, text, key, bytes))) return undefined;
      return { by: person.by, groups: person.groups };
    },
  });
}

/** The verifier of a JSON file: `{ "<name>": { "publicKey": "…", "groups": ["…"] } }`. */
export function verifierOf(file: string): DecisionVerifier {
  try {
    const people: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (!isObject(people)) throw new TypeError('it must be an object of people, with their names as keys');
    return createVerifier(people as Record<string, SignerKeys>);
  } catch (cause) {
    throw new Error(`The signers' file ${file} can't be used: ${(cause as Error).message}`, { cause });
  }
}

function readKeys(name: string, entry: unknown): { groups: string[]; keys: KeyObject[] } {
  const { publicKey, groups = [], ...unknown } = isObject(entry) ? entry : {};
  const [other] = Object.keys(unknown);
  if (other !== undefined) throw new TypeError(`createVerifier: "${name}": ${other} is not known; known are publicKey and groups`);
  if (!Array.isArray(groups) || groups.some((group) => checkPerson('a group', group) !== undefined)) {
    throw new TypeError(`createVerifier: "${name}": groups must be a list of names`);
  }
  const given = [publicKey].flat();
  if (given.length === 0) throw new TypeError(`createVerifier: "${name}" has no key`);
  return { groups: groups.map(cleanName), keys: given.map((key) => readKey(name, key)) };
}

function readKey(name: string, given: unknown): KeyObject {
  const text = typeof given === 'string' ? given.trim() : '';
  let key: KeyObject | undefined;
  try {
    key = text.startsWith('-----')
      ? createPublicKey(text)
      : createPublicKey({ key: Buffer.from(text, 'base64'), format: 'der', type: 'spki' });
  } catch {
    // Reported below.
  }
  if (text.includes('PRIVATE') || key?.asymmetricKeyType !== 'ed25519') {
    throw new TypeError(`createVerifier: "${name}": publicKey is not an Ed25519 public key, in PEM or as the base64 of its DER`);
  }
  return key;
}
