import { grpc, grpcCode, LonghaulError, wordsOf } from './errors';
import { awayAt, isUp, noteAway, type Reachable, whyAway } from './reach';
import { isNoWorker } from './thread-errors';

export interface Persistence {
  /** Of one try. Milliseconds, default 10,000. */
  deadlineMs?: number | undefined;
  /** How long the server may be away before it is given up on. Milliseconds, default 90,000; `Infinity` for whoever waits until told to stop. */
  awayMs?: number | undefined;
  /** A worker has to answer. A deadline that passes while the server is up is then the caller's to judge. */
  needsWorker?: boolean;
  /** Ends the waiting: rejects with its reason. */
  signal?: AbortSignal | undefined;
}

/** How long a request waits for a server that is away, where the client's options don't say. */
export const defaultAwayMs = 90_000;
/** A server that is just coming up answers with these for a few seconds; one that goes on doing so means it. */
const startingUp: readonly number[] = [grpc.aborted, grpc.internal, grpc.unknown];
const startingUpMs = 20_000;
const shortestTryMs = 1_000;
const firstPauseMs = 200;
const longestPauseMs = 1_000;

/** Does something that may safely be done twice, until the server is there to do it. Each try has its own deadline. */
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
      if ((error as Error).name === 'NamespaceNotFoundError') throw noNamespace(what, error);
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

/** What a failed try means. `away`: also a deadline that passed for something that needs only the server. */
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

/** Workers look for a server that went away every ten seconds, so that what needs one must wait longer than that once it is back. */
const workersReturnMs = 20_000;
/** The first try; a worker that holds the thread answers in a few milliseconds, one that must replay it in some hundred. */
const firstTryMs = 1_500;

export interface Answerable extends Omit<Persistence, 'deadlineMs' | 'needsWorker'> {
  /** How long a worker may take, or be away. Milliseconds. */
  patienceMs: number;
  /** Whether a failure may pass by itself, besides nobody answering. */
  passes?(error: unknown): boolean;
}

/**
 * Does something that a worker must answer and that may safely be done twice, in several tries: a deadline that passes is believed only
 * after a second try with the server known to be up, and after an outage workers get the time to return. Rejects with the last try's error.
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

/** Rejects with the signal's reason where it is aborted. */
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
  const message = `${what}: Temporal was away for ${awayMs / 1_000} s (${why}). Is it running?`;
  return new LonghaulError('unreachable', message, undefined, { cause });
}

function noNamespace(what: string, cause: unknown): LonghaulError {
  const { namespace = '' } = cause as { namespace?: string };
  const remedy = `Set TEMPORAL_NAMESPACE to one that it has, or create it: temporal operator namespace create -n ${namespace || 'NAME'}`;
  return new LonghaulError('namespace-not-found', `${what}: Temporal has no namespace "${namespace}". ${remedy}`, undefined, { cause });
}
