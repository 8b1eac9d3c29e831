import type { DataConverter, PayloadCodec } from '@temporalio/common';
import {
  bundleWorkflowCode,
  DefaultLogger,
  makeTelemetryFilterString,
  type ReplayWorkerOptions,
  Runtime,
  Worker,
  type WorkflowBundleOption,
} from '@temporalio/worker';
import { threadSinks } from '../activities/steps/running-steps';
import { backgroundType, workflowType } from '../contract/thread';
import { configuredEncoding, type Encoding, type EncodingOptions, startEncoding } from '../encoding/encoding';
import { dataConverter, packagedBundle, workflowBundleOptions } from '../workflow-bundle';
import { type History, type RecordedHistory, runIdOf, writeHistoryFile } from './history-file';
import { missingKey } from './missing-key';

export interface ReplayOptions {
  /** A bundle built ahead of time with Temporal's `bundleWorkflowCode`. Default: the bundle of the package, or else one that is built now. */
  workflowBundle?: { codePath: string } | { code: string } | undefined;
  /** The workers' `encoding`. Default: as the environment defines it. */
  encoding?: EncodingOptions | undefined;
  /** The workers' `temporal.dataConverter`, if they have one. */
  dataConverter?: DataConverter | undefined;
  /**
   * The folder that diverging histories are written to, created when needed. The files contain everything that users and tools of the thread wrote.
   */
  keep?: string | undefined;
  /** Called after each history, with the report so far. */
  onProgress?: ((report: ReplayReport) => void) | undefined;
}

export interface ReplayReport {
  /** The number of histories that this code reproduces, event by event. */
  replayed: number;
  /** Histories that could not be replayed for reasons other than the code. */
  skipped: { threadId: string; runId: string; why: string }[];
  /** Histories that this code does not reproduce: their threads would be stuck after a deploy. */
  diverged: Divergence[];
}

export interface Divergence {
  threadId: string;
  /** Temporal's run id of the execution. */
  runId: string;
  error: string;
  /** The file that the history was written to, if `keep` is set. */
  historyFile?: string;
}

/** A history, or the reason why it could not be read. */
export type Replayable = RecordedHistory | { workflowId: string; runId: string; why: string };

/**
 * By default a replay runs in debug mode, on the main thread, where code that never ends is never stopped. The time limit is a minute, so that a busy
 * machine is not reported as a divergence. Neither option is among the public types.
 */
const onThread = { debugMode: false, isolateExecutionTimeout: '60s' };

/** Replays histories against the workflow code of this installation, to check that it makes the recorded decisions. Needs no server. */
export async function replayHistories(
  histories: Iterable<Replayable> | AsyncIterable<Replayable>,
  options: ReplayOptions = {},
): Promise<ReplayReport> {
  const report: ReplayReport = { replayed: 0, skipped: [], diverged: [] };
  const encoding = await startEncoding(options.encoding ?? configuredEncoding());
  const codecs = [...encoding.codecs, ...(options.dataConverter?.payloadCodecs ?? [])];
  const replays = worthReplaying(histories, codecs, report, options);
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
  // One worker takes one history at a time: if a second worker is created while the first ends, the SDK shuts down the runtime of both.
  const workerOptions = next.done ? undefined : await prepareWorker(encoding, options);
  while (workerOptions && !next.done) {
    try {
      for await (const { error } of Worker.runReplayHistories(workerOptions, feed())) {
        if (error) diverge(current as RecordedHistory, error, report, options);
        else report.replayed += 1;
        options.onProgress?.(report);
      }
    } catch (error) {
      // A history that makes its replay worker fail would fail any worker. It is reported as a divergence, and another worker takes the rest.
      if (!current) throw error;
      diverge(current, error as Error, report, options);
      options.onProgress?.(report);
      next = await replays.next();
    }
  }
  return report;
}

async function prepareWorker(encoding: Encoding, options: ReplayOptions): Promise<ReplayWorkerOptions> {
  quieten();
  return {
    workflowBundle: options.workflowBundle ?? (await bundleOf(options)),
    dataConverter: dataConverter(encoding, options.dataConverter),
    sinks: threadSinks,
    ...onThread,
  };
}

/** A bundle with stack traces, for the report of divergences. */
async function bundleOf({ dataConverter: { failureConverterPath } = {} }: ReplayOptions): Promise<WorkflowBundleOption> {
  const packaged = failureConverterPath === undefined ? packagedBundle({ stackTraces: true }) : undefined;
  if (packaged) return packaged;
  const own = { ...(failureConverterPath !== undefined && { failureConverterPath }), logger: new DefaultLogger('ERROR') };
  return bundleWorkflowCode({ ...workflowBundleOptions({ stackTraces: true }), ...own });
}

/** Temporal logs the state of each replay worker and each divergence. The report has the relevant information. */
function quieten(): void {
  const filter = makeTelemetryFilterString({ core: 'ERROR', other: 'ERROR' });
  try {
    Runtime.install({ logger: new DefaultLogger('ERROR'), telemetryOptions: { logging: { filter } } });
  } catch {
    // The process has already installed its own runtime.
  }
}

function diverge(recorded: RecordedHistory, failure: Error, report: ReplayReport, { keep }: ReplayOptions): void {
  const historyFile = keep && writeHistoryFile(keep, recorded);
  const error = wordsOf(failure);
  report.diverged.push({ threadId: recorded.workflowId, runId: runIdOf(recorded), error, ...(historyFile && { historyFile }) });
}

/** The specific part of the message: the SDK repeats the same two sentences, and prints the failure as a Rust structure. */
function wordsOf(failure: Error): string {
  const { workerError } = (failure.cause ?? {}) as { workerError?: Error };
  const details = (workerError ?? failure).message.replace(/^.*Details: /s, '');
  const [, quoted] = /message: ("(?:[^"\\]|\\.)*")/s.exec(details) ?? [];
  return quoted ? quoted.slice(1, -1).replace(/\\n/g, '\n').replace(/\\(.)/g, '$1') : details;
}

async function* worthReplaying(
  histories: Iterable<Replayable> | AsyncIterable<Replayable>,
  codecs: readonly PayloadCodec[],
  report: ReplayReport,
  { onProgress }: ReplayOptions,
): AsyncGenerator<RecordedHistory, void> {
  for await (const candidate of histories) {
    const why = 'why' in candidate ? candidate.why : (whyNot(candidate.history) ?? (await missingKey(candidate.history, codecs)));
    if (why === undefined) {
      yield candidate as RecordedHistory;
      continue;
    }
    const runId = 'why' in candidate ? candidate.runId : runIdOf(candidate);
    report.skipped.push({ threadId: candidate.workflowId, runId, why });
    onProgress?.(report);
  }
}

/** Why the history can't be replayed, or undefined. */
function whyNot({ events }: History): string | undefined {
  const started = events?.[0]?.workflowExecutionStartedEventAttributes;
  if (!started) return 'its first event is missing; a history is replayed from its beginning';
  const type = started.workflowType?.name;
  if (type !== workflowType && type !== backgroundType) return `it is of workflow type "${type}", not of "${workflowType}"`;
  const decided = events?.some((event) => event.workflowTaskCompletedEventAttributes || event.workflowTaskFailedEventAttributes);
  return decided ? undefined : 'no worker has begun it';
}
