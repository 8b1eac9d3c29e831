import { ApplicationFailure, condition } from '@temporalio/workflow';
import type { AgentFacts } from '../core/agent';
import { isCarriedOut, waits } from '../core/calls';
import { beforeCall, limitWords } from '../core/decide';
import { type CallState, inForce, type RunState } from '../core/state';
import { type Effect, outcomes, type ToolStrategy } from '../core/tool';
import { unreachable } from '../core/unreachable';
import { awaitPeople } from './ask-people';
import { roomForCall } from './call-room';
import { readyToCarryOver, shouldCarryOver } from './carry-over';
import { finishCall, noProgress } from './finish-call';
import { heldBack, throwIfCancelled, waitForPeople } from './gates';
import { runCall } from './run-call';
import type { ThreadContext } from './thread-context';

/** The progress of an answer's calls that is not in the state. */
interface Progress {
  /** Each inner list is a chain of call ids: a call begins when the one before it is done. */
  chains: string[][];
  begun: Set<string>;
  /** Calls that have begun and now wait, after their hooks, for the end of a pause. */
  held: Set<string>;
  /** The errors of calls that end the run. */
  failures: unknown[];
  /** What is running for the calls. These promises never reject. */
  work: Promise<unknown>[];
}

/**
 * The next thing to do: `begin` the calls that may begin; `wait-for-calls` that are running; `hold` until a pause ends; `wait-for-people`
 * until someone answers. Or nothing: each call is done or one ends the run (`over`), or the thread continues as new (`carry-over`).
 */
type Step = 'begin' | 'wait-for-calls' | 'hold' | 'wait-for-people' | 'over' | 'carry-over';

/**
 * Runs the calls of the last answer until each has its outcome. By default, pure calls run concurrently, the others one after another in the
 * model's order. A call that waits for a person delays only the calls after it in its chain. If a call ends the run, throws its error once
 * all calls that had begun are over.
 */
export async function followCalls(thread: ThreadContext, run: RunState): Promise<'carry-over' | undefined> {
  const chains = chainsOf(run.calls, inForce(thread.state).strategy);
  const progress: Progress = { chains, begun: new Set(), held: new Set(), failures: [], work: [] };
  // Each waiting call is watched separately: its deadline does not wait for the decision on the call before it.
  for (const { id } of run.calls.filter(waits)) {
    follow(
      progress,
      awaitPeople(thread, id, () => isOver(thread, run, progress)),
    );
  }
  let end: 'over' | 'carry-over' | undefined;
  try {
    while (!end) end = await takeStep(thread, run, progress);
  } finally {
    // Also if the run was cancelled: running calls are stopped, and their outcomes are still recorded. With a carry-over, the next
    // execution continues the calls, so nothing needs to end here.
    if (end !== 'carry-over') await Promise.all(progress.work);
  }
  if (end === 'carry-over') return end;
  if (progress.failures.length > 0) throw progress.failures[0];
  mustNotFail(thread, run);
  return undefined;
}

/** Does the next step. Returns `over` or `carry-over` if there is nothing more to do here. */
async function takeStep(thread: ThreadContext, run: RunState, progress: Progress): Promise<'over' | 'carry-over' | undefined> {
  const next = () => nextStep(thread, run, progress);
  const now = next();
  if (now === 'over') return now;
  if (now === 'carry-over') return (await readyToCarryOver(thread, 'idle')) ? now : undefined;
  throwIfCancelled();
  switch (now) {
    case 'begin':
      beginCalls(thread, run, progress);
      return undefined;
    case 'wait-for-calls':
      await condition(() => next() !== 'wait-for-calls');
      return undefined;
    case 'hold':
      await heldBack(thread, () => next() !== 'hold');
      return undefined;
    case 'wait-for-people':
      return (await waitForPeople(thread, () => next() === 'wait-for-people')) === 'carry-over' ? 'carry-over' : undefined;
    default:
      return unreachable(now);
  }
}

