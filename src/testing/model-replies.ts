/** A reply of a scripted model server. It is plain data that the functions below build; the server turns it into HTTP. */
export type Reply = StreamReply | BodyReply | { kind: 'hang'; delayMs?: number | undefined };

/** A `text/event-stream` reply, complete or broken in a chosen way. */
export interface StreamReply {
  kind: 'stream';
  text?: string | undefined;
  refusal?: string | undefined;
  reasoning?: string | undefined;
  calls?: ScriptedCall[] | undefined;
  /** Replaces everything above: the exact `data:` payloads, in the format of the API. A string is sent unquoted. */
  events?: unknown[] | undefined;
  /** An error after the text, in the middle of the stream. */
  error?: StreamError | undefined;
  /** `finish_reason`; `null` sends none. */
  finish: string | null;
  /** How the stream ends: `done` with `[DONE]`, `close` without it, `cut` with the socket destroyed, `silence` never. */
  end: 'done' | 'close' | 'cut' | 'silence';
  /** Usage to report instead of the estimate; `null` reports none. */
  usage?: ScriptedUsage | null | undefined;
  /** Sends `chunkSize` characters every `chunkMs`. Default: everything immediately. */
  pace?: Pace | undefined;
  delayMs?: number | undefined;
}

/** A reply with one body of known length instead of a stream. */
export interface BodyReply {
  kind: 'body';
  status: number;
  headers: Record<string, string>;
  body: string;
  delayMs?: number | undefined;
}

/** `args` is sent as JSON; `rawArguments` unchanged, even if it is malformed. Without an `id` one is generated, the same for the same request. */
export interface ScriptedCall {
  name: string;
  args?: unknown | undefined;
  rawArguments?: string | undefined;
  id?: string | undefined;
}

export interface ScriptedUsage {
  promptTokens?: number | undefined;
  cachedTokens?: number | undefined;
  completionTokens?: number | undefined;
  reasoningTokens?: number | undefined;
}

export interface StreamError {
  message?: string | undefined;
  code?: string | undefined;
  type?: string | undefined;
}

export interface Pace {
  chunkMs: number;
  /** Characters per chunk. Default 20. */
  chunkSize?: number | undefined;
}

/** A final text answer. */
export function say(text: string): StreamReply {
  return { kind: 'stream', text, finish: 'stop', end: 'done' };
}

/** Tool calls, after `text` if given. */
export function callTools(calls: ScriptedCall[], text?: string): StreamReply {
  return { kind: 'stream', text, calls, finish: 'tool_calls', end: 'done' };
}

export function refuse(refusal: string): StreamReply {
  return { kind: 'stream', refusal, finish: 'stop', end: 'done' };
}

/** An answer with another finish reason: `length`, `content_filter`; `null` sends no reason, but still `[DONE]`. */
export function finish(reason: string | null, text?: string): StreamReply {
  return { kind: 'stream', text, finish: reason, end: 'done' };
}

/** A well-formed answer with nothing in it. */
export function empty(): StreamReply {
  return { kind: 'stream', finish: 'stop', end: 'done' };
}

/** The same reply with reasoning before it, in the format of servers of open models. */
export function thinking(reasoning: string, reply: StreamReply): StreamReply {
  return { ...reply, reasoning };
}

/** A stream of exactly these events, for cases that no other function covers. A string is sent unchanged, anything else as JSON. */
export function events(list: unknown[], end: StreamReply['end'] = 'done'): StreamReply {
  return { kind: 'stream', events: list, finish: null, end };
}

/** An HTTP error before the stream, in the provider's format: `fail(429, { headers: { 'retry-after': '2' } })`. */
export function fail(
  status: number,
  error: {
    code?: string | null | undefined;
    type?: string | undefined;
    message?: string | undefined;
    headers?: Record<string, string> | undefined;
  } = {},
): BodyReply {
  const { headers = {}, message = `scripted failure ${status}`, type = 'scripted_error', code = null } = error;
  return {
    kind: 'body',
    status,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ error: { message, type, code, param: null } }),
  };
}

/** A successful response that is not a stream, such as the page of a proxy or a JSON body. */
export function notSse(body: string, contentType = 'text/html'): BodyReply {
  return { kind: 'body', status: 200, headers: { 'content-type': contentType }, body };
}

/** Never responds, not even with headers. */
export function hang(): Reply {
  return { kind: 'hang' };
}

/** Begins the answer, then sends nothing more and leaves the socket open. */
export function stall(afterText: string): StreamReply {
  return { kind: 'stream', text: afterText, finish: null, end: 'silence', usage: null };
}

/** Destroys the socket in the middle of the answer. */
export function cut(afterText: string): StreamReply {
  return { kind: 'stream', text: afterText, finish: null, end: 'cut', usage: null };
}

/** Closes the stream properly, but without a finish reason and without `[DONE]`. */
export function unfinished(text: string): StreamReply {
  return { kind: 'stream', text, finish: null, end: 'close', usage: null };
}

/** Sends an error event in the middle of the stream. */
export function errorInStream(afterText: string, error: StreamError): StreamReply {
  return { kind: 'stream', text: afterText, error, finish: null, usage: null, end: 'close' };
}

/** The same reply, in small pieces over time. */
export function slowly(reply: StreamReply, pace: Pace): StreamReply {
  return { ...reply, pace };
}

/** The same reply, started `ms` milliseconds later. */
export function after<R extends Reply>(ms: number, reply: R): R {
  return { ...reply, delayMs: ms };
}

/** The same reply with this usage; `null` reports none. */
export function withUsage(reply: StreamReply, usage: ScriptedUsage | null): StreamReply {
  return { ...reply, usage };
}
