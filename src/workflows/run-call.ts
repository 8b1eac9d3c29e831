import { ActivityFailure, ApplicationFailure, isCancellation, proxyActivities, TimeoutFailure } from '@temporalio/workflow';
import { type Activities, failureTypes, type RunToolRequest, type ToolStep } from '../contract/activities';
import type { HookAnswer } from '../core/hooks';
import type { CallState, RunState } from '../core/state';
import { stepIdOf } from '../core/state';
import { type ToolOutcome, toContent, type Verdict } from '../core/tool';
import { toolSummary } from '../core/views';
import { runToolOptions, type StepOptions } from './activity-options';
import { startBackground } from './background';
import { callOf, finishCall } from './finish-call';
import { heldBack } from './gates';
import { hasHook, runHook } from './hooks';
import { newId } from './record';
import { scheduleStep } from './schedule-step';
import type { Thread } from './thread';

type Runs = Extract<Verdict, { kind: 'run' }>;

/** Further attempts that `after:tool` may ask for. */
const mostRetries = 2;

/** Runs one call, to its outcome. Rejects only where the run is cancelled, or a hook ends it; where all is `over` by then it does not begin. */
export async function runCall(thread: Thread, id: string, verdict: Runs, over: () => boolean): Promise<void> {
  const { state, record } = thread;
  const run = state.run as RunState;
  const told = hasHook(thread, 'before:tool') ? await runHook(thread, 'before:tool', { call: callOf(thread, id) }, id) : undefined;
  if (told?.skip) return finishCall(thread, id, { status: 'success', output: toContent(told.mockResult) });
  // What was asked for while the hook looked at it: a pause, or the end of the run.
  if (state.paused) await heldBack(thread, over);
  if (over() || run.calls.find((call) => call.id === id)?.phase !== 'ready') return;

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
    const after = await runHook(thread, 'after:tool', seen, id, ignored).catch((error) => {
      // It has run, and its call must not stay open; but what was not let pass, or not looked at, the next run must not see either.
      finishCall(thread, id, { ...rest, output: `[${name} has run (${outcome.status}); its result is withheld.]` });
      throw error;
    });
    if (after?.retry && refused === undefined) continue;
    const changed = after && 'content' in after && after.content !== undefined;
    return finishCall(
      thread,
      id,
      changed ? { ...rest, output: toContent(after.content), messageId: newId('msg') } : { messageId, output: content, ...rest },
    );
  }
}

/**
 * Why a call is not run again although a hook asks for it. A `keyed` call is run again under the same idempotency key: whether the first
 * time had an effect, a hook can't know, and the service can.
 */
function whyNotAgain(name: string, { effect }: Runs, retries: number): string | undefined {
  if (effect === 'once') return `retry: ${name} is a \`once\` tool, which is never run twice`;
  return retries >= mostRetries ? `retry: ${name} was run ${retries + 1} times already` : undefined;
}

/** `again`: it has run, and a hook asks that it run once more. */
function attempt(
  thread: Thread,
  id: string,
  verdict: Runs,
  again = false,
): Promise<Partial<ToolStep> & { outcome: ToolOutcome; cancelled?: unknown }> {
  const { state } = thread;
  const call = callOf(thread, id);
  const run = state.run as RunState;
  const { editedArguments, editedBy = 'person', approved } = run.calls.find((c) => c.id === id) as CallState;
  const options = runToolOptions(verdict);
  const { runTool } = proxyActivities<Activities>(options);
  const summary = toolSummary(call.name, call.arguments);
  const request: RunToolRequest = {
    agent: state.agent,
    runId: run.id,
    call,
    ...(editedArguments !== undefined && { edited: editedBy }),
    // What a hook makes of a call is the hook's to answer for.
    ...(!approved && !again && editedArguments === undefined && { unasked: true, ...(state.rules.length > 0 && { rules: state.rules }) }),
    ...(verdict.effect === 'once' && { once: true }),
  };
  const schedule = (timed: StepOptions, asked: RunToolRequest) => runTool.executeWithOptions({ ...timed, summary }, [asked]);
  return scheduleStep(thread, options, request, schedule).catch((error) => ({
    outcome: outcomeOfLost(call.name, verdict, error),
    ...(isCancellation(error) && { cancelled: error }),
  }));
}

async function inBackground(thread: Thread, id: string, verdict: Runs): Promise<ToolOutcome> {
  const { outcome } = await attempt(thread, id, verdict);
  return outcome;
}

/** What is known of a call whose activity did not return an outcome. */
function outcomeOfLost(name: string, { effect }: Runs, error: unknown): ToolOutcome {
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
