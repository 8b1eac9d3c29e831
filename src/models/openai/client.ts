import OpenAI from 'openai';
import { bounds } from '../../core/bounds';
import { isDeepJson, isObject, parseObject } from '../../core/json';
import { fetchOverHttp } from '../http-fetch';
import { LimitExceeded } from '../limit-exceeded';
import { type ModelAnswer, type ModelCallOptions, ModelFailure, type ModelProvider, type ModelRequest } from '../model';
import { sseDecoder } from '../sse';
import { timeSlices } from '../time-slices';
import { factsOfBody, Trouble, toFailure } from './failure';
import { type Line, openLine } from './line';
import { encodeRequest } from './request';
import { foldStream, type StreamFold } from './stream';

export interface OpenAiOptions {
  /** Needed for OpenAI's own address only. */
  apiKey?: string;
  /** Default `https://api.openai.com/v1`. Any server that speaks Chat Completions; usually ends in `/v1`. */
  baseUrl?: string;
  organization?: string;
  project?: string;
  /** Sent with every request. */
  headers?: Record<string, string>;
  /** How long the provider may take to begin, in milliseconds. Default 120,000. */
  firstByteTimeoutMs?: number;
  /** How long it may be silent in the middle of an answer, in milliseconds. Default 60,000. */
  idleTimeoutMs?: number;
}

const ownAddress = 'https://api.openai.com/v1';
/** Once the model has said why it stopped, only the usage is missing: worth a moment, not a minute. */
const afterFinishMs = 5_000;
/** What may stand behind the end of an answer before its connection is given up. */
const longestRest = 64_000;

/**
 * Chat Completions of OpenAI and of every server that speaks it. One HTTP request a call, always streamed, never repeated.
 * Nothing is read from the environment and nothing is checked before the first call, so that a missing key fails the call and not the worker.
 */
export function openAi(options: OpenAiOptions = {}): ModelProvider {
  const { firstByteTimeoutMs = 120_000, idleTimeoutMs = 60_000 } = options;
  let ready: Connection | undefined;

  async function call(request: ModelRequest, { signal, onDelta }: ModelCallOptions): Promise<ModelAnswer> {
    signal.throwIfAborted();
    ready ??= connect(options);
    const { client, host, isOpenAi } = ready;
    const line = openLine(signal, firstByteTimeoutMs);
    try {
      const body = encodeRequest(request, isOpenAi ? 'max_completion_tokens' : 'max_tokens');
      const fold = foldStream(
        request.tools.map((tool) => tool.name),
        onDelta,
      );
      const headers = { 'content-type': 'application/json' };
      const response = await client.post('/chat/completions', { body, headers, stream: true, signal: line.signal }).asResponse();
      await readInto(fold, response, line, idleTimeoutMs);
      const answer = fold.answer();
      signal.throwIfAborted();
      return answer;
    } catch (error) {
      line.hangUp();
      if (signal.aborted) throw signal.reason;
      throw toFailure(line.silence() ?? error, { host, model: request.model, key: options.apiKey }, Date.now());
    } finally {
      line.release();
    }
  }
  return { call };
}

interface Connection {
  client: OpenAI;
  host: string;
  isOpenAi: boolean;
}

function connect(options: OpenAiOptions): Connection {
  const baseURL = options.baseUrl || ownAddress;
  if (!URL.canParse(baseURL) || !/^https?:/i.test(baseURL)) {
    throw new ModelFailure('bad-request', 'The base URL of the model provider is not an http(s) URL. Check OPENAI_BASE_URL.');
  }
  const { host, hostname } = new URL(baseURL);
  const isOpenAi = hostname === 'api.openai.com' || hostname.endsWith('.api.openai.com');
  if (isOpenAi && !options.apiKey) {
    throw new ModelFailure(
      'auth',
      `There is no API key for ${host}. Set OPENAI_API_KEY, or OPENAI_BASE_URL to the address of a compatible server, which may need no key.`,
    );
  }
  // What is not given here the SDK would take from the environment, or log.
  const client = new OpenAI({
    baseURL,
    apiKey: options.apiKey || 'no-key',
    adminAPIKey: null,
    organization: options.organization ?? null,
    project: options.project ?? null,
    webhookSecret: null,
    defaultHeaders: options.headers,
    logLevel: 'off',
    maxRetries: 0,
    // Ours are the line's; the SDK's must not come first.
    timeout: 2 ** 31 - 1,
    fetch: fetchWithErrorObject,
  });
  return { client, host, isOpenAi: isOpenAi || hostname.endsWith('.openai.azure.com') };
}

