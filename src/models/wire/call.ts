import { bounds } from '../../core/bounds';
import { isDeepJson, isObject, parseObject } from '../../core/json';
import { type ModelAnswer, ModelFailure } from '../model';
import { type Callee, factsOfBody, Trouble, toFailure } from './failure';
import { LimitExceeded } from './limit-exceeded';
import { type Line, openLine } from './line';
import { sseDecoder } from './sse';
import { timeSlices } from './time-slices';

/** Builds one answer from the events of a provider's stream. */
export interface StreamFold {
  /** Takes the `data` of one event. Throws `Trouble` if it reports an error, and `LimitExceeded` if the answer becomes too large. */
  event(data: string): void;
  /** The number of events taken so far. */
  count(): number;
  /** Whether the provider has marked the end of the stream. */
  isDone(): boolean;
  /** Whether the finish reason has arrived. Only the usage can follow, so a connection that breaks after this loses nothing else. */
  isFinished(): boolean;
  /** Throws `Trouble` if the stream ended before the answer was complete, or if the answer is empty. */
  answer(): ModelAnswer;
}

/** How long to wait for data from a provider, in milliseconds. */
export interface Patience {
  /** Until the response begins. Default 120,000. */
  firstByteTimeoutMs?: number | undefined;
  /** Between two pieces of an answer. Default 60,000. */
  idleTimeoutMs?: number | undefined;
}

export interface WireCall extends Patience {
  callee: Callee;
  fold: StreamFold;
  /** Sends the request. Aborting the signal must destroy its socket. */
  send(signal: AbortSignal): Promise<Response>;
}

/** After the finish reason only the usage is missing, which justifies a short wait only. */
const afterFinishMs = 5_000;
/** Bytes to read after the end of an answer before its connection is closed. */
const longestRest = 64_000;

/** Sends one request and reads its answer. Throws `ModelFailure`, or the reason of `signal` if it is aborted. */
export async function callOverWire(signal: AbortSignal, call: WireCall): Promise<ModelAnswer> {
  const { callee, fold, send, idleTimeoutMs = 60_000 } = call;
  return onLine(signal, call, async (line) => {
    await readInto(fold, await send(line.signal), line, { idleMs: idleTimeoutMs, callee });
    return fold.answer();
  });
}

/** Runs a call with its own timeouts, and converts its errors to `ModelFailure`. If `signal` is aborted, throws its reason. */
export async function onLine(
  signal: AbortSignal,
  { callee, firstByteTimeoutMs = 120_000 }: Patience & { callee: Callee },
  make: (line: Line) => Promise<ModelAnswer>,
): Promise<ModelAnswer> {
  const line = openLine(signal, firstByteTimeoutMs);
  try {
    const answer = await make(line);
    signal.throwIfAborted();
    return answer;
  } catch (error) {
    line.hangUp();
    if (signal.aborted) throw signal.reason;
    if (error instanceof ModelFailure) throw error;
    throw toFailure(line.silence() ?? error, callee, Date.now());
  } finally {
    line.release();
  }
}

async function readInto(
  fold: StreamFold,
  response: Response,
  line: Line,
  { idleMs, callee }: { idleMs: number; callee: Callee },
): Promise<void> {
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
  const rest = decoder.flush();
  takeStray(fold, decoder.stray());
  takeRest(fold, rest);
  if (fold.count() === 0) throw notAStream(response, decoder.head(), callee);
}

/** Handles an error that a server wrote into its stream as plain text instead of as an event. */
function takeStray(fold: StreamFold, text: string): void {
  if (fold.isDone() || fold.isFinished() || isDeepJson(text, bounds.jsonDepth)) return;
  // Some servers write it as the only item of a list.
  const told = parseObject(`{"told":${text || null}}`)?.told;
  const body = Array.isArray(told) ? told[0] : told;
  if (!isObject(body) || !body.error) return;
  fold.event(JSON.stringify(body));
  throw new Trouble(factsOfBody(body.error));
}

/** Takes what was left without a closing blank line when the stream ended: a complete event, or part of one. */
function takeRest(fold: StreamFold, rest: string[]): void {
  for (const data of rest) {
    if (fold.isDone()) return;
    if (data.startsWith('[DONE]') || parseObject(data)) fold.event(data);
    else if (!fold.isFinished()) throw new Trouble({ kind: 'truncated-stream', words: 'the stream ended in the middle of an event' });
  }
}

/** Reads the end of the body, so that the connection can be reused. If the server doesn't end it, closes the connection after 1 s or 64 KB. */
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
    // The answer is complete; errors of the connection don't matter any more.
  } finally {
    clearTimeout(timer);
  }
}

/** A successful response without a single event. The SDK would treat it as an empty answer. */
function notAStream(response: Response, head: string, { variables }: Callee): Trouble {
  if (head.trim() === '') return new Trouble({ kind: 'truncated-stream', words: 'the response was empty' });
  const error = parseObject(head)?.error;
  if (error) return new Trouble(factsOfBody(error));
  const type = response.headers.get('content-type') ?? 'no content type';
  const hint = `Is ${variables.baseUrl} the address of the API (it usually ends in a version, as in /v1)?`;
  return new Trouble({
    kind: 'server',
    status: response.status,
    words: `it sent ${type} instead of an event stream. ${hint} The response begins: ${head}`,
  });
}
