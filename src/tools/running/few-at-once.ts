/** Returns a function that runs works, at most `most` at the same time. The others wait, in their order. */
export function fewAtOnce(most: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running >= most) await new Promise<void>((begin) => waiting.push(begin));
    else running += 1;
    try {
      return await work();
    } finally {
      // Whoever is next takes the place over, so that nobody who comes later gets in between.
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
}
