import { lstatSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, isAbsolute, join, relative, sep } from 'node:path';
import type { History } from '@temporalio/common/lib/proto-utils';
import { LonghaulError } from '../client/errors';

export type { History };

export interface RecordedHistory {
  /** The thread's id. */
  workflowId: string;
  /** Temporal's history message, with `events` in order. */
  history: History;
  /** Temporal's run id of the execution. Default: the one in its first event. */
  runId?: string;
}

export function runIdOf({ runId, history }: RecordedHistory): string {
  return runId ?? history.events?.[0]?.workflowExecutionStartedEventAttributes?.originalExecutionRunId ?? '';
}

// The SDK's conversion (`historyFromJSON`) fails if npm installed several copies of protobufjs, so this one uses the copy that built the message
// types.
const fromClient = createRequire(require.resolve('@temporalio/client'));
const { fromJson, toJson } = createRequire(fromClient.resolve('@temporalio/proto'))('protobufjs/ext/protojson');
const { patchProtobufRoot } = fromClient('@temporalio/proto/lib/patch-protobuf-root');
const historyType = patchProtobufRoot(fromClient('@temporalio/proto')).lookupType('temporal.api.history.v1.History');

/** Converts a history to the JSON that `temporal workflow show --output json` prints, the Web UI downloads, and every SDK's replayer reads. */
export function historyToJson(history: History): string {
  return JSON.stringify(toJson(historyType, history));
}

/**
 * Parses a history from the JSON of `temporal workflow show --output json` or of the Web UI's download. `name` is used in error messages.
 * @throws LonghaulError `invalid-input`: the text is not a history
 */
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
    throw wrong('it has no events. Use the output of "temporal workflow show --output json" or a download from the Web UI');
  }
  try {
    return fromJson(historyType, { events }, { ignoreUnknownFields: true });
  } catch (error) {
    throw wrong(
      `${(error as Error).message}. Of the Web UI's downloads only "encoded" and "decoded" can be replayed, not "human-readable"`,
    );
  }
}

/** Reads a history from a file. @throws LonghaulError `invalid-input`: the file does not exist or has no history. */
export function readHistoryFile(file: string): RecordedHistory {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new LonghaulError('invalid-input', `The history file ${file} can't be read: ${(error as Error).message}`);
  }
  const history = historyFromJson(text, file);
  // Servers before 1.24 do not write the workflow id there.
  const workflowId = history.events?.[0]?.workflowExecutionStartedEventAttributes?.workflowId || basename(file, '.json');
  return { workflowId, history };
}

/**
 * Writes a history to a file in `folder`, named after the thread's id and the run id. Returns the file's path.
 * @throws LonghaulError `invalid-input`: the path leads through a symbolic link
 */
export function writeHistoryFile(folder: string, recorded: RecordedHistory): string {
  const { workflowId, history } = recorded;
  // An id may contain any character, and be longer than a file name.
  const file = join(folder, `${workflowId.replace(/[^\w.-]+/g, '_').slice(0, 100)}.${runIdOf(recorded)}.json`);
  checkNoLink(file);
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, historyToJson(history));
  return file;
}

/** Somebody else may have written the current folder and chosen where its links lead. */
function checkNoLink(path: string): void {
  const names = relative('', path).split(sep);
  if (isAbsolute(relative('', path)) || names[0] === '..') return;
  for (const i of names.keys()) {
    const part = names.slice(0, i + 1).join(sep);
    if (!lstatSync(part, { throwIfNoEntry: false })?.isSymbolicLink()) continue;
    throw new LonghaulError('invalid-input', `${part} is a symbolic link, and no history is written through one below the current folder`);
  }
}
