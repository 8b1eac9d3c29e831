import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { isObject } from '../../core/json';
import type { PermissionRule } from '../../core/tool';
import { lockFile } from '../built-in/file-lock';
import { replacePrivateFile } from '../built-in/private-file';
import { codeOf } from '../built-in/workspace';
import { isSameRule, problemOfRule, withoutDoubles } from './permission-rules';

/** Stores the rules that people remembered for an agent, for all its threads. */
export interface PermissionStore {
  /** Returns an agent's rules; none for an unknown agent. Rejects if the rules can't be read. */
  load(agent: string): Promise<PermissionRule[]>;
  /** Adds rules that are not stored yet. Rejects, without any change, if the rules can't be read or written. */
  add(agent: string, rules: readonly PermissionRule[]): Promise<void>;
  /** Removes rules, so that they allow nothing from now on. Rejects as `add` does. Without it, `longhaul policy remove` is not available. */
  remove?(agent: string, rules: readonly PermissionRule[]): Promise<void>;
}

type Kept = Record<string, PermissionRule[]>;

/** The last pending write of each file in this process, by path: two stores may use the same file. */
const writing = new Map<string, Promise<unknown>>();

/**
 * Stores rules in a JSON file, `{ "<agent>": [rule, …] }`, that only its owner can read. Each operation reads the file again, and each write
 * replaces the whole file, so that a reader sees either the old or the new rules. Writers wait for each other, also those of other processes: they hold
 * the lock in the folder `.<name>.locks` next to it. The lock of a dead process ends after 5 s; a writer that was frozen for longer than that can undo
 * what others wrote meanwhile.
 */
export function filePermissionStore(path: string): PermissionStore {
  if (typeof path !== 'string' || path.trim() === '') throw new TypeError('filePermissionStore: give the path of a file.');
  const file = resolve(path);
  return Object.freeze({
    async load(agent: string) {
      return rulesFor(await read(file), agent);
    },
    async add(agent: string, rules: readonly PermissionRule[]) {
      for (const rule of rules) {
        const problem = problemOfRule(rule);
        if (problem !== undefined) throw new TypeError(`A permission rule ${problem}: ${JSON.stringify(rule)}.`);
      }
      await inTurn(file, async () => {
        const kept = await read(file);
        const before = rulesFor(kept, agent);
        const after = withoutDoubles([
          ...before,
          ...rules.map(({ tool, prefix, exact, host }) => ({
            tool,
            ...(prefix && { prefix }),
            ...(exact && { exact }),
            ...(host && { host }),
          })),
        ]);
        if (after.length > before.length) await replace(file, { ...kept, [agent]: after });
      });
    },
    async remove(agent: string, rules: readonly PermissionRule[]) {
      await inTurn(file, async () => {
        const kept = await read(file);
        const before = rulesFor(kept, agent);
        const after = before.filter((rule) => !rules.some((other) => isSameRule(rule, other)));
        if (after.length < before.length) await replace(file, { ...kept, [agent]: after });
      });
    },
  });
}

function rulesFor(kept: Kept, agent: string): PermissionRule[] {
  return Object.hasOwn(kept, agent) ? (kept[agent] ?? []) : [];
}

async function inTurn(file: string, work: () => Promise<void>): Promise<void> {
  const before = writing.get(file) ?? Promise.resolve();
  // The previous write has reported its failure to its own caller.
  const mine = before.catch(() => undefined).then(() => withLock(file, work));
  writing.set(file, mine);
  try {
    await mine;
  } finally {
    if (writing.get(file) === mine) writing.delete(file);
  }
}

/** Without the lock, a rule that was just removed would come back with what another process, such as a worker, read before and writes after. */
async function withLock(file: string, work: () => Promise<void>): Promise<void> {
  const release = await lockFile(file).catch((error: unknown) => {
    throw unwritable(file, error);
  });
  try {
    await work();
  } finally {
    await release();
  }
}

async function read(file: string): Promise<Kept> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return {};
    throw unreadable(file, codeOf(error));
  }
  let kept: unknown;
  try {
    kept = JSON.parse(text);
  } catch {
    throw unreadable(file, 'it is not JSON, perhaps only half of it was written');
  }
  if (!isObject(kept)) throw unreadable(file, 'it is not an object of lists of rules');
  for (const [agent, rules] of Object.entries(kept)) {
    if (!Array.isArray(rules)) throw unreadable(file, `'${agent}' has no list of rules`);
    for (const [at, rule] of rules.entries()) {
      const problem = problemOfRule(rule);
      if (problem !== undefined) throw unreadable(file, `'${agent}'[${at}] ${problem}`);
    }
  }
  return kept as Kept;
}

/** A damaged file is never treated as empty, because the next write would delete the remembered rules. */
function unreadable(file: string, why: string): Error {
  return new Error(`The permission rules in ${file} can't be read: ${why}. Repair the file, or remove it to begin without rules.`);
}

async function replace(file: string, kept: Kept): Promise<void> {
  await replacePrivateFile(file, `${JSON.stringify(kept, null, 2)}\n`).catch((error: unknown) => {
    throw unwritable(file, error);
  });
}

function unwritable(file: string, cause: unknown): Error {
  return new Error(`The permission rules can't be written to ${file} (${codeOf(cause)}). Nothing was changed.`, { cause });
}