/** The SDK keeps of a failed response only an `error` object; other servers put their words beside it, into a list, or into plain text. */
async function fetchWithErrorObject(url: string | URL | Request, init?: RequestInit): Promise<Response> {
  const response = await fetchOverHttp(url, init);
  if (response.ok) return response;
  const text = await beginningOf(response, bounds.errorBodyBytes);
  return new Response(JSON.stringify({ error: errorObject(text) }), { status: response.status, headers: response.headers });
}

/** The first bytes of a body, as text. Where there are more the connection is closed. */
async function beginningOf(response: Response, maxBytes: number): Promise<string> {
  const reader = response.body?.getReader();
  const pieces: Uint8Array[] = [];
  let size = 0;
  while (reader && size < maxBytes) {
    const { done, value } = await reader.read();
    if (done) break;
    pieces.push(value);
    size += value.byteLength;
  }
  if (size >= maxBytes) await reader?.cancel();
  return Buffer.concat(pieces).toString('utf8', 0, maxBytes);
}

function errorObject(text: string): unknown {
  const asText = () => (text.trim() ? { message: text } : undefined);
  if (isDeepJson(text, bounds.jsonDepth)) return asText();
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return asText();
  }
  const first = Array.isArray(body) ? body[0] : body;
  const error = isObject(first) ? (first.error ?? first) : first;
  if (!isObject(error)) return { message: String(error) };
  const words = error.message ?? error.detail;
  return { ...error, message: typeof words === 'string' ? words : JSON.stringify(words ?? error) };
}

async function readInto(fold: StreamFold, response: Response, line: Line, idleMs: number): Promise<void> {
  const decoder = sseDecoder();
  const reader = response.body?.getReader();
  const slices = timeSlices();
  let size = 0;
  while (reader) {
    const piece = await reader.read().catch((cause: unknown) => {
      if (fold.isFinished()) return { done: true as const, value: undefined };
      throw new Trouble({ kind: 'truncated-stream', words: 'the connection was lost' }, cause);
    });
    if (piece.done) break;
    size += piece.value.byteLength;
    if (size > bounds.streamBytes) throw new LimitExceeded('its stream', bounds.streamBytes, 'bytes');
    for (const data of decoder.push(piece.value)) {
      if (fold.isDone()) break;
      fold.event(data);
      if (slices.isOver()) await slices.next();
    }
    if (fold.isDone()) return void drain(reader, line);
    if (fold.count() === 0 && size > bounds.preambleBytes) break;
    if (slices.isOver()) await slices.next();
    line.heard(fold.isFinished() ? Math.min(afterFinishMs, idleMs) : idleMs);
  }
  takeRest(fold, decoder.flush());
  if (fold.count() === 0) throw notAStream(response, decoder.head());
}

/** What stood without its closing blank line when the stream ended: an event, or half of one. */
function takeRest(fold: StreamFold, rest: string[]): void {
  for (const data of rest) {
    if (fold.isDone()) return;
    if (data.startsWith('[DONE]') || parseObject(data)) fold.event(data);
    else if (!fold.isFinished()) throw new Trouble({ kind: 'truncated-stream', words: 'the stream ended in the middle of an event' });
  }
}

/** Reads the end of the body, so that the connection can be used again; a server that doesn't end it is left after a second, or 64 KB. */
async function drain(reader: ReadableStreamDefaultReader<Uint8Array>, line: Line): Promise<void> {
  const timer = setTimeout(line.hangUp, 1_000).unref();
  try {
    for (let rest = 0; rest < longestRest; ) {
      const { done, value } = await reader.read();
      if (done) return;
      rest += value.byteLength;
    }
    line.hangUp();
  } catch {
    // The answer is complete; how the connection ends is no concern of the call.
  } finally {
    clearTimeout(timer);
  }
}

/** A success without a single event. The SDK takes it for an empty answer. */
function notAStream(response: Response, head: string): Trouble {
  if (head.trim() === '') return new Trouble({ kind: 'truncated-stream', words: 'the response was empty' });
  const error = parseObject(head)?.error;
  if (error) return new Trouble(factsOfBody(error));
  const type = response.headers.get('content-type') ?? 'no content type';
  const hint = 'Is OPENAI_BASE_URL the address of the API (it usually ends in /v1)?';
  return new Trouble({
    kind: 'server',
    status: response.status,
    words: `${type} came in place of an event stream. ${hint} It begins: ${head.slice(0, 120)}`,
  });
}
