import { ActivityFailure, ApplicationFailure, sleep } from '@temporalio/workflow';
import { failureTypes } from '../contract/activities';
import { activityEvents, grow } from './growth';
import type { Thread } from './thread';

/** Long enough for a rolling deploy to bring a worker that has the agent. */
export const defaultAgentWaitMs = 5 * 60_000;

const quickPauses = 10;
const quickPauseMs = 250;
const longestPauseMs = 5_000;

/** Whether a worker took a step whose agent it does not have. Nothing of the step has begun then, also of one that must not run twice. */
export function isUnknownAgent(error: unknown): error is ActivityFailure {
  return error instanceof ActivityFailure && error.cause instanceof ApplicationFailure && error.cause.type === failureTypes.unknownAgent;
}

/** Whether the worker that lacks the agent says that the namespace has our search attributes. Failures of earlier code don't say. */
export function saysSearchable({ cause }: ActivityFailure): boolean {
  const [details] = cause instanceof ApplicationFailure ? ((cause.details ?? []) as { searchAttributes?: boolean }[]) : [];
  return details?.searchAttributes === true;
}

/**
 * How long to pause before such a step is scheduled again; nothing once the thread's wait for an agent is over. From here on the thread's
 * steps go through the task queue: handed to the worker that holds the thread, which is quicker, they might never reach another.
 */
export function agentPauses(thread: Thread): () => number | undefined {
  thread.eager = false;
  const waitMs = thread.input.agentWaitMs ?? defaultAgentWaitMs;
  const since = Date.now();
  let made = 0;
  return () => {
    if (Date.now() - since >= waitMs) return undefined;
    made += 1;
    return Math.min(longestPauseMs, quickPauseMs * 2 ** Math.max(0, made - quickPauses));
  };
}

/** Runs an activity that has no attempts of its own to count, until a worker takes it that has the agent. */
export async function whereAgentIs<T>(thread: Thread, activity: () => Promise<T>): Promise<T> {
  let pauses: ReturnType<typeof agentPauses> | undefined;
  for (;;) {
    try {
      return await activity();
    } catch (error) {
      if (!isUnknownAgent(error)) throw error;
      pauses ??= agentPauses(thread);
      const pauseMs = pauses();
      if (pauseMs === undefined) throw error;
      grow(thread.growth, activityEvents);
      await sleep(pauseMs);
    }
  }
}
