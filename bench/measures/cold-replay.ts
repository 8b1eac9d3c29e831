import { now } from '../numbers';
import type { BenchWorker, Rig } from '../rig';

/** Results for the longest execution that occurs, taken over by a worker that has never seen it. */
export interface ColdReplay {
  turns: number;
  /** Events and bytes of the execution's history. */
  events: number;
  bytes: number;
  /** From a query to its answer. All times are in milliseconds. */
  queryMs: number;
  /** CPU of the worker process meanwhile, all its threads, per event. */
  cpuMsAnEvent: number;
  /** From a message, which another such worker receives, to the model request. */
  messageMs: number;
}

/**
 * A conversation is idle one turn before it would continue as new. The worker that takes it over replays the whole history: once for a query,
 * and once more, in another process, for a message.
 */
export async function measureColdReplay(rig: Rig, most: number): Promise<ColdReplay> {
  const first = await rig.startWorker('longhaul');
  const { taskQueue } = first;
  const turns = most - 2;
  const id = await first.begin({ turns }, { mode: 'conversation' });
  const thread = rig.client.attach(id);
  await thread.result();
  const size = await sizeOf(rig, id);

  await first.kill();
  const asked = await coldWorker(rig, id, taskQueue);
  const before = await asked.spent();
  const askedAt = now();
  await thread.status();
  const queryMs = now() - askedAt;
  const { cpuMs } = await asked.spent();

  await asked.kill();
  const told = await coldWorker(rig, id, taskQueue);
  try {
    const toldAt = now();
    await thread.send('And what else?');
    const request = await rig.arrived(id, turns + 1, toldAt);
    await thread.result();
    return { turns, ...size, queryMs, cpuMsAnEvent: (cpuMs - before.cpuMs) / size.events, messageMs: request.at - toldAt };
  } finally {
    await told.kill();
  }
}

const enough = 150;

/** The number of turns after which a session continues as new. */
export async function turnsOfAnExecution(rig: Rig): Promise<number> {
  const worker = await rig.startWorker('longhaul');
  try {
    const { workflow } = rig.client.temporal;
    const id = await worker.finish({ turns: enough });
    const { raw, runId } = await workflow.getHandle(id).describe();
    const firstRunId = raw.workflowExecutionInfo?.firstRunId;
    if (!firstRunId || firstRunId === runId) throw new Error(`a session of ${enough} turns fits into one execution`);
    const { events } = await workflow.getHandle(id, firstRunId).fetchHistory();
    const scheduled = (events ?? []).map((event) => event.activityTaskScheduledEventAttributes?.activityType?.name);
    return scheduled.filter((name) => name === 'callModel').length;
  } finally {
    await worker.kill();
  }
}

/** A new worker process. Resets the sticky task queue, because the server would otherwise wait for the killed worker first. */
async function coldWorker({ client, startWorker }: Rig, workflowId: string, taskQueue: string): Promise<BenchWorker> {
  const worker = await startWorker('longhaul', { taskQueue });
  const { workflowService, options } = client.temporal;
  await workflowService.resetStickyTaskQueue({ namespace: options.namespace, execution: { workflowId } });
  return worker;
}

async function sizeOf({ client }: Rig, id: string): Promise<{ events: number; bytes: number }> {
  const { raw, runId } = await client.temporal.workflow.getHandle(id).describe();
  const { firstRunId, historyLength = 0, historySizeBytes = 0 } = raw.workflowExecutionInfo ?? {};
  if (firstRunId !== runId) throw new Error(`thread ${id} continued as new before it could be replayed`);
  return { events: Number(historyLength), bytes: Number(historySizeBytes) };
}
