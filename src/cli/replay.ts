import { type Replayable, type ReplayOptions, type ReplayReport, readHistoryFile, replayHistories, replayThreads } from '../testing';
import { withClient } from './connect';
import { exit, lineOf, UsageError } from './exit';
import { paint, Styled, styled } from './styled';
import { note, print } from './terminal';
import { count } from './words';

interface Options {
  query?: string;
  limit?: number;
  keep: string;
}

/** Replays the histories of a namespace, or files, against the code installed here, and says which do not fit it. */
export async function replay(files: string[], { query, limit, keep }: Options): Promise<void> {
  if (files.length > 0 && (query !== undefined || limit !== undefined)) {
    throw new UsageError('replay: --query and --limit choose histories of a namespace; files are replayed as they are given');
  }
  const options: ReplayOptions = { keep, onProgress: progress() };
  const report =
    files.length > 0
      ? await replayHistories(readFiles(files), options)
      : await withClient({}, (client) => replayThreads({ client, ...(query && { query }), ...(limit && { limit }), ...options }));
  print(words(report));
  if (report.diverged.length > 0) process.exitCode = exit.failed;
  // Of a namespace, what can't be replayed is nobody's mistake.
  else if (files.length > 0 && report.skipped.length > 0) process.exitCode = exit.usage;
  // A query with a mistake in it, or another namespace than was meant, must not pass for a check.
  else if (report.replayed === 0) process.exitCode = exit.nothing;
}

function* readFiles(files: string[]): Generator<Replayable> {
  for (const file of files) {
    try {
      // Named as it was given: a history does not say which file it came from.
      yield readHistoryFile(file);
    } catch (error) {
      yield { workflowId: file, runId: '', why: lineOf(error) };
    }
  }
}

/** Once every few seconds: a namespace may hold thousands. */
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
    : `${diverged} diverged: workers with this code could not go on with ${diverged === 1 ? 'it' : 'them'}`;
}
