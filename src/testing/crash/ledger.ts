import { appendFileSync, existsSync, readFileSync } from 'node:fs';

/** What a tool did to the world. */
export interface Effect {
  /** The tool's name: a missing effect is excused by an unknown outcome of this tool. */
  tool: string;
  /** What it did, in words that are the same in every run: without ids of threads and without times. */
  what: string;
}

export interface NotedEffect extends Effect {
  threadId: string;
  /** The idempotency key of the request. Of entries of the same effect with the same key, only the first counts, as with a service that honours keys. */
  key?: string | undefined;
}

/** Where the processes of `crashEverywhere` say which file their ledger is. A symbol, because the agents' file may load another copy of this module. */
const place = Symbol.for('longhaul.crash-ledger');

interface Ledger {
  file?: string;
  entries: NotedEffect[];
}

function ledger(): Ledger {
  const shared = globalThis as { [place]?: Ledger };
  shared[place] ??= { entries: [] };
  return shared[place];
}

/** From now on, effects are noted in this file. */
export function openLedger(file: string): void {
  ledger().file = file;
}

/**
 * Notes an effect in the ledger that `crashEverywhere` reads: call it where a test double of a service carries out a request. It is written before the
 * function returns, so it is not lost when the process is killed. Outside `crashEverywhere` the ledger is in memory.
 */
export function noteEffect(effect: NotedEffect): void {
  const { file, entries } = ledger();
  if (file === undefined) entries.push(effect);
  else appendFileSync(file, `${JSON.stringify(effect)}\n`);
}

/** Returns the effects of a thread so far, in order, such as for the probe of a `verify` tool. */
export function notedEffects(threadId: string): NotedEffect[] {
  const { file, entries } = ledger();
  return effectsIn(file === undefined ? entries : readLedger(file), threadId);
}

export function readLedger(file: string): NotedEffect[] {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
  return lines.map((line) => JSON.parse(line) as NotedEffect);
}

export function effectsIn(entries: readonly NotedEffect[], threadId: string): NotedEffect[] {
  const seen = new Set<string>();
  return entries.filter((entry) => {
    if (entry.threadId !== threadId) return false;
    if (entry.key === undefined) return true;
    const repeated = JSON.stringify([entry.tool, entry.what, entry.key]);
    return !seen.has(repeated) && seen.add(repeated);
  });
}
