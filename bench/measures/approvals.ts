import type { Thread } from '../../src/client';
import { now } from '../numbers';
import type { BenchWorker, Rig } from '../rig';

export interface Approvals {
  /** From the decision at the client to the first line of the tool. Milliseconds, as all here. */
  decisionMs: number[];
  /** What one approval adds to a session, beyond the same session without it. */
  cost: { bytes: number; events: number };
  crowd?: Crowd;
}

/** Threads that all wait for an approval while their worker is killed. When another worker is up, all calls are approved concurrently. */
export interface Crowd {
  threads: number;
  completed: number;
  /** From the kill until the last of them has ended. */
  doneMs: number;
  /** CPU of their worker while all wait, and of an idle worker over the same time; percent of a core. */
  waitingCpu: number;
  idleCpu: number;
}

export async function measureApprovals(rig: Rig, { decisions, crowd }: { decisions: number; crowd: number }): Promise<Approvals> {
  const worker = await rig.startWorker('longhaul');
  try {
    const decisionMs: number[] = [];
    for (let i = 0; i < decisions; i++) decisionMs.push(await decide(rig, worker));
    const cost = await measureCost(rig, worker);
    return { decisionMs, cost, ...(crowd > 0 && { crowd: await measureCrowd(rig, crowd) }) };
  } finally {
    await worker.kill();
  }
}

async function decide(rig: Rig, worker: BenchWorker): Promise<number> {
  const thread = rig.client.attach(await worker.begin({ turns: 1 }, { agent: 'bench-ask' }));
  const id = await pendingOf(thread);
  const decided = now();
  await thread.approve(id, { by: 'bench' });
  await thread.result();
  return ((await worker.begun(thread.id)) ?? Number.NaN) - decided;
}

/** The same ten turns with and without approvals. */
async function measureCost(rig: Rig, worker: BenchWorker): Promise<Approvals['cost']> {
  const turns = 10;
  const plain = await sizeOf(rig, await worker.finish({ turns }));
  const asked = rig.client.attach(await worker.begin({ turns }, { agent: 'bench-ask' }));
  for (let i = 0; i < turns; i++) await asked.approve(await pendingOf(asked), { by: 'bench' });
  await asked.result();
  const { bytes, events } = await sizeOf(rig, asked.id);
  return { bytes: (bytes - plain.bytes) / turns, events: (events - plain.events) / turns };
}

async function sizeOf({ client }: Rig, id: string): Promise<{ bytes: number; events: number }> {
  const { raw } = await client.temporal.workflow.getHandle(id).describe();
  const { historySizeBytes = 0, historyLength = 0 } = raw.workflowExecutionInfo ?? {};
  return { bytes: Number(historySizeBytes), events: Number(historyLength) };
}

async function measureCrowd(rig: Rig, threads: number): Promise<Crowd> {
  const idle = await rig.startWorker('longhaul');
  const first = await rig.startWorker('longhaul');
  const waiting: Thread[] = [];
  await inTurns(threads, 50, async () => {
    waiting.push(rig.client.attach(await first.begin({ turns: 1 }, { agent: 'bench-ask' })));
  });
  const calls = new Map<string, string>();
  await inTurns(threads, 20, async (i) => {
    const thread = waiting[i] as Thread;
    calls.set(thread.id, await pendingOf(thread));
  });
  const [waitingCpu, idleCpu] = await Promise.all([cpuOf(first), cpuOf(idle)]);
  await idle.kill();

  const killed = now();
  await first.kill();
  const second = await rig.startWorker('longhaul', { taskQueue: first.taskQueue });
  try {
    let completed = 0;
    await inTurns(threads, threads, async (i) => {
      const thread = waiting[i] as Thread;
      await approvePatiently(thread, calls.get(thread.id) ?? '');
      const result = (await rig.client.temporal.workflow.getHandle(thread.id).result()) as { status: string; turns: number };
      if (result.status === 'completed' && result.turns === 2) completed += 1;
    });
    return { threads, completed, doneMs: now() - killed, waitingCpu, idleCpu };
  } finally {
    await second.kill();
  }
}

/** On a slow machine the worker may need longer for a thousand threads than the client waits for a response. Retries use the same id. */
async function approvePatiently(thread: Thread, id: string): Promise<void> {
  const deadline = now() + 300_000;
  for (;;) {
    try {
      return void (await thread.approve(id, { by: 'bench', id: `approve-${id}` }));
    } catch (error) {
      if ((error as { code?: string }).code !== 'no-worker' || now() > deadline) throw error;
    }
  }
}

const cpuWindowMs = 10_000;

async function cpuOf(worker: BenchWorker): Promise<number> {
  // Let garbage collection and caches settle after the start, which are not part of the cost of waiting.
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  const { cpuMs: before } = await worker.spent();
  await new Promise((resolve) => setTimeout(resolve, cpuWindowMs));
  const { cpuMs: after } = await worker.spent();
  return ((after - before) / cpuWindowMs) * 100;
}

/** Runs `work` for 0 to `count` - 1, `atOnce` at a time. */
async function inTurns(count: number, atOnce: number, work: (i: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async () => {
    for (let i = next++; i < count; i = next++) await work(i);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, count) }, lane));
}

async function pendingOf(thread: Thread): Promise<string> {
  const deadline = now() + 60_000;
  while (now() < deadline) {
    const [call] = await thread.pending().catch(() => []);
    if (call) return call.toolCallId;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`thread ${thread.id} has no pending call after a minute`);
}
