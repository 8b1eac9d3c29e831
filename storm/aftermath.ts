import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { writeHistoryFile } from '../src/testing/history-file';
import type { Evidence, ThreadEvidence, Violation } from './check/evidence';
import { executionOf, type History, historiesOf, logOf, lookAt, messagesOf, openClient, words } from './check/gather';
import { idleWorkers, stuckWorkers } from './check/processes';
import { unrest } from './check/rest';
import { begunIn, readJournal } from './journal';
import { keysIn } from './keys';
import { type LedgerLine, ledgerFile, readEffects, readLines } from './ledger';
import type { Plan, ThreadPlan } from './plan';
import type { ReaderLine } from './reader-line';
import { replay } from './replay';
import { type Counts, countsOf } from './report';
import type { Rig } from './rig';

/** A thread without progress for `stuckMs` is stuck. A thread that makes progress is only slow; the storm waits at most `calmMs` for it. */
const stuckMs = 120_000;
const calmMs = 900_000;

export interface Aftermath {
  evidence: Evidence;
  counts: Counts;
  violations: Violation[];
  /** Writes the evidence about the affected threads to files. */
  keep(violations: readonly Violation[]): void;
}

/** Runs after the faults: waits until every thread is idle or closed, and then collects the evidence. */
export async function aftermath(rig: Rig, plan: Plan, log: (line: string) => void): Promise<Aftermath> {
  const keys = keysIn(rig.folder);
  const client = await openClient(rig.address, keys);
  rig.pool.calm();
  rig.tellPeople('calm');
  const threads = await calmDown(client, () => plan.threads.filter(({ id }) => begunIn(rig.folder).has(id)), log);
  const pids = () => rig.lines.flatMap((_, slot) => rig.pool.pidOf(slot) ?? []);
  const idle = await idleWorkers(client, rig.taskQueue, pids);
  const readAt = Date.now();
  rig.tellPeople('stop');

  const histories = new Map<string, { runId: string; history: History }[]>();
  await each(threads, 6, async (thread) => {
    if (thread.status === 'MISSING') return;
    try {
      const all = await historiesOf(client, thread.id);
      histories.set(thread.id, all);
      thread.executions = all.map((one) => executionOf(one, keys));
      thread.log = await logOf(client, thread.id);
      thread.messages = await messagesOf(client, thread.id);
    } catch (error) {
      thread.unreadable = words(error);
    }
  });
  log(
    `read ${threads.length} threads, ${threads.reduce((sum, { executions }) => sum + executions.length, 0)} executions in ${Date.now() - readAt} ms`,
  );

  const all = [...histories].flatMap(([workflowId, list]) => list.map(({ runId, history }) => ({ workflowId, runId, history })));
  const { replayed, violations } = await replay(rig, all);
  log(`replayed ${replayed} histories`);
  await rig.pool.renew(0);
  const differing = await compareLogs(client, threads);
  log('read every log again, from workers with empty caches');
  await client.connection.close();

  const evidence = { threads, carryAfter: plan.events, ...leftBehind(rig.folder) };
  const counts: Counts = {
    ...countsOf(evidence, rig.pool.ends),
    'histories replayed': replayed,
    'server kills': rig.serverKills(),
    'client kills': rig.peopleKills(),
  };
  return {
    evidence,
    counts,
    violations: [...violations, ...differing, ...idle, ...stuckWorkers(rig.pool.ends)],
    keep: (broken) => keep(rig.folder, broken, evidence, histories),
  };
}

