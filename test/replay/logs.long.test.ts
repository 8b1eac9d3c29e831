import type { Thread } from '../../src/client';
import { type DurableEvent, isDurable } from '../../src/core/event';
import { differences, type Logs, readLogs } from '../support/histories';
import { type Rig, startRig, until } from '../support/rig';
import { agents, replyTo, representativeRuns } from './representative-runs';

/** Runs that stop in the middle, so that a worker holds them in its cache when their logs are read. */
const open: Record<string, string> = {
  approvals: 'representative',
  'two-approvers': 'careful',
  question: 'careful',
  'handed-out': 'giving',
};

// Fifty threads start concurrently.
const client = { requestTimeoutMs: 60_000 };

let usual: Rig;
let short: Rig;
/** A provider that compacts replies to one run only. */
const ordinary = Object.entries(representativeRuns).filter(([, { compacts }]) => !compacts);
beforeAll(async () => {
  usual = await startRig({ script: replyTo, agents, client });
  // Executions of a few turns each: what was carried over is read from the next one.
  short = await startRig({ script: replyTo, agents, client, worker: { continueAsNewAfter: { events: 40, bytes: 4_000_000 } } });
});

/** The part of an event that never changes. Its message may be taken in, or be compacted, afterwards. */
const settled = ({ seq, type, timestamp, threadId, runId }: DurableEvent) => JSON.stringify({ seq, type, timestamp, threadId, runId });

/** A run to its end, with each event as a reader got it while it happened, from a worker that held the thread. */
async function watched(rig: Rig, name: string): Promise<{ thread: Thread; seen: string[] }> {
  const { act, mode, agent = 'representative' } = representativeRuns[name] ?? {};
  const thread = await rig.client.start(agent, name, { ...(mode && { mode }) });
  const handle = rig.client.temporal.workflow.getHandle(thread.id);
  const seen: string[] = [];
  const isClosed = async () => (await handle.describe()).status.name !== 'RUNNING';
  const reading = until(
    async () => {
      const closed = await isClosed();
      // Ends with each run of a conversation.
      for await (const event of thread.events({ from: seen.length + 1, live: false })) {
        if (isDurable(event)) seen.push(settled(event));
      }
      return closed;
    },
    (closed) => closed,
    90_000,
  );
  await Promise.all([act?.(thread), reading]);
  return { thread, seen };
}

/** A run up to the point where it waits for a person. */
async function waiting(rig: Rig, name: string): Promise<Thread> {
  const thread = await rig.client.start(open[name] as string, name);
  await until(
    () => thread.status(),
    ({ status }) => status === 'requires_action',
  );
  return thread;
}

async function restart(rig: Rig, options: Parameters<Rig['addWorker']>[0] = {}): Promise<void> {
  await rig.workers.at(-1)?.stop();
  await rig.addWorker(options);
}

test('after a restart of the worker every log is byte for byte the same, including its times, with and without a cache', async () => {
  const runs = ordinary.map(([name, { short: isShort }]) => watched(isShort ? short : usual, name));
  const rests = Object.keys(open).flatMap((name) => [waiting(usual, name), waiting(short, name)]);
  const seen: Logs = new Map((await Promise.all(runs)).map((run) => [run.thread.id, run.seen]));
  // The least that a run has: its request, its start, its message and its end, where a cancel came before the first turn.
  expect([...seen].filter(([, events]) => events.length < 4)).toEqual([]);
  const resting = (await Promise.all(rests)).map(({ id }) => id);
  const first = await readLogs(usual.client, [...seen.keys(), ...resting]);
  const settledOf = (logs: Logs): Logs => new Map([...logs].map(([id, log]) => [id, log.map((event) => settled(JSON.parse(event)))]));
  expect(differences(seen, settledOf(first))).toEqual([]);

  for (const options of [{ transcriptCacheSize: 0, temporal: { maxCachedWorkflows: 0 } }, {}]) {
    await Promise.all([restart(usual, options), restart(short, options)]);
    const later = await readLogs(usual.client, first.keys());
    expect(differences(first, later)).toEqual([]);
    expect([...later].map(([id, log]) => [id, log.length])).toEqual([...first].map(([id, log]) => [id, log.length]));
  }
  for (const id of resting) await usual.client.attach(id).cancel();
}, 240_000);

test('the comparison finds an event that differs, and one that is missing', () => {
  const before: Logs = new Map([['t', ['{"seq":1,"timestamp":"a"}', '{"seq":2}']]]);
  expect(differences(before, new Map([['t', ['{"seq":1,"timestamp":"b"}']]]))).toEqual([
    'thread t, event 1: first {"seq":1,"timestamp":"a"}, later {"seq":1,"timestamp":"b"}',
    'thread t, event 2: first {"seq":2}, later nothing',
  ]);
  expect(differences(before, new Map([['t', ['{"seq":1,"timestamp":"a"}', '{"seq":2}', '{"seq":3}']]]))).toEqual([]);
});
