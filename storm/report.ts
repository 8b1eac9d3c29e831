import type { Evidence, Violation } from './check/evidence';
import { tasksFailedBySdk, tasksFailedWhileFrozen } from './check/rest';
import type { End } from './pool';
import { tools } from './tool-facts';

/** What ran, counted from the evidence. */
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
  compensations: number;
  'model requests': number;
  'requests of people': number;
  'requests without a response': number;
  'events in logs': number;
  'outputs cleared': number;
  summaries: number;
  'events seen by readers': number;
  'workflow tasks that the SDK failed and retried': number;
  'workflow tasks that failed while the worker was frozen': number;
}

export function countsOf(
  { threads, ledger, effects, journal, readers, model }: Evidence,
  ends: readonly End[],
): Omit<Counts, 'histories replayed' | 'server kills' | 'client kills'> {
  const compactions = threads.flatMap(({ log = [] }) =>
    log.flatMap(({ type, data }) => (type === 'thread.context.compacted' ? [data] : [])),
  );
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
    compensations: effects.filter(({ tool }) => isSaga(tool)).length,
    'tool effects':
      effects.filter(({ tool }) => !isSaga(tool)).length + ledger.filter(({ what, effect }) => what === 'end' && effect !== 'keyed').length,
    'model requests': model.length,
    'requests of people': intended,
    'requests without a response': intended - answered,
    'events in logs': threads.reduce((sum, { log }) => sum + (log?.length ?? 0), 0),
    'outputs cleared': compactions.reduce((sum, { prunedOutputs }) => sum + Number(prunedOutputs), 0),
    summaries: compactions.filter(({ summary }) => summary).length,
    'events seen by readers': readers.length,
    'workflow tasks that the SDK failed and retried': tasksFailedBySdk({ threads }),
    'workflow tasks that failed while the worker was frozen': tasksFailedWhileFrozen({ threads }),
  };
}

/** What the service records of such a tool is that its call was compensated. */
function isSaga(tool: string): boolean {
  return tools[tool]?.effect === 'saga';
}

/** Every guarantee has a row, even without violations. */
const guarantees = [
  'wedged',
  'diverged',
  'failed task',
  'effect doubled',
  'effect lost',
  'effect without approval',
  'not compensated',
  'compensated in vain',
  'key shared',
  'message lost',
  'message doubled',
  'message without a sender',
  'decision lost',
  'decision doubled',
  'decision without a sender',
  'refused decision applied',
  'request lost',
  'cancel without effect',
  'I2',
  'I3',
  'I4',
  'unreadable',
  'output lost',
  'task lost',
  'beyond the window',
  'invalid request',
  'log differs',
  'reader',
  'false transcript',
  'orphaned process',
  'worker did not stop',
  'worker does not poll',
];

/** The report as Markdown; docs/reliability.md explains its rows. */
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
    '| violations | |',
    '| --- | ---: |',
    ...rows(broken),
  ].join('\n');
}
