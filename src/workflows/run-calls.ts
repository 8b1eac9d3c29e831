import { ApplicationFailure, condition } from '@temporalio/workflow';
import { beforeCall, limitWords, type RunEnd } from '../core/decide';
import { excessCalls, reached } from '../core/spent';
import { type CallState, inForce, type RunState } from '../core/state';
import type { ToolStrategy } from '../core/tool';
import { awaitPeople, requestApproval } from './ask-people';
import { shouldCarryOver } from './carry-over';
import { callOf, finishCall, refuseCall, skipCalls } from './finish-call';
import { atLimit, heldBack, restUntilAnswered, throwIfCancelled } from './gates';
import { hasHook, runHook } from './hooks';
import { runCall } from './run-call';
import type { Thread } from './thread';

type Rested = 'carry-over' | undefined;

/**
 * Follows the calls of the last answer until each has its outcome. Pure calls run side by side, the others one after another in the
 * model's order; a call that waits for a person holds up those behind it, and nothing else. An execution that goes on where another
 * rested comes here with some of them done.
 */
export async function runCalls(thread: Thread): Promise<RunEnd | Rested> {
  const run = thread.state.run as RunState;
  rejectCalls(thread, run);
  const end = isLimited(thread, run) ? await limitCalls(thread, run) : undefined;
  if (end === 'carry-over') return end;
  if (hasHook(thread, 'approve:tool') || run.calls.some(({ verdict }) => 'approval' in verdict)) await askForAll(thread, run);
  const chains = chainsOf(run.calls, inForce(thread.state).strategy);
  // Which calls wait for someone is known by now: where none does, there is no rest to look out for. The usual turn takes this way,
  // and each promise in workflow code is dear (Temporal keeps a stack trace of it).
  const waiting = run.calls.filter(waits);
  const alone = chains.length <= 1 && waiting.length === 0 && !thread.state.paused;
  const lone = chains.length === 1 && chains[0]?.length === 1 && waiting.length === 1 && waiting[0]?.ask?.dueAt === undefined;
  if (lone && (await awaitAnswer(thread, chains[0]?.[0] ?? '')) === 'carry-over') return 'carry-over';
  const followed = alone || lone ? runInOrder(thread, chains[0] ?? []) : followAll(thread, run, chains);
  if ((await followed) === 'carry-over') return 'carry-over';
  for (const { id, verdict } of run.calls) {
    if (verdict.kind === 'done') finishCall(thread, id, { status: 'success', output: 'Task complete' });
  }
  return end;
}

/** Those that can't run have their outcome at once, and so have those behind a `done`. */
function rejectCalls(thread: Thread, run: RunState): void {
  const done = run.calls.findIndex(({ verdict }) => verdict.kind === 'done');
  if (done !== -1)
    skipCalls(thread, 'the model said before it that it is done', (call) => run.calls.findIndex(({ id }) => id === call.id) > done);
  for (const { id, verdict, phase } of run.calls) {
    if (phase === 'done' || verdict.kind !== 'reject') continue;
    const { error } = verdict;
    const status = error.name === 'PermissionDeniedError' ? 'denied' : 'rejected';
    finishCall(thread, id, { status, output: `Error: ${error.message}`, error });
    if (status === 'rejected') mayFail(thread, id);
  }
  if (run.stopped) skipCalls(thread, 'a refusal ended the run');
}

function isLimited({ state }: Thread, run: RunState): boolean {
  const { limits, threadLimits } = inForce(state);
  const some = (['toolRounds', 'toolCalls', 'tokens', 'costUsd', 'wallClockMs'] as const).some(
    (name) => limits[name] !== undefined || threadLimits[name] !== undefined,
  );
  return some || run.limitAsk !== undefined;
}

