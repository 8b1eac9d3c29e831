import type { LonghaulClient, Thread } from '../../client';
import { auditOf } from '../../client/audit';
import { agentOf, attributeOf, beginningsOf, wordOf } from '../../client/list-filter';
import { type ListedThread, listedThread } from '../../client/listed-threads';
import { readLog } from '../../client/log-pages';
import { explain } from '../../client/thread-errors';
import { failureTypes } from '../../contract/activities';
import { type PendingStep, runningCalls } from '../views/show-now';

export type Look = Awaited<ReturnType<typeof look>>;

/** The newest entries of the audit that are read. */
const newest = 1_000;

/** Everything that `longhaul show` prints. If no worker answers, only what the server knows, with a note. */
export async function look(client: LonghaulClient, thread: Thread) {
  const server = await serverSide(client, thread.id);
  try {
    // The queries run one after another: the server delays a second query while the first is in progress.
    const [status, usage, messages] = [await thread.status(), await thread.usage(), await thread.messages()];
    const { events, missing } = await readLog(client.temporal, thread.id, client.options.serverAwayMs);
    return { ...server, status, usage, messages, audit: auditOf(events, { limit: newest, missing }), calls: runningCalls(events) };
  } catch (error) {
    if ((error as { code?: string }).code !== 'no-worker') throw error;
    return { ...server, note: (error as Error).message };
  }
}

async function serverSide(client: LonghaulClient, threadId: string) {
  const { temporal } = client;
  try {
    const { workflowId, runId, status, taskQueue, startTime, closeTime, historyLength, historySize, raw } = await temporal.workflow
      .getHandle(threadId)
      .describe();
    const began = (await beginningsOf(client, 'show', [workflowId])).get(workflowId);
    return {
      threadId: workflowId,
      execution: status.name,
      taskQueue,
      startedAt: (began ?? startTime).toISOString(),
      ...(closeTime && { closedAt: closeTime.toISOString() }),
      ...agentWanted(raw.pendingActivities),
      index: await indexed(listedThread(temporal, raw.workflowExecutionInfo ?? {})),
      steps: (raw.pendingActivities ?? []).filter((step) => !lacksAgent(step)).map(pendingStep),
      history: { events: historyLength, bytes: historySize ?? 0 },
      webUi: `/namespaces/${temporal.options.namespace}/workflows/${encodeURIComponent(workflowId)}/${runId}/history`,
      at: Date.now(),
      note: undefined as string | undefined,
      status: undefined,
      usage: undefined,
      messages: undefined,
      audit: undefined,
      calls: undefined,
    };
  } catch (error) {
    throw explain(threadId, 'show', error);
  }
}

/** What the search attributes and the memo say about a thread. */
async function indexed(thread: ListedThread) {
  const status = wordOf(thread, 'status');
  const waits = status === 'requires_action' || status === 'suspended';
  const waitsFor = waits ? wordOf(thread, 'pendingTool') : undefined;
  const since = attributeOf(thread, 'waitingSince');
  return {
    agent: await agentOf(thread),
    ...(status && { status }),
    ...(waitsFor && { waitsFor }),
    ...(waitsFor && typeof since === 'string' && { since }),
  };
}

type Time = { seconds?: unknown; nanos?: number | null } | null | undefined;

interface PendingActivity {
  activityType?: { name?: string | null } | null;
  attempt?: number | null;
  lastStartedTime?: Time;
  lastHeartbeatTime?: Time;
  scheduledTime?: Time;
  state?: number | null;
  lastFailure?: {
    message?: string | null;
    applicationFailureInfo?: { type?: string | null } | null;
    timeoutFailureInfo?: { timeoutType?: number | null } | null;
  } | null;
}

function lacksAgent({ lastFailure }: PendingActivity): boolean {
  return lastFailure?.applicationFailureInfo?.type === failureTypes.unknownAgent;
}

/** The step that the last worker could not run because it does not have the agent. The server knows it, even if no worker answers queries. */
function agentWanted(pending: readonly PendingActivity[] | null | undefined) {
  const found = pending?.find(lacksAgent);
  if (!found) return {};
  const { activityType, attempt, lastFailure } = found;
  return { agentWanted: { step: activityType?.name ?? '', attempt: attempt ?? 1, lastAnswer: lastFailure?.message ?? '' } };
}

/** The server's enum values: an activity that a worker has begun, and the timeout of an attempt whose worker sent no heartbeats. */
const isStarted = 2;
const heartbeatTimeout = 4;

function pendingStep({
  activityType,
  attempt,
  state,
  lastStartedTime,
  scheduledTime,
  lastHeartbeatTime,
  lastFailure,
}: PendingActivity): PendingStep {
  const started = state === isStarted;
  const lost = lastFailure?.timeoutFailureInfo?.timeoutType === heartbeatTimeout;
  const since = isoOf(started ? lastStartedTime : scheduledTime);
  const heartbeatAt = isoOf(lastHeartbeatTime);
  return {
    name: activityType?.name ?? '',
    attempt: attempt ?? 1,
    ...(since && (started ? { runningSince: since } : { waitingSince: since })),
    ...(started && heartbeatAt && { heartbeatAt }),
    ...(lastFailure && { lastFailure: lost ? 'its worker was lost' : (lastFailure.message ?? '') }),
  };
}

function isoOf(time: Time): string | undefined {
  return time?.seconds === undefined || time.seconds === null
    ? undefined
    : new Date(Number(time.seconds) * 1_000 + Math.floor((time.nanos ?? 0) / 1_000_000)).toISOString();
}
