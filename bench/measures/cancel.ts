import { now } from '../numbers';
import type { Rig } from '../rig';

/** From `cancel` to the end of the HTTP connection of a streamed answer, as the model server sees it. Milliseconds. */
export async function measureCancels(rig: Rig, count: number, atOnce = 5): Promise<number[]> {
  const worker = await rig.startWorker('longhaul');
  const lasted: number[] = [];
  const one = async () => {
    const id = await worker.begin({ turns: 3, hold: 2 });
    await rig.arrived(id, 2);
    // At no particular point between two heartbeats.
    await new Promise((resolve) => setTimeout(resolve, 500 + Math.random() * 1_000));
    const asked = now();
    await rig.client.attach(id).cancel();
    lasted.push((await rig.closed(id)) - asked);
  };
  try {
    while (lasted.length < count) await Promise.all(Array.from({ length: Math.min(atOnce, count - lasted.length) }, one));
    return lasted;
  } finally {
    await worker.kill();
  }
}