/** Calls that a limit forbids: skipped, handed out, or asked about. */
async function limitCalls(thread: Thread, run: RunState): Promise<RunEnd | Rested> {
  const { state, record } = thread;
  const now = Date.now();
  const spentUp = beforeCall(state, now);
  const noRound = run.roundOf === run.turn ? undefined : reached(state, now, ['toolRounds']);
  const open = run.calls.filter(({ phase, verdict }) => phase === 'ready' && (verdict.kind === 'run' || verdict.kind === 'external'));
  const { excess, at } = excessCalls(state, now, open, noRound ?? spentUp);
  if (!at || excess.length === 0) return run.limitAsk ? atLimit(thread, undefined) : undefined;

  const way = inForce(state).atLimit;
  if (way === 'hand-out' && at !== spentUp) {
    record('agent.limit.handed_out', { ...at, toolCallIds: excess });
    return undefined;
  }
  const end = await atLimit(thread, at);
  if (!end) return limitCalls(thread, run);
  if (end !== 'carry-over') skipCalls(thread, `of a limit: ${limitWords(at)}`, ({ id }) => excess.includes(id));
  return end;
}

/** Who must agree to a call is asked, hooks first. */
async function askForAll(thread: Thread, run: RunState): Promise<void> {
  for (const { id } of [...run.calls]) {
    const { phase, verdict, approved } = run.calls.find((call) => call.id === id) as CallState;
    if (phase !== 'ready' || approved || (verdict.kind !== 'run' && verdict.kind !== 'external')) continue;
    const own = verdict.approval;
    const told = await runHook(thread, 'approve:tool', { call: callOf(thread, id), ...(own && { ask: own }) }, id);
    // Someone may have refused another meanwhile, for good.
    if (run.calls.find((call) => call.id === id)?.phase !== 'ready') continue;
    if (told?.approved === false) {
      refuseCall(thread, id, { reason: told.reason ?? 'a hook refused it', source: 'hook', ...(told.stop && { stop: true }) });
    } else if (told?.approved === true) {
      thread.record('agent.approval.decided', {
        toolCallId: id,
        approved: true,
        ...(told.reason && { reason: told.reason }),
        source: 'hook',
      });
    } else if (told?.ask ?? own) {
      // Whoever is asked by a hook's will may remember what the tool offers, and no more.
      requestApproval(thread, id, { ...(own?.remember && { remember: own.remember }), ...(told?.ask ?? own) });
    }
  }
}

/** Which calls go one after another: each inner list is a chain. What is executed outside holds up nobody. */
function chainsOf(calls: readonly CallState[], strategy: ToolStrategy): string[][] {
  const open = calls.filter(({ phase, verdict }) => phase !== 'done' && (verdict.kind === 'run' || verdict.kind === 'external'));
  const alone = ({ verdict }: CallState) =>
    verdict.kind === 'external' ||
    strategy === 'parallel' ||
    (strategy === 'by-effect' && verdict.kind === 'run' && verdict.effect === 'pure');
  const ordered = open.filter((call) => !alone(call)).map((call) => call.id);
  return [...open.filter(alone).map((call) => [call.id]), ...(ordered.length > 0 ? [ordered] : [])];
}

async function followAll(thread: Thread, run: RunState, chains: string[][]): Promise<Rested> {
  const mayCarry = () => shouldCarryOver(thread, 'idle');
  let broken = false;
  // Where one call ends the run, nothing more begins, and nobody is waited for any more.
  const over = () => broken;
  const breaks = (error: unknown): never => {
    broken = true;
    throw error;
  };
  const following = [
    // Of each call by itself: the deadline of one does not wait for the decision on the one before it.
    ...run.calls.filter(waits).map(({ id }) => awaitPeople(thread, id, over).catch(breaks)),
    ...chains.map((chain) => followInOrder(thread, chain, over).catch(breaks)),
  ];
  const work = Promise.all(following);
  // Each of them, not the first that fails: a tool that still runs when another call was cancelled has an outcome to come.
  const settled = Promise.allSettled([...following, work]);

  const nextOf = (chain: string[]) => run.calls.find((call) => chain.includes(call.id) && call.phase !== 'done');
  const allDone = () => broken || chains.every((chain) => nextOf(chain) === undefined);
  const allHeld = () => !allDone() && chains.every((chain) => isHeld(thread, nextOf(chain)));
  const rests = () => allHeld() && run.calls.some(waits);
  let carried = false;
  try {
    while (!allDone()) {
      await condition(() => allDone() || rests() || (allHeld() && mayCarry()));
      if (allDone()) break;
      carried = rests() ? (await restUntilAnswered(thread, allHeld)) === 'carry-over' : true;
      // What follows the calls waits in vain from here on; the next execution takes them up where they are.
      if (carried) return 'carry-over';
    }
    await work;
  } finally {
    // Cancelled, too: what runs is told to stop, and its outcome is still recorded.
    if (!carried) await settled;
  }
  return undefined;
}

