import { DefaultLogger, type LogEntry, makeTelemetryFilterString, type RuntimeOptions } from '@temporalio/worker';
import { replayFirst } from '../contract/replay-first';

/** How long a line that was written is only counted when it comes again. */
const quietMs = 30_000;

/** What a process that runs a worker gives Temporal's runtime: warnings of both its halves, one line each, and none twice in 30 seconds. */
export function logOptions(write: (line: string) => void): RuntimeOptions {
  return {
    logger: new DefaultLogger('WARN', onceInAWhile(write)),
    // Otherwise the native half writes to the terminal itself, a line for each of its polls.
    telemetryOptions: { logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'WARN', other: 'ERROR' }) } },
  };
}

function onceInAWhile(write: (line: string) => void): (entry: LogEntry) => void {
  const written = new Map<string, { at: number; more: number }>();
  return (entry) => {
    const { words, about, why } = wordsOf(entry);
    // Passes by itself, and there is nothing for anybody to do.
    if (why.some((reason) => reason.includes(replayFirst))) return;
    const line = [words, ...about, ...why].join(' · ');
    // Attempts and times differ in lines that say the same.
    const key = [[words, ...why].join().replace(/\d+/g, '#'), ...about].join();
    const now = Date.now();
    const before = written.get(key);
    if (before && now - before.at < quietMs) {
      before.more += 1;
      return;
    }
    if (written.size >= 1_000) written.clear();
    written.set(key, { at: now, more: 0 });
    const more = before?.more ? ` (${before.more} more like it before)` : '';
    write(`${new Date(now).toISOString().slice(11, 19)} ${entry.level.toLowerCase()}: ${line}${more}`);
  };
}

/** `about`: the thread and the step. A failed step is told where the run is watched, and in the Web UI with its stack: here a line is enough. */
function wordsOf({ message, meta = {} }: LogEntry): { words: string; about: string[]; why: string[] } {
  const { target, workflowId, activityType, error } = meta as Record<string, string | undefined>;
  if (target === 'temporalio_client::retry') {
    return { words: `Temporal does not answer (${statusWords(error)}); it is asked again until it does`, about: [], why: [] };
  }
  return { words: message, about: [workflowId, activityType].filter((part) => part !== undefined), why: error ? [lineOf(error)] : [] };
}

function lineOf(error: unknown): string {
  return statusWords(String((error as Error).message ?? error))
    .replace(/\s*\n\s*/g, ' ')
    .trim();
}

/** The native half prints a gRPC status with all its fields: its code and message are what a person needs. */
export function statusWords(text = ''): string {
  const [, code, message] = /code: (\w+), message: "((?:[^"\\]|\\.)*)"/.exec(text) ?? [];
  if (code === undefined) return text;
  return message ? `${code}: ${message.replaceAll('\\"', '"')}` : code;
}
