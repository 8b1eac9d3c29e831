import { show } from '../core/check-input';
import type { DurableEvent } from '../core/event';
import { type HookAnswer, type HookInput, type HookName, type HookReport, hookNames } from '../core/hooks';
import { excerpt, isObject } from '../core/json';
import type { Message } from '../core/message';
import { type HookHost, runRegistered } from './run-registered';

/** The second argument of a hook. A hook may run twice for the same occasion; use these ids to make its effects idempotent. */
export interface HookContext<N extends HookName = HookName> {
  readonly hook: N;
  readonly agent: string;
  readonly threadId: string;
  readonly runId: string;
  /** 0 before the first turn. */
  readonly turn: number;
  /** Aborted at the hook's timeout and on cancel. */
  readonly signal: AbortSignal;
  /** A copy of the merged answers of the hooks before it; empty if hooks run in parallel. */
  readonly answer: HookAnswer[N];
  /** A copy of the transcript at this step. */
  messages(): Promise<Message[]>;
  /** In `on:event`: the events in its range. Rejects in other hooks. */
  events(): Promise<DurableEvent[]>;
  /** Returns the worker's dependency of this name; created on first use, once for all hooks of a step. Rejects for an unknown name. */
  resolve<T>(name: string): Promise<T>;
  now(): Date;
}

// biome-ignore lint/suspicious/noConfusingVoidType: a hook that only looks on returns nothing, and must not have to say so.
export type HookReturn<N extends HookName> = HookAnswer[N] | null | undefined | void;

export type HookFunction<N extends HookName> = (input: HookInput[N], ctx: HookContext<N>) => HookReturn<N> | Promise<HookReturn<N>>;

/**
 * What happens if a hook throws, times out or returns an invalid answer. `fail`: the run ends as failed. `warn`: the run continues, and its
 * log reports the error. `ignore`: the run continues, and the error is not reported.
 */
export type HookFailureMode = NonNullable<HookReport['mode']>;

export interface HookDefinition<N extends HookName> {
  /** The hook's name in the log; default `<name>#<position>`, such as `before:llm#1`. */
  id?: string | undefined;
  run: HookFunction<N>;
  /** Timeout in milliseconds, at most 300,000. Default 30,000. */
  timeoutMs?: number | undefined;
  /** Default `warn`. */
  failure?: HookFailureMode | undefined;
}

export type HookDefinitions = {
  readonly [N in HookName]?: HookFunction<N> | HookDefinition<N> | readonly (HookFunction<N> | HookDefinition<N>)[] | undefined;
};

export interface HooksOptions {
  /** Whether hooks of one name run concurrently. Default: one after another, in the order given. */
  parallel?: boolean | undefined;
}

/** The validated, frozen hooks of an agent. Created only by `defineHooks`. */
export interface Hooks {
  /** The ids of the hooks by name, in order. */
  ids(): Partial<Record<HookName, string[]>>;
  /** Runs the hooks of one name. Rejects only if `host.signal` is aborted; errors of hooks are in the reports. */
  run<N extends HookName>(name: N, input: HookInput[N], host: HookHost): Promise<{ answer: HookAnswer[N]; reports: HookReport[] }>;
}

/** A validated hook with its defaults. */
export interface RegisteredHook {
  id: string;
  run: (input: never, ctx: never) => unknown;
  timeoutMs: number;
  failure: HookFailureMode;
}

const defaultTimeoutMs = 30_000;
/** Hooks must not wait for people: `approve:tool` asks them with `ask`, which uses no worker while it waits. */
const longestTimeoutMs = 300_000;
/** For all hooks of one name, which are one step: the step's own timeout (workflows/activity-options.ts) must be longer. */
const longestTogetherMs = 540_000;
const maxPerName = 10;
const failureModes: readonly HookFailureMode[] = ['fail', 'warn', 'ignore'];

/** Defines hooks: validates them and applies defaults. Throws `TypeError` that names every problem. */
export function defineHooks(definitions: HookDefinitions, options: HooksOptions = {}): Hooks {
  if (!isObject(definitions)) throw new TypeError(`defineHooks: pass an object of hooks by name; it is ${show(definitions)}.`);
  const problems = problemsOfOptions(options);
  const registered = new Map<HookName, readonly RegisteredHook[]>();
  for (const [name, given] of Object.entries(definitions)) {
    if (given === undefined) continue;
    if (!isHookName(name)) {
      problems.push(unknownName(name));
      continue;
    }
    const list: readonly unknown[] = Array.isArray(given) ? given : [given];
    if (list.length > maxPerName) problems.push(`${name}: has ${list.length} hooks; at most ${maxPerName}`);
    const hooks = list.map((hook, at) => check(name, hook, at, problems));
    problems.push(...tooLong(name, hooks, options));
    if (hooks.length > 0) registered.set(name, Object.freeze(hooks));
  }
  problems.push(...sameIds([...registered.values()].flat()));
  if (problems.length > 0) throw new TypeError(`defineHooks:\n${problems.map((problem) => `- ${problem}`).join('\n')}`);
  const { parallel = false } = options;
  return Object.freeze({
    ids: () => Object.fromEntries([...registered].map(([name, hooks]) => [name, hooks.map(({ id }) => id)])),
    run: <N extends HookName>(name: N, input: HookInput[N], host: HookHost) =>
      runRegistered(registered.get(name) ?? [], { name, input, host, parallel }),
  });
}

