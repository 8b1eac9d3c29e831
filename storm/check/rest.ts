import type { Evidence, ThreadEvidence, Violation } from './evidence';

const ended = ['completed', 'failed', 'incomplete', 'cancelled', 'expired'];

/**
 * Why a thread is still active. Undefined if it is at rest: a one-shot thread is closed, a conversation is closed, or idle with no queued
 * messages.
 */
export function unrest({ status, plan, taskAttempt, view, unreadable }: ThreadEvidence): string | undefined {
  if (status === 'MISSING') return undefined;
  if (taskAttempt > 3) return `its workflow task fails: attempt ${taskAttempt}`;
  if (status === 'TERMINATED' || status === 'TIMED_OUT') return `the server ended it (${status})`;
  if (status !== 'RUNNING') return undefined;
  if (plan.mode === 'one-shot') return `a one-shot thread still runs${view ? `, ${view.status}` : ''}`;
  if (!view) return `no worker answers its query: ${unreadable ?? 'no view'}`;
  const idle = view.status === 'idle' || ended.includes(view.status);
  return idle && view.queued === 0 ? undefined : `a conversation is ${view.status} with ${view.queued} messages queued`;
}

export function wedged({ threads, journal }: Evidence): Violation[] {
  const started = new Set(journal.flatMap(({ kind, outcome, thread }) => (kind === 'start' && outcome === 'accepted' ? [thread] : [])));
  return threads.flatMap((thread) => {
    const isLost = thread.status === 'MISSING' && started.has(thread.id);
    const why = isLost ? 'its start was accepted, and the server does not have it' : unrest(thread);
    return why ? [{ rule: 'wedged', thread: thread.id, what: why }] : [];
  });
}

/** Causes with which the server or a worker may fail a task that came at a bad moment; any other cause is an error in workflow code. */
const harmless = ['UnhandledCommand', 'UnhandledUpdate', 'ResetStickyTaskQueue', 'ForceCloseCommand', 'FailoverCloseCommand'];

/** With this message workflow code fails a task so that the thread is replayed first; the next attempt succeeds. */
const replayedFirst = /read ahead of its history, and is replayed first/;

/**
 * A query may bring a worker a history that ends in a task that another worker has begun, and the SDK's core treats that task as completed. If
 * the task then accepted an update, core itself detects that the history does not match, fails the next task, and replays the thread.
 * src/workflows/account-for-events.ts detects the other cases. These failures are counted in a row of their own.
 */
const ofSdk =
  /^\[TMPRL1100\] Nondeterminism error: No command scheduled for event HistoryEvent\(id: \d+, WorkflowExecutionUpdateAccepted\)/;

/** The SDK bounds how long workflow code runs, and counts the time in which the process is frozen (SIGSTOP). The next attempt succeeds. */
const frozen = /^Script execution timed out after \d+ms/;

export function tasksFailedBySdk({ threads }: Pick<Evidence, 'threads'>): number {
  return threads.flatMap(({ executions }) => executions.flatMap(({ failures }) => failures)).filter(({ message }) => ofSdk.test(message))
    .length;
}

export function tasksFailedWhileFrozen({ threads }: Pick<Evidence, 'threads'>): number {
  return threads.flatMap(({ executions }) => executions.flatMap(({ failures }) => failures)).filter(({ message }) => frozen.test(message))
    .length;
}

export function failedTasks({ threads }: Evidence): Violation[] {
  return threads.flatMap(({ id, executions }) =>
    executions.flatMap(({ runId, failures }) =>
      failures
        .filter(
          ({ cause, message }) =>
            !harmless.includes(cause) && !replayedFirst.test(message) && !ofSdk.test(message) && !frozen.test(message),
        )
        .map(({ cause, message, eventId }) => ({
          rule: 'failed task',
          thread: id,
          what: `${runId} event ${eventId}: ${cause}: ${message.slice(0, 300)}`,
        })),
    ),
  );
}

/** Allowed above the threshold: the calls of one answer stay in one execution, together with requests that arrive meanwhile. */
const slack = 500;
const mostBytes = 2_000_000;

export function unbounded({ threads, carryAfter }: Evidence): Violation[] {
  return threads.flatMap(({ id, executions }) =>
    executions
      .filter(({ events, bytes }) => events > carryAfter + slack || bytes > mostBytes)
      .map(({ runId, events, bytes }) => ({ rule: 'I4', thread: id, what: `${runId} has ${events} events, ${bytes} bytes` })),
  );
}
