import { DefaultLogger, type LogEntry, makeTelemetryFilterString, type RuntimeOptions } from '@temporalio/worker';
import { replayFirst } from '../contract/replay-first';

/** How long repetitions of a written line are only counted. */
const quietMs = 30_000;

/** Options of Temporal's runtime for worker processes: warnings of the native and the JavaScript half, one line each, none twice in 30 seconds. */
export function logOptions(write: (line: string) => void): RuntimeOptions {
  return {
    logger: new DefaultLogger('WARN', onceInAWhile(write)),
    // Otherwise the native half itself writes a line to the terminal for each of its polls.
    telemetryOptions: { logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'WARN', other: 'ERROR' }) } },
  };
}

function onceInAWhile(write: (line: string) => void): (entry: LogEntry) => void {
  const written = new Map<string, { at: number; more: number }>();
  return (entry) => {
    const { words, about, why } = wordsOf(entry);
    // This warning is temporary and needs no action.
    if (why.some((reason) => reason.includes(replayFirst))) return;
    const line = [words, ...about, ...why].join(' · ');
    // Attempts and times differ between otherwise equal lines.
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

/** `about`: the thread and the step. One line is enough for a failed step: its readers see the failure, and the Web UI has the stack. */
function wordsOf({ message, meta = {} }: LogEntry): { words: string; about: string[]; why: string[] } {
  const { target, workflowId, activityType, error } = meta as Record<string, string | undefined>;
  if (target === 'temporalio_client::retry') {
    return { words: `Temporal does not answer (${statusWords(error)}); the request is repeated until it does`, about: [], why: [] };
  }
  return { words: message, about: [workflowId, activityType].filter((part) => part !== undefined), why: error ? [lineOf(error)] : [] };
}

function lineOf(error: unknown): string {
  return statusWords(String((error as Error).message ?? error))
    .replace(/\s*\n\s*/g, ' ')
    .trim();
}

/** The native half prints a gRPC status with all its fields. People need only its code and message. */
export function statusWords(text = ''): string {
  const [, code, message] = /code: (\w+), message: "((?:[^"\\]|\\.)*)"/.exec(text) ?? [];
  if (code === undefined) return text;
  return message ? `${code}: ${message.replaceAll('\\"', '"')}` : code;
}