/** Returns one hook with its defaults, and adds its problems to `problems`. */
function check(name: HookName, given: unknown, at: number, problems: string[]): RegisteredHook {
  const definition: Record<string, unknown> = isObject(given) ? given : { run: given };
  const { id = `${name}#${at + 1}`, run, timeoutMs = defaultTimeoutMs, failure = 'warn', ...rest } = definition;
  const refuse = (field: string, problem: string) => problems.push(`${name}[${at}]${field}: ${problem}`);
  if (typeof run !== 'function') refuse('', `is not a function, nor { run: function }; it is ${show(given)}`);
  if (typeof id !== 'string' || id.trim() === '' || id.length > 100) refuse('.id', `must be 1 to 100 characters; it is ${show(id)}`);
  if (!(Number.isFinite(timeoutMs) && (timeoutMs as number) > 0 && (timeoutMs as number) <= longestTimeoutMs)) {
    refuse(
      '.timeoutMs',
      `is ${show(timeoutMs)}; use milliseconds above 0 and at most ${longestTimeoutMs} (a person is asked with approve:tool)`,
    );
  }
  if (!failureModes.includes(failure as HookFailureMode)) refuse('.failure', `is ${show(failure)}; use 'fail', 'warn' or 'ignore'`);
  for (const key of Object.keys(rest)) refuse(`.${excerpt(key, 100)}`, 'is not known; known are id, run, timeoutMs, failure');
  return Object.freeze({
    id: String(id),
    run: typeof run === 'function' ? run.bind(isObject(given) ? given : undefined) : () => undefined,
    timeoutMs: Number(timeoutMs),
    failure: failure as HookFailureMode,
  });
}

function problemsOfOptions(options: unknown): string[] {
  if (!isObject(options)) return [`options: must be an object; it is ${show(options)}`];
  const { parallel, ...rest } = options;
  return [
    ...(parallel === undefined || typeof parallel === 'boolean' ? [] : [`parallel: must be true or false; it is ${show(parallel)}`]),
    ...Object.keys(rest).map((key) => `${excerpt(key, 100)}: is not an option; the only one is parallel`),
  ];
}

function tooLong(name: HookName, hooks: readonly RegisteredHook[], options: HooksOptions): string[] {
  const times = hooks.map(({ timeoutMs }) => (timeoutMs > 0 && timeoutMs <= longestTimeoutMs ? timeoutMs : 0));
  const together = options?.parallel ? Math.max(0, ...times) : times.reduce((sum, ms) => sum + ms, 0);
  return together > longestTogetherMs
    ? [
        `${name}: its hooks may take ${together} ms one after another; at most ${longestTogetherMs}: shorten their timeoutMs, or run them in parallel`,
      ]
    : [];
}

/** Consecutive errors are counted by id, so an id must be unique. */
function sameIds(hooks: readonly RegisteredHook[]): string[] {
  const seen = new Set<string>();
  return hooks.flatMap(({ id }) => {
    if (seen.has(id)) return [`two hooks have the id ${show(id)}; give each its own`];
    seen.add(id);
    return [];
  });
}

function isHookName(name: string): name is HookName {
  return (hookNames as readonly string[]).includes(name);
}

function unknownName(name: string): string {
  const meant = closestName(name);
  return `${excerpt(name, 100)}: is not a hook${meant ? `; did you mean '${meant}'?` : ''} Known: ${hookNames.join(', ')}`;
}

/** The most similar name: the one that shares most pairs of letters, whatever separates its words (`beforeLLM`, `pre-llm`). */
function closestName(name: string): HookName | undefined {
  const wanted = pairs(name);
  let best: HookName | undefined;
  let most = 0.4;
  for (const candidate of hookNames) {
    const have = pairs(candidate);
    const shared = [...wanted].filter((pair) => have.has(pair)).length;
    const likeness = (2 * shared) / (wanted.size + have.size);
    if (likeness > most) [best, most] = [candidate, likeness];
  }
  return best;
}

function pairs(name: string): Set<string> {
  const letters = name
    .slice(0, 100)
    .toLowerCase()
    .replace(/[^a-z]/g, '');
  return new Set(Array.from({ length: Math.max(0, letters.length - 1) }, (_, i) => letters.slice(i, i + 2)));
}
