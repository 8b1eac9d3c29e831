import { now } from '../numbers';
import type { BenchWorker, Rig } from '../rig';

/**
 * Milliseconds from `cancel` until the model server sees the HTTP connection of a streamed answer close. `same`: the step runs in the worker
 * that has the thread; `elsewhere`: it runs in another process, without a shared stream bus.
 */
export interface Cancels {
  same: number[];
  elsewhere: number[];
}

const atOnce = 5;

export async function measureCancels(rig: Rig, count: number): Promise<Cancels> {
  return { same: await inOneProcess(rig, count), elsewhere: await inTwo(rig, count) };
}

async function inOneProcess(rig: Rig, count: number): Promise<number[]> {
  const worker = await rig.startWorker('longhaul');
  const lasted: number[] = [];
  try {
    while (lasted.length < count) {
      const ids = await Promise.all(Array.from({ length: Math.min(atOnce, count - lasted.length) }, () => begin(worker)));
      lasted.push(...(await Promise.all(ids.map((id) => cancel(rig, id)))));
    }
    return lasted;
  } finally {
    await worker.kill();
  }
}

/** The threads start on a worker that runs no steps, and stay in its cache. A second worker then runs their steps. */
async function inTwo(rig: Rig, count: number): Promise<number[]> {
  const threads = await rig.startWorker('longhaul', { options: { stepsElsewhere: true } });
  const workers = [threads];
  try {
    const ids = await Promise.all(Array.from({ length: count }, () => begin(threads)));
    workers.push(await rig.startWorker('longhaul', { taskQueue: threads.taskQueue }));
    const lasted: number[] = [];
    for (let i = 0; i < count; i += atOnce) lasted.push(...(await Promise.all(ids.slice(i, i + atOnce).map((id) => cancel(rig, id)))));
    return lasted;
  } finally {
    await Promise.all(workers.map((worker) => worker.kill()));
  }
}

function begin(worker: BenchWorker): Promise<string> {
  return worker.begin({ turns: 3, hold: 2 });
}

async function cancel(rig: Rig, id: string): Promise<number> {
  await rig.arrived(id, 2);
  // A random point between two heartbeats.
  await new Promise((resolve) => setTimeout(resolve, 500 + Math.random() * 2_500));
  const asked = now();
  await rig.client.attach(id).cancel();
  return (await rig.closed(id)) - asked;
}
