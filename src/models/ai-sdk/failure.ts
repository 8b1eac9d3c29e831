import { bounds } from '../../core/bounds';
import type { FailureKind } from '../../core/failure';
import { isDeepJson, isObject, parseObject } from '../../core/json';
import { ModelFailure } from '../model';
import { factsOfBody, Trouble, type TroubleFacts } from '../wire/failure';
import { LimitExceeded } from '../wire/limit-exceeded';

/** AI SDK errors whose name gives the kind. Recognized by name or marker: `instanceof` fails across two copies of the package. */
const kinds: Readonly<Record<string, FailureKind | undefined>> = {
  AI_LoadAPIKeyError: 'auth',
  AI_LoadSettingError: 'bad-request',
  AI_NoSuchModelError: 'not-found',
  AI_NoSuchProviderError: 'not-found',
  AI_NoSuchProviderReferenceError: 'bad-request',
  AI_UnsupportedFunctionalityError: 'bad-request',
  AI_InvalidPromptError: 'bad-request',
  AI_InvalidArgumentError: 'bad-request',
  AI_EmptyResponseBodyError: 'truncated-stream',
  AI_NoContentGeneratedError: 'empty',
  AI_InvalidResponseDataError: 'server',
  AI_TypeValidationError: 'server',
  AI_JSONParseError: 'server',
  AI_APICallError: undefined,
};

/** Whether an error happened before the answer began, or during the answer. */
export type Stage = 'asking' | 'answering';

/**
 * Converts an error that an AI SDK provider threw or put into its stream. Only its message, code and status are read, because the error also
 * holds the whole request and all headers.
 */
export function troubleOf(error: unknown, stage: Stage): Error {
  try {
    // `instanceof`, too, throws for a proxy whose traps throw. If this function threw, the call would never end, and the process would.
    if (error instanceof Trouble || error instanceof LimitExceeded || error instanceof ModelFailure) return error;
    return new Trouble(factsOfError(error, stage));
  } catch {
    return new Trouble({ kind: 'server', words: "it failed with an error that can't be read" });
  }
}

function factsOfError(error: unknown, stage: Stage): TroubleFacts {
  const causes = causesOf(error);
  for (const cause of causes) {
    const name = nameOf(cause);
    const kind = name ? kinds[name] : undefined;
    if (name === 'AI_InvalidArgumentError') return { kind, words: [wordsOf(cause), ...problemsOf(causes)].filter(Boolean).join(': ') };
    if (name && kind) return { ...factsOfNamed(cause, name, kind), ...(name === 'AI_TypeValidationError' && factsOfValue(cause.value)) };
    const status = statusOf(cause);
    if (status !== undefined && status >= 400) return factsOfResponse(cause, status);
  }
  const response = causes.find((cause) => nameOf(cause) === 'AI_APICallError');
  // If a response breaks off while it is read, the error has the status of the response.
  const begun = stage === 'answering' || (response !== undefined && statusOf(response) !== undefined);
  const ofWire = factsOfWire(causes, begun);
  if (ofWire) return ofWire;
  if (response) return factsOfResponse(response, statusOf(response));
  if (stage === 'asking') return { kind: 'bad-request', words: wordsOf(error) };
  return ofStream(error);
}

function factsOfWire(causes: readonly Record<string, unknown>[], begun: boolean): TroubleFacts | undefined {
  const code = causes.map((cause) => cause.code).find((one) => typeof one === 'string') as string | undefined;
  const isLate = causes.some(({ name }) => name === 'TimeoutError');
  if (isLate || /^UND_ERR_(HEADERS|BODY|CONNECT)_TIMEOUT$|^ETIMEDOUT$/.test(code ?? '')) return { kind: 'timeout', words: code };
  const isOfWire =
    /^(UND_ERR_|ECONN|ENOTFOUND|EAI_AGAIN|EPIPE|EHOSTUNREACH|ENETUNREACH)/.test(code ?? '') ||
    causes.some((cause) => /^(fetch failed|terminated|socket hang up)$/i.test(wordsOf(cause) ?? ''));
  if (!isOfWire) return undefined;
  return begun ? { kind: 'truncated-stream', words: 'the connection was lost' } : { kind: 'connection', words: code };
}

function statusOf({ statusCode, status }: Record<string, unknown>): number | undefined {
  const given = statusCode ?? status;
  return typeof given === 'number' ? given : undefined;
}

