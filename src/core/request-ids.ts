import { show } from './check-input';
import { isObject, sortedJson } from './json';
import type { Checked } from './requests';
import type { ThreadState } from './state';
import { emptyHash, extendHash } from './transcript';

/** A request that has an id: its name and id, and what tells its content from another. */
export interface RequestMark {
  key: string;
  digest: string;
}

/** A request that was followed. */
export interface FollowedRequest {
  digest: string;
  /** Of the event that followed it. */
  seq: number;
  /** Of a message: its id, where the thread gave it. */
  id?: string;
}

/**
 * So many of the newest requests with an id are remembered, of all kinds together; about 60 KB of state. It crosses continue-as-new, where
 * the server's own memory of updates ends.
 */
const kept = 1_000;

const anId = /^[\w.:-]{1,128}$/;

/**
 * The id and the content of a request. The id is the caller's own, in the payload, or else that of the update: a client that repeats an
 * update whose answer was lost repeats its id, too. An id holds for requests of one name.
 */
export function identify(name: string, payload: unknown, updateId?: string): Checked<{ content: unknown; mark?: RequestMark }> {
  const { id = undefined, ...rest } = isObject(payload) ? payload : {};
  const own = id ?? undefined;
  if (own !== undefined && (typeof own !== 'string' || !anId.test(own))) {
    return { ok: false, reason: `${name}: \`id\` must be 1 to 128 letters, digits or . _ : -; it is ${show(own)}` };
  }
  const content = isObject(payload) ? rest : payload;
  // A request is the same, however often it was signed, and with whichever key.
  const { signature: _, ...unsigned } = rest;
  const known = (own as string | undefined) ?? (updateId === undefined || anId.test(updateId) ? updateId : `#${digestOf(updateId)}`);
  return {
    ok: true,
    request: {
      content,
      ...(known !== undefined && { mark: { key: `${name}:${known}`, digest: digestOf(isObject(payload) ? unsigned : payload) } }),
    },
  };
}

/** `messageId`: of the message that the request brought. */
export function noteRequest(state: ThreadState, { key, digest }: RequestMark, seq: number, messageId?: string): void {
  state.requests[key] = { digest, seq, ...(messageId !== undefined && !key.endsWith(`:${messageId}`) && { id: messageId }) };
  const keys = Object.keys(state.requests);
  for (const old of keys.slice(0, Math.max(0, keys.length - kept))) delete state.requests[old];
}

/** A request of the same name and id that was followed before; refused where its content was another. */
export function followedBefore(state: ThreadState, { key, digest }: RequestMark): Checked<FollowedRequest | undefined> {
  const before = Object.hasOwn(state.requests, key) ? state.requests[key] : undefined;
  const [name, id] = [key.slice(0, key.indexOf(':')), key.slice(key.indexOf(':') + 1)];
  if (!before) return { ok: true, request: undefined };
  if (before.digest === digest) return { ok: true, request: { ...before, ...(name === 'sendMessage' && { id: before.id ?? id }) } };
  return {
    ok: false,
    reason: `${name}: the id "${id}" was given to another ${name === 'sendMessage' ? 'message' : name} before (event ${before.seq}); give this one an id of its own`,
  };
}

/** Tells contents apart, whatever the order of their keys. 53 bits: only requests of one id are compared. */
function digestOf(value: unknown): string {
  return extendHash(emptyHash, sortedJson(value) ?? '');
}