function nextStep(thread: ThreadContext, run: RunState, progress: Progress): Step {
  const { paused } = thread.state;
  const first = firstOpen(run, progress);
  if (isOver(thread, run, progress)) return 'over';
  const isHeld = ({ id, phase }: CallState) => paused && phase === 'ready' && (!progress.begun.has(id) || progress.held.has(id));
  if (first.some((call) => mayBegin(thread, progress, call)) && roomForCall(thread, run, progress.begun) !== 'later') return 'begin';
  if (!first.every((call) => waits(call) || isHeld(call))) return 'wait-for-calls';
  if (run.calls.some(waits)) return 'wait-for-people';
  return shouldCarryOver(thread, 'idle') ? 'carry-over' : 'hold';
}

function isOver({ state }: ThreadContext, run: RunState, progress: Progress): boolean {
  return progress.failures.length > 0 || firstOpen(run, progress).length === 0 || failedCall(state.facts, run) !== undefined;
}

/** The first call of each chain that is not done. */
function firstOpen(run: RunState, { chains }: Progress): CallState[] {
  return chains.flatMap((chain) => run.calls.find(({ id, phase }) => chain.includes(id) && phase !== 'done') ?? []);
}

function mayBegin({ state }: ThreadContext, { begun }: Progress, { id, phase }: CallState): boolean {
  return phase === 'ready' && !state.paused && !begun.has(id);
}

/** Begins the calls that may begin, as many as there is room for. Calls that a limit forbids by now, or that will never have room, are skipped. */
function beginCalls(thread: ThreadContext, run: RunState, progress: Progress): void {
  const gate = {
    isOver: () => isOver(thread, run, progress),
    async hold(id: string) {
      progress.held.add(id);
      await condition(() => !thread.state.paused || gate.isOver());
      progress.held.delete(id);
    },
    leave: (id: string) => void progress.begun.delete(id),
  };
  for (const call of firstOpen(run, progress)) {
    const { id, verdict } = call;
    if (!mayBegin(thread, progress, call)) continue;
    if (verdict.kind !== 'run') throw noProgress(call);
    const room = roomForCall(thread, run, progress.begun);
    if (room === 'later') return;
    const spentUp = beforeCall(thread.state, Date.now());
    progress.begun.add(id);
    const why = spentUp ? limitWords(spentUp) : room === 'never' ? noRoom : undefined;
    if (why !== undefined) finishCall(thread, id, { status: 'skipped', output: `Error: not executed. ${why}` });
    else follow(progress, runCall(thread, id, verdict, gate));
  }
}

const noRoom =
  'What this turn has recorded leaves no room for another result. Call it again in the next answer, with fewer calls at a time.';

function follow({ work, failures }: Progress, one: Promise<void>): void {
  work.push(one.catch((error: unknown) => failures.push(error)));
}

/** Whether calls with this effect may run concurrently with others. */
const sideBySide: Record<Effect, boolean> = { pure: true, keyed: false, once: false, verify: false, saga: false };

/** Calls that are executed outside the worker, or may run concurrently, are chains of their own. The others form one chain. */
function chainsOf(calls: readonly CallState[], strategy: ToolStrategy): string[][] {
  const open = calls.filter(({ phase, verdict }) => phase !== 'done' && isCarriedOut(verdict));
  const isAlone = ({ verdict }: CallState) =>
    verdict.kind === 'external' ||
    strategy === 'parallel' ||
    (strategy === 'by-effect' && verdict.kind === 'run' && sideBySide[verdict.effect]);
  const ordered = open.filter((call) => !isAlone(call)).map(({ id }) => id);
  return [...open.filter(isAlone).map(({ id }) => [id]), ...(ordered.length > 0 ? [ordered] : [])];
}

/** Throws if a tool has failed and the agent's `toolFailure` is `fail`. */
export function mustNotFail({ state }: ThreadContext, run: RunState): void {
  const failed = failedCall(state.facts, run);
  if (!failed) return;
  const { name, outcome } = failed;
  throw ApplicationFailure.nonRetryable(`Tool '${name}' failed: ${outcome.error?.message ?? outcome.status}`, 'tool_failed');
}

function failedCall(facts: AgentFacts | null, { calls }: RunState): Extract<CallState, { phase: 'done' }> | undefined {
  if (facts?.toolFailure !== 'fail') return undefined;
  const isFailure = (call: CallState) => call.phase === 'done' && outcomes[call.outcome.status].fails;
  return calls.find(isFailure) as Extract<CallState, { phase: 'done' }> | undefined;
}
