import type { Thread } from '../../client';
import { type DurableEvent, isDurable } from '../../core/event';
import type { Content } from '../../core/message';
import type { Child } from './channel';
import type { Stops } from './marks';
import type { Place, Way } from './points';
import type { Stage } from './stage';

/** One conversation, as each run has it. */
export interface Conversation {
  agent: string;
  input: Content;
  start: Parameters<Stage['client']['start']>[2];
  talk: ((thread: Thread) => Promise<unknown>) | undefined;
  /** How long a run may take, in milliseconds. */
  timeoutMs: number;
}

/** One run before it is judged. */
export interface PlayedRun {
  threadId: string;
  events: DurableEvent[];
  /** The keys of the marks that it came to, in order. */
  keys: readonly string[];
  /** Whether it came to its place. */
  reached: boolean;
  /** What `talk` threw. */
  talkError?: string;
}

/** Workers that nothing happens to: they run what has no fault, and take over from those that are killed. */
export interface Bystander {
  child: Child;
  /** By thread. */
  keys: Map<string, string[]>;
  /** Resolves when the thread has come to a mark in this process. */
  seen(threadId: string): Promise<void>;
}

export function startBystander(stage: Stage): Bystander {
  const child = stage.newProcess();
  const keys = new Map<string, string[]>();
  const waiting = new Map<string, () => void>();
  child.onReport('reached', (payload) => {
    const { threadId, key } = payload as { threadId: string; key: string };
    keys.set(threadId, [...(keys.get(threadId) ?? []), key]);
    waiting.get(threadId)?.();
  });
  const seen = (threadId: string) => new Promise<void>((resolve) => (keys.has(threadId) ? resolve() : void waiting.set(threadId, resolve)));
  return { child, keys, seen };
}

/** Runs the conversation a few times at once, without faults. */
export async function playClean(stage: Stage, bystander: Bystander, conversation: Conversation, threadIds: readonly string[]) {
  const taskQueue = stage.newTaskQueue();
  await stage.beginWorker(bystander.child, taskQueue);
  const runs = await startRuns(stage, conversation, taskQueue, threadIds);
  const played = await Promise.all(runs.map((run) => finish(stage, run, bystander)));
  bystander.child.tell('end', taskQueue);
  return played;
}

/** Runs the conversation once for each place, all on one worker, which is killed or frozen when each run stands still at its place. */
export async function playStruck(
  { stage, bystander, conversation }: { stage: Stage; bystander: Bystander; conversation: Conversation },
  victim: Child,
  way: Way,
  places: ReadonlyMap<string, Place>,
): Promise<PlayedRun[]> {
  const taskQueue = stage.newTaskQueue();
  const stops: Stops = Object.fromEntries([...places].map(([threadId, { stop }]) => [threadId, stop]));
  const arrivals = awaitArrivals(victim);
  await stage.beginWorker(victim, taskQueue, stops);
  const runs = await startRuns(stage, conversation, taskQueue, [...places.keys()]);
  const reached = await Promise.all(
    runs.map(({ thread, over }) => Promise.race([arrivals(thread.id), over.then(() => false), wait(arriveMs).then(() => false)])),
  );

  victim.signal(way === 'kill' ? 'SIGKILL' : 'SIGSTOP');
  await stage.beginWorker(bystander.child, taskQueue);
  if (way === 'freeze') {
    // It gets this when it continues: then its threads go on from where they stand.
    victim.tell('release');
    await Promise.all(runs.map(({ thread, over }) => Promise.race([bystander.seen(thread.id), over])));
    victim.signal('SIGCONT');
  }
  await Promise.all(runs.map(({ over }) => over));
  if (way === 'freeze') await Promise.race([victim.ask('settle'), wait(settleMs)]);
  await victim.kill();
  const played = await Promise.all(runs.map((run) => finish(stage, run, bystander)));
  bystander.child.tell('end', taskQueue);
  return played.map((run, at) => ({ ...run, reached: reached[at] ?? false }));
}

/** How long a run may take to come to its place. */
const arriveMs = 60_000;

/** How long the calls of a process that was frozen may take to end, after all runs have ended. */
const settleMs = 20_000;

function awaitArrivals(victim: Child): (threadId: string) => Promise<boolean> {
  const arrived = new Set<string>();
  const waiting = new Map<string, () => void>();
  victim.onReport('arrived', (threadId) => {
    arrived.add(threadId as string);
    waiting.get(threadId as string)?.();
  });
  return (threadId) => new Promise((resolve) => (arrived.has(threadId) ? resolve(true) : void waiting.set(threadId, () => resolve(true))));
}

interface Run {
  thread: Thread;
  /** Resolves when the run has ended, or may not take longer. */
  over: Promise<{ late?: true; talkError?: string }>;
}

async function startRuns(
  { client }: Stage,
  { agent, input, start, talk, timeoutMs }: Conversation,
  taskQueue: string,
  threadIds: readonly string[],
): Promise<Run[]> {
  return Promise.all(
    threadIds.map(async (id) => {
      const thread = await client.start(agent, input, { ...start, id, taskQueue });
      const talking = (async () => talk?.(thread))().then(
        () => ({}),
        (error: Error) => ({ talkError: error.message }),
      );
      // A run that fails has ended, too.
      const ending = talk ? talking.then(() => thread.result()) : client.temporal.workflow.getHandle(id).result();
      const over = ending.catch(() => undefined).then(() => talking);
      return { thread, over: Promise.race([over, wait(timeoutMs).then(() => ({ late: true as const }))]) };
    }),
  );
}

/** The log of a run that is still going on is read as far as it is. */
const readLateMs = 5_000;

async function finish(stage: Stage, { thread, over }: Run, bystander: Bystander): Promise<PlayedRun> {
  const { late = false, talkError } = await over;
  const events: DurableEvent[] = [];
  const signal = late ? AbortSignal.timeout(readLateMs) : undefined;
  for await (const event of thread.events({ live: false, ...(signal && { signal }) })) if (isDurable(event)) events.push(event);
  // A conversation is still open, and a run that is late would go on for ever.
  const handle = stage.client.temporal.workflow.getHandle(thread.id);
  await handle.terminate('crashEverywhere has read its log').catch(() => undefined);
  const keys = bystander.keys.get(thread.id) ?? [];
  return { threadId: thread.id, events, keys, reached: true, ...(talkError !== undefined && { talkError }) };
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms).unref());
}
