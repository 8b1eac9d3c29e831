import { LonghaulError, type Thread } from '../src/client';
import type { StatusView } from '../src/contract/thread';
import { type Ask, ask, type Crowd, decide } from './crowd';
import { type JournalLine, journaled } from './journal';
import { readLines } from './ledger';
import type { Deed, ThreadPlan } from './plan';
import { random } from './random';

/** The people of one thread: they start it, decide on pending calls, send messages, and control it. Continues where a killed process stopped. */
export async function accompany(crowd: Crowd, plan: ThreadPlan, stopped: () => boolean): Promise<void> {
  const { id } = plan;
  const before = readLines<JournalLine>(crowd.journal).filter(({ thread }) => thread === id);
  const rng = random(crowd.seed, id, 'people');
  const startedAt = before[0]?.at ?? Date.now();
  while (!before.some(({ kind, outcome }) => kind === 'start' && outcome === 'accepted')) {
    if (stopped()) return;
    const first = await journaled(crowd.journal, { thread: id, kind: 'start', via: 'update', name: 'start' }, () => start(crowd, plan));
    if (first) break;
    await crowd.pause(500);
  }
  if (rng.chance(0.05)) await start(crowd, plan).catch(() => undefined);
  const thread = crowd.client.attach(id);
  const deeds = plan.deeds.map((deed, n) => ({ ...deed, n })).filter(({ n }) => !before.some(({ deed }) => deed === n));
  let nextRun = Math.max(1, ...before.flatMap(({ run, outcome }) => (run === undefined ? [] : [outcome === 'accepted' ? run + 1 : run])));
  const tried = new Map<string, { at: number; round: number }>();
  for (let misses = 0; !stopped(); ) {
    // A worker without a cache replays the thread for each query.
    await crowd.pause(crowd.calm ? 500 : rng.between(1_500, 4_500));
    const due = crowd.calm ? [] : deeds.filter(({ at }) => startedAt + at <= Date.now());
    for (const { n, what } of due) {
      deeds.splice(
        deeds.findIndex((deed) => deed.n === n),
        1,
      );
      void act(crowd, plan, what, n).catch(() => undefined);
    }
    const now = await look(thread);
    if (now === 'over') return;
    if (!now) {
      if (++misses > 200) return;
      continue;
    }
    if (now.paused && (crowd.calm || rng.chance(0.5))) await control(crowd, id, 'resume');
    for (const call of now.pending) {
      const last = tried.get(call.toolCallId);
      const patienceMs = crowd.calm ? 1_000 : 2_500;
      if (last && Date.now() - last.at < patienceMs) continue;
      const round = (last?.round ?? -1) + 1;
      tried.set(call.toolCallId, { at: Date.now(), round });
      void decide(crowd, id, call, round).catch(() => undefined);
    }
    if (now.status !== 'idle' || now.queued > 0) continue;
    if (nextRun < plan.runs && !crowd.calm) {
      if (await say(crowd, plan, nextRun)) nextRun++;
    } else if (rng.chance(0.7)) {
      await ask(crowd, { thread: id, kind: 'control', name: 'close' }, (mark) => ({ reason: mark }));
    } else return;
  }
}

async function start({ client }: Crowd, { id, agent, mode }: ThreadPlan): Promise<void> {
  await client.start(agent, `Please go 0 of ${id}.`, { id, mode });
}

function say(crowd: Crowd, { id }: ThreadPlan, run: number): Promise<boolean> {
  const messageId = `go-${run}`;
  return ask(crowd, { thread: id, kind: 'message', name: 'sendMessage', messageId, mark: messageId, run }, () => ({
    input: `And now go ${run}.`,
    id: messageId,
  }));
}

function control(crowd: Crowd, thread: string, name: Ask['name'], more: object = {}, deed?: number): Promise<boolean> {
  return ask(crowd, { thread, kind: 'control', name, ...(deed !== undefined && { deed }) }, (mark) => ({
    reason: mark,
    by: 'ann',
    ...more,
  }));
}

async function look(thread: Thread): Promise<StatusView | 'over' | undefined> {
  try {
    const now = await thread.status();
    const ended = ['completed', 'failed', 'incomplete', 'cancelled', 'expired'].includes(now.status);
    return now.mode === 'one-shot' && ended ? 'over' : now.mode === 'conversation' && (await isClosed(thread)) ? 'over' : now;
  } catch (error) {
    if (error instanceof LonghaulError && error.code === 'thread-closed') return 'over';
    return undefined;
  }
}

async function isClosed({ client, id }: Thread): Promise<boolean> {
  return (await client.temporal.workflow.getHandle(id).describe()).status.name !== 'RUNNING';
}

/** Carries out one of the plan's deeds: what people do besides answering pending calls. */
export async function act(crowd: Crowd, { id }: ThreadPlan, what: Deed, deed: number): Promise<void> {
  const rng = random(crowd.seed, id, 'deed', deed);
  const messageId = `said-${deed}`;
  const send = (more: object = {}, twice = false) =>
    ask(
      crowd,
      { thread: id, kind: 'message', name: 'sendMessage', messageId, mark: messageId, deed, twice, signal: rng.chance(0.3) },
      () => ({ input: `By the way, ${messageId}.`, id: messageId, ...more }),
    );
  switch (what) {
    case 'send':
      return void (await send());
    case 'twice':
      return void (await send({}, true));
    case 'now':
      return void (await send({ delivery: 'now' }));
    case 'later':
      return void (await send({ delivery: 'after-run' }));
    case 'pause': {
      await control(crowd, id, 'pause', {}, deed);
      await crowd.pause(rng.between(200, 3_000));
      return void (await control(crowd, id, 'resume'));
    }
    case 'cancel':
    case 'compact':
    case 'close':
      return void (await control(crowd, id, what, what === 'close' && rng.chance(0.5) ? { cancel: true } : {}, deed));
    case 'nonsense':
      return void (await ask(crowd, { thread: id, kind: 'decision', name: 'approve', signal: true, nonsense: true, deed }, () => ({
        toolCallId: 7,
      })));
    case 'stale':
      return void (await ask(
        crowd,
        { thread: id, kind: 'decision', name: 'approve', approved: true, nonsense: true, toolCallId: 'call_none', deed },
        (mark) => ({
          toolCallId: 'call_none',
          approved: true,
          by: 'ann',
          reason: mark,
        }),
      ));
  }
}
