import { now } from '../numbers';
import type { Contender, Rig } from '../rig';

export interface Resume {
  contender: Contender;
  afterTurns: number;
  /** From the start of the new process until it polls. Milliseconds, as all here. */
  startMs: number;
  /** From then until the lost model request is made again. */
  requestMs: number;
  /** And until the one after it: the whole history has been replayed by then. */
  nextTurnMs: number;
}

/**
 * The worker is killed in the model call after `afterTurns` turns; no other is there until the server has given that call up. Then a new
 * process is started, which knows nothing. (How long the server takes to notice is measured by `takeover`.)
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
    // Its back-off is over as well, so that the time to come is the new worker's alone.
    const due = Number(activity?.scheduledTime?.seconds ?? 0) * 1_000 + 1_500;
    if (activity?.state === scheduled && Number(activity.attempt) > 1 && Date.now() > due) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`the server did not give up on the model call of ${id}`);
}

/** From SIGKILL of the worker in a model call until another worker, which is up already, makes the request again. Milliseconds. */
export async function measureTakeover(rig: Rig): Promise<number> {
  const first = await rig.startWorker('longhaul');
  const id = await first.begin({ turns: 6, hold: 4 });
  await rig.arrived(id, 4);
  const second = await rig.startWorker('longhaul', { taskQueue: first.taskQueue });
  try {
    // Into the steady state of heartbeats, at no particular point of it.
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
