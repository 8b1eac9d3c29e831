import { type FailureKind, isRetryable } from '../../core/failure';
import { isObject } from '../../core/json';
import { ModelFailure } from '../model';
import { NoResponse, UnusableResponse } from './http-fetch';
import { LimitExceeded } from './limit-exceeded';
import { retryAfterMs } from './retry-after';
import { longestWords, safeWords } from './safe-words';

/** What is known about a failed call before its kind is determined. `kind` is set if the code that noticed the failure knows it. */
export interface TroubleFacts {
  kind?: FailureKind;
  status?: number;
  code?: string;
  type?: string;
  words?: string;
  headers?: { get(name: string): string | null };
  /** The wait that the provider gives in the body. */
  retryAfterMs?: number;
}

export class Trouble extends Error {
  constructor(
    readonly facts: TroubleFacts,
    cause?: unknown,
  ) {
    super(facts.words, { cause });
  }
}

/** The provider and model of a call. `secrets` are removed from every message. */
export interface Callee {
  host: string;
  model: string;
  secrets: readonly string[];
  /** It gets an access token of the option `credentials` instead of a key. */
  usesToken?: boolean;
  /** The environment variables that error messages refer to. */
  variables: { key: string; baseUrl: string };
}

const quotaCodes = ['insufficient_quota', 'billing_hard_limit_reached', 'billing_not_active'];
const filterCodes = ['content_filter', 'content_policy_violation', 'image_content_policy_violation', 'bio_policy', 'invalid_prompt'];
/** Status 400 because the model wrote an invalid call or invalid JSON. The request is fine, and another attempt may succeed. */
const invalidOutputCodes = ['tool_use_failed', 'json_validate_failed'];
const tooLong =
  /context[_ ](length|window|size|limit)|maximum (context|prompt|input) length|(prompt|input|request)( is)? too (long|large)|too many (input )?tokens|exceeds the maximum number of (input )?tokens|reduce the length of the messages/i;
const noCredit = /credit balance is too low/i;
const badKey = /api[ _-]?key (is )?(not valid|invalid)|(invalid|incorrect) api[ _-]?key/i;

/**
 * Returns the kind of a failure, from status and code first. A 429 is a rate limit whatever its message, unless a code says that the quota is
 * used up. `x-should-retry` is ignored: the kind alone decides, so that the same failure is handled the same way for every provider.
 */
export function kindOf({ kind, status, code = '', type = '', words = '' }: TroubleFacts): FailureKind {
  if (kind) return kind;
  if (quotaCodes.includes(code) || quotaCodes.includes(type) || status === 402) return 'quota';
  if (status === 429) return 'rate-limit';
  if (filterCodes.includes(code)) return 'content-filter';
  if (code === 'context_length_exceeded' || type === 'too_many_prompt_tokens') return 'context-length';
  if (invalidOutputCodes.includes(code)) return 'server';
  if (status === 401 || code === 'invalid_api_key') return 'auth';
  if (status === 403) return 'permission';
  if (status === 404 || code === 'model_not_found') return 'not-found';
  if (status === 408 || status === 504 || status === 524) return 'timeout';
  if (status === 503 || status === 529 || type === 'overloaded_error' || code === 'overloaded') return 'overloaded';
  // The same request will never fit; a shorter conversation may.
  if (status === 413) return 'context-length';
  if (status !== undefined && status >= 400 && status < 500) return kindOfRefusal(status, words);
  return kindOfWords(code, type, words);
}

function kindOfRefusal(status: number, words: string): FailureKind {
  // A conflict or "too early" is transient.
  if (status === 409 || status === 425) return 'server';
  if (tooLong.test(words)) return 'context-length';
  if (noCredit.test(words)) return 'quota';
  return badKey.test(words) ? 'auth' : 'bad-request';
}

/** For a 5xx, or an error in the stream, which has no status. */
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
  empty: () => 'gave an empty answer: no text, no refusal, no tool call',
  auth: () => 'refused the API key',
  permission: (model) => `does not permit the use of model '${model}'`,
  'bad-request': () => 'refused the request',
  'context-length': (model) => `reports that the conversation is too long for model '${model}'`,
  quota: () => 'reports that the quota of the account is used up',
  'content-filter': () => 'refused the content of the conversation',
  'not-found': (model) => `has no model '${model}' at this address`,
  'too-large': () => 'exceeded a size limit',
};

