import { show } from '../core/check-input';
import type { DurableEvent } from '../core/event';
import type { HookAnswer, HookInput, HookName, HookReport } from '../core/hooks';
import { excerpt, isObject } from '../core/json';
import type { Content, Message } from '../core/message';
import { checkAnswer, type Fields } from './check-answer';
import type { HookContext, RegisteredHook } from './define-hooks';
import { mergeAnswers, refusal } from './merge-answers';

/** What the caller of the hooks supplies for the `HookContext`. */
export interface HookHost {
  agent: string;
  threadId: string;
  runId: string;
  turn: number;
  /** Aborted when the run is cancelled or the worker shuts down. */
  signal: AbortSignal;
  /** Ids of disabled hooks, which failed too often. */
  disabled?: readonly string[];
  messages?(): Promise<readonly Message[]>;
  /** The events from one sequence number to another, both included. */
  events?(from: number, to: number): Promise<readonly DurableEvent[]>;
  resolve?(name: string): Promise<unknown>;
  /** Limits the content of a result. Default: no limit. */
  cap?(content: Content): Content;
  now?(): Date;
}

interface Occasion<N extends HookName> {
  name: N;
  input: HookInput[N];
  host: HookHost;
  parallel: boolean;
}

interface End {
  report: HookReport;
  answer: Fields | undefined;
}

/** Runs hooks and merges their answers. If `host.signal` is aborted, rejects with its reason, without waiting for hooks that ignore it. */
export async function runRegistered<N extends HookName>(
  hooks: readonly RegisteredHook[],
  occasion: Occasion<N>,
): Promise<{ answer: HookAnswer[N]; reports: HookReport[] }> {
  const { name, host, parallel } = occasion;
  const active = hooks.filter((hook) => isGuard(name, hook) || !host.disabled?.includes(hook.id));
  const together = parallel ? await Promise.all(active.map((hook) => attempt(hook, occasion, {}))) : undefined;
  const reports: HookReport[] = [];
  let answer: Fields = {};
  for (const [at, hook] of active.entries()) {
    // Sequential and parallel hooks give the same merged answer: answers after a skip don't count.
    const end = together?.[at] ?? (answer.skip === true ? undefined : await attempt(hook, occasion, answer));
    if (!end) break;
    reports.push(end.report);
    if (end.answer && answer.skip !== true) answer = mergeAnswers(name, answer, end.answer);
  }
  return { answer: answer as HookAnswer[N], reports };
}

/** Hooks that are never disabled, however often they fail: without them, unchecked content would pass. */
function isGuard(name: HookName, { failure }: RegisteredHook): boolean {
  return name === 'approve:tool' || failure === 'fail';
}

async function attempt<N extends HookName>(hook: RegisteredHook, occasion: Occasion<N>, answer: Fields): Promise<End> {
  const { name, host } = occasion;
  const started = performance.now();
  const end = await run(hook, occasion, answer);
  const durationMs = Math.round(performance.now() - started);
  const checked = 'error' in end ? end : checkAnswer(name, end.value, host.cap);
  if ('error' in checked) {
    const error = excerpt(checked.error, 500);
    return {
      report: { id: hook.id, durationMs, error, mode: hook.failure },
      answer: name === 'approve:tool' ? refusal(`Permission check failed: ${error}`) : undefined,
    };
  }
  const answered = Object.keys(checked.answer);
  return { report: { id: hook.id, durationMs, ...(answered.length > 0 && { answered }) }, answer: checked.answer };
}

/** Runs the hook's function, within its timeout. */
async function run<N extends HookName>(
  hook: RegisteredHook,
  { name, input, host }: Occasion<N>,
  answer: Fields,
): Promise<{ value: unknown } | { error: string }> {
  host.signal.throwIfAborted();
  const controller = new AbortController();
  const cancel = () => controller.abort(host.signal.reason);
  host.signal.addEventListener('abort', cancel, { once: true });
  const late = `did not answer within ${hook.timeoutMs} ms`;
  const timer = setTimeout(() => controller.abort(new Error(`Hook '${hook.id}' ${late}.`)), hook.timeoutMs);
  try {
    const ctx = contextOf(name, input, host, answer, controller.signal);
    // A copy for each hook, so that no hook sees another's changes to the input.
    const end = await untilAborted(
      settle(() => hook.run(withEdits(structuredClone(input), answer) as never, ctx as never)),
      controller.signal,
    );
    host.signal.throwIfAborted();
    return end && !controller.signal.aborted ? end : { error: late };
  } finally {
    clearTimeout(timer);
    host.signal.removeEventListener('abort', cancel);
  }
}

/** Replaces the model's arguments by those of an earlier hook. */
function withEdits<Input>(input: Input, { args }: Fields): Input {
  if (args === undefined || !isObject(input) || !isObject(input.call)) return input;
  return { ...input, call: { ...input.call, arguments: JSON.stringify(args) } };
}

/** Never rejects, so that a hook that fails after it was abandoned causes no unhandled rejection. */
async function settle(work: () => unknown): Promise<{ value: unknown } | { error: string }> {
  try {
    return { value: await work() };
  } catch (error) {
    return { error: wordsOf(error) };
  }
}

async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  let give: (() => void) | undefined;
  const aborted = new Promise<undefined>((resolve) => {
    give = () => resolve(undefined);
    if (signal.aborted) give();
    signal.addEventListener('abort', give, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    if (give) signal.removeEventListener('abort', give);
  }
}

function contextOf<N extends HookName>(name: N, input: HookInput[N], host: HookHost, answer: Fields, signal: AbortSignal): HookContext<N> {
  const missing = (what: string) => Promise.reject(new Error(`${what} is not available here`));
  return {
    hook: name,
    agent: host.agent,
    threadId: host.threadId,
    runId: host.runId,
    turn: host.turn,
    signal,
    answer: structuredClone(answer) as HookAnswer[N],
    now: host.now ?? (() => new Date()),
    messages: async () => structuredClone([...(await (host.messages?.() ?? missing('ctx.messages()')))]),
    async events() {
      if (name !== 'on:event') throw new Error(`ctx.events() is only available in on:event; this is ${name}`);
      const { from, to } = input as HookInput['on:event'];
      return structuredClone([...(await (host.events?.(from, to) ?? missing('ctx.events()')))]);
    },
    resolve: <T>(dependency: string) => (host.resolve?.(dependency) ?? missing(`Dependency '${dependency}'`)) as Promise<T>,
  };
}

function wordsOf(thrown: unknown): string {
  try {
    if (typeof thrown === 'string' && thrown !== '') return thrown;
    const { name, message } = (thrown ?? {}) as { name?: unknown; message?: unknown };
    if (typeof message === 'string' && message !== '') return message;
    return typeof name === 'string' && name !== '' ? name : `threw ${show(thrown)}`;
  } catch {
    // A thrown value may be unreadable.
    return "threw a value that can't be read";
  }
}
