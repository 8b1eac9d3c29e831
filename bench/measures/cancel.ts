import { now } from '../numbers';
import type { BenchWorker, Rig } from '../rig';

/**
 * From `cancel` to the end of the HTTP connection of a streamed answer, as the model server sees it. Milliseconds. `same`: the step runs in
 * the worker that holds the thread; `elsewhere`: in another process, and no bus connects them.
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

/** The threads begin where no step is carried out, and stay in that worker's cache; then comes one that carries their steps out. */
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
  // At no particular point between two heartbeats.
  await new Promise((resolve) => setTimeout(resolve, 500 + Math.random() * 2_500));
  const asked = now();
  await rig.client.attach(id).cancel();
  return (await rig.closed(id)) - asked;
}
