import { ApplicationFailure, CancelledFailure, Context } from '@temporalio/activity';
import { type EarlierAttempts, failureTypes, type StepProgress } from '../../contract/activities';
import type { EphemeralEvent, EphemeralEventData, EphemeralEventType } from '../../core/event';
import { addWaste } from '../../core/waste';
import { confirmCancel } from './confirm-cancel';
import type { ActivityDependencies } from './dependencies';
import { type Heartbeats, heartbeats } from './heartbeats';
import { type MayStart, mayBegin } from './may-begin';
import { listStep } from './running-steps';
import { untilHeard } from './until-heard';

/** An activity while it runs: its identity, its abort signal, and how it publishes live events. */
export interface Step {
  threadId: string;
  /** Temporal's run id of the execution that scheduled it. */
  execution: string;
  /** Counts from 1, over all schedulings of the step. */
  attempt: number;
  signal: AbortSignal;
  /** To call right before an effect: asks the server again if the process was frozen, and rejects if the attempt is over. */
  mayStart: MayStart;
  /** The progress that the previous attempt left, if any. */
  before: Partial<StepProgress> | undefined;
  publish<T extends EphemeralEventType>(type: T, runId: string, data: EphemeralEventData[T]): void;
}

/**
 * Runs a step with heartbeats, which contain `progress()` and receive cancellations.
 *
 * A workflow in this process reports a cancel directly (`running-steps.ts`), before the server has it. If that workflow task is lost, the server
 * may never get the cancel. So a step that may be attempted again stops immediately, and fails with a retryable failure if the server does not
 * confirm the cancel. A `once` tool or a hook only asks the server immediately, and stops when the server confirms the cancel.
 */
export async function runStep<T>(
  { bus, ...deps }: Needed,
  { progress, once = false, earlier, threadId: given }: StepRun,
  work: (step: Step) => Promise<T>,
): Promise<T> {
  const context = Context.current();
  const { workflowExecution, heartbeatDetails } = context.info;
  const attempt = (earlier?.attempts ?? 0) + context.info.attempt;
  const before = (heartbeatDetails ?? earlier?.left) as Step['before'];
  const threadId = given ?? workflowExecution?.workflowId ?? '';
  const execution = workflowExecution?.runId ?? '';
  const someWereLost = attempt > 1 + (before?.failed?.length ?? 0) + (before?.throws ?? 0);
  const mayStart = await mayBegin(context, before ?? progress(), { always: once || someWereLost });
  const heardAt = performance.now();
  const beats = heartbeats(context, progress, deps);
  // Events that arrive after the end of a step (from an aborted stream) are dropped.
  let isOver = false;
  const stop = stoppedByWorkflow(context, execution, { ...progress(), once }, beats);
  try {
    const end = await settle(
      work({
        threadId,
        execution,
        attempt,
        signal: AbortSignal.any([context.cancellationSignal, stop.signal]),
        before,
        mayStart,
        publish(type, runId, data) {
          const event = { type, timestamp: new Date().toISOString(), threadId, runId, data } as EphemeralEvent;
          if (!isOver) bus.publish({ kind: 'event', event });
        },
      }),
    );
    if (once) await untilHeard(context, progress(), heardAt);
    const unheard = stop.signal.aborted && !(await stop.confirmed());
    if (!unheard && 'value' in end) return end.value;
    const failure = unheard ? stopNotConfirmed() : (whyAborted(context, progress()) ?? ('error' in end && end.error));
    // A last heartbeat passes this attempt's progress to the next attempt, on any worker.
    if (failure instanceof ApplicationFailure && !failure.nonRetryable) beats.send();
    throw failure;
  } finally {
    beats.end();
    stop.unlist();
    isOver = true;
    const { messageId, toolCallId: ended = messageId } = progress();
    bus.publish({ kind: 'grown', threadId, ...(ended !== undefined && { ended }) });
  }
}

interface StepRun {
  progress: () => StepProgress;
  /** The step must not run twice. */
  once?: boolean | undefined;
  earlier?: EarlierAttempts | undefined;
  /** The thread, if the step belongs to another workflow of it. */
  threadId?: string | undefined;
}

type Needed = Pick<ActivityDependencies, 'bus' | 'liveTextMs' | 'takeoverMs'>;

/** `signal` is aborted when the workflow reports that it cancelled the step. `confirmed` resolves to whether the server has the cancel. */
function stoppedByWorkflow(
  context: Context,
  execution: string,
  { runId, messageId, toolCallId, once }: StepProgress & { once: boolean },
  beats: Heartbeats,
) {
  const isHook = messageId === undefined && toolCallId === undefined;
  const mayStop = !isHook && !once;
  const stopped = new AbortController();
  let confirmed: Promise<boolean> | undefined;
  const unlist = listStep(execution, {
    runId,
    isModelCall: messageId !== undefined,
    stop() {
      if (mayStop) stopped.abort(new Error('The step was cancelled by its workflow'));
      confirmed ??= confirmCancel(context, beats.send);
    },
  });
  return { signal: stopped.signal, confirmed: async () => confirmed, unlist };
}

async function settle<T>(work: Promise<T>): Promise<{ value: T } | { error: unknown }> {
  try {
    return { value: await work };
  } catch (error) {
    return { error };
  }
}

/** Returns the failure of an aborted activity: a requested cancellation with the cost so far, or an interruption of this worker's attempt. */
function whyAborted(context: Context, { wasted, spending }: StepProgress): unknown {
  const { aborted, reason } = context.cancellationSignal;
  if (!aborted) return undefined;
  if (isInterrupted(context)) return interrupted(context);
  const cost = addWaste(wasted, spending);
  return cost ? new CancelledFailure((reason as Error).message, [{ wasted: cost }]) : reason;
}

/** Whether the attempt was stopped by a worker shutdown, or by an operator who paused or reset the activity, and not by a cancel. */
export function isInterrupted({ cancellationDetails: why }: Context = Context.current()): boolean {
  return why !== undefined && !why.cancelRequested && (why.workerShutdown || why.paused || why.reset);
}

export function interrupted({ cancellationDetails: why }: Context = Context.current()): ApplicationFailure {
  const reason = why?.paused ? 'The activity was paused' : why?.reset ? 'The activity was reset' : 'The worker was shut down';
  // An explicit delay, so that another worker begins soon, even if workers are replaced several times.
  return ApplicationFailure.create({
    message: `${reason} in the middle of the step`,
    type: failureTypes.workerShutdown,
    nextRetryDelay: '200ms',
  });
}

function stopNotConfirmed(): ApplicationFailure {
  return ApplicationFailure.retryable(
    'The step was stopped for a cancel that the server did not confirm: the workflow task that requested it was lost',
    failureTypes.stopNotConfirmed,
  );
}
