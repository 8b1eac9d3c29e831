import { setImmediate } from 'node:timers/promises';

/** How long checks may block the event loop before it gets a turn. */
const sliceMs = 20;

interface Turn {
  /** What is done before the work; a turn may come after each step. */
  steps?: Iterable<unknown> | undefined;
  /** It belongs to a check whose first work was done, so it goes before the first work of others. */
  begun?: boolean;
}

const waiting: Record<'begun' | 'others', (() => Promise<void>)[]> = { begun: [], others: [] };
let isRunning = false;
/** When the event loop last got a turn from here. */
let turnedAt = 0;

/**
 * Does work that blocks the event loop, one after another in the whole process, and gives the loop a turn in between: the checks of all calls of one
 * answer, together, would block it for seconds, and no heartbeat would go out. What the work returns is not waited for before the next work.
 */
export function inTurn<T>(work: () => T | Promise<T>, { steps = [], begun = false }: Turn = {}): Promise<T> {
  return new Promise((resolve, reject) => {
    waiting[begun ? 'begun' : 'others'].push(async () => {
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

function takeNext(): (() => Promise<void>) | undefined {
  return waiting.begun.shift() ?? waiting.others.shift();
}

function isTurnDue(): boolean {
  return performance.now() - turnedAt > sliceMs;
}

async function turn(): Promise<void> {
  await setImmediate();
  turnedAt = performance.now();
}
