import { ActivityFailure, ApplicationFailure, sleep } from '@temporalio/workflow';
import { failureTypes } from '../contract/activities';
import type { ThreadInput } from '../contract/thread';
import { activityEvents, grow } from './growth';
import type { ThreadContext } from './thread-context';

export interface AgentWait {
  input: Pick<ThreadInput, 'agentWaitMs'>;
  /** Whether steps may be dispatched eagerly to the worker that holds the workflow. */
  eager: boolean;
}

/** Long enough for a rolling deploy to bring a worker that has the agent. */
export const defaultAgentWaitMs = 5 * 60_000;

const quickPauses = 10;
const quickPauseMs = 250;
const longestPauseMs = 5_000;

/** Whether a worker took a step whose agent it does not have. The step has not begun then, so even a `once` tool may be scheduled again. */
export function isUnknownAgent(error: unknown): error is ActivityFailure {
  return error instanceof ActivityFailure && error.cause instanceof ApplicationFailure && error.cause.type === failureTypes.unknownAgent;
}

/** Whether the worker that lacks the agent reported that the namespace has our search attributes. Failures from earlier code don't say. */
export function saysSearchable({ cause }: ActivityFailure): boolean {
  const [details] = cause instanceof ApplicationFailure ? ((cause.details ?? []) as { searchAttributes?: boolean }[]) : [];
  return details?.searchAttributes === true;
}

/**
 * Returns a function that says how many milliseconds to pause before such a step is scheduled again, or undefined once `agentWaitMs` has
 * passed. From here on the thread's steps go through the task queue. Eager dispatch to the worker that holds the thread is quicker, but
 * they might then never reach another worker.
 */
export function agentPauses(thread: AgentWait): () => number | undefined {
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

/** Runs an activity again until a worker that has the agent takes it. For activities whose attempts need not be counted across schedulings. */
export async function whereAgentIs<T>(thread: ThreadContext, activity: () => Promise<T>): Promise<T> {
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
