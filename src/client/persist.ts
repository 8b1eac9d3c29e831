import { failureTypes } from '../contract/activities';
import { grpc, grpcCode, LonghaulError, wordsOf } from './errors';
import { awayAt, isUp, noteAway, type Reachable, whyAway } from './reach';
import { isNoWorker } from './thread-errors';

export interface Persistence {
  /** The deadline of one try, in milliseconds. Default 10,000. */
  deadlineMs?: number | undefined;
  /** How long to wait for an unavailable server, in milliseconds. Default 90,000; `Infinity` to wait until `signal` is aborted. */
  awayMs?: number | undefined;
  /** A worker must answer. If a deadline passes while the server is available, the error is then passed to the caller. */
  needsWorker?: boolean;
  /** Ends the wait: rejects with its reason. */
  signal?: AbortSignal | undefined;
}

/** How long a request waits for an unavailable server by default, in milliseconds. */
export const defaultAwayMs = 90_000;
/** A server that is starting answers with these codes for a few seconds. After that time they count as real errors. */
const startingUp: readonly number[] = [grpc.aborted, grpc.internal, grpc.unknown];
const startingUpMs = 20_000;
const shortestTryMs = 1_000;
const firstPauseMs = 200;
const longestPauseMs = 1_000;

/** Tries something that is safe to repeat until the server is available. Each try has its own deadline. */
export async function persist<T>(
  connection: Reachable,
  what: string,
  action: () => Promise<T>,
  { deadlineMs = 10_000, awayMs = defaultAwayMs, needsWorker = false, signal }: Persistence = {},
): Promise<T> {
  let awaySince: number | undefined;
  let startingSince: number | undefined;
  for (let wait = firstPauseMs; ; wait = Math.min(wait * 2, longestPauseMs)) {
    const began = Date.now();
    try {
      return await connection.withDeadline(began + Math.min(deadlineMs, Math.max(awayMs, shortestTryMs)), action);
    } catch (error) {
      signal?.throwIfAborted();
      const { name, message } = error as Error;
      if (name === 'NamespaceNotFoundError') throw noNamespace(what, error);
      if (name === failureTypes.keyUnavailable)
        throw new LonghaulError('encryption-key-missing', `${what}: ${message}`, undefined, { cause: error });
      const verdict = await judge(connection, error, needsWorker);
      if (verdict === 'final') throw error;
      const next = Date.now() + wait;
      startingSince = verdict === 'starting' ? (startingSince ?? Date.now()) : undefined;
      if (startingSince !== undefined && next > startingSince + startingUpMs) throw error;
      awaySince ??= began;
      if (next > awaySince + awayMs) throw unreachable(what, awayMs, whyAway(connection) ?? wordsOf(error), error);
      await pause(wait, signal);
      while (verdict === 'away' && Date.now() < awaySince + awayMs && !(await isUp(connection))) await pause(wait, signal);
    }
  }
}

/** Classifies a failed try. `away` includes a deadline that passed for a request that needs only the server. */
async function judge(connection: Reachable, error: unknown, needsWorker: boolean): Promise<'away' | 'starting' | 'final'> {
  const code = grpcCode(error);
  if (code === grpc.unavailable) {
    noteAway(connection, wordsOf(error));
    return 'away';
  }
  if (isNoWorker(error)) {
    if (code === grpc.failedPrecondition) return 'final';
    return !needsWorker || !(await isUp(connection)) ? 'away' : 'final';
  }
  return code !== undefined && startingUp.includes(code) ? 'starting' : 'final';
}

/** Workers try to reconnect every ten seconds, so a request that needs a worker must wait longer than that after the server is back. */
const workersReturnMs = 20_000;
/** The deadline of the first try. A worker that has the thread cached answers in a few milliseconds; one that must replay it takes a few hundred. */
const firstTryMs = 1_500;

export interface Answerable extends Omit<Persistence, 'deadlineMs' | 'needsWorker'> {
  /** How long to wait for a worker, in milliseconds. */
  patienceMs: number;
  /** Whether an error may be temporary, in addition to a missing answer. */
  passes?(error: unknown): boolean;
}

/**
 * Makes a request that a worker must answer and that is safe to repeat, in several tries. A passed deadline is final only after a second try with
 * the server known to be available, and after an outage workers get time to reconnect. Rejects with the error of the last try.
 */
export async function persistForWorker<T>(
  connection: Reachable,
  what: string,
  action: () => Promise<T>,
  { patienceMs, passes = () => false, ...persistence }: Answerable,
): Promise<T> {
  const began = Date.now();
  let deadlineMs = Math.min(firstTryMs, patienceMs * 0.4);
  for (let tries = 1, wait = 50; ; tries++) {
    const until = Math.max(began + patienceMs, awayAt(connection) + workersReturnMs);
    try {
      const withinMs = Math.max(Math.min(deadlineMs, until - Date.now()), 100);
      return await persist(connection, what, action, { ...persistence, deadlineMs: withinMs, needsWorker: true });
    } catch (error) {
      if (error instanceof LonghaulError || (!isNoWorker(error) && !passes(error))) throw error;
      const last = Math.max(until, awayAt(connection) + workersReturnMs);
      if (Date.now() >= last && tries > 1) throw error;
      await pause(Math.min(wait, Math.max(last - Date.now(), 0)), persistence.signal);
      deadlineMs *= 2;
      wait = Math.min(wait * 2, longestPauseMs);
    }
  }
}

/** Waits. Rejects with the signal's reason if it is aborted. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      if (signal?.aborted) reject(signal.reason);
      else resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done, { once: true });
  });
}

function unreachable(what: string, awayMs: number, why: string, cause: unknown): LonghaulError {
  const message = `${what}: Temporal was unavailable for ${awayMs / 1_000} s (${why}). Is it running?`;
  return new LonghaulError('unreachable', message, undefined, { cause });
}

function noNamespace(what: string, cause: unknown): LonghaulError {
  const { namespace = '' } = cause as { namespace?: string };
  const remedy = `Set TEMPORAL_NAMESPACE to an existing namespace, or create it: temporal operator namespace create -n ${namespace || 'NAME'}`;
  return new LonghaulError('namespace-not-found', `${what}: Temporal has no namespace "${namespace}". ${remedy}`, undefined, { cause });
}
