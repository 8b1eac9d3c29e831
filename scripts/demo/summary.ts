import pc from 'picocolors';
import { bytes, count, duration } from '../../src/cli/views/words';
import type { Tally } from './tally';

interface Around {
  /** Number of lines in published.log. */
  published: number;
  startMs?: number | undefined;
  replays: { replayed: number; of: number };
}

/** The summary at the end of the demo. */
export function summary(tally: Tally, { published, startMs, replays }: Around): string {
  const row = (name: string, value: string, from: string) => `  ${name.padEnd(22)} ${pc.bold(value.padEnd(12))} ${pc.dim(from)}`;
  return [
    '',
    pc.bold("Counted from the thread's log and its Temporal history:"),
    row('turns', String(tally.turns), 'model calls that the run needed'),
    row('tool calls', String(tally.toolCalls), 'list_dir, read_file, write_file and shell, on real files'),
    row('tools repeated', String(tally.toolsRepeated), 'tool calls that began more than once'),
    row('published', count(published, 'time'), 'lines that publish.js wrote to published.log'),
    row('lost to the kill', count(tally.attemptsLost, 'attempt'), 'a model call in the middle of its answer; it was repeated'),
    row(
      'taken over after',
      tally.takeoverMs === undefined ? '-' : duration(tally.takeoverMs),
      startMs === undefined ? '' : `from the kill to the next attempt; the new process took ${duration(startMs)} of it to start`,
    ),
    row('workers', String(tally.workers.length), tally.workers.join(', ')),
    row('history', bytes(tally.historyBytes), `${tally.historyEvents} events; each message is in it once`),
    row('replays', `${replays.replayed} of ${replays.of}`, 'histories that replay with the workflow code'),
    '',
  ].join('\n');
}
