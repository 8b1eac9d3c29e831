import { now } from '../numbers';
import type { Contender, Rig } from '../rig';

export interface Resume {
  contender: Contender;
  afterTurns: number;
  /** From the start of the new process until it polls. All times are in milliseconds. */
  startMs: number;
  /** From then until the lost model request is made again. */
  requestMs: number;
  /** From then until the following model request, by which time the whole history has been replayed. */
  nextTurnMs: number;
}

/**
 * Kills the worker in the model call after `afterTurns` turns. No other worker runs until the server has given up that call. Then a new process
 * starts, with empty caches. (`takeover` measures how long the server takes to detect a dead worker.)
 */
export async function measureResume(rig: Rig, contender: Contender, afterTurns: number): Promise<Resume> {
  const first = await rig.startWorker(contender);
  const turn = afterTurns + 1;
  const id = await first.begin({ turns: afterTurns + 3, hold: turn }, { callTimeoutMs: 2_000 });
  await rig.arrived(id, turn);
  await first.kill();
  await untilGivenUp(rig, id);
  const begun = now();
  const second = await rig.startWorker(contender, { taskQueue: first.taskQueue });
  try {
    const ready = now();
    const again = await rig.arrived(id, turn, begun);
    const next = await rig.arrived(id, turn + 1, begun);
    return { contender, afterTurns, startMs: ready - begun, requestMs: again.at - ready, nextTurnMs: next.at - ready };
  } finally {
    await second.kill();
  }
}

const scheduled = 1;

async function untilGivenUp({ client }: Rig, id: string): Promise<void> {
  const deadline = now() + 60_000;
  while (now() < deadline) {
    const { raw } = await client.temporal.workflow.getHandle(id).describe();
    const [activity] = raw.pendingActivities ?? [];
    // Wait for the end of the back-off, too, so that the measured time is that of the new worker only.
    const due = Number(activity?.scheduledTime?.seconds ?? 0) * 1_000 + 1_500;
    if (activity?.state === scheduled && Number(activity.attempt) > 1 && Date.now() > due) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`the server did not give up on the model call of ${id}`);
}

/** Milliseconds from SIGKILL of the worker in a model call until another worker, which is already up, makes the request again. */
export async function measureTakeover(rig: Rig): Promise<number> {
  const first = await rig.startWorker('longhaul');
  const id = await first.begin({ turns: 6, hold: 4 });
  await rig.arrived(id, 4);
  const second = await rig.startWorker('longhaul', { taskQueue: first.taskQueue });
  try {
    // A random point between two heartbeats, once they are regular.
    await new Promise((resolve) => setTimeout(resolve, 2_500 + Math.random() * 2_500));
    const killed = now();
    await first.kill();
    const again = await rig.arrived(id, 4, killed);
    await rig.client.temporal.workflow.getHandle(id).result();
    return again.at - killed;
  } finally {
    await second.kill();
  }
}
