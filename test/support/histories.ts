import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { LonghaulClient } from '../../src/client';
import { ofThreads } from '../../src/client/list-filter';
import { executions } from '../../src/client/listed-threads';
import { readLog } from '../../src/client/log-pages';
import { type Execution, type ReplayReport, readHistoryFile, replayHistories, replayThreads, writeHistoryFile } from '../../src/testing';
import { readHistories } from '../../src/testing/replay-threads';

/** A server and one of its namespaces. */
export interface Place {
  address: string;
  namespace: string;
}

export interface Histories {
  /** A server that is still running. */
  server: Place;
  /** Only what began since then: a server that `TEMPORAL_ADDRESS` names may hold more than this test run. */
  since: Date;
  /** The folder where `saveHistories` put the histories of servers that have stopped. */
  saved: string;
  /** The folder for diverging histories. */
  keep: string;
  workflowBundle: { codePath: string };
}

/** Replays every history of a test run against the current bundle: of all threads, open or closed, and all their executions. */
export async function replayAll({ server, since, saved, keep, workflowBundle }: Histories): Promise<ReplayReport> {
  const options = { keep, workflowBundle };
  const there = await withClient(server, (client) => replayThreads({ client, executions: everything(client, since), ...options }));
  const files = readdirSync(saved).map((file) => join(saved, file));
  const gone = await replayHistories(read(files), options);
  return {
    replayed: there.replayed + gone.replayed,
    skipped: [...there.skipped, ...gone.skipped],
    diverged: [...there.diverged, ...gone.diverged],
  };
}

/** Saves the histories of a server that is about to stop as files. A server that does not answer has nothing to save. */
export async function saveHistories(server: Place, folder: string): Promise<void> {
  await withClient(server, async (client) => {
    for await (const read of readHistories({ client })) if ('history' in read) writeHistoryFile(folder, read);
  }).catch((error) => {
    if (error.code !== 'unreachable') throw error;
  });
}

/** The events of each thread, by its id, in order, byte for byte as a reader gets them. */
export type Logs = Map<string, string[]>;

/** Reads the complete logs, over all executions, through the worker's queries. */
export async function readLogs({ temporal }: LonghaulClient, threadIds: Iterable<string>): Promise<Logs> {
  const logs: Logs = new Map();
  for (const id of threadIds)
    logs.set(
      id,
      (await readLog(temporal, id)).events.map((event) => JSON.stringify(event)),
    );
  return logs;
}

/** The differences if a later reader sees other or fewer events. Events that were added since do not count. */
export function differences(before: Logs, after: Logs): string[] {
  return [...before].flatMap(([id, events]) =>
    events.flatMap((event, i) => {
      const later = after.get(id)?.[i];
      return later === event ? [] : [`thread ${id}, event ${i + 1}: first ${event}, later ${later ?? 'nothing'}`];
    }),
  );
}

/** One file at a time: there may be thousands. */
function* read(files: string[]) {
  for (const file of files) yield readHistoryFile(file);
}

/** The visibility index lags behind, so it is read until it names no new threads. */
async function* everything(client: LonghaulClient, since: Date): AsyncGenerator<Execution, void> {
  const query = ofThreads('histories', `StartTime >= "${since.toISOString()}"`);
  const seen = new Set<string>();
  for (let before = -1; before < seen.size; ) {
    before = seen.size;
    for await (const { execution } of executions(client, { what: 'histories', query, pageSize: 1_000 })) {
      const { workflowId, runId } = execution ?? {};
      if (!workflowId || !runId || seen.has(runId)) continue;
      seen.add(runId);
      yield { workflowId, runId };
    }
  }
}

async function withClient<T>({ address, namespace }: Place, work: (client: LonghaulClient) => Promise<T>): Promise<T> {
  const client = await LonghaulClient.connect({ connection: { address, connectTimeout: '2s' }, namespace });
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}
