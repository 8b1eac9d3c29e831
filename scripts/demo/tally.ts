import type { Thread } from '../../src/client';
import type { AgentEvent } from '../../src/core/event';

/** Counts from the thread's log and from its Temporal history. */
export interface Tally {
  turns: number;
  toolCalls: number;
  /** Attempts at tool calls after the first of each call. */
  toolsRepeated: number;
  /** Attempts at steps of any kind that were lost with their worker. */
  attemptsLost: number;
  /** Temporal's identities of the workers that ran a step: process@host. */
  workers: string[];
  /** Milliseconds from the kill to the start of the first retried step. */
  takeoverMs?: number;
  historyBytes: number;
  historyEvents: number;
  /** Temporal's run id, for the URL of the Web UI. */
  execution: string;
}

/** Reads the thread's log and history. `killedAt` is in epoch milliseconds. */
export async function tally(thread: Thread, killedAt: number | undefined): Promise<Tally> {
  const log: AgentEvent[] = [];
  for await (const event of thread.events({ live: false })) log.push(event);
  const handle = thread.client.temporal.workflow.getHandle(thread.id);
  const { runId, historySize = 0 } = await handle.describe();
  const { events } = await handle.fetchHistory();
  const history = events ?? [];

  const names = new Map(history.map((event) => [String(event.eventId), event.activityTaskScheduledEventAttributes?.activityType?.name]));
  const started = history.flatMap(({ activityTaskStartedEventAttributes: step, eventTime }) =>
    step
      ? [
          {
            activity: names.get(String(step.scheduledEventId)),
            attempt: step.attempt ?? 1,
            worker: step.identity ?? '?',
            at: milliseconds(eventTime),
          },
        ]
      : [],
  );
  const again = started.filter((step) => step.attempt > 1);
  const sum = (steps: { attempt: number }[]) => steps.reduce((n, step) => n + step.attempt - 1, 0);
  const takeover = again.map((step) => step.at).sort((a, b) => a - b)[0];
  return {
    turns: log.filter((event) => event.type === 'agent.run.step.created').length,
    toolCalls: log.filter((event) => event.type === 'agent.tool.execution.started').length,
    toolsRepeated: sum(started.filter((step) => step.activity === 'runTool')),
    attemptsLost: sum(again),
    workers: [...new Set(started.map((step) => step.worker))],
    ...(killedAt !== undefined && takeover !== undefined && { takeoverMs: takeover - killedAt }),
    historyBytes: historySize,
    historyEvents: history.length,
    execution: runId,
  };
}

function milliseconds(time: { seconds?: unknown; nanos?: number | null } | null | undefined): number {
  return Number(String(time?.seconds ?? 0)) * 1_000 + Math.round((time?.nanos ?? 0) / 1e6);
}
