import {
  CancellationScope,
  ChildWorkflowCancellationType,
  condition,
  getExternalWorkflowHandle,
  ParentClosePolicy,
  proxyActivities,
  startChild,
} from '@temporalio/workflow';
import type { Activities, BackgroundEnd } from '../contract/activities';
import { backgroundType } from '../contract/thread';
import { bounds } from '../core/bounds';
import { sentId } from '../core/call-ids';
import type { HookAnswer } from '../core/hooks';
import { type ToolCall, textOf, toolCallsOf } from '../core/message';
import type { BackgroundCall, ThreadState } from '../core/state';
import { type ToolError, type ToolOutcome, toContent } from '../core/tool';
import { toolSummary } from '../core/views';
import { awaitCallOptions } from './activity-options';
import type { backgroundCall } from './background-call';
import { readyToCarryOver, shouldCarryOver } from './carry-over';
import { finishCall, withheldWords } from './finish-call';
import { activityEvents, backgroundEvents, grow } from './growth';
import { hasHook, runHook, tooLargeForHooks } from './hooks';
import { newId } from './record';
import type { ThreadContext } from './thread-context';
import { runToolStep, type ToolCallStep } from './tool-step';

const { awaitCall } = proxyActivities<Activities>(awaitCallOptions);

/** Results that arrive within this time go to the model in one turn, not one turn each. */
const batchMs = 500;

/** Records the placeholder of a background call, starts the call, and records its outcome when it arrives. */
export function continueInBackground(thread: ThreadContext, { id, name }: BackgroundCall, step: ToolCallStep): void {
  const { state } = thread;
  const known = nameForModel(state, id);
  const own = state.facts?.ownBackground ? { workflowId: newId('background'), sentId: known } : {};
  const output = `[${name} goes on in the background; its result will come as a message.]`;
  finishCall(thread, id, { status: 'success', output, background: true }, { background: own });
  const outcome = own.workflowId ? inOwnWorkflow(thread, own.workflowId, step) : runToolStep(thread, step).then((end) => end.outcome);
  void outcome.then((end) => settle(thread, { id, name, sentId: known }, end, step.request.call));
}

/** Returns why another call can't continue in the background now, or undefined. */
export function whyFull({ background, facts }: ThreadState): ToolError | undefined {
  if (!facts?.ownBackground || background.length < bounds.backgroundCalls) return undefined;
  const message = `not started, because ${background.length} calls run in the background already. Wait for the result of one of them.`;
  return { name: 'TooManyCallsError', message };
}

/** The id by which the model knows a call: the provider's. It is kept, because the answer may no longer be in the transcript when the result arrives. */
function nameForModel({ messages }: ThreadState, id: string): string {
  const answer = messages.findLast((m) => m.role === 'assistant');
  const call = answer?.role === 'assistant' && toolCallsOf(answer.content).find((one) => one.id === id);
  return call ? sentId(call) : id;
}

/**
 * Passes the outcome of a background call to the hooks on `after:tool`, and records it. Never rejects. `call`: with its arguments, if the call
 * began in this execution of the thread.
 */
function settle(thread: ThreadContext, background: BackgroundCall, end: ToolOutcome, call?: ToolCall): void | Promise<void> {
  if (!thread.state.facts?.ownBackground || !hasHook(thread, 'after:tool')) return recordEnd(thread, background, end);
  return afterHooks(thread, background, end, call).then((checked) => recordEnd(thread, background, checked));
}

async function afterHooks(thread: ThreadContext, { id, name }: BackgroundCall, end: ToolOutcome, call?: ToolCall): Promise<ToolOutcome> {
  const { status, content } = end;
  const seen = { call: call ?? { id, name, arguments: '{}' }, status, content };
  const ignored = (answer: HookAnswer['after:tool']) => (answer.retry ? `retry: ${name} runs in the background` : undefined);
  // A reference would lead to what a hook has removed from the result.
  const { outputRef: _, ...withoutRef } = end;
  const tooLarge = tooLargeForHooks(seen);
  if (tooLarge !== undefined) return { ...withoutRef, content: withheldWords(name, status, tooLarge) };
  try {
    const after = await runHook(thread, 'after:tool', seen, id, ignored);
    return after?.content === undefined ? end : { ...withoutRef, content: toContent(after.content) };
  } catch {
    return { ...withoutRef, content: withheldWords(name, status) };
  }
}

