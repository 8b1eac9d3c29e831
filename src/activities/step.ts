import { ApplicationFailure, Context } from '@temporalio/activity';
import { failureTypes, type StepProgress } from '../contract/activities';
import type { EphemeralEvent, EphemeralEventData, EphemeralEventType } from '../core/event';
import type { StreamBus } from '../stream/stream-bus';

/** Often enough to hear of a cancel in well under half a second; the worker's throttle decides what reaches the server. */
const beatMs = 200;

/** An activity while it runs: who it is, its heartbeats, its abort signal, its way to the readers. */
export interface Step {
  threadId: string;
  /** Temporal's run id of the execution that scheduled it. */
  execution: string;
  attempt: number;
  signal: AbortSignal;
  /** What the attempt before this one left, if it left something. */
  before: StepProgress | undefined;
  publish<T extends EphemeralEventType>(type: T, runId: string, data: EphemeralEventData[T]): void;
  /** Sends the progress as it is now, for the next attempt and for readers in other processes. */
  beat(): void;
}

/**
 * Runs a step with heartbeats, which carry `progress()` and bring cancellation. The first is sent only after a while: a step that is
 * over sooner costs the server nothing.
 */
export async function runStep<T>(bus: StreamBus, progress: () => StepProgress, work: (step: Step) => Promise<T>): Promise<T> {
  const context = Context.current();
  const { workflowExecution, attempt, heartbeatDetails } = context.info;
  const threadId = workflowExecution?.workflowId ?? '';
  const beat = () => context.heartbeat(progress());
  const timer = setInterval(beat, beatMs);
  try {
    return await work({
      threadId,
      execution: workflowExecution?.runId ?? '',
      attempt,
      signal: context.cancellationSignal,
      before: heartbeatDetails as StepProgress | undefined,
      beat,
      publish(type, runId, data) {
        const event = { type, timestamp: new Date().toISOString(), threadId, runId, data } as EphemeralEvent;
        bus.publish({ kind: 'event', event });
      },
    });
  } catch (error) {
    throw whyAborted(context) ?? error;
  } finally {
    clearInterval(timer);
    bus.publish({ kind: 'grown', threadId });
  }
}

/** What an aborted activity fails with: a cancel that was asked for, or word that only this worker gives up on it. */
function whyAborted(context: Context): unknown {
  const { aborted, reason } = context.cancellationSignal;
  if (!aborted) return undefined;
  return context.cancellationDetails?.workerShutdown ? workerShutdown() : reason;
}

export function isShuttingDown(): boolean {
  return Context.current().cancellationDetails?.workerShutdown === true;
}

export function workerShutdown(): ApplicationFailure {
  return ApplicationFailure.retryable('The worker was shut down in the middle of the step', failureTypes.workerShutdown);
}
