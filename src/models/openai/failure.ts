import { type FailureKind, isRetryable } from '../../core/failure';
import { isObject } from '../../core/json';
import { LimitExceeded } from '../limit-exceeded';
import { ModelFailure } from '../model';
import { retryAfterMs } from '../retry-after';
import { safeWords } from '../safe-words';

/** What is known of a call that failed, before it is judged. `kind` where the place that noticed it already knows. */
export interface TroubleFacts {
  kind?: FailureKind;
  status?: number;
  code?: string;
  type?: string;
  words?: string;
  headers?: { get(name: string): string | null };
}

export class Trouble extends Error {
  constructor(
    readonly facts: TroubleFacts,
    cause?: unknown,
  ) {
    super(facts.words, { cause });
  }
}

/** Whom the call was made to; `key` only to keep it out of every message. */
export interface Callee {
  host: string;
  model: string;
  key?: string;
}

const quotaCodes = ['insufficient_quota', 'billing_hard_limit_reached', 'billing_not_active'];
const filterCodes = ['content_filter', 'content_policy_violation', 'invalid_prompt'];
const tooLong =
  /context[_ ](length|window|size)|maximum (context|prompt|input) length|(prompt|input|request)( is)? too (long|large)|too many (input )?tokens|exceeds the maximum number of (input )?tokens|reduce the length of the messages/i;
const badKey = /api[ _-]?key (is )?(not valid|invalid)|(invalid|incorrect) api[ _-]?key/i;

/**
 * The kind of a failure, from status and code first. A 429 is a rate limit whatever it says, unless a code says that the money is gone.
 * `x-should-retry` is not consulted: the kind alone decides, so that the same failure means the same with every provider.
 */
export function kindOf({ kind, status, code = '', type = '', words = '' }: TroubleFacts): FailureKind {
  if (kind) return kind;
  if (quotaCodes.includes(code) || quotaCodes.includes(type) || status === 402) return 'quota';
  if (status === 429) return 'rate-limit';
  if (filterCodes.includes(code)) return 'content-filter';
  if (code === 'context_length_exceeded') return 'context-length';
  if (status === 401 || code === 'invalid_api_key') return 'auth';
  if (status === 403) return 'permission';
  if (status === 404 || code === 'model_not_found') return 'not-found';
  if (status === 408 || status === 504 || status === 524) return 'timeout';
  if (status === 503 || status === 529 || type === 'overloaded_error' || code === 'overloaded') return 'overloaded';
  // Too much for one request: the same request will never fit, a shorter conversation may.
  if (status === 413) return 'context-length';
  if (status !== undefined && status >= 400 && status < 500) return kindOfRefusal(status, words);
  return kindOfWords(code, type, words);
}

function kindOfRefusal(status: number, words: string): FailureKind {
  // A conflict or "too early" is over in a moment.
  if (status === 409 || status === 425) return 'server';
  if (tooLong.test(words)) return 'context-length';
  return badKey.test(words) ? 'auth' : 'bad-request';
}

/** A 5xx, or an error told in the stream, where there is no status to go by. */
function kindOfWords(code: string, type: string, words: string): FailureKind {
  const all = `${code} ${type} ${words}`;
  if (/rate[_ ]limit/i.test(`${code} ${type}`)) return 'rate-limit';
  if (/overloaded/i.test(all)) return 'overloaded';
  if (tooLong.test(all)) return 'context-length';
  return /invalid_request/i.test(`${code} ${type}`) ? 'bad-request' : 'server';
}

const said: Record<FailureKind, (model: string) => string> = {
  'rate-limit': () => 'limits the rate of requests',
  overloaded: () => 'is overloaded',
  server: () => 'failed',
  timeout: () => 'took too long',
  connection: () => "can't be reached",
  'truncated-stream': () => 'broke off in the middle of its answer',
  empty: () => 'answered with nothing: no text, no refusal, no tool call',
  auth: () => 'refused the API key',
  permission: (model) => `does not permit the use of model '${model}'`,
  'bad-request': () => 'refused the request',
  'context-length': (model) => `says the conversation is too long for model '${model}'`,
  quota: () => 'says that the quota of the account is used up',
  'content-filter': () => 'refused the content of the conversation',
  'not-found': (model) => `has no model '${model}' at this address`,
  'too-large': () => 'sent more than a call takes',
};