/** Records the outcome of a background call, as a message to the model. */
function recordEnd({ record }: ThreadContext, { id, name, sentId: known = id }: BackgroundCall, end: ToolOutcome): void {
  const { status, content, outputRef, error, durationMs, result } = end;
  const isError = status !== 'success';
  const text = `[Result of ${name}, call ${known}${isError ? `, ${status}` : ''}]\n`;
  const told = typeof content === 'string' ? text + content : [{ type: 'text' as const, text }, ...content];
  const data = {
    toolCallId: id,
    name,
    status,
    isError,
    message: { id: newId('msg'), role: 'user' as const, content: told, origin: 'tool' as const },
    ...(outputRef && { outputRef }),
    ...(error && { error: { ...error, message: error.message || textOf(toContent(content)) } }),
    ...(durationMs !== undefined && { durationMs }),
  };
  record('agent.tool.background.completed', data, result === undefined ? {} : { result });
}

/**
 * Runs the call in a workflow that outlives this execution of the thread. Neither the end of this execution nor the cancellation of a scope
 * reaches it: only `stopBackground` ends it early. Never rejects.
 */
async function inOwnWorkflow(thread: ThreadContext, workflowId: string, { request, verdict }: ToolCallStep): Promise<ToolOutcome> {
  const { state, input, growth } = thread;
  const { takeoverMs, lostAfterMs } = state.facts ?? {};
  const { agentWaitMs } = input;
  const call = {
    threadId: state.threadId,
    request,
    verdict,
    ...(takeoverMs !== undefined && { takeoverMs }),
    ...(lostAfterMs !== undefined && { lostAfterMs }),
    ...(agentWaitMs !== undefined && { agentWaitMs }),
  };
  grow(growth, backgroundEvents, call);
  thread.starting += 1;
  const started = CancellationScope.nonCancellable(() =>
    startChild<typeof backgroundCall>(backgroundType, {
      workflowId,
      args: [call],
      parentClosePolicy: ParentClosePolicy.ABANDON,
      cancellationType: ChildWorkflowCancellationType.ABANDON,
      workflowTaskTimeout: '5s',
      staticSummary: toolSummary(request.call.name, request.call.arguments),
    }),
  ).finally(() => {
    thread.starting -= 1;
  });
  try {
    const outcome = await (await started).result();
    grow(growth, 0, outcome);
    return outcome;
  } catch (error) {
    return endedElsewhere(request.call.name, error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error));
  }
}

/** Waits for the calls that an earlier execution left running in the background, and records their outcomes. */
export function followBackground(thread: ThreadContext): void {
  for (const call of thread.state.background) {
    const { workflowId } = call;
    if (workflowId === undefined) continue;
    grow(thread.growth, activityEvents);
    const awaited = CancellationScope.nonCancellable(() => awaitCall({ workflowId }));
    void awaited
      .catch((error): BackgroundEnd => ({ lost: String(error) }))
      .then((end) => {
        grow(thread.growth, 0, end);
        return settle(thread, call, 'outcome' in end ? end.outcome : endedElsewhere(call.name, end.lost));
      });
  }
}

/** Someone terminated the call's workflow, or the server no longer retains it. */
function endedElsewhere(name: string, why: string): ToolOutcome {
  const content = `Error: the workflow in which ${name} ran has ended without an outcome (${why}). It may have been carried out or not; check before you call it again.`;
  return { status: 'unknown', content, error: { name: 'OutcomeUnknownError', message: content } };
}

/** Cancels the background calls that run in workflows of their own. Their outcomes arrive as usual. */
export async function stopBackground(thread: ThreadContext): Promise<void> {
  // A workflow that is about to start can't be cancelled yet.
  await condition(() => thread.starting === 0);
  const workflows = thread.state.background.flatMap(({ workflowId }) => (workflowId ? [getExternalWorkflowHandle(workflowId)] : []));
  // A cancel fails if the call is over already.
  for (const workflow of workflows) workflow.cancel().catch(() => undefined);
}

/** Whether the run waits for nothing but background calls: the model is done, and has been told everything. */
export function awaitsBackground({ messages, run, background }: ThreadState): boolean {
  if (!background.some(({ workflowId }) => workflowId)) return false;
  const last = messages.at(-1);
  return run?.finalMessage !== undefined || (last?.role === 'assistant' && toolCallsOf(last.content).length === 0);
}

/** Waits until a background call has a result or a message is queued, until no background call is left, or until a carry-over is due. */
export async function awaitBackground(thread: ThreadContext): Promise<'carry-over' | undefined> {
  const { state } = thread;
  const came = () => state.background.length === 0 || state.queue.some((m) => m.delivery !== 'after-run');
  for (;;) {
    await condition(() => came() || shouldCarryOver(thread, 'idle'));
    if (came()) break;
    if (await readyToCarryOver(thread, 'idle')) return 'carry-over';
  }
  await condition(() => state.background.length === 0, batchMs);
  return undefined;
}
