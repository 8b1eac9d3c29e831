import type { BenchWorker, Rig } from '../rig';
import { requestCounts } from '../server-metrics';

/** Counts of what Temporal Cloud bills as an action, by kind. */
export interface Actions {
  /** Starts of workflows, and their continuations as new. */
  starts: number;
  activityAttempts: number;
  /** Heartbeats that reached the server. */
  heartbeats: number;
  timers: number;
  signals: number;
  updates: number;
  queries: number;
  attributeUpserts: number;
}

export interface Billed {
  /** A run of ten turns with a tool call each, and an answer. Without readers. */
  run: Record<'longhaul' | 'floor', Actions>;
  /** What each further turn adds. */
  turn: Record<'longhaul' | 'floor', Actions>;
  /** A run whose one answer is streamed for ten seconds (not in the quick bench). */
  call: Record<'nobody' | 'slowerTakeover' | 'oneReader', Actions>;
}

const turns = 10;

export async function measureActions(rig: Rig, answerMs: number): Promise<Billed> {
  const ofRuns = async (contender: 'longhaul' | 'floor') => {
    const worker = await rig.startWorker(contender);
    try {
      const one = await billed(rig, () => worker.finish({ turns: 1 }));
      const ten = await billed(rig, () => worker.finish({ turns }));
      return { run: ten, turn: mapped((kind) => (ten[kind] - one[kind]) / (turns - 1)) };
    } finally {
      await worker.kill();
    }
  };
  const longhaul = await ofRuns('longhaul');
  const floor = await ofRuns('floor');
  return {
    run: { longhaul: longhaul.run, floor: floor.run },
    turn: { longhaul: longhaul.turn, floor: floor.turn },
    call: {
      nobody: await ofCall(rig, answerMs, {}),
      slowerTakeover: await ofCall(rig, answerMs, { takeoverMs: 8_000 }),
      oneReader: await ofCall(rig, answerMs, {}, true),
    },
  };
}

async function ofCall(rig: Rig, lastMs: number, options: { takeoverMs?: number }, isRead = false): Promise<Actions> {
  const worker = await rig.startWorker('longhaul', { options });
  try {
    return await billed(rig, () => (isRead ? readToEnd(rig, worker, lastMs) : worker.finish({ turns: 0, lastMs })));
  } finally {
    await worker.kill();
  }
}

async function readToEnd({ client }: Rig, worker: BenchWorker, lastMs: number): Promise<string> {
  const id = await worker.begin({ turns: 0, lastMs });
  for await (const _ of client.attach(id).events());
  return id;
}

/** Takes requests from the server's metrics, and commands from the history. */
async function billed(rig: Rig, session: () => Promise<string>): Promise<Actions> {
  const { client, server } = rig;
  const counts = () => requestCounts(server.metricsUrl ?? '', client.temporal.workflow);
  const before = await counts();
  const id = await session();
  const after = await counts();
  const asked = (operation: string) => (after[operation] ?? 0) - (before[operation] ?? 0);
  const events = (await client.temporal.workflow.getHandle(id).fetchHistory()).events ?? [];
  const commands = (kind: keyof (typeof events)[number]) => events.filter((event) => event[kind]).length;
  return {
    starts: asked('StartWorkflowExecution') + commands('workflowExecutionContinuedAsNewEventAttributes'),
    activityAttempts: events.reduce((sum, { activityTaskStartedEventAttributes: started }) => sum + (started?.attempt ?? 0), 0),
    heartbeats: asked('RecordActivityTaskHeartbeat'),
    timers: commands('timerStartedEventAttributes'),
    signals: asked('SignalWorkflowExecution') + asked('SignalWithStartWorkflowExecution'),
    updates: asked('UpdateWorkflowExecution'),
    queries: asked('QueryWorkflow'),
    attributeUpserts: commands('upsertWorkflowSearchAttributesEventAttributes'),
  };
}

export const actionKinds = [
  'starts',
  'activityAttempts',
  'heartbeats',
  'timers',
  'signals',
  'updates',
  'queries',
  'attributeUpserts',
] as const satisfies (keyof Actions)[];

function mapped(value: (kind: keyof Actions) => number): Actions {
  return Object.fromEntries(actionKinds.map((kind) => [kind, value(kind)])) as unknown as Actions;
}

export function sumOf(actions: Actions): number {
  return actionKinds.reduce((sum, kind) => sum + actions[kind], 0);
}
