import { show } from './check-input';
import { type Checked, no, yes } from './checked';
import { isObject, sortedJson } from './json';
import type { ThreadState } from './state';
import { emptyHash, extendHash } from './transcript';

/** A request with an id: its name and id as `key`, and a digest of its content. */
export interface RequestMark {
  key: string;
  /** Computed lazily: only accepted requests and those whose id is already known need it. */
  readonly digest: string;
}

/** An accepted request. */
export interface FollowedRequest {
  digest: string;
  /** The `seq` of the event that the request caused. */
  seq: number;
  /** The id of a message, if the thread generated it. */
  id?: string;
}

/**
 * Number of the newest requests with an id that are remembered, of all kinds together: about 60 KB of state. Continue-as-new passes them on,
 * whereas the server's own record of updates ends with an execution.
 */
const kept = 1_000;

const anId = /^[\w.:-]{1,128}$/;

/**
 * Returns the id and the content of a request. The id is the `id` in the payload or else the update's id, because a client that repeats an
 * update after its response was lost repeats its id, too. Ids are unique per request name.
 */
export function identify(name: string, payload: unknown, updateId?: string): Checked<{ content: unknown; mark?: RequestMark }> {
  const { id = undefined, ...rest } = isObject(payload) ? payload : {};
  const own = id ?? undefined;
  if (own !== undefined && (typeof own !== 'string' || !anId.test(own))) {
    return no(`${name}: \`id\` must be 1 to 128 letters, digits or . _ : -; it is ${show(own)}`);
  }
  const content = isObject(payload) ? rest : payload;
  const known = (own as string | undefined) ?? (updateId === undefined || anId.test(updateId) ? updateId : `#${digestOf(updateId)}`);
  return yes({ content, ...(known !== undefined && { mark: markOf(`${name}:${known}`, content) }) });
}

function markOf(key: string, content: unknown): RequestMark {
  let digest: string | undefined;
  return {
    key,
    get digest() {
      digest ??= digestOf(isObject(content) ? unsigned(content) : content);
      return digest;
    },
  };
}

/** Removes the signature, because a request is the same with any signature. */
function unsigned({ signature: _, ...content }: Record<string, unknown>): object {
  return content;
}

/** Remembers an accepted request. `messageId`: the id of the message that it contained. */
export function noteRequest(state: ThreadState, { key, digest }: RequestMark, seq: number, messageId?: string): void {
  state.requests[key] = { digest, seq, ...(messageId !== undefined && !key.endsWith(`:${messageId}`) && { id: messageId }) };
  const keys = Object.keys(state.requests);
  for (const old of keys.slice(0, Math.max(0, keys.length - kept))) delete state.requests[old];
}

/** Returns the earlier request of the same name and id, if one was accepted. Refuses if its content was different. */
export function followedBefore(state: ThreadState, mark: RequestMark): Checked<FollowedRequest | undefined> {
  const { key } = mark;
  const before = Object.hasOwn(state.requests, key) ? state.requests[key] : undefined;
  const [name, id] = [key.slice(0, key.indexOf(':')), key.slice(key.indexOf(':') + 1)];
  if (!before) return yes(undefined);
  if (before.digest === mark.digest) return yes({ ...before, ...(name === 'sendMessage' && { id: before.id ?? id }) });
  return reused(mark, `before (event ${before.seq})`);
}

/** Refuses a request if one of the same name and id but with different content is being carried out. */
export function sameAs(underWay: RequestMark | undefined, mark: RequestMark): Checked<RequestMark> {
  return underWay === undefined || underWay.digest === mark.digest ? yes(mark) : reused(mark, 'that is being carried out');
}

function reused({ key }: RequestMark, which: string): ReturnType<typeof no> {
  const [name, id] = [key.slice(0, key.indexOf(':')), key.slice(key.indexOf(':') + 1)];
  return no(
    `${name}: the id "${id}" was given to another ${name === 'sendMessage' ? 'message' : name} ${which}; give this one an id of its own`,
    'id-reused',
  );
}

/** Returns a digest of a content, independent of the order of keys. 53 bits are enough, because only requests with the same id are compared. */
function digestOf(value: unknown): string {
  return extendHash(emptyHash, sortedJson(value) ?? '');
}
