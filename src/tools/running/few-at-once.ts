/** Runs a work as soon as it is its turn. `of`: whose it is, such as a thread's id. */
export type InTurn = <T>(work: () => Promise<T>, of?: string) => Promise<T>;

/**
 * Returns a function that runs works, at most `most` at the same time, of which `mostOfOne` may belong to one owner. The others wait. Owners take
 * turns, so that one with a hundred works delays each work of another by one of them; the works of one owner keep their order.
 */
export function fewAtOnce(most: number, mostOfOne = most): InTurn {
  const waiting = new Map<string, (() => void)[]>();
  const runningOf = new Map<string, number>();
  let running = 0;

  const mayRun = (of: string) => running < most && (runningOf.get(of) ?? 0) < mostOfOne;
  const count = (of: string, change: 1 | -1) => {
    running += change;
    const left = (runningOf.get(of) ?? 0) + change;
    if (left === 0) runningOf.delete(of);
    else runningOf.set(of, left);
  };
  const beginNext = () => {
    for (const [of, works] of waiting) {
      if (!mayRun(of)) continue;
      // Behind all other owners.
      waiting.delete(of);
      const begin = works.shift();
      if (works.length > 0) waiting.set(of, works);
      // Counted here, so that nobody who comes later gets in between.
      count(of, 1);
      begin?.();
      return;
    }
  };

  return async (work, of = '') => {
    if (mayRun(of)) count(of, 1);
    else {
      await new Promise<void>((begin) => {
        const works = waiting.get(of) ?? [];
        works.push(begin);
        waiting.set(of, works);
      });
    }
    try {
      return await work();
    } finally {
      count(of, -1);
      beginNext();
    }
  };
}
