import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startTemporal, type TemporalServer } from '../scripts/temporal.js';
import { build, built, bundle } from './build';
import { addKey } from './keys';
import type { PeopleArguments } from './people';
import type { Plan } from './plan';
import { type Pool, startPool } from './pool';
import { type BadLine, startProxy } from './proxy';
import { type Child, startChild } from './talk';

export interface Rig {
  folder: string;
  codePath: string;
  /** The address of the server itself, without a proxy. */
  address: string;
  taskQueue: string;
  pool: Pool;
  /** A proxy for each worker slot. */
  lines: BadLine[];
  peopleLine: BadLine;
  /** Sends SIGKILL to the server, and restarts it with its data after `downMs`. */
  killServer(downMs: number): Promise<void>;
  serverKills(): number;
  peopleKills(): number;
  killPeople(crowd: number): void;
  tellPeople(what: 'burst' | 'calm' | 'stop'): void;
  /** Kills all processes, and resolves when the server has stopped. */
  stop(): Promise<void>;
}

export const crowds = 2;

/** Starts the server, the proxies, the model, the workers and the people; each except the proxies is a process of its own. */
export async function startRig(plan: Plan, kills: number, log: (line: string) => void): Promise<Rig> {
  const folder = mkdtempSync(join(tmpdir(), 'longhaul-storm-'));
  const taskQueue = 'storm';
  build();
  if (plan.encrypted) {
    addKey(folder);
    setTimeout(() => addKey(folder), plan.minutes * 30_000).unref();
  }
  const codePath = await bundle(folder);
  const server = await startServer(folder, log);
  const target = Number(server.address().split(':')[1]);
  const lines = await Promise.all(Array.from({ length: plan.workers }, () => startProxy(target)));
  const peopleLine = await startProxy(target);
  const storm = { seed: plan.seed, minutes: plan.minutes, kills, workers: plan.workers, folder };
  const model = startChild(built('model'), [JSON.stringify(storm)]);
  const modelUrl = await model.ask<string>('url');
  const began = Date.now();
  const pool = startPool({
    seed: plan.seed,
    addresses: lines.map((line) => line.address),
    taskQueue,
    modelUrl,
    codePath,
    folder,
    events: plan.events,
  });

  let closing = false;
  let peopleKills = 0;
  let mood: 'burst' | 'calm' = 'burst';
  const people: Child[] = [];
  const gather = (crowd: number): void => {
    const given: PeopleArguments = { ...storm, address: peopleLine.address, taskQueue, crowd, crowds, began };
    const child = startChild(built('people'), [JSON.stringify(given)]);
    people[crowd] = child;
    if (mood === 'calm') child.tell('calm');
    void child.gone.then(({ code, signal }) => {
      if (closing) return;
      if (signal === 'SIGKILL') peopleKills++;
      else log(`people process ${crowd} exited unexpectedly (${signal ?? code}): ${child.said()}`);
      setTimeout(() => !closing && gather(crowd), 300);
    });
  };
  for (let crowd = 0; crowd < crowds; crowd++) gather(crowd);

  return {
    folder,
    codePath,
    address: server.address(),
    taskQueue,
    pool,
    lines,
    peopleLine,
    killServer: server.restart,
    serverKills: server.kills,
    peopleKills: () => peopleKills,
    killPeople: (crowd) => people[crowd]?.signal('SIGKILL'),
    tellPeople(what) {
      if (what === 'calm') mood = 'calm';
      for (const child of people) child.tell(what);
    },
    async stop() {
      closing = true;
      await Promise.all([pool.stop(), model.kill(), ...people.map((child) => child.kill())]);
      await Promise.all([...lines, peopleLine].map((line) => line.stop()));
      await server.stop();
    },
  };
}

async function startServer(folder: string, log: (line: string) => void) {
  const options = {
    own: true,
    dbFilename: join(folder, 'temporal.db'),
    log,
  };
  let server: TemporalServer = await startTemporal(options);
  const port = Number(server.address.split(':')[1]);
  let kills = 0;
  let coming: Promise<void> = Promise.resolve();
  return {
    address: () => server.address,
    kills: () => kills,
    /** Restarts run one after another: a server that is starting is first allowed to start. */
    restart(downMs: number): Promise<void> {
      coming = coming.then(async () => {
        kills++;
        const gone = server.stop();
        server.kill();
        await gone;
        await new Promise((resolve) => setTimeout(resolve, downMs));
        server = await startTemporal({ ...options, port });
      });
      return coming;
    },
    stop: async () => {
      await coming.catch(() => undefined);
      await server.stop();
    },
  };
}
