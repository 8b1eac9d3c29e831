/** A random number generator, seeded by names: the same names give the same numbers. It makes every random choice of a plan. */
export interface Random {
  /** 0 to below 1. */
  next(): number;
  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number;
  chance(probability: number): boolean;
  pick<T>(list: readonly T[]): T;
  /** By weight. */
  weigh<T extends string>(weights: Readonly<Record<T, number>>): T;
}

export function random(...names: (string | number)[]): Random {
  let state = hash(names.join('\0'));
  // mulberry32
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
  return {
    next,
    between: (low, high) => low + Math.floor(next() * (high - low + 1)),
    chance: (probability) => next() < probability,
    pick: <T>(list: readonly T[]) => list[Math.floor(next() * list.length)] as T,
    weigh<T extends string>(weights: Readonly<Record<T, number>>) {
      const all = Object.entries(weights) as [T, number][];
      let left = next() * all.reduce((sum, [, weight]) => sum + weight, 0);
      for (const [name, weight] of all) if ((left -= weight) < 0) return name;
      return (all.at(-1) as [T, number])[0];
    },
  };
}

/** FNV-1a with a final mix, so that names that differ in one character give unlike numbers. */
function hash(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}
