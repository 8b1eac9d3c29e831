import { built } from './build';
import { random } from './random';
import { type Child, startChild } from './talk';
import type { WorkerArguments } from './worker';

/** How a worker process ended. */
export interface End {
  slot: number;
  pid: number;
  at: number;
  how: 'killed' | 'drained' | 'by itself' | 'did not drain';
  code: number | null;
  said: string;
}

export interface Pool {
  ends: End[];
  /** The process id of the worker that is in a slot now, or undefined if the slot is empty. */
  pidOf(slot: number): number | undefined;
  kill(slot: number): void;
  freeze(slot: number, ms: number): void;
  /** Drains the workers one after another and replaces each by one of the other version. */
  deploy(): Promise<void>;
  /** From now on every slot is filled with a healthy worker without delay. */
  calm(): void;
  /** Drains all workers and starts new ones, each with a cache of `cached` workflows. */
  renew(cached: number): Promise<void>;
  stop(): Promise<void>;
}

export type PoolOptions = Omit<WorkerArguments, 'slot' | 'version' | 'address' | 'cached' | 'transcripts'> & {
  seed: number;
  /** Addresses of the proxies, one for each slot. */
  addresses: string[];
};

const drainPatienceMs = 30_000;

/** Keeps a worker process in every slot and replaces it whenever it ends. One spare process is always started in advance. */
export function startPool({ seed, addresses, ...common }: PoolOptions): Pool {
  const ends: End[] = [];
  const slots: (Child | undefined)[] = addresses.map(() => undefined);
  const versions: (1 | 2)[] = addresses.map((_, slot) => (slot % 2 === 0 ? 1 : 2));
  const frozen = new Set<Child>();
  const draining = new Set<Child>();
  const overdue = new Set<Child>();
  let spare: Child | undefined;
  let calm = false;
  let closing = false;
  let only: number | undefined;
  let generation = 0;

  const takeSpare = (): Child => {
    const child = spare && !spare.isGone() ? spare : startChild(built('worker'), []);
    spare = undefined;
    if (!closing) setTimeout(() => !closing && !spare && (spare = startChild(built('worker'), [])), 300);
    return child;
  };

  const fill = async (slot: number): Promise<void> => {
    const rng = random(seed, 'worker', slot, generation++);
    const child = takeSpare();
    slots[slot] = child;
    const cached = only ?? rng.pick([0, 2, 2, 500, 500]);
    const transcripts = rng.pick([0, 2_000, 256_000_000]);
    const begun = child
      .ask('ready')
      .then(() => child.tell('begin', { ...common, slot, version: versions[slot], address: addresses[slot], cached, transcripts }));
    begun.catch(() => undefined);
    const { code, signal } = await child.gone;
    frozen.delete(child);
    const how = overdue.has(child) ? 'did not drain' : signal === 'SIGKILL' ? 'killed' : draining.has(child) ? 'drained' : 'by itself';
    if (!closing) ends.push({ slot, pid: child.pid, at: Date.now(), how, code, said: child.said() });
    if (slots[slot] === child) slots[slot] = undefined;
    if (closing) return;
    if (!calm && how === 'killed') await sleep(rng.between(0, 1_500));
    if (how === 'by itself') await sleep(500);
    if (!closing) void fill(slot);
  };

  const drain = async (slot: number): Promise<void> => {
    const child = slots[slot];
    if (!child) return;
    child.signal('SIGCONT');
    draining.add(child);
    child.signal('SIGTERM');
    const timer = setTimeout(() => {
      overdue.add(child);
      child.signal('SIGKILL');
    }, drainPatienceMs);
    await child.gone;
    clearTimeout(timer);
  };

  for (const slot of addresses.keys()) void fill(slot);
  return {
    ends,
    pidOf: (slot) => slots[slot]?.pid,
    kill(slot) {
      // If the slot is empty at the moment, kill the next, so that the number of kills stays as planned.
      const all = [...slots.slice(slot), ...slots.slice(0, slot)];
      all.find((child) => child && !child.isGone())?.signal('SIGKILL');
    },
    freeze(slot, ms) {
      const child = slots[slot];
      if (!child || child.isGone() || draining.has(child)) return;
      frozen.add(child);
      child.signal('SIGSTOP');
      setTimeout(() => {
        frozen.delete(child);
        child.signal('SIGCONT');
      }, ms);
    },
    async deploy() {
      for (const slot of addresses.keys()) {
        versions[slot] = versions[slot] === 1 ? 2 : 1;
        await drain(slot);
        await sleep(500);
      }
    },
    calm() {
      calm = true;
      for (const child of frozen) child.signal('SIGCONT');
    },
    async renew(cached) {
      only = cached;
      await Promise.all(addresses.map((_, slot) => drain(slot)));
    },
    async stop() {
      closing = true;
      await Promise.all([spare, ...slots].map((child) => child && !child.isGone() && child.kill()));
    },
  };
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
