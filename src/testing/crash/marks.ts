/** Where a thread stands still until its process is killed or frozen. */
export interface Stop {
  /** The mark, by its key. */
  at: string;
  /** The last model call before it. The threads of a process go on from there together, so that the first does not stand still for long. */
  gate?: string;
}

export type Stops = Readonly<Record<string, Stop>>;

/** What a process of `crashEverywhere` reports. */
export interface MarkReports {
  /** A thread has passed, or come to, a mark. */
  reached(threadId: string, key: string): void;
  /** A thread stands still at its stop. */
  arrived(threadId: string): void;
}

/** A place in a run that is the same in every run of the same conversation. Resolves when the thread may go on. */
export type Mark = (threadId: string, place: string) => Promise<void>;

/** How long threads wait for each other at their gates. A thread of a run that is not repeatable may never come to its gate. */
const gateMs = 10_000;

/** The marks of one worker process. */
export function createMarks({ reached, arrived }: MarkReports) {
  const stops = new Map<string, Stop>();
  const counts = new Map<string, number>();
  const waiting = new Set<string>();
  const released = later();
  let gates = later();

  const mark: Mark = async (threadId, place) => {
    const key = keyOf(threadId, place);
    reached(threadId, key);
    const stop = stops.get(threadId);
    if (stop?.gate === key) await pass(threadId);
    if (stop?.at !== key) return;
    arrived(threadId);
    waiting.add(threadId);
    openGates();
    await released.promise;
  };

  /** An event is recorded again if its workflow task is lost; a step that is made twice is two places. */
  function keyOf(threadId: string, place: string): string {
    if (place.startsWith('event ')) return place;
    const counted = `${threadId} ${place}`;
    const count = (counts.get(counted) ?? 0) + 1;
    counts.set(counted, count);
    return count === 1 ? place : `${place} #${count}`;
  }

  function pass(threadId: string): Promise<void> {
    waiting.add(threadId);
    openGates();
    return gates.promise;
  }

  function openGates(): void {
    if ([...stops].every(([threadId, { gate }]) => gate === undefined || waiting.has(threadId))) gates.resolve();
  }

  return {
    mark,
    /** Threads that stop in this process. */
    add(given: Stops) {
      for (const [threadId, stop] of Object.entries(given)) stops.set(threadId, stop);
      gates = later();
      setTimeout(() => gates.resolve(), gateMs).unref();
      openGates();
    },
    /** Lets all threads go on. */
    release: () => released.resolve(),
  };
}

function later(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