/** An error in the stream: an error object of the vendor, or only its message. */
function ofStream(error: unknown): TroubleFacts {
  const inner = isObject(error) && isObject(error.error) ? error.error : error;
  const facts = factsOfBody(inner instanceof Error ? { message: inner.message, code: (inner as { code?: unknown }).code } : inner);
  const isRate = /\brate[ _-]?limit|too many requests/i.test(facts.words ?? '');
  return { ...facts, ...(isRate && { type: facts.type ?? 'rate_limit' }) };
}

function factsOfNamed(error: Record<string, unknown>, name: string, kind: FailureKind): TroubleFacts {
  const words = wordsOf(error);
  // Providers report a truncated stream this way. Other errors of this kind quote the response, which may contain any text.
  const isCut = name === 'AI_InvalidResponseDataError' && /ended without|unexpected end|incomplete/i.test(words ?? '');
  return { kind: isCut ? 'truncated-stream' : kind, words };
}

/** What is wrong with an argument, as far as its schema says it: at most three problems, with the path of each. */
function problemsOf(causes: readonly Record<string, unknown>[]): string[] {
  const issues = causes.flatMap(({ issues }) => (Array.isArray(issues) ? issues : []));
  const words = issues.slice(0, 3).flatMap((issue) => {
    if (!isObject(issue) || typeof issue.message !== 'string') return [];
    return [Array.isArray(issue.path) && issue.path.length > 0 ? `${issue.path.join('.')}: ${issue.message}` : issue.message];
  });
  return words.length > 0 ? [words.join('; ')] : [];
}

/** A chunk that the provider's package doesn't expect is often an error of the vendor. */
function factsOfValue(value: unknown): Partial<TroubleFacts> {
  const error = isObject(value) ? value.error : undefined;
  return error === undefined || error === null ? {} : { ...ofStream(error), kind: undefined };
}

function factsOfResponse(error: Record<string, unknown>, status: number | undefined): TroubleFacts {
  if (status === undefined) {
    return error.isRetryable === true ? { kind: 'connection', words: wordsOf(error) } : { words: wordsOf(error) };
  }
  const { words, code, type } = factsOfText(error.responseBody);
  return { status, words: words || wordsOf(error), code, type, headers: headersOf(error.responseHeaders) };
}

/** The vendor's own error, from the body of its response. */
function factsOfText(body: unknown): TroubleFacts {
  if (typeof body !== 'string' || body.trim() === '') return {};
  const text = body.slice(0, bounds.errorBodyBytes);
  const parsed = isDeepJson(text, bounds.jsonDepth) ? undefined : firstObject(text);
  if (!parsed) return factsOfBody(text);
  const inner = parsed.error ?? parsed;
  if (!isObject(inner)) return factsOfBody(typeof inner === 'string' ? inner : text);
  const words = inner.message ?? inner.detail ?? inner.Message;
  return factsOfBody({ ...inner, message: typeof words === 'string' ? words : JSON.stringify(words ?? inner) });
}

/** Google sends its error inside a list. */
function firstObject(text: string): Record<string, unknown> | undefined {
  const list = text.trimStart().startsWith('[') ? parseObject(`{"list":${text}}`)?.list : undefined;
  const first = Array.isArray(list) ? list[0] : parseObject(text);
  return isObject(first) ? first : undefined;
}

function headersOf(headers: unknown): TroubleFacts['headers'] {
  if (!isObject(headers)) return undefined;
  const of = (wanted: string) => Object.entries(headers).find(([name]) => name.toLowerCase() === wanted)?.[1];
  return {
    get(wanted) {
      const value = of(wanted);
      return typeof value === 'string' ? value : null;
    },
  };
}

function nameOf(error: Record<string, unknown>): string | undefined {
  const { name } = error;
  if (typeof name === 'string' && Object.hasOwn(kinds, name)) return name;
  return Object.keys(kinds).find((one) => error[Symbol.for(`vercel.ai.error.${one}`) as unknown as string] === true);
}

function wordsOf(error: unknown): string | undefined {
  if (typeof error === 'string') return error;
  return isObject(error) && typeof error.message === 'string' ? error.message : undefined;
}

/** An error and its chain of causes, at most five errors. */
function causesOf(error: unknown): Record<string, unknown>[] {
  const causes: Record<string, unknown>[] = [];
  for (let at = error; causes.length < 5 && isObject(at); at = at.cause) causes.push(at);
  return causes;
}
