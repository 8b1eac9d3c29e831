import { createHash, createPrivateKey, type KeyObject, sign } from 'node:crypto';
import { type SignableRequest, type SignedIn, statementOf } from '../core/attestation';
import { checkPerson, cleanName } from '../core/people';

/** Signs the decisions, outputs and answers that a client sends. */
export interface DecisionSigner {
  /** Who signs, if a decision has no `by`. */
  by?: string | undefined;
  /** Returns the signature of the statement, encoded as UTF-8, in the format that the worker's verifier reads. */
  sign(statement: string): Promise<string> | string;
}

/**
 * Signs with a private key of Ed25519, given as PEM or as a `KeyObject`. The signature is base64.
 * @throws TypeError if the key is not one
 */
export function createSigner({ by, privateKey }: { by?: string | undefined; privateKey: string | KeyObject }): DecisionSigner {
  const wrong = by === undefined ? undefined : checkPerson('by', by);
  if (wrong) throw new TypeError(`createSigner: ${wrong}`);
  const key = privateKeyOf(privateKey);
  return Object.freeze({
    ...(by !== undefined && { by }),
    sign: (statement: string) => sign(null, Buffer.from(statement, 'utf8'), key).toString('base64'),
  });
}

function privateKeyOf(given: string | KeyObject): KeyObject {
  let key: KeyObject;
  try {
    key = typeof given === 'string' ? createPrivateKey(given) : given;
  } catch {
    // OpenSSL's error message may contain parts of the key.
    throw new TypeError('createSigner: privateKey is not a private key in PEM format. Create one with "longhaul keygen NAME".');
  }
  if (key.type === 'private' && key.asymmetricKeyType === 'ed25519') return key;
  throw new TypeError(
    `createSigner: privateKey is a ${key.type} key of ${key.asymmetricKeyType ?? 'no known type'}; use a private key of Ed25519.`,
  );
}

/** A request with its signature. Undefined properties are left out, as in JSON, so that the thread builds the same statement. */
export async function signed<R extends SignableRequest>(signer: DecisionSigner, request: R, at: SignedIn): Promise<R['content']> {
  const by = request.content.by ?? signer.by;
  const content = JSON.parse(JSON.stringify({ ...request.content, ...(by !== undefined && { by: cleanName(by) }) }));
  const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
  const statement = statementOf({ name: request.name, content } as SignableRequest, at, sha256);
  return { ...content, signature: await signer.sign(statement) };
}
