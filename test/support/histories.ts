import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { LonghaulClient } from '../../src/client';
import { ofThreads } from '../../src/client/list-filter';
import { readLog } from '../../src/client/log-pages';
import { type Execution, type ReplayReport, readHistoryFile, replayHistories, replayThreads, writeHistoryFile } from '../../src/testing';
import { readHistories } from '../../src/testing/replay-threads';

/** A server, and a namespace of it. */
export interface Place {
  address: string;
  namespace: string;
}

export interface Histories {
  /** A server that is still there. */
  server: Place;
  /** Only what began since then: a server that `TEMPORAL_ADDRESS` names may hold more than this test run. */
  since: Date;
  /** Where `saveHistories` put those of servers that are gone. */
  saved: string;
  /** Where diverging histories are kept. */
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

/** For a server that is about to end: what it knows of its threads, as files. One that does not answer has nothing to save. */
export async function saveHistories(server: Place, folder: string): Promise<void> {
  await withClient(server, async (client) => {
    for await (const read of readHistories({ client })) if ('history' in read) writeHistoryFile(folder, read);
  }).catch((error) => {
    if (error.code !== 'unreachable') throw error;
  });
}

/** Of each thread, by its id: its events in order, byte for byte as a reader gets them. */
export type Logs = Map<string, string[]>;

/** Reads the whole logs, from all executions, out of what the worker makes of their histories. */
export async function readLogs({ temporal }: LonghaulClient, threadIds: Iterable<string>): Promise<Logs> {
  const logs: Logs = new Map();
  for (const id of threadIds)
    logs.set(
      id,
      (await readLog(temporal, id)).events.map((event) => JSON.stringify(event)),
    );
  return logs;
}

/** Where a later reader sees something else, or less. What came to a log's end since is no difference. */
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

/** The index is a moment behind, so it is read until it names nothing new. */
async function* everything({ temporal }: LonghaulClient, since: Date): AsyncGenerator<Execution, void> {
  const query = ofThreads('histories', `StartTime >= "${since.toISOString()}"`);
  const seen = new Set<string>();
  for (let before = -1; before < seen.size; ) {
    before = seen.size;
    for await (const { workflowId, runId } of temporal.workflow.list({ query, pageSize: 1_000 })) {
      if (seen.has(runId)) continue;
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
