import type { Evidence, Violation } from './check/evidence';
import type { End } from './pool';

/** What ran, counted from what was left behind. */
export interface Counts {
  threads: number;
  executions: number;
  'histories replayed': number;
  'worker kills': number;
  'workers drained': number;
  'workers that ended by themselves': number;
  'server kills': number;
  'client kills': number;
  'tool calls begun': number;
  'tool effects': number;
  'model requests': number;
  'requests of people': number;
  'requests whose answer was lost': number;
  'events in logs': number;
  'events seen by readers': number;
}

export function countsOf(
  { threads, ledger, effects, journal, readers, model }: Evidence,
  ends: readonly End[],
): Omit<Counts, 'histories replayed' | 'server kills' | 'client kills'> {
  const intended = journal.filter(({ outcome }) => outcome === 'intended').length;
  const answered = journal.filter(({ outcome }) => outcome === 'accepted' || outcome === 'refused').length;
  const times = (how: End['how']) => ends.filter((end) => end.how === how).length;
  return {
    threads: threads.length,
    executions: threads.reduce((sum, { executions }) => sum + executions.length, 0),
    'worker kills': times('killed'),
    'workers drained': times('drained'),
    'workers that ended by themselves': times('by itself'),
    'tool calls begun': ledger.filter(({ what }) => what === 'begin').length,
    'tool effects': effects.length + ledger.filter(({ what, effect }) => what === 'end' && effect !== 'keyed').length,
    'model requests': model.length,
    'requests of people': intended,
    'requests whose answer was lost': intended - answered,
    'events in logs': threads.reduce((sum, { log }) => sum + (log?.length ?? 0), 0),
    'events seen by readers': readers.length,
  };
}

/** Every guarantee has its row, also where nothing broke it. */
const guarantees = [
  'wedged',
  'diverged',
  'failed task',
  'effect doubled',
  'effect lost',
  'effect without leave',
  'key shared',
  'message lost',
  'message doubled',
  'message from nobody',
  'decision lost',
  'decision doubled',
  'decision from nobody',
  'decision against its answer',
  'request lost',
  'cancel without effect',
  'I2',
  'I3',
  'I4',
  'unreadable',
  'log differs',
  'reader',
  'false transcript',
  'orphaned process',
  'worker did not stop',
  'worker does not poll',
];

/** Markdown, as docs/reliability.md has it. */
export function report(counts: Counts, violations: readonly Violation[], command: string): string {
  const rows = (entries: [string, number][]) => entries.map(([name, value]) => `| ${name} | ${value.toLocaleString('en-US')} |`);
  const broken = guarantees.map((rule): [string, number] => [rule, violations.filter((one) => one.rule === rule).length]);
  return [
    `\`${command}\``,
    '',
    '| what ran | |',
    '| --- | ---: |',
    ...rows(Object.entries(counts)),
    '',
    '| what broke | |',
    '| --- | ---: |',
    ...rows(broken),
  ].join('\n');
}