const remedies: Partial<Record<FailureKind, string>> = {
  connection: 'Check that it is running and that OPENAI_BASE_URL is its address.',
  auth: 'Check OPENAI_API_KEY.',
  quota: 'Check the plan and the billing of the account.',
  'not-found': 'Check the name of the model and OPENAI_BASE_URL.',
};

const longest = 500;

export function toFailure(error: unknown, callee: Callee, now: number): ModelFailure {
  const facts = factsOf(error);
  const kind = kindOf(facts);
  const { status } = facts;
  const code = facts.code ? safeWords(facts.code, callee.key, 80) : undefined;
  const label = [status, code].filter(Boolean).join(', ');
  const words = facts.words ? `: ${safeWords(facts.words, callee.key, 300)}` : '';
  const sentence = `The model provider at ${callee.host} ${said[kind](callee.model)}${label ? ` (${label})` : ''}${words}`;
  const message = remedies[kind] ? `${sentence.replace(/[.\s]*$/, '.')} ${remedies[kind]}` : sentence;
  const waitMs = isRetryable(kind) ? retryAfterMs(facts.headers, now) : undefined;
  return new ModelFailure(kind, safeWords(message, callee.key, longest), {
    ...(status !== undefined && { status }),
    ...(code && { code }),
    ...(waitMs !== undefined && { retryAfterMs: waitMs }),
  });
}

/** More than the words that are looked at, so that what is cut off is known to be missing. */
const longestWords = 20_000;
const longestCode = 200;

/** The provider's own error object, wherever it was found; also as a bare string, or with a number for a code. */
export function factsOfBody(error: unknown): TroubleFacts {
  if (typeof error === 'string') return { words: error.slice(0, longestWords) };
  if (!isObject(error)) return {};
  const { message, code, type } = error;
  const number = Number(code);
  return {
    words: (typeof message === 'string' ? message : JSON.stringify(error)).slice(0, longestWords),
    code: typeof code === 'string' ? code.slice(0, longestCode) : undefined,
    type: typeof type === 'string' ? type.slice(0, longestCode) : undefined,
    status: Number.isInteger(number) && number >= 400 && number < 600 ? number : undefined,
  };
}

/** What the SDK threw. Its errors are all named `Error`, so they are told by their fields, never by name. */
function factsOf(error: unknown): TroubleFacts {
  if (error instanceof Trouble) return error.facts;
  if (error instanceof LimitExceeded) return { kind: 'too-large', words: error.message };
  const {
    status,
    headers,
    error: body,
    message,
  } = (isObject(error) ? error : {}) as {
    status?: unknown;
    headers?: Headers;
    error?: unknown;
    message?: unknown;
  };
  if (typeof status === 'number') {
    const facts = factsOfBody(body);
    return { ...facts, status, headers, words: facts.words ?? withoutStatus(message, status) };
  }
  const code = wireCode(error);
  if (/^UND_ERR_(HEADERS|BODY|CONNECT)_TIMEOUT$|^ETIMEDOUT$/.test(code ?? '')) return { kind: 'timeout', words: code };
  // Only the SDK's own connection errors have these fields, empty; the rest never got as far as the wire.
  const sent = isObject(error) && 'requestID' in error;
  return sent ? { kind: 'connection', words: code ?? String(message) } : { kind: 'bad-request', words: String(message ?? error) };
}

function withoutStatus(message: unknown, status: number): string | undefined {
  const text = String(message ?? '').replace(new RegExp(`^${status} `), '');
  return text === 'status code (no body)' ? undefined : text;
}

/** The code of the system or of the HTTP client, which sits a few causes deep. */
function wireCode(error: unknown): string | undefined {
  let at = error;
  for (let depth = 0; depth < 5 && isObject(at); depth++) {
    if (typeof at.code === 'string') return at.code;
    at = at.cause;
  }
  return undefined;
}
