import { type Random, random } from './random';

/** Where a process may kill itself: at points in its own code that a timed kill would practically never hit. */
export const killPoints = [
  'tool-before-begin',
  'tool-after-begin',
  'tool-after-effect',
  'tool-after-result',
  'compensation',
  'hook',
  'approval-policy',
  'instructions',
  'model-first-byte',
  'model-mid-stream',
  'model-last-byte',
] as const;
export type KillPoint = (typeof killPoints)[number];

export type Wire = 'delay' | 'hold' | 'drop' | 'cut' | 'half-open' | 'refuse';

/** `at`: milliseconds from the storm's start. `slot`: which of the workers. `link`: a worker's slot, `people`, or all. */
export type Fault = { at: number } & (
  | { kind: 'kill'; slot: number; burst: boolean }
  | { kind: 'kill-at'; point: KillPoint }
  | { kind: 'kill-all' }
  | { kind: 'freeze'; slot: number; ms: number }
  | { kind: 'kill-server'; downMs: number; burst: boolean }
  | { kind: 'kill-people'; crowd: number }
  | { kind: 'wire'; how: Wire; link: number | 'people' | 'all'; ms: number; delayMs: number }
  | { kind: 'deploy' }
);

/** How many of each per minute. The number of worker kills is an option instead. */
const perMinute = { freeze: 0.8, 'kill-server': 0.8, 'kill-people': 1, wire: 2.2, deploy: 0.5 };

export function planFaults(seed: number, ms: number, kills: number, workers: number): Fault[] {
  const rng = random(seed, 'faults');
  // No faults in the first seconds, so that the workers can start.
  const from = Math.min(4_000, ms / 10);
  const when = () => Math.round(from + rng.next() * (ms - from));
  const faults: Fault[] = [];
  for (let left = kills; left > 0; ) {
    const all = left >= workers && rng.chance(0.04);
    if (all) faults.push({ at: when(), kind: 'kill-all' });
    else if (rng.chance(0.5)) faults.push({ at: when(), kind: 'kill-at', point: rng.pick(killPoints) });
    else faults.push({ at: when(), kind: 'kill', slot: rng.between(0, workers - 1), burst: rng.chance(0.4) });
    left -= all ? workers : 1;
  }
  for (const [kind, rate] of Object.entries(perMinute)) {
    const expected = (ms / 60_000) * rate;
    const times = Math.floor(expected) + (rng.chance(expected % 1) ? 1 : 0);
    for (let i = 0; i < times; i++) faults.push(other(kind as keyof typeof perMinute, when(), rng, workers));
  }
  return faults.sort((a, b) => a.at - b.at);
}

function other(kind: keyof typeof perMinute, at: number, rng: Random, workers: number): Fault {
  switch (kind) {
    case 'freeze':
      // Now and then longer than the heartbeat timeouts of retried steps, but shorter than the 60 s of `once` calls.
      return {
        at,
        kind,
        slot: rng.between(0, workers - 1),
        ms: rng.chance(0.3) ? rng.between(32_000, 40_000) : rng.between(4_000, 12_000),
      };
    case 'kill-server':
      return { at, kind, downMs: rng.chance(0.2) ? rng.between(6_000, 20_000) : rng.between(100, 4_000), burst: rng.chance(0.5) };
    case 'kill-people':
      return { at, kind, crowd: rng.between(0, 1) };
    case 'deploy':
      return { at, kind };
    case 'wire':
      return {
        at,
        kind,
        how: rng.pick(['delay', 'delay', 'hold', 'drop', 'cut', 'cut', 'half-open', 'refuse']),
        link: rng.chance(0.25) ? 'all' : rng.chance(0.3) ? 'people' : rng.between(0, workers - 1),
        ms: rng.chance(0.2) ? rng.between(15_000, 25_000) : rng.between(1_000, 8_000),
        delayMs: rng.pick([50, 300, 1_000, 2_000]),
      };
  }
}