/** Waits until every thread is idle or closed, or until the time is over; the rules then report the threads that are not. */
async function calmDown(client: Client, begun: () => ThreadPlan[], log: (line: string) => void): Promise<ThreadEvidence[]> {
  const began = Date.now();
  const done = new Map<string, ThreadEvidence>();
  const progress = new Map<string, { length: number; at: number }>();
  for (;;) {
    // A thread may have been started just as the storm ended.
    const threads = begun();
    const open = threads.filter(({ id }) => !done.has(id));
    const seen: ThreadEvidence[] = [];
    await each(open, 8, async (thread) => {
      const now = await lookAt(client, thread).catch(
        (error): ThreadEvidence => ({
          ...{ id: thread.id, plan: thread, status: 'UNKNOWN', taskAttempt: 0, executions: [], messages: [], unreadable: words(error) },
        }),
      );
      seen.push(now);
      if (progress.get(thread.id)?.length !== now.length) progress.set(thread.id, { length: now.length ?? 0, at: Date.now() });
      if (now.status !== 'MISSING' && now.status !== 'UNKNOWN' && !unrest(now)) done.set(thread.id, now);
    });
    const left = threads.length - done.size;
    const waits = open.some(({ id }) => !done.has(id) && Date.now() - (progress.get(id)?.at ?? began) < stuckMs);
    const late = !waits || Date.now() - began > calmMs;
    if (left === 0 || late) {
      log(`calm: ${left} of ${threads.length} threads neither idle nor closed after ${((Date.now() - began) / 1_000).toFixed(0)} s`);
      const last = new Map(seen.map((thread) => [thread.id, thread]));
      return threads.flatMap(({ id }) => done.get(id) ?? last.get(id) ?? []);
    }
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
}

/** Checks that a log reads the same from workers with empty caches. */
async function compareLogs(client: Client, threads: readonly ThreadEvidence[]): Promise<Violation[]> {
  const found: Violation[] = [];
  await each(threads, 6, async ({ id, log }) => {
    if (!log) return;
    try {
      const again = await logOf(client, id);
      const at = log.findIndex((event, i) => JSON.stringify(event) !== JSON.stringify(again[i]));
      if (at === -1 && again.length === log.length) return;
      const what = `event ${at + 1} of ${log.length}, ${again.length}: ${JSON.stringify(log[at])?.slice(0, 300)} and then ${JSON.stringify(again[at])?.slice(0, 300)}`;
      found.push({ rule: 'log differs', thread: id, what });
    } catch (error) {
      found.push({ rule: 'unreadable', thread: id, what: `from a worker with an empty cache: ${words(error)}` });
    }
  });
  return found;
}

function leftBehind(folder: string): Pick<Evidence, 'ledger' | 'effects' | 'journal' | 'readers' | 'model'> {
  const files = readdirSync(folder);
  const all = <T>(prefix: string) => files.filter((name) => name.startsWith(prefix)).flatMap((name) => readLines<T>(join(folder, name)));
  return {
    ledger: readLines<LedgerLine>(ledgerFile(folder)),
    effects: readEffects(folder),
    journal: readJournal(folder),
    readers: all<ReaderLine>('readers-'),
    model: readLines(join(folder, 'model.jsonl')),
  };
}

function keep(
  folder: string,
  broken: readonly Violation[],
  { threads, ...rest }: Evidence,
  histories: Map<string, { runId: string; history: History }[]>,
): void {
  if (broken.length === 0) return;
  const out = join(folder, 'broken');
  mkdirSync(out, { recursive: true });
  writeFileSync(join(out, 'violations.json'), JSON.stringify(broken, null, 1));
  for (const id of new Set(broken.map(({ thread }) => thread).filter(Boolean))) {
    const of = <T extends { thread: string }>(lines: readonly T[]) => lines.filter(({ thread }) => thread === id);
    const { ledger, journal, readers, model } = rest;
    const thread = threads.find((one) => one.id === id);
    writeFileSync(
      join(out, `${id}.json`),
      JSON.stringify(
        { broken: of(broken), thread, ledger: of(ledger), journal: of(journal), readers: of(readers), model: of(model) },
        null,
        1,
      ),
    );
    for (const { history } of histories.get(id) ?? []) writeHistoryFile(out, { workflowId: id, history: history as never });
  }
}

async function each<T>(list: readonly T[], atOnce: number, action: (one: T) => Promise<void>): Promise<void> {
  const left = [...list];
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (let one = left.shift(); one !== undefined; one = left.shift()) await action(one);
    }),
  );
}
