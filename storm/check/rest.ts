import type { Evidence, ThreadEvidence, Violation } from './evidence';

const ended = ['completed', 'failed', 'incomplete', 'cancelled', 'expired'];

/** Why a thread is not at rest, or undefined: a one-shot thread closed, a conversation closed or idle with nothing waiting. */
export function unrest({ status, plan, taskAttempt, view, unreadable }: ThreadEvidence): string | undefined {
  if (status === 'MISSING') return undefined;
  if (taskAttempt > 3) return `its workflow task fails: attempt ${taskAttempt}`;
  if (status === 'TERMINATED' || status === 'TIMED_OUT') return `the server ended it (${status})`;
  if (status !== 'RUNNING') return undefined;
  if (plan.mode === 'one-shot') return `a one-shot thread still runs${view ? `, ${view.status}` : ''}`;
  if (!view) return `nobody answers for it: ${unreadable ?? 'no view'}`;
  const idle = view.status === 'idle' || ended.includes(view.status);
  return idle && view.queued === 0 ? undefined : `a conversation is ${view.status} with ${view.queued} messages waiting`;
}

export function wedged({ threads, journal }: Evidence): Violation[] {
  const started = new Set(journal.flatMap(({ kind, outcome, thread }) => (kind === 'start' && outcome === 'accepted' ? [thread] : [])));
  return threads.flatMap((thread) => {
    const isLost = thread.status === 'MISSING' && started.has(thread.id);
    const why = isLost ? 'its start was accepted, and the server does not have it' : unrest(thread);
    return why ? [{ rule: 'wedged', thread: thread.id, what: why }] : [];
  });
}

/** What the server or a worker may answer to a task that came at a bad moment; anything else is a mistake in workflow code. */
const harmless = ['UnhandledCommand', 'UnhandledUpdate', 'ResetStickyTaskQueue', 'ForceCloseCommand', 'FailoverCloseCommand'];

/** The thread says so itself of a task for which it must be replayed; the next try finds it so. */
const replayedFirst = /read ahead of its history, and is replayed first/;

export function failedTasks({ threads }: Evidence): Violation[] {
  return threads.flatMap(({ id, executions }) =>
    executions.flatMap(({ runId, failures }) =>
      failures
        .filter(({ cause, message }) => !harmless.includes(cause) && !replayedFirst.test(message))
        .map(({ cause, message, eventId }) => ({
          rule: 'failed task',
          thread: id,
          what: `${runId} event ${eventId}: ${cause}: ${message.slice(0, 300)}`,
        })),
    ),
  );
}

/** One answer's calls are not parted, and what comes meanwhile joins them: room for that above the threshold. */
const slack = 500;
const mostBytes = 2_000_000;

export function unbounded({ threads, carryAfter }: Evidence): Violation[] {
  return threads.flatMap(({ id, executions }) =>
    executions
      .filter(({ events, bytes }) => events > carryAfter + slack || bytes > mostBytes)
      .map(({ runId, events, bytes }) => ({ rule: 'I4', thread: id, what: `${runId} has ${events} events, ${bytes} bytes` })),
  );
}
