import { createHash } from 'node:crypto';
import type { Fault } from './plan-faults';
import { planFaults } from './plan-faults';
import { random } from './random';

export interface ThreadPlan {
  id: string;
  /** Milliseconds from the storm's start. */
  at: number;
  /** The agent, and how its model behaves. */
  agent: string;
  kind: string;
  mode: 'one-shot' | 'conversation';
  /** Number of runs that people start: 1 for a one-shot thread. */
  runs: number;
  /** Maximum number of tool turns in a run. */
  turns: number;
  /** What people do besides answering pending calls, and when, in milliseconds from the thread's start. */
  deeds: { at: number; what: Deed }[];
  readers: number;
}

export type Deed = 'send' | 'now' | 'later' | 'pause' | 'cancel' | 'compact' | 'nonsense' | 'twice' | 'close' | 'stale';

export interface Plan {
  seed: number;
  minutes: number;
  workers: number;
  /** An execution continues as new after this many events. */
  events: number;
  /** All payloads are compressed and encrypted, from the middle on with another key. */
  encrypted: boolean;
  threads: ThreadPlan[];
  faults: Fault[];
  digest: string;
}

const threadsPerMinute = 60;

/** The same seed, length and numbers give the same plan on every machine. */
export function makePlan({ seed, minutes, kills, workers }: { seed: number; minutes: number; kills: number; workers: number }): Plan {
  const ms = Math.round(minutes * 60_000);
  const threads: ThreadPlan[] = [];
  const many = Math.max(4, Math.round(minutes * threadsPerMinute));
  for (let i = 0; i < many; i++) threads.push(planThread(seed, i, Math.round((i / many) * ms)));
  const body = {
    seed,
    minutes,
    workers,
    events: random(seed, 'events').between(50, 90),
    encrypted: random(seed, 'encrypted').chance(0.5),
    threads,
    faults: planFaults(seed, ms, kills, workers),
  };
  return { ...body, digest: createHash('sha256').update(JSON.stringify(body)).digest('hex').slice(0, 12) };
}

const deedWeights: Record<Deed, number> = {
  send: 6,
  now: 3,
  later: 2,
  pause: 2,
  cancel: 1,
  compact: 1,
  nonsense: 1,
  twice: 2,
  close: 1,
  stale: 1,
};

/** Agents by kind of thread. Each way to end a run, and each way to ask people, has an agent of its own. */
const agentsOf: Readonly<Record<string, readonly string[]>> = {
  quick: ['plain', 'plain', 'plain', 'sequential', 'parallel', 'hooked', 'structured'],
  asking: ['plain', 'parallel', 'hooked', 'begging'],
  behind: ['plain', 'hooked'],
  sleeping: ['plain'],
  shelling: ['plain'],
  booking: ['failing', 'failing', 'plain'],
  forgetting: ['pruning', 'condensing', 'sliding'],
  all: ['plain', 'parallel', 'hooked', 'verifying', 'done', 'begging', 'handing', 'summarizing', 'failing'],
};

function planThread(seed: number, index: number, at: number): ThreadPlan {
  const rng = random(seed, 'thread', index);
  const kind = rng.weigh({ quick: 10, asking: 5, behind: 1.5, sleeping: 1, shelling: 0.5, booking: 3, forgetting: 2, all: 5 });
  const agent = rng.pick(agentsOf[kind] as readonly string[]);
  const mode = rng.chance(0.35) ? 'conversation' : 'one-shot';
  // A few long ones, over many executions.
  const long = kind === 'forgetting' || rng.chance(0.06);
  const runs = mode === 'conversation' ? (long && kind !== 'forgetting' ? rng.between(6, 12) : rng.between(1, 3)) : 1;
  const turns = long ? rng.between(6, 14) : rng.between(1, 4);
  const spanMs = 3_000 * runs + 1_500 * turns;
  const deeds = Array.from({ length: rng.chance(0.6) ? rng.between(1, 4) : 0 }, () => ({
    at: rng.between(0, spanMs),
    what: rng.weigh(deedWeights),
  })).sort((a, b) => a.at - b.at);
  return {
    id: `storm-${seed}-${String(index).padStart(5, '0')}`,
    at,
    agent,
    kind,
    mode,
    runs,
    turns,
    deeds,
    readers: rng.chance(0.3) ? rng.between(1, 2) : 0,
  };
}
