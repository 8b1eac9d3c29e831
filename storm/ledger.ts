import { createHash, randomBytes } from 'node:crypto';
import { appendFileSync, existsSync, linkSync, mkdirSync, readdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What a tool records outside the engine, before and after it does something. */
export interface LedgerLine {
  /** `effect`: a request to a service that takes every request, also one with a key that it knows. */
  what: 'begin' | 'effect' | 'end' | 'aborted';
  at: number;
  thread: string;
  run: string;
  call: string;
  tool: string;
  effect: string;
  /** The engine's idempotency key. */
  key: string;
  /** The model's mark of the call: unique in a storm. */
  n: string;
  attempt: number;
  pid: number;
  /** The argument `edited`, if a person edited the arguments. */
  edited?: string;
}

/** Appends a line to a file with a single write, which stays whole when the process is killed. */
export function append(file: string, line: object): void {
  appendFileSync(file, `${JSON.stringify(line)}\n`);
}

/** Every complete line; the last may be incomplete if its writer was killed in the middle. */
export function readLines<T>(file: string): T[] {
  if (!existsSync(file)) return [];
  const lines: T[] = [];
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    try {
      if (line) lines.push(JSON.parse(line) as T);
    } catch {
      // Incomplete: its writer was killed before it could rely on the line.
    }
  }
  return lines;
}

export const ledgerFile = (folder: string): string => join(folder, 'ledger.jsonl');
const effectsFolder = (folder: string): string => join(folder, 'effects');

/**
 * A service that honours idempotency keys: the first request with a key takes effect, completely or not at all; later ones do not.
 * True if this request took effect.
 */
export function takeEffect(folder: string, { key, thread, call, tool, n }: LedgerLine): boolean {
  mkdirSync(effectsFolder(folder), { recursive: true });
  const name = join(effectsFolder(folder), `${createHash('sha1').update(key).digest('hex')}.json`);
  const draft = `${name}.${randomBytes(4).toString('hex')}.draft`;
  writeFileSync(draft, JSON.stringify({ key, thread, call, tool, n, at: Date.now() }));
  try {
    linkSync(draft, name);
    return true;
  } catch {
    return false;
  } finally {
    unlinkSync(draft);
  }
}

export type KeyedEffect = Pick<LedgerLine, 'key' | 'thread' | 'call' | 'tool' | 'n' | 'at'>;

export function readEffects(folder: string): KeyedEffect[] {
  if (!existsSync(effectsFolder(folder))) return [];
  const files = readdirSync(effectsFolder(folder)).filter((name) => name.endsWith('.json'));
  return files.map((name) => JSON.parse(readFileSync(join(effectsFolder(folder), name), 'utf8')) as KeyedEffect);
}
