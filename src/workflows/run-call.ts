import type { RunToolRequest } from '../contract/activities';
import { callById, findCall, runOf } from '../core/calls';
import type { HookAnswer } from '../core/hooks';
import { planTool } from '../core/plan';
import { whyNoMoreSagas } from '../core/sagas';
import { stepIdOf } from '../core/state';
import { runsOnce, toContent } from '../core/tool';
import { checkedCall } from '../core/views';
import { awaitPeople, requestAnswer } from './ask-people';
import { continueInBackground, whyFull } from './background';
import { hasRoomForRetry, mediaRoom } from './call-room';
import { callOf, finishCall, withheldWords } from './finish-call';
import { hasHook, runHook, tooLargeForHooks } from './hooks';
import { newId } from './record';
import { leaveUnsettled } from './settle';
import type { ThreadContext } from './thread-context';
import { type Runs, runToolStep, type ToolAttempt } from './tool-step';

/** What a call checks between its hooks and its start. */
export interface CallGate {
  /** Resolves when the pause ends. */
  hold(id: string): Promise<void>;
  /** Whether another call has ended the run, so that this one does not begin. */
  isOver(): boolean;
  /** Lets the call begin again once someone has settled that it was not carried out, or has answered its question. */
  leave(id: string): void;
}

/** Further attempts that `after:tool` may ask for. */
const mostRetries = 2;

/** Runs one call until it has its outcome. Rejects only if the run is cancelled or a hook ends it. */
export async function runCall(thread: ThreadContext, id: string, verdict: Runs, gate: CallGate): Promise<void> {
  const { state, record } = thread;
  const run = runOf(state);
  const { again } = callById(run, id);
  const answer =
    hasHook(thread, 'before:tool') && !again ? await runHook(thread, 'before:tool', { call: callOf(thread, id) }, id) : undefined;
  if (answer?.skip) return finishCall(thread, id, { status: 'success', output: toContent(answer.mockResult) });
  // A pause or the end of the run may have been requested while the hook ran.
  if (state.paused) await gate.hold(id);
  if (gate.isOver() || findCall(run, id)?.phase !== 'ready') return;

  const { name } = callOf(thread, id);
  const full = (verdict.background && whyFull(state)) || (verdict.effect === 'saga' && whyNoMoreSagas(run, callOf(thread, id).arguments));
  if (full) return finishCall(thread, id, { status: 'rejected', output: `Error: ${full.message}`, error: full });
  record('agent.tool.execution.started', { stepId: stepIdOf(run), toolCallId: id, name });
  if (verdict.background) return continueInBackground(thread, { id, name }, { request: requestOf(thread, id, verdict), verdict });
  for (let retries = 0; ; retries++) {
    const { messageId, outcome, cancelled } = await attempt(thread, id, verdict, retries > 0);
    const { content, ...rest } = outcome;
    if (cancelled !== undefined) {
      finishCall(thread, id, { output: content, ...rest });
      throw cancelled;
    }
    if (outcome.asks) {
      requestAnswer(thread, id, outcome.asks);
      await awaitPeople(thread, id, gate.isOver);
      return gate.leave(id);
    }
    if (outcome.status === 'unknown' && leaveUnsettled(thread, { id, name }, verdict, outcome)) return gate.leave(id);
    if (!hasHook(thread, 'after:tool')) return finishCall(thread, id, { messageId, output: content, ...rest });
    const seen = { call: callOf(thread, id), status: outcome.status, content };
    const refused = whyNotAgain(thread, name, verdict, retries);
    const ignored = (answer: HookAnswer['after:tool']) => (answer.retry ? refused : undefined);
    // A reference would lead to what a hook has removed from the result.
    const { outputRef: _, ...withoutRef } = rest;
    const withheld = (why = '') => finishCall(thread, id, { ...withoutRef, output: withheldWords(name, outcome.status, why) });
    const tooLarge = tooLargeForHooks(seen);
    if (tooLarge !== undefined) return withheld(tooLarge);
    const after = await runHook(thread, 'after:tool', seen, id, ignored).catch((error) => {
      // The tool has run, so its call needs an outcome. But the next run must not see a result that a hook blocked or failed to check.
      withheld();
      throw error;
    });
    if (after?.retry && refused === undefined) continue;
    const changed = after && 'content' in after && after.content !== undefined;
    return finishCall(
      thread,
      id,
      changed ? { ...withoutRef, output: toContent(after.content), messageId: newId('msg') } : { messageId, output: content, ...rest },
    );
  }
}

/**
 * Returns why a call is not run again although a hook requests it, or undefined. A `keyed` call runs again with the same idempotency key: only
 * the service, not the hook, knows whether the first run had an effect. For a `verify` call, the probe knows, and is asked first.
 */
function whyNotAgain(thread: ThreadContext, name: string, { effect }: Runs, retries: number): string | undefined {
  if (runsOnce[effect]) return `retry: ${name} is a \`${effect}\` tool, which is never run twice`;
  if (!hasRoomForRetry(thread)) return `retry: the results of this answer's calls are too large for another one of ${name}`;
  return retries >= mostRetries ? `retry: ${name} was run ${retries + 1} times already` : undefined;
}

/** Schedules the tool's activity. Never rejects. `again`: the call has run, and a hook requests another run. */
function attempt(thread: ThreadContext, id: string, verdict: Runs, again: boolean): Promise<ToolAttempt> {
  return runToolStep(thread, { request: requestOf(thread, id, verdict, again), verdict });
}

function requestOf(thread: ThreadContext, id: string, verdict: Runs, again = false): RunToolRequest {
  const { state } = thread;
  const call = callOf(thread, id);
  const run = runOf(state);
  const calling = callById(run, id);
  const { editedArguments, editedBy = 'person', approved, signed, answers = [] } = calling;
  const { digest } = approved && state.facts?.judgesDecisions ? checkedCall(calling) : {};
  return {
    agent: state.agent,
    runId: run.id,
    call,
    ...(digest && { digest }),
    ...(signed && { signed }),
    ...(editedArguments !== undefined && { edited: editedBy }),
    // A call that a hook edited or runs again is not checked against the approval rules: the hook is responsible for it.
    ...(!approved && !again && editedArguments === undefined && { unasked: true, ...(state.rules.length > 0 && { rules: state.rules }) }),
    ...(call.name === planTool && state.plan !== undefined && { plan: state.plan }),
    ...(verdict.questions && { answers }),
    ...mediaRoom(run, verdict.background),
    ...(runsOnce[verdict.effect] && { once: true }),
    ...(verdict.effect === 'verify' && { verify: true, ...(again && { begun: true }) }),
  };
}
