import { ActivityFailure, ApplicationFailure, isCancellation, proxyActivities, TimeoutFailure } from '@temporalio/workflow';
import { type Activities, failureTypes, type RunToolRequest, type ToolStep } from '../contract/activities';
import { callById, findCall, runOf } from '../core/calls';
import type { HookAnswer } from '../core/hooks';
import { stepIdOf } from '../core/state';
import { type ToolOutcome, toContent, type Verdict } from '../core/tool';
import { checkedCall, toolSummary } from '../core/views';
import { runToolOptions, type StepOptions } from './activity-options';
import { startBackground } from './background';
import { callOf, finishCall } from './finish-call';
import { hasHook, runHook } from './hooks';
import { newId } from './record';
import { scheduleStep } from './schedule-step';
import type { ThreadContext } from './thread-context';

type Runs = Extract<Verdict, { kind: 'run' }>;

/** What a call checks between its hooks and its start. */
export interface CallGate {
  /** Resolves when the pause ends. */
  hold(id: string): Promise<void>;
  /** Whether another call has ended the run, so that this one does not begin. */
  isOver(): boolean;
}

/** Further attempts that `after:tool` may ask for. */
const mostRetries = 2;

/** Runs one call until it has its outcome. Rejects only if the run is cancelled or a hook ends it. */
export async function runCall(thread: ThreadContext, id: string, verdict: Runs, gate: CallGate): Promise<void> {
  const { state, record } = thread;
  const run = runOf(state);
  const answer = hasHook(thread, 'before:tool') ? await runHook(thread, 'before:tool', { call: callOf(thread, id) }, id) : undefined;
  if (answer?.skip) return finishCall(thread, id, { status: 'success', output: toContent(answer.mockResult) });
  // A pause or the end of the run may have been requested while the hook ran.
  if (state.paused) await gate.hold(id);
  if (gate.isOver() || findCall(run, id)?.phase !== 'ready') return;

  const { name } = callOf(thread, id);
  record('agent.tool.execution.started', { stepId: stepIdOf(run), toolCallId: id, name });
  if (verdict.background) {
    const output = `[${name} goes on in the background; its result will come as a message.]`;
    finishCall(thread, id, { status: 'success', output, background: true });
    return startBackground(thread, { id, name }, inBackground(thread, id, verdict));
  }
  for (let retries = 0; ; retries++) {
    const { messageId, outcome, cancelled } = await attempt(thread, id, verdict, retries > 0);
    const { content, ...rest } = outcome;
    if (cancelled !== undefined) {
      finishCall(thread, id, { output: content, ...rest });
      throw cancelled;
    }
    if (!hasHook(thread, 'after:tool')) return finishCall(thread, id, { messageId, output: content, ...rest });
    const seen = { call: callOf(thread, id), status: outcome.status, content };
    const refused = whyNotAgain(name, verdict, retries);
    const ignored = (answer: HookAnswer['after:tool']) => (answer.retry ? refused : undefined);
    // A reference would lead to what a hook has removed from the result.
    const { outputRef: _, ...withoutRef } = rest;
    const after = await runHook(thread, 'after:tool', seen, id, ignored).catch((error) => {
      // The tool has run, so its call needs an outcome. But the next run must not see a result that a hook blocked or failed to check.
      finishCall(thread, id, { ...withoutRef, output: `[${name} has run (${outcome.status}); its result is withheld.]` });
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
 * the service, not the hook, knows whether the first run had an effect.
 */
function whyNotAgain(name: string, { effect }: Runs, retries: number): string | undefined {
  if (effect === 'once') return `retry: ${name} is a \`once\` tool, which is never run twice`;
  return retries >= mostRetries ? `retry: ${name} was run ${retries + 1} times already` : undefined;
}

/** Schedules the tool's activity. Never rejects. `again`: the call has run, and a hook requests another run. */
function attempt(
  thread: ThreadContext,
  id: string,
  verdict: Runs,
  again = false,
): Promise<Partial<ToolStep> & { outcome: ToolOutcome; cancelled?: unknown }> {
  const { state } = thread;
  const call = callOf(thread, id);
  const run = runOf(state);
  const calling = callById(run, id);
  const { editedArguments, editedBy = 'person', approved, signed } = calling;
  const { digest } = approved && state.facts?.judgesDecisions ? checkedCall(calling) : {};
  const options = runToolOptions(verdict);
  const { runTool } = proxyActivities<Activities>(options);
  const summary = toolSummary(call.name, call.arguments);
  const request: RunToolRequest = {
    agent: state.agent,
    runId: run.id,
    call,
    ...(digest && { digest }),
    ...(signed && { signed }),
    ...(editedArguments !== undefined && { edited: editedBy }),
    // A call that a hook edited or runs again is not checked against the approval rules: the hook is responsible for it.
    ...(!approved && !again && editedArguments === undefined && { unasked: true, ...(state.rules.length > 0 && { rules: state.rules }) }),
    ...(verdict.effect === 'once' && { once: true }),
  };
  const schedule = (timed: StepOptions, asked: RunToolRequest) => runTool.executeWithOptions({ ...timed, summary }, [asked]);
  return scheduleStep(thread, options, request, schedule).catch((error) => ({
    outcome: outcomeOfLost(call.name, verdict, error),
    ...(isCancellation(error) && { cancelled: error }),
  }));
}

async function inBackground(thread: ThreadContext, id: string, verdict: Runs): Promise<ToolOutcome> {
  const { outcome } = await attempt(thread, id, verdict);
  return outcome;
}

/** The outcome of a call whose activity failed. */
function outcomeOfLost(name: string, { effect }: Runs, error: unknown): ToolOutcome {
  if (isCancellation(error)) return { status: 'cancelled', content: 'Error: cancelled while it ran; it may have had effects already.' };
  const cause = error instanceof ActivityFailure ? error.cause : undefined;
  const lost = cause instanceof TimeoutFailure || (cause instanceof ApplicationFailure && cause.type === failureTypes.workerShutdown);
  if (lost && effect === 'once') {
    const content = `Error: the worker was lost while ${name} ran. It may have been carried out or not; check before you call it again.`;
    return { status: 'unknown', content, error: { name: 'OutcomeUnknownError', message: content } };
  }
  const message = lost ? `the worker was lost repeatedly while ${name} ran` : (cause?.message ?? (error as Error).message);
  return { status: 'failed', content: `Error: ${message}`, error: { name: 'ToolInfrastructureError', message } };
}