const remedies: Partial<Record<FailureKind, (variables: Callee['variables']) => string>> = {
  connection: ({ baseUrl }) => `Check that it is running and that ${baseUrl} is its address.`,
  auth: ({ key }) => `Check ${key}.`,
  quota: () => 'Check the plan and the billing of the account.',
  'not-found': ({ baseUrl }) => `Check the name of the model and ${baseUrl}.`,
};

/** The same for a provider with `credentials`. */
const refusedToken = { said: 'refused the access token', remedy: "Check the provider's credentials." };

const longest = 500;

export function toFailure(error: unknown, callee: Callee, now: number): ModelFailure {
  const facts = factsOf(error);
  const kind = kindOf(facts);
  const { status } = facts;
  const code = facts.code ? safeWords(facts.code, callee.secrets, 80) : undefined;
  const label = [status, code].filter(Boolean).join(', ');
  const words = facts.words ? `: ${safeWords(facts.words, callee.secrets, 300)}` : '';
  const refused = kind === 'auth' && callee.usesToken ? refusedToken : undefined;
  const sentence = `The model provider at ${callee.host} ${refused?.said ?? said[kind](callee.model)}${label ? ` (${label})` : ''}${words}`;
  const remedy = refused?.remedy ?? remedies[kind]?.(callee.variables);
  const message = remedy ? `${sentence.replace(/[.\s]*$/, '.')} ${remedy}` : sentence;
  const waitMs = isRetryable(kind) ? (facts.retryAfterMs ?? retryAfterMs(facts.headers, now)) : undefined;
  return new ModelFailure(kind, safeWords(message, callee.secrets, longest), {
    ...(status !== undefined && { status }),
    ...(code && { code }),
    ...(waitMs !== undefined && { retryAfterMs: waitMs }),
  });
}

/** Reads the provider's own error object, which may also be a bare string, or have a number as its code. */
export function factsOfBody(error: unknown): TroubleFacts {
  if (typeof error === 'string') return { words: error.slice(0, longestWords) };
  if (!isObject(error)) return {};
  const { message, code, type } = error;
  // `Number` can throw for other types.
  const number = typeof code === 'string' || typeof code === 'number' ? Number(code) : Number.NaN;
  return {
    words: (typeof message === 'string' ? message : JSON.stringify(error)).slice(0, longestWords),
    code: typeof code === 'string' ? code.slice(0, longestWords) : undefined,
    type: typeof type === 'string' ? type.slice(0, longestWords) : undefined,
    status: Number.isInteger(number) && number >= 400 && number < 600 ? number : undefined,
  };
}

/** Reads what the SDK threw. Its errors are all named `Error`, so they are recognized by their fields. */
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
    // Anthropic's SDK keeps the whole body, with the error inside it.
    const facts = factsOfBody(isObject(body) && isObject(body.error) ? body.error : body);
    return { ...facts, status, headers, words: facts.words ?? withoutStatus(message, status) };
  }
  const unusable = causesOf(error).find((cause) => cause instanceof UnusableResponse);
  if (unusable) return { kind: 'server', words: unusable.message };
  const code = wireCode(error);
  if (/^UND_ERR_(HEADERS|BODY|CONNECT)_TIMEOUT$|^ETIMEDOUT$/.test(code ?? '')) return { kind: 'timeout', words: code };
  // Only connection errors of the SDKs have these fields, and they are empty; other errors happened before the request was sent.
  const sent = error instanceof NoResponse || (isObject(error) && 'requestID' in error);
  return sent ? { kind: 'connection', words: code ?? String(message) } : { kind: 'bad-request', words: String(message ?? error) };
}

function withoutStatus(message: unknown, status: number): string | undefined {
  const text = String(message ?? '').replace(new RegExp(`^${status} `), '');
  return text === 'status code (no body)' ? undefined : text;
}

/** The error code of the system or of the HTTP client, which is a few causes deep. */
function wireCode(error: unknown): string | undefined {
  return causesOf(error).find(({ code }) => typeof code === 'string')?.code as string | undefined;
}

/** An error and its chain of causes, at most five errors. */
function causesOf(error: unknown): Record<string, unknown>[] {
  const causes: Record<string, unknown>[] = [];
  for (let at = error; causes.length < 5 && isObject(at); at = at.cause) causes.push(at);
  return causes;
}
