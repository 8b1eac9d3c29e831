import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  condition,
  isCancellation,
  proxyActivities,
  TimeoutFailure,
} from '@temporalio/workflow';
import { type Activities, failureTypes } from '../contract/activities';
import { affordableCalls, limitsOf, type RunEnd } from '../core/decide';
import { type CallState, type RunState, stepIdOf } from '../core/state';
import type { ToolOutcome, Verdict } from '../core/tool';
import { argumentsOf, pendingCalls, toolSummary } from '../core/views';
import { runToolOptions } from './activity-options';
import { changeStatus, finishCall } from './requests';
import { publishStatus } from './search-attributes';
import type { Thread } from './thread';

/**
 * Follows the calls of the last answer until each has its outcome. Pure calls run side by side, the others one after another in the
 * model's order; a call that waits for a person holds up those behind it, and nothing else.
 */
export async function runCalls(thread: Thread): Promise<RunEnd | undefined> {
  const run = thread.state.run as RunState;
  const overLimit = announce(thread, run);
  const chains = chainsOf(run.calls, thread.state.overrides.strategy ?? thread.state.facts?.strategy ?? 'by-effect');
  // Which calls wait for someone is known by now: where none does, there is no rest to look out for. The usual turn takes this way,
  // and each promise in workflow code is dear (Temporal keeps a stack trace of it).
  if (chains.length <= 1 && !run.calls.some(waits)) {
    for (const chain of chains) await followInOrder(thread, chain);
    return overLimit;
  }
  let broken = false;
  const following = chains.map((chain) =>
    followInOrder(thread, chain).catch((error) => {
      broken = true;
      throw error;
    }),
  );
  const work = Promise.all(following);
  // Each of them, not the first that fails: a tool that still runs when another call was cancelled has an outcome to come.
  const settled = Promise.allSettled([...following, work]);

  const allDone = () => broken || run.calls.every((call) => call.phase === 'done');
  const rests = () => !broken && run.calls.some(waits) && chains.every((chain) => isHeld(run, chain));
  try {
    while (!allDone()) {
      await condition(() => allDone() || rests());
      if (rests()) await restUntilAnswered(thread);
    }
    await work;
  } finally {
    // Cancelled, too: what runs is told to stop, and its outcome is still recorded.
    await settled;
  }
  return overLimit;
}

/** Gives every call that will not run its outcome. */
export function skipCalls(thread: Thread, why: string): void {
  for (const { id, phase } of thread.state.run?.calls ?? []) {
    if (phase === 'done') continue;
    const output = `Error: not executed, because ${why}.`;
    finishCall(thread, id, { status: 'skipped', output });
  }
}

/** Says of each call what is to become of it; those that can't run have their outcome at once. */
function announce(thread: Thread, run: RunState): RunEnd | undefined {
  let affordable = affordableCalls(thread.state, run);
  let skipped = false;
  for (const { id, verdict } of run.calls) {
    if (verdict.kind === 'reject') {
      finishCall(thread, id, { status: 'rejected', output: `Error: ${verdict.error.message}`, error: verdict.error });
    } else if (affordable <= 0) {
      skipped = true;
      finishCall(thread, id, { status: 'skipped', output: 'Error: not executed, because the run has reached its limit of tool calls.' });
    } else {
      affordable -= 1;
      if (verdict.approval) requestApproval(thread, run, id, verdict.approval.reason);
    }
  }
  return skipped ? { type: 'incomplete', limit: 'toolCalls', max: limitsOf(thread.state).toolCalls ?? 0 } : undefined;
}

function requestApproval({ state, record }: Thread, run: RunState, id: string, reason: string | undefined): void {
  const name = run.calls.find((call) => call.id === id)?.name ?? '';
  record('agent.approval.requested', {
    stepId: stepIdOf(run),
    toolCall: { id, name, arguments: argumentsOf(state, id) },
    ...(reason && { reason }),
  });
}

