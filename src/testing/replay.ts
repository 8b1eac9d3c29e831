import type { DataConverter } from '@temporalio/common';
import {
  bundleWorkflowCode,
  DefaultLogger,
  makeTelemetryFilterString,
  type ReplayWorkerOptions,
  Runtime,
  Worker,
} from '@temporalio/worker';
import { threadSinks } from '../activities/running-steps';
import { workflowType } from '../contract/thread';
import { dataConverter, workflowBundleOptions } from '../workflow-bundle';
import { type History, type RecordedHistory, runIdOf, writeHistoryFile } from './history-file';

export interface ReplayOptions {
  /** Made ahead with Temporal's `bundleWorkflowCode`; otherwise made now, in about a second. */
  workflowBundle?: { codePath: string } | { code: string };
  /** The one that the workers have in `temporal.dataConverter`, where payloads are encrypted. */
  dataConverter?: DataConverter;
  /** The folder that diverging histories are written to; made when there is one. They hold all that the thread's people and tools said. */
  keep?: string;
  /** Called after each history, with the report so far. */
  onProgress?: (report: ReplayReport) => void;
}

export interface ReplayReport {
  /** Histories that the code of today repeats, event by event. */
  replayed: number;
  /** Histories that could not be replayed, which says nothing about the code. */
  skipped: { threadId: string; runId: string; why: string }[];
  /** Histories that the code of today does not repeat: their threads would be stuck after a deploy. */
  diverged: Divergence[];
}

export interface Divergence {
  threadId: string;
  /** Temporal's run id: which execution of the thread. */
  runId: string;
  error: string;
  /** Where the history was kept. */
  historyFile?: string;
}

/** A history, or why it could not be read. */
export type Replayable = RecordedHistory | { workflowId: string; runId: string; why: string };

/**
 * By default a replay runs in the debugger's mode: on the main thread, and code that never ends is never stopped. A busy machine is no reason to call
 * that a divergence, so it gets a minute. Neither option is among the public types.
 */
const onThread = { debugMode: false, isolateExecutionTimeout: '60s' };

/** Replays histories against the workflow code of this installation: does it decide today what they say was decided? Needs no server. */
export async function replayHistories(
  histories: Iterable<Replayable> | AsyncIterable<Replayable>,
  options: ReplayOptions = {},
): Promise<ReplayReport> {
  const report: ReplayReport = { replayed: 0, skipped: [], diverged: [] };
  const replays = worthReplaying(histories, report, options);
  let next = await replays.next();
  let current: RecordedHistory | undefined;
  async function* feed() {
    while (!next.done) {
      current = next.value;
      yield current;
      current = undefined;
      next = await replays.next();
    }
  }
  // One worker, which takes one history at a time: where a second one is made while the first ends, the SDK shuts down the runtime of both.
  const workerOptions = next.done ? undefined : await prepareWorker(options);
  while (workerOptions && !next.done) {
    try {
      for await (const { error } of Worker.runReplayHistories(workerOptions, feed())) {
        if (error) diverge(current as RecordedHistory, error, report, options);
        else report.replayed += 1;
        options.onProgress?.(report);
      }
    } catch (error) {
      // A history that ends the worker that replays it would end any worker: it is told like the others, and another worker takes the rest.
      if (!current) throw error;
      diverge(current, error as Error, report, options);
      options.onProgress?.(report);
      next = await replays.next();
    }
  }
  return report;
}

async function prepareWorker(options: ReplayOptions): Promise<ReplayWorkerOptions> {
  quieten();
  const bundle = { ...workflowBundleOptions({ stackTraces: true }), logger: new DefaultLogger('ERROR') };
  return {
    workflowBundle: options.workflowBundle ?? (await bundleWorkflowCode(bundle)),
    dataConverter: dataConverter(options.dataConverter),
    sinks: threadSinks,
    ...onThread,
  };
}

/** Temporal tells of each replay worker's states, and of each divergence in its own way; the report has what matters. */
function quieten(): void {
  const filter = makeTelemetryFilterString({ core: 'ERROR', other: 'ERROR' });
  try {
    Runtime.install({ logger: new DefaultLogger('ERROR'), telemetryOptions: { logging: { filter } } });
  } catch {
    // The process has chosen its own.
  }
}

function diverge(recorded: RecordedHistory, failure: Error, report: ReplayReport, { keep }: ReplayOptions): void {
  const historyFile = keep && writeHistoryFile(keep, recorded);
  const error = wordsOf(failure);
  report.diverged.push({ threadId: recorded.workflowId, runId: runIdOf(recorded), error, ...(historyFile && { historyFile }) });
}

/** What is new in it: the SDK says the same two sentences each time, and prints the failure as a structure of Rust's. */
function wordsOf(failure: Error): string {
  const { workerError } = (failure.cause ?? {}) as { workerError?: Error };
  const details = (workerError ?? failure).message.replace(/^.*Details: /s, '');
  const [, quoted] = /message: ("(?:[^"\\]|\\.)*")/s.exec(details) ?? [];
  return quoted ? quoted.slice(1, -1).replace(/\\n/g, '\n').replace(/\\(.)/g, '$1') : details;
}

async function* worthReplaying(
  histories: Iterable<Replayable> | AsyncIterable<Replayable>,
  report: ReplayReport,
  { onProgress }: ReplayOptions,
): AsyncGenerator<RecordedHistory, void> {
  for await (const candidate of histories) {
    const why = 'why' in candidate ? candidate.why : whyNot(candidate.history);
    if (why === undefined) {
      yield candidate as RecordedHistory;
      continue;
    }
    const runId = 'why' in candidate ? candidate.runId : runIdOf(candidate);
    report.skipped.push({ threadId: candidate.workflowId, runId, why });
    onProgress?.(report);
  }
}

/** Why there is nothing to replay in it. */
function whyNot({ events }: History): string | undefined {
  const started = events?.[0]?.workflowExecutionStartedEventAttributes;
  if (!started) return 'its first event is missing; a history is replayed from its beginning';
  const type = started.workflowType?.name;
  if (type !== workflowType) return `it is of workflow type "${type}", not of "${workflowType}"`;
  const decided = events?.some((event) => event.workflowTaskCompletedEventAttributes || event.workflowTaskFailedEventAttributes);
  return decided ? undefined : 'no worker has begun it';
}
