import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import type { History } from '@temporalio/common/lib/proto-utils';
import { LonghaulError } from '../client/errors';

export type { History };

export interface RecordedHistory {
  /** The thread's id. */
  workflowId: string;
  /** Temporal's own message: `events`, in order. */
  history: History;
  /** Temporal's run id: which execution of the thread it is of. Default: the one in its first event. */
  runId?: string;
}

export function runIdOf({ runId, history }: RecordedHistory): string {
  return runId ?? history.events?.[0]?.workflowExecutionStartedEventAttributes?.originalExecutionRunId ?? '';
}

// The SDK's conversion (`historyFromJSON`) fails where npm keeps several copies of protobufjs, so ours uses the copy that the message types were
// made with.
const fromClient = createRequire(require.resolve('@temporalio/client'));
const { fromJson, toJson } = createRequire(fromClient.resolve('@temporalio/proto'))('protobufjs/ext/protojson');
const { patchProtobufRoot } = fromClient('@temporalio/proto/lib/patch-protobuf-root');
const historyType = patchProtobufRoot(fromClient('@temporalio/proto')).lookupType('temporal.api.history.v1.History');

/** A history in the JSON that `temporal workflow show --output json` prints, that the Web UI downloads, and that every SDK's replayer reads. */
export function historyToJson(history: History): string {
  return JSON.stringify(toJson(historyType, history));
}

/** @throws LonghaulError `invalid-input`, which says what is wrong with it; `name` says which it was. */
export function historyFromJson(text: string, name = 'The text'): History {
  const wrong = (why: string) => new LonghaulError('invalid-input', `${name} is not a workflow's history: ${why}`);
  let json: { events?: unknown } | null;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw wrong(`it is not JSON (${(error as Error).message})`);
  }
  const events = json?.events;
  if (!Array.isArray(events) || events.length === 0) {
    throw wrong('it has no events. "temporal workflow show --output json" and the Web UI\'s download make one');
  }
  try {
    return fromJson(historyType, { events }, { ignoreUnknownFields: true });
  } catch (error) {
    throw wrong(
      `${(error as Error).message}. Of the Web UI's downloads only "encoded" and "decoded" can be replayed, not "human-readable"`,
    );
  }
}

/** @throws LonghaulError `invalid-input`: there is no such file, or it holds no history. */
export function readHistoryFile(file: string): RecordedHistory {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new LonghaulError('invalid-input', `The history file ${file} can't be read: ${(error as Error).message}`);
  }
  const history = historyFromJson(text, file);
  // Servers before 1.24 do not write it there.
  const workflowId = history.events?.[0]?.workflowExecutionStartedEventAttributes?.workflowId || basename(file, '.json');
  return { workflowId, history };
}

/** Returns the file's path; its name is made of both ids. */
export function writeHistoryFile(folder: string, recorded: RecordedHistory): string {
  const { workflowId, history } = recorded;
  mkdirSync(folder, { recursive: true });
  // An id may hold anything, and be longer than a file's name.
  const file = join(folder, `${workflowId.replace(/[^\w.-]+/g, '_').slice(0, 100)}.${runIdOf(recorded)}.json`);
  writeFileSync(file, historyToJson(history));
  return file;
}
