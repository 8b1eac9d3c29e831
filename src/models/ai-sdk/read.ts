import { isObject } from '../../core/json';
import { Trouble } from '../wire/failure';
import type { Line } from '../wire/line';
import { timeSlices } from '../wire/time-slices';
import { type Stage, troubleOf } from './failure';
import type { AiSdkStream } from './spec';
import { type PartFold, partsOfResult } from './stream';

/** Packages don't pass on keep-alive events, so nothing arrives while a model thinks without output. */
const defaultIdleMs = 120_000;
/** How long to wait for the end of the stream after the answer is complete, so that its connection can be reused. */
const afterFinishMs = 1_000;

type Reader = ReturnType<AiSdkStream['getReader']>;

/** Waits for an operation of a package. */
export type Wait = <T>(make: () => T | PromiseLike<T>, stage?: Stage) => Promise<T>;

/**
 * A package may throw synchronously, ignore the abort signal, or fail long after the abort. None of this may block the call or end the
 * process. Only one operation is awaited at a time. All operations share one abort listener, because there is one for each part of a stream.
 */
export function waitOn({ signal }: Line): Wait {
  let giveUp = () => {};
  signal.addEventListener('abort', () => giveUp(), { once: true });
  return (make, stage = 'asking') =>
    new Promise((resolve, reject) => {
      const fail = (error: unknown) => reject(troubleOf(error, stage));
      giveUp = () => fail(new Trouble({ kind: 'timeout', words: 'it was aborted' }));
      if (signal.aborted) giveUp();
      try {
        Promise.resolve(make()).then(resolve, fail);
      } catch (error) {
        fail(error);
      }
    });
}

/** Reads the stream of one `doStream` until the answer is complete. */
export async function readInto(
  fold: PartFold,
  doStream: () => PromiseLike<{ stream: AiSdkStream }>,
  line: Line,
  wait: Wait,
  idleMs = defaultIdleMs,
): Promise<void> {
  // A stream that arrives after the call has ended is cancelled immediately.
  const late = (result: { stream: AiSdkStream }) => {
    if (line.signal.aborted) cancel(result.stream.getReader());
    return result;
  };
  const { stream } = await wait(async () => late(await doStream()));
  const reader = await wait(() => stream.getReader());
  const slices = timeSlices();
  try {
    while (!fold.isFinished()) {
      const { done, value } = await wait(() => reader.read(), 'answering');
      if (done) return;
      if (looking(() => fold.part(value))) line.heard(idleMs);
      if (slices.isOver()) await slices.next();
    }
  } catch (error) {
    cancel(reader);
    throw error;
  }
  await drain(reader, line, wait);
}

/** Takes the answer of `doGenerate`. */
export async function takeWhole(fold: PartFold, doGenerate: () => PromiseLike<unknown>, wait: Wait): Promise<void> {
  const result = await wait(doGenerate);
  const slices = timeSlices();
  for (const part of partsOfResult(isObject(result) ? result : {})) {
    looking(() => fold.part(part));
    if (slices.isOver()) await slices.next();
  }
}

/** Reading a part may throw, for example in a getter. */
export function looking<T>(look: () => T): T {
  try {
    return look();
  } catch (error) {
    throw troubleOf(error, 'answering');
  }
}

async function drain(reader: Reader, line: Line, wait: Wait): Promise<void> {
  const timer = setTimeout(line.hangUp, afterFinishMs).unref();
  try {
    const { done } = await wait(() => reader.read());
    if (!done) cancel(reader);
  } catch {
    // The answer is complete; errors of the stream don't matter any more.
    cancel(reader);
  } finally {
    clearTimeout(timer);
  }
}

function cancel(reader: Reader): void {
  Promise.resolve()
    .then(() => reader.cancel())
    .catch(() => {});
}