/** Which calls go one after another: each inner list is a chain. */
function chainsOf(calls: readonly CallState[], strategy: 'by-effect' | 'sequential' | 'parallel'): string[][] {
  const runnable = calls.filter((call) => call.phase !== 'done' && call.verdict.kind === 'run');
  const alone = (call: CallState) =>
    strategy === 'parallel' || (strategy === 'by-effect' && call.verdict.kind === 'run' && call.verdict.effect === 'pure');
  const ordered = runnable.filter((call) => !alone(call)).map((call) => call.id);
  return [...runnable.filter(alone).map((call) => [call.id]), ...(ordered.length > 0 ? [ordered] : [])];
}

async function followInOrder(thread: Thread, chain: string[]): Promise<void> {
  for (const id of chain) {
    // A cancelled call returns what it had to say; those behind it must not start.
    if (CancellationScope.current().consideredCancelled) throw new CancelledFailure('The run was cancelled');
    await follow(thread, id);
  }
}

async function follow(thread: Thread, id: string): Promise<void> {
  const { state, record } = thread;
  const run = state.run as RunState;
  const now = () => run.calls.find((call) => call.id === id) as CallState;
  if (now().phase === 'awaiting-approval') await condition(() => now().phase !== 'awaiting-approval');
  const { name, verdict, phase, editedArguments } = now();
  if (phase === 'done' || verdict.kind !== 'run') return;

  const args = argumentsOf(state, id);
  record('agent.tool.execution.started', { stepId: stepIdOf(run), toolCallId: id, name });
  const options = runToolOptions(verdict);
  const { runTool } = proxyActivities<Activities>(options);
  try {
    const { messageId, outcome } = await runTool.executeWithOptions({ ...options, summary: toolSummary(name, args) }, [
      { agent: state.agent, runId: run.id, call: { id, name, arguments: args }, ...(editedArguments !== undefined && { edited: true }) },
    ]);
    const { content, ...rest } = outcome;
    finishCall(thread, id, { messageId, output: content, ...rest });
  } catch (error) {
    const { content, ...rest } = outcomeOfLost(name, verdict, error);
    finishCall(thread, id, { output: content, ...rest });
    if (isCancellation(error)) throw error;
  }
}

/** What is known of a call whose activity did not return an outcome. */
function outcomeOfLost(name: string, { effect }: Extract<Verdict, { kind: 'run' }>, error: unknown): ToolOutcome {
  if (isCancellation(error)) return { status: 'cancelled', content: 'Error: cancelled while it ran; it may have had effects already.' };
  const cause = error instanceof ActivityFailure ? error.cause : undefined;
  const lost = cause instanceof TimeoutFailure || (cause instanceof ApplicationFailure && cause.type === failureTypes.workerShutdown);
  if (lost && effect === 'once') {
    const content = `Error: the worker was lost while ${name} ran. It may have been carried out or not; check before you call it again.`;
    return { status: 'unknown', content, error: { name: 'OutcomeUnknownError', message: content } };
  }
  const message = lost ? `the worker was lost again and again while ${name} ran` : (cause?.message ?? (error as Error).message);
  return { status: 'failed', content: `Error: ${message}`, error: { name: 'ToolInfrastructureError', message } };
}

/** Whether nothing of a chain goes on before somebody acts. */
function isHeld(run: RunState, chain: string[]): boolean {
  const next = run.calls.find((call) => chain.includes(call.id) && call.phase !== 'done');
  return !next || waits(next);
}

function waits(call: CallState): boolean {
  return call.phase === 'awaiting-approval' || call.phase === 'awaiting-output';
}

/** The run rests: durable, for as long as it takes. Whoever answers sets it going again. */
async function restUntilAnswered(thread: Thread): Promise<void> {
  const { state, record } = thread;
  changeStatus(thread, 'requires_action');
  record('thread.run.requires_action', { pending: pendingCalls(state) });
  publishStatus(state, 'rests');
  await condition(() => state.run?.status !== 'requires_action');
  publishStatus(state, 'goes on');
}
