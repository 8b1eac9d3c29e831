import pc from 'picocolors';
import { bytes, count, duration } from '../../src/cli/words';
import type { Tally } from './tally';

interface Around {
  /** Lines in the file that the agent's work left. */
  published: number;
  startMs?: number | undefined;
  replays: { replayed: number; of: number };
}

/** The end of the demo, from what was counted. */
export function summary(tally: Tally, { published, startMs, replays }: Around): string {
  const row = (name: string, value: string, from: string) => `  ${name.padEnd(22)} ${pc.bold(value.padEnd(12))} ${pc.dim(from)}`;
  return [
    '',
    pc.bold("Counted from the thread's log and Temporal's history of it:"),
    row('turns', String(tally.turns), 'model calls that the run needed'),
    row('tool calls', String(tally.toolCalls), 'list_dir, read_file, write_file and shell, on real files'),
    row('tools repeated', String(tally.toolsRepeated), 'tool calls that were begun more than once'),
    row('published', count(published, 'time'), 'lines that publish.js left in published.log'),
    row('lost to the kill', count(tally.attemptsLost, 'attempt'), 'a model call in the middle of its answer; asked again'),
    row(
      'taken over after',
      tally.takeoverMs === undefined ? '-' : duration(tally.takeoverMs),
      startMs === undefined ? '' : `from the kill to the next attempt; the new process took ${duration(startMs)} of it to start`,
    ),
    row('workers', String(tally.workers.length), tally.workers.join(', ')),
    row('history', bytes(tally.historyBytes), `${tally.historyEvents} events; each message is in it once`),
    row('replays', `${replays.replayed} of ${replays.of}`, 'histories that the workflow code repeats, event by event'),
    '',
  ].join('\n');
}