/** A single call that waits for people, for as long as it takes: nothing else goes on meanwhile. The way of most approvals. */
async function awaitAnswer(thread: Thread, id: string): Promise<Rested> {
  const isOpen = () => (thread.state.run?.calls ?? []).some((call) => call.id === id && waits(call));
  while (isOpen()) if ((await restUntilAnswered(thread)) === 'carry-over') return 'carry-over';
  return undefined;
}

/** A chain by itself, of calls that nobody must agree to. */
async function runInOrder(thread: Thread, chain: readonly string[]): Promise<Rested> {
  const { state } = thread;
  const over = () => state.paused !== undefined && shouldCarryOver(thread, 'idle');
  for (const id of chain) {
    // A cancelled call returns what it had to say; those behind it must not start.
    throwIfCancelled();
    if (state.paused) await heldBack(thread, over);
    if (over()) return 'carry-over';
    await start(thread, id, over);
    if (over() && state.run?.calls.find((call) => call.id === id)?.phase === 'ready') return 'carry-over';
    mayFail(thread, id);
  }
  return undefined;
}

/** Runs a call that is ready, unless a limit came in between. */
function start(thread: Thread, id: string, over: () => boolean): Promise<void> | undefined {
  const { state } = thread;
  const call = state.run?.calls.find((c) => c.id === id);
  if (call?.phase !== 'ready' || call.verdict.kind !== 'run') return undefined;
  const spentUp = beforeCall(state, Date.now());
  if (!spentUp) return runCall(thread, id, call.verdict, over);
  finishCall(thread, id, { status: 'skipped', output: `Error: not executed. ${limitWords(spentUp)}` });
  return undefined;
}

/** A chain beside others, of calls some of which may wait for people. Where all is `over`, nothing more begins. */
async function followInOrder(thread: Thread, chain: readonly string[], over: () => boolean): Promise<void> {
  const { state } = thread;
  for (const id of chain) {
    const now = () => state.run?.calls.find((call) => call.id === id);
    const asked = () => {
      const call = now();
      return call !== undefined && waits(call);
    };
    if (asked()) await condition(() => over() || !asked());
    // Whether the thread carries over meanwhile is looked at for all chains together.
    if (state.paused && now()?.phase === 'ready') await heldBack(thread, over);
    if (over()) return;
    throwIfCancelled();
    await start(thread, id, over);
    mayFail(thread, id);
  }
}

/** Where the agent wants it so, a tool that fails ends the run; the calls behind it do not start. */
function mayFail({ state }: Thread, id: string): void {
  const call = state.run?.calls.find((c) => c.id === id);
  if (state.facts?.toolFailure !== 'fail' || call?.phase !== 'done') return;
  const { status, error } = call.outcome;
  if (!['failed', 'rejected', 'timed-out', 'unknown'].includes(status)) return;
  throw ApplicationFailure.nonRetryable(`Tool '${call.name}' failed: ${error?.message ?? status}`, 'tool_failed');
}

/** Whether nothing of a chain goes on before somebody acts. */
function isHeld({ state }: Thread, next: CallState | undefined): boolean {
  return !next || waits(next) || (state.paused !== undefined && next.phase === 'ready');
}

function waits(call: CallState): boolean {
  return call.phase === 'awaiting-approval' || call.phase === 'awaiting-output';
}
