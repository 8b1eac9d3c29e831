import { type Replayable, type ReplayOptions, type ReplayReport, readHistoryFile, replayHistories, replayThreads } from '../../testing';
import { exit, lineOf, UsageError } from '../exit';
import { paint, Styled, styled } from '../views/styled';
import { note, print } from '../views/terminal';
import { count } from '../views/words';
import { withClient } from './connect';

interface Options {
  query?: string;
  limit?: number;
  keep: string;
}

/** Replays the histories of a namespace, or files, against the installed code, and prints which diverge. */
export async function replay(files: string[], { query, limit, keep }: Options): Promise<void> {
  if (files.length > 0 && (query !== undefined || limit !== undefined)) {
    throw new UsageError('replay: --query and --limit select histories of a namespace; they do not apply to files');
  }
  const options: ReplayOptions = { keep, onProgress: progress() };
  const report =
    files.length > 0
      ? await replayHistories(readFiles(files), options)
      : await withClient({}, (client) => replayThreads({ client, ...(query && { query }), ...(limit && { limit }), ...options }));
  print(words(report));
  if (report.diverged.length > 0) process.exitCode = exit.failed;
  // In a namespace, histories that can't be replayed are normal. A file that can't be replayed is a usage error.
  else if (files.length > 0 && report.skipped.length > 0) process.exitCode = exit.usage;
  // A wrong query or a wrong namespace must not count as a successful check.
  else if (report.replayed === 0) process.exitCode = exit.nothing;
}

function* readFiles(files: string[]): Generator<Replayable> {
  for (const file of files) {
    try {
      // The error must name the file, because a history does not.
      yield readHistoryFile(file);
    } catch (error) {
      yield { workflowId: file, runId: '', why: lineOf(error) };
    }
  }
}

/** Prints progress every few seconds, because a namespace may have thousands of histories. */
function progress(): (report: ReplayReport) => void {
  let told = Date.now();
  return ({ replayed, diverged }) => {
    if (Date.now() - told < 5_000) return;
    told = Date.now();
    note(styled`${replayed + diverged.length} replayed, ${diverged.length} diverged …`);
  };
}

function words({ replayed, skipped, diverged }: ReplayReport): Styled {
  const total = replayed + diverged.length;
  if (total + skipped.length === 0) return styled`No thread was found, so nothing was checked.\n`;
  const lines = diverged.flatMap(({ threadId, runId, error, historyFile }) => [
    styled`${paint.red('diverged')} thread ${threadId}, execution ${runId}`,
    ...error
      .trim()
      .split('\n')
      .slice(0, 4)
      .map((line) => styled`    ${line}`),
    ...(historyFile ? [styled`    kept in ${historyFile}`] : []),
  ]);
  const left = skipped
    .slice(0, 20)
    .map(({ threadId, runId, why }) => styled`${paint.yellow('skipped')} ${threadId}${runId && `, execution ${runId}`}: ${why}`);
  if (skipped.length > left.length) left.push(styled`${paint.yellow('skipped')} ${skipped.length - left.length} more`);
  const told = [...left, ...lines, `${count(total, 'history', 'histories')} replayed, ${outcomeOf(total, diverged.length)}`];
  return styled`${Styled.join(told, styled`\n`)}\n`;
}

function outcomeOf(replayed: number, diverged: number): string {
  if (replayed === 0) return 'so nothing was checked';
  return diverged === 0
    ? 'none diverged'
    : `${diverged} diverged: workers with this code could not continue ${diverged === 1 ? 'it' : 'them'}`;
}
