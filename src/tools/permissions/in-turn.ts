import { setImmediate } from 'node:timers/promises';

/** How long checks may block the event loop before it gets a turn. */
const sliceMs = 20;

interface Turn {
  /** What is done before the work; a turn may come after each step. */
  steps?: Iterable<unknown> | undefined;
  /** It belongs to a check whose first work was done, so it goes before the first work of others. */
  begun?: boolean;
  /** The thread for which it is done. Threads take turns, so that many calls of one don't hold up another. */
  threadId?: string | undefined;
}

type Work = () => Promise<void>;

const begunWorks: Work[] = [];
/** First works, by thread. The thread at the beginning is next. */
const firstWorks = new Map<string, Work[]>();
let isRunning = false;
/** When the event loop last got a turn from here. */
let turnedAt = 0;

/**
 * Does work that blocks the event loop, one after another in the whole process, and gives the loop a turn in between: the checks of all calls of one
 * answer, together, would block it for seconds, and no heartbeat would go out. What the work returns is not waited for before the next work.
 */
export function inTurn<T>(work: () => T | Promise<T>, { steps = [], begun = false, threadId = '' }: Turn = {}): Promise<T> {
  return new Promise((resolve, reject) => {
    const own = begun ? begunWorks : (firstWorks.get(threadId) ?? []);
    if (!begun) firstWorks.set(threadId, own);
    own.push(async () => {
      try {
        for (const _ of steps) if (isTurnDue()) await turn();
        if (isTurnDue()) await turn();
        resolve(work());
      } catch (error) {
        reject(error);
      }
    });
    if (!isRunning) void workThrough();
  });
}

async function workThrough(): Promise<void> {
  isRunning = true;
  for (let next = takeNext(); next; next = takeNext()) await next();
  isRunning = false;
}

function takeNext(): Work | undefined {
  const begun = begunWorks.shift();
  const [threadId, works = []] = firstWorks.entries().next().value ?? [];
  if (begun || threadId === undefined) return begun;
  const next = works.shift();
  firstWorks.delete(threadId);
  if (works.length > 0) firstWorks.set(threadId, works);
  return next;
}

function isTurnDue(): boolean {
  return performance.now() - turnedAt > sliceMs;
}

async function turn(): Promise<void> {
  await setImmediate();
  turnedAt = performance.now();
}
