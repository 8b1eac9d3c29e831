/** What a scripted model server answers. Plain data, built by the functions below; how it gets on the wire is the server's business. */
export type Reply = StreamReply | BodyReply | { kind: 'hang'; delayMs?: number };

/** A `text/event-stream` answer, whole or broken in a chosen way. */
export interface StreamReply {
  kind: 'stream';
  text?: string;
  refusal?: string;
  reasoning?: string;
  calls?: ScriptedCall[];
  /** Replaces everything above: the `data:` payloads as they are. A string is sent unquoted. */
  events?: unknown[];
  /** `finish_reason`; `null` sends none. */
  finish: string | null;
  /** How it ends: with `[DONE]`, without it, with the socket destroyed, or never. */
  end: 'done' | 'close' | 'cut' | 'silence';
  /** Numbers to report instead of the estimated ones; `null` reports none. */
  usage?: ScriptedUsage | null;
  /** Drip: `chunkSize` characters every `chunkMs`. Unset: everything at once. */
  pace?: Pace;
  delayMs?: number;
}

/** One body with a length, and no stream. */
export interface BodyReply {
  kind: 'body';
  status: number;
  headers: Record<string, string>;
  body: string;
  delayMs?: number;
}

/** `args` is sent as JSON; `rawArguments` as it is, however broken. Without an `id` one is made, the same for the same request. */
export interface ScriptedCall {
  name: string;
  args?: unknown;
  rawArguments?: string;
  id?: string;
}

export interface ScriptedUsage {
  promptTokens?: number;
  cachedTokens?: number;
  completionTokens?: number;
  reasoningTokens?: number;
}

export interface Pace {
  chunkMs: number;
  /** Characters a chunk. Default 20. */
  chunkSize?: number;
}

/** A final answer in words. */
export function say(text: string): StreamReply {
  return { kind: 'stream', text, finish: 'stop', end: 'done' };
}

/** Tool calls, with some words before them if given. */
export function callTools(calls: ScriptedCall[], text?: string): StreamReply {
  return { kind: 'stream', text, calls, finish: 'tool_calls', end: 'done' };
}

export function refuse(refusal: string): StreamReply {
  return { kind: 'stream', refusal, finish: 'stop', end: 'done' };
}

/** An answer that ends for another reason: `length`, `content_filter`; `null` gives no reason but still says `[DONE]`. */
export function finish(reason: string | null, text?: string): StreamReply {
  return { kind: 'stream', text, finish: reason, end: 'done' };
}

/** A well-formed answer with nothing in it. */
export function empty(): StreamReply {
  return { kind: 'stream', finish: 'stop', end: 'done' };
}

/** The same answer with reasoning before it, as the servers of open models send it. */
export function thinking(reasoning: string, reply: StreamReply): StreamReply {
  return { ...reply, reasoning };
}

/** The stream's events as given, for what no other reply can say. A string is sent as it is, anything else as JSON. */
export function events(list: unknown[], end: StreamReply['end'] = 'done'): StreamReply {
  return { kind: 'stream', events: list, finish: null, end };
}

/** An error before the stream, as the provider words it: `fail(429, { headers: { 'retry-after': '2' } })`. */
export function fail(
  status: number,
  error: { code?: string | null; type?: string; message?: string; headers?: Record<string, string> } = {},
): BodyReply {
  const { headers = {}, message = `scripted failure ${status}`, type = 'scripted_error', code = null } = error;
  return {
    kind: 'body',
    status,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ error: { message, type, code, param: null } }),
  };
}

/** A success that is no stream: the page of a proxy, a JSON body. */
export function notSse(body: string, contentType = 'text/html'): BodyReply {
  return { kind: 'body', status: 200, headers: { 'content-type': contentType }, body };
}

/** Never answers, not even with headers. */
export function hang(): Reply {
  return { kind: 'hang' };
}

/** Begins to answer and then falls silent, with the socket open. */
export function stall(afterText: string): StreamReply {
  return { kind: 'stream', text: afterText, finish: null, end: 'silence', usage: null };
}

/** The socket is destroyed in the middle of the answer. */
export function cut(afterText: string): StreamReply {
  return { kind: 'stream', text: afterText, finish: null, end: 'cut', usage: null };
}

/** Ends in good order on the wire, but with neither a finish reason nor `[DONE]`. */
export function unfinished(text: string): StreamReply {
  return { kind: 'stream', text, finish: null, end: 'close', usage: null };
}

/** The provider gives up in the middle and says so in the stream. */
export function errorInStream(afterText: string, error: { message?: string; code?: string; type?: string }): StreamReply {
  return events([{ choices: [{ index: 0, delta: { role: 'assistant', content: afterText }, finish_reason: null }] }, { error }], 'close');
}

/** The same reply, in small pieces over time. */
export function slowly(reply: StreamReply, pace: Pace): StreamReply {
  return { ...reply, pace };
}

/** The same reply, begun `ms` later. */
export function after<R extends Reply>(ms: number, reply: R): R {
  return { ...reply, delayMs: ms };
}

/** The same reply, reporting these numbers; `null` reports none at all. */
export function withUsage(reply: StreamReply, usage: ScriptedUsage | null): StreamReply {
  return { ...reply, usage };
}
