import { join } from 'node:path';
import { LonghaulClient } from '../src/client';
import type { Crowd } from './crowd';
import { begunIn } from './journal';
import { encodingIn } from './keys';
import { append, readLines } from './ledger';
import { accompany } from './life';
import { makePlan } from './plan';
import { read } from './readers';
import { speak } from './talk';

/** Arguments of a process with the people and readers of a part of the threads. It may be killed in the middle of a request. */
export interface PeopleArguments {
  seed: number;
  minutes: number;
  kills: number;
  workers: number;
  folder: string;
  address: string;
  taskQueue: string;
  crowd: number;
  crowds: number;
  /** When the storm began, in epoch milliseconds. */
  began: number;
}

/** How many threads one process handles at the same time. */
const most = 20;

const given = JSON.parse(process.argv[2] ?? '{}') as PeopleArguments;
const wakers = new Set<() => void>();
let stopped = false;
let atWork = 0;
let crowd: Crowd | undefined;

async function connect(): Promise<LonghaulClient> {
  for (;;) {
    try {
      return await LonghaulClient.connect({
        connection: { address: given.address },
        taskQueue: given.taskQueue,
        encoding: encodingIn(given.folder),
      });
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    const woken = () => {
      clearTimeout(timer);
      wakers.delete(woken);
      resolve();
    };
    const timer = setTimeout(woken, ms);
    wakers.add(woken);
  });
}

function wake(): void {
  for (const woken of [...wakers]) woken();
}

async function main(): Promise<void> {
  const client = await connect();
  const journal = join(given.folder, `journal-${given.crowd}.jsonl`);
  const readersFile = join(given.folder, `readers-${given.crowd}.jsonl`);
  crowd = { client, seed: given.seed, journal, readersFile, calm: false, pause };
  const mine = makePlan(given).threads.filter((_, i) => i % given.crowds === given.crowd);
  const over = () => stopped;
  // Threads that an earlier process, which was killed, has started.
  const begun = begunIn(given.folder);
  const leftFile = join(given.folder, `left-${given.crowd}.jsonl`);
  const left = new Set(readLines<{ thread: string }>(leftFile).map(({ thread }) => thread));
  for (const plan of mine) {
    if (left.has(plan.id)) continue;
    while (given.began + plan.at > Date.now() && !crowd.calm) await pause(given.began + plan.at - Date.now());
    // Limits the load on a slow machine.
    while (atWork >= most && !crowd.calm) await pause(200);
    // When the faults are over, start no new threads, because they would meet none.
    if (crowd.calm && !begun.has(plan.id)) continue;
    atWork++;
    const readers = Array.from({ length: plan.readers }, (_, reader) => read(crowd as Crowd, plan, reader, over).catch(() => undefined));
    const accompanied = accompany(crowd, plan, over).then(() => over() || append(leftFile, { thread: plan.id }));
    void Promise.all([accompanied, ...readers]).finally(() => atWork--);
  }
}

speak({
  /** A fault is about to happen: all waiting people act now. */
  burst: wake,
  calm: () => {
    if (crowd) crowd.calm = true;
    wake();
  },
  busy: () => atWork,
  stop: () => {
    stopped = true;
    wake();
  },
});
main().catch((error) => {
  console.error(error);
  process.exit(1);
});
