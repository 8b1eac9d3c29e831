import type { Results } from './main';
import { type Actions, actionKinds, type Billed, sumOf } from './measures/actions';
import type { Approvals } from './measures/approvals';
import type { ColdReplay } from './measures/cold-replay';
import type { Context } from './measures/context';
import type { Encoding } from './measures/encoding';
import type { Hostile } from './measures/hostile-input';
import { median, quantile, show } from './numbers';
import { type Contender, contenders } from './rig';

type Row = (string | number | undefined)[];

/** The results as Markdown, with the targets, and how many targets were missed. */
export function report(results: Results): { text: string; missed: number } {
  const sections = [
    `# Bench of ${results.at}${results.quick ? ' (quick: too few turns to check the targets)' : ''}\n\nNode ${results.node.slice(1)}. Medians of the rounds.`,
    ...histories(results),
    ...pace(results),
    ...rest(results),
  ];
  const targets = targetsOf(results);
  const missed = targets.filter(({ value, below }) => isMeasured(value) && value > below).length;
  const rows = targets.map(({ name, value, below, unit = '' }): Row => {
    // List the targets of parts that were left out or failed, too.
    if (!isMeasured(value)) return [name, undefined, `${show(below)}${unit}`, 'not measured'];
    const verdict = results.quick ? 'not checked' : value <= below ? 'met' : '**missed**';
    return [name, `${show(value)}${unit}`, `${show(below)}${unit}`, verdict];
  });
  sections.push(table('Targets', ['target', 'measured', 'at most', ''], rows));
  return { text: sections.join('\n\n'), missed: results.quick ? 0 : missed };
}

function isMeasured(value: number | undefined): value is number {
  return value !== undefined && !Number.isNaN(value);
}

function of(
  results: Results,
  contender: Contender,
  key: 'early' | 'late' | 'all' | 'cpuSingle' | 'cpuMany' | 'serverCpuSingle' | 'turnsPerSecond' | 'rssMb' | 'othersPercent',
): number {
  return median(results.pace.filter((round) => round.contender === contender).flatMap((round) => round[key] ?? []));
}

/** The median of the ratios of the rounds, so that the effect of a slow round cancels out. */
function ratio(results: Results, key: 'all' | 'early' | 'late' | 'cpuSingle' | 'cpuMany'): number {
  const values = (contender: Contender) =>
    results.pace.filter((round) => round.contender === contender).map((round) => round[key] ?? Number.NaN);
  const floor = values('floor');
  return median(values('longhaul').map((value, i) => value / (floor[i] ?? Number.NaN)));
}

function histories({ histories }: Results): string[] {
  const names = contenders.filter((name) => histories[name]);
  if (names.length === 0) return [];
  const marks = [25, 50, 100, 200];
  const cell = (name: Contender, turn: number, key: 'bytes' | 'events'): string => {
    const facts = histories[name];
    const found = facts?.at.find((entry) => entry.turn === turn);
    if (found) return show(found[key]);
    return facts?.status === 'TERMINATED' ? `ended by the server in turn ${facts.modelInput.length}, at ${show(facts[key])}` : '–';
  };
  const input = (name: Contender): string => {
    const sizes = histories[name]?.modelInput ?? [];
    const turn = Math.min(sizes.length, 200);
    return `${show(sizes[turn - 1])} (turn ${turn})`;
  };
  return [
    table(
      'History, bytes',
      ['after turns', ...names],
      marks.map((turn) => [turn, ...names.map((name) => cell(name, turn, 'bytes'))]),
    ),
    table(
      'History, events',
      ['after turns', ...names],
      marks.map((turn) => [turn, ...names.map((name) => cell(name, turn, 'events'))]),
    ),
    table('Input of a model activity, bytes', names, [names.map(input)]),
  ];
}

function pace(results: Results): string[] {
  if (results.pace.length === 0) return [];
  const row = (name: string, key: Parameters<typeof of>[2]): Row => [
    name,
    ...contenders.map((contender) => show(of(results, contender, key))),
  ];
  const turns = contenders.map((contender) => results.pace.find((round) => round.contender === contender)?.turns);
  return [
    table(
      'A session alone, and many at once',
      ['', ...contenders],
      [
        ['turns of the lone session', ...turns],
        row('ms a turn, turns 21 to 40', 'early'),
        row('ms a turn, last 20', 'late'),
        row('ms a turn, all', 'all'),
        row('worker CPU, s per 1,000 turns, alone', 'cpuSingle'),
        row('server CPU, s per 1,000 turns, alone', 'serverCpuSingle'),
        row('worker CPU, s per 1,000 turns, many', 'cpuMany'),
        row('turns a second, many', 'turnsPerSecond'),
        row('worker memory, MB', 'rssMb'),
        row('other processes meanwhile, % of a core', 'othersPercent'),
      ],
    ),
  ];
}

function rest({ resume, coldReplay, cancels, takeoverMs, billed, approvals, encoding, context, hostile, bundleBytes }: Results): string[] {
  const sections: string[] = [];
  if (resume.length > 0) {
    const row = (contender: Contender): Row => {
      const mine = resume.filter((one) => one.contender === contender);
      const value = (key: 'startMs' | 'requestMs' | 'nextTurnMs') => show(median(mine.map((one) => one[key])));
      return [contender, mine[0]?.afterTurns, value('startMs'), value('requestMs'), value('nextTurnMs')];
    };
    const head = ['', 'after turns', 'process start to polling', 'then to the lost model request', 'then to the one after it'];
    sections.push(
      table('Cold resume, ms', head, [row('longhaul'), row('naive')]),
      'The floor is not measured here: it keeps its transcript in the memory of its worker, so there is nothing to resume.',
    );
  }
  if (coldReplay.length > 0) sections.push(ofColdReplay(coldReplay));
  const rows: Row[] = [];
  for (const [where, ms] of [
    ["in the thread's own worker", cancels.same],
    ['in another process', cancels.elsewhere],
  ] as const) {
    if (ms.length === 0) continue;
    const name = `cancel to closed HTTP connection of a step ${where}, ms, of ${ms.length}`;
    rows.push([name, show(median(ms)), show(quantile(ms, 0.95)), show(Math.max(...ms))]);
  }
  if (takeoverMs.length > 0)
    rows.push([
      `takeover after SIGKILL, ms, of ${takeoverMs.length}`,
      show(median(takeoverMs)),
      show(quantile(takeoverMs, 0.95)),
      show(Math.max(...takeoverMs)),
    ]);
  if (rows.length > 0) sections.push(table('Cancel and takeover (longhaul)', ['', 'p50', 'p95', 'max'], rows));
  if (billed) sections.push(ofActions(billed));
  if (approvals) sections.push(...ofApprovals(approvals));
  if (encoding) sections.push(ofEncoding(encoding), ofCompressors(encoding));
  if (context) sections.push(ofContext(context));
  if (hostile) sections.push(ofHostile(hostile));
  sections.push(table('Workflow bundle, bytes', Object.keys(bundleBytes), [Object.values(bundleBytes).map(show)]));
  return sections;
}

function ofColdReplay(replays: ColdReplay[]): string {
  const value = (key: keyof ColdReplay) => show(median(replays.map((one) => one[key])));
  return table(
    'Cold replay of an execution as long as it gets (longhaul)',
    ['turns', 'events', 'bytes', 'query to its answer, ms', 'message to its model request, ms', 'worker CPU, ms an event'],
    [[value('turns'), value('events'), value('bytes'), value('queryMs'), value('messageMs'), value('cpuMsAnEvent')]],
  );
}

function ofEncoding(measured: Encoding[]): string {
  const head = [
    'turns',
    'history, bytes',
    'of that in payloads',
    'plain is larger by',
    'ms a turn',
    'of plain',
    'worker CPU, ms a turn',
    'of plain',
  ];
  return table(
    'Encoding of payloads (longhaul)',
    ['tool results', 'encoding', ...head, 'encode, µs a payload', 'decode, µs'],
    measured.map((one) => {
      const plain = measured.find(({ encoding, results }) => encoding === 'plain' && results === one.results);
      const { results, encoding, turns, historyBytes, payloadBytes, msATurn, timeOfPlain, cpuMsATurn, cpuOfPlain, encodeUs, decodeUs } =
        one;
      const saved = (plain?.historyBytes ?? Number.NaN) / historyBytes;
      const costs = [historyBytes, payloadBytes, saved, msATurn, timeOfPlain, cpuMsATurn, cpuOfPlain, encodeUs, decodeUs];
      return [results, encoding, turns, ...costs.map(show)];
    }),
  );
}

function ofCompressors(measured: Encoding[]): string {
  return table(
    'What compressors would make of the plain history (longhaul)',
    ['tool results', 'compressor', 'plain is larger by', 'compress, µs a payload'],
    measured.flatMap(({ results, compressors }) =>
      compressors.map(({ name, smallerBy, compressUs }) => [results, name, show(smallerBy), show(compressUs)]),
    ),
  );
}

function ofContext({ carriedBytes, mostTokens, countMs, countInWorkflowMs }: Context): string {
  return table(
    'A window of 128,000 tokens (longhaul)',
    [
      'executions',
      'largest request, tokens',
      'state carried, bytes, largest',
      'median',
      'counting 1 MB in an activity, ms',
      'in workflow code, ms',
    ],
    [[carriedBytes.length + 1, ...[mostTokens, Math.max(...carriedBytes), median(carriedBytes), countMs, countInWorkflowMs].map(show)]],
  );
}

function ofHostile(hostile: Hostile[]): string {
  const ms = (value: number) => (Number.isNaN(value) ? undefined : show(value));
  return table(
    'Hostile input',
    ['', 'longest stall, ms', 'as the clock saw it, ms', 'memory above idle, MB', 'in all, ms', 'how it ended'],
    hostile.map((one) => [one.input, ms(one.stallMs), ms(one.delayMs), show(one.peakMb), ms(one.ms), oneLine(one.ended)]),
  );
}

function oneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').replaceAll('|', '/');
  return line.length > 160 ? `${line.slice(0, 160)}…` : line;
}

/** Each payload is encoded once and decoded once. The times of two sessions differ by more than this on a busy machine. */
function encryptionPercent(plain: Encoding | undefined, encrypted: Encoding | undefined): number | undefined {
  if (!plain || !encrypted) return undefined;
  const us = (one: Encoding) => one.encodeUs + one.decodeUs;
  return ((us(encrypted) - us(plain)) * plain.payloadsATurn) / 10 / plain.msATurn;
}

/** The maximum; an input that did not end counts as infinite. */
function worst(values: number[]): number {
  return Math.max(...values.map((value) => (Number.isNaN(value) ? Number.POSITIVE_INFINITY : value)));
}

function ofActions({ run, turn, call }: Billed): string {
  const row = (name: string, actions: Actions): Row => [name, ...actionKinds.map((kind) => show(actions[kind])), show(sumOf(actions))];
  return table(
    'Billable actions',
    ['', 'starts', 'activity attempts', 'heartbeats', 'timers', 'signals', 'updates', 'queries', 'attribute upserts', 'in all'],
    [
      row('longhaul, a turn', turn.longhaul),
      row('floor, a turn', turn.floor),
      row('longhaul, a run of 10 turns and an answer', run.longhaul),
      row('floor, a run of 10 turns and an answer', run.floor),
      row('longhaul, an answer of 10 s, nobody watches', call.nobody),
      row('longhaul, the same with `takeoverMs: 8_000`', call.slowerTakeover),
      row('longhaul, the same with one reader', call.oneReader),
    ],
  );
}

function ofApprovals({ decisionMs, cost, crowd }: Approvals): string[] {
  const latency = [show(median(decisionMs)), show(quantile(decisionMs, 0.95)), show(Math.max(...decisionMs))];
  const sections = [
    table('Approvals', ['', 'p50', 'p95', 'max'], [[`decision to the first line of the tool, ms, of ${decisionMs.length}`, ...latency]]),
    table('What an approval adds to a history', ['bytes', 'events'], [[show(cost.bytes), show(cost.events)]]),
  ];
  if (crowd) {
    const head = [
      'threads',
      'ended right',
      'from the kill to the last end, s',
      'worker CPU while they wait, % of a core',
      'of a worker without any',
    ];
    const { threads, completed, doneMs, waitingCpu, idleCpu } = crowd;
    const row = [threads, completed, show(doneMs / 1_000), show(waitingCpu), show(idleCpu)];
    sections.push(table('Many wait, their worker is killed, all are decided at once', head, [row]));
  }
  return sections;
}

interface Target {
  name: string;
  value: number | undefined;
  below: number;
  unit?: string;
}

function targetsOf(results: Results): Target[] {
  const { histories, cancels, takeoverMs, billed, approvals, encoding, context, hostile, bundleBytes } = results;
  const { decisionMs = [], cost, crowd } = approvals ?? {};
  const bytes = histories.longhaul?.at.find((entry) => entry.turn === 100)?.bytes;
  const text = (name: Encoding['encoding']) => encoding?.find((one) => one.results === 'real text' && one.encoding === name);
  const [plain, both] = [text('plain'), text('both')];
  const flat = median(results.pace.filter((round) => round.contender === 'longhaul').map((round) => round.late / round.early));
  return [
    { name: 'history after 100 turns', value: bytes && bytes / 1e6, below: 0.75, unit: ' MB' },
    { name: 'input of the model activity at turn 200', value: histories.longhaul?.modelInput[199], below: 1_024, unit: ' bytes' },
    { name: 'time a turn, of the floor', value: ratio(results, 'all'), below: 1.25, unit: ' ×' },
    { name: 'worker CPU of one session, of the floor', value: ratio(results, 'cpuSingle'), below: 1.3, unit: ' ×' },
    { name: 'worker CPU of many sessions, of the floor', value: ratio(results, 'cpuMany'), below: 1.3, unit: ' ×' },
    { name: 'flat: last 20 turns over turns 21 to 40', value: flat, below: 1.1, unit: ' ×' },
    { name: 'cancel to closed connection in the own worker, p95', value: quantile(cancels.same, 0.95), below: 150, unit: ' ms' },
    { name: 'cancel to closed connection in another process, p95', value: quantile(cancels.elsewhere, 0.95), below: 3_000, unit: ' ms' },
    {
      name: 'takeover after SIGKILL, longest',
      value: takeoverMs.length > 0 ? Math.max(...takeoverMs) : undefined,
      below: 5_000,
      unit: ' ms',
    },
    { name: 'heartbeats of a call of 10 s', value: billed?.call.nobody.heartbeats, below: 5 },
    { name: 'heartbeats of a call of 10 s, slower takeover', value: billed?.call.slowerTakeover.heartbeats, below: 2 },
    { name: 'actions of a reader of a call of 10 s', value: billed && sumOf(billed.call.oneReader) - sumOf(billed.call.nobody), below: 2 },
    { name: 'decision to tool, p50', value: median(decisionMs), below: 25, unit: ' ms' },
    { name: 'decision to tool, p95', value: quantile(decisionMs, 0.95), below: 50, unit: ' ms' },
    { name: 'an approval in the history', value: cost && cost.bytes / 1_000, below: 1.2, unit: ' kB' },
    { name: 'events of an approval', value: cost?.events, below: 9 },
    { name: 'waiting threads that did not end right', value: crowd && crowd.threads - crowd.completed, below: 0 },
    { name: 'waiting threads, from the kill to the last end', value: crowd && crowd.doneMs / 1_000, below: 25, unit: ' s' },
    {
      name: 'encoded history of real text, of plain',
      value: plain && both && both.historyBytes / plain.historyBytes,
      below: 1 / 3,
      unit: ' ×',
    },
    { name: 'encoding and decoding a payload', value: both && (both.encodeUs + both.decodeUs) / 1_000, below: 1, unit: ' ms' },
    { name: 'encryption, share of the time a turn', value: encryptionPercent(plain, text('encrypted')), below: 10, unit: ' %' },
    {
      name: 'state carried with a window of 128,000 tokens',
      value: context && Math.max(...context.carriedBytes) / 1_024,
      below: 512,
      unit: ' KiB',
    },
    { name: 'counting the tokens of 1 MB', value: context?.countMs, below: 50, unit: ' ms' },
    { name: 'the same in workflow code', value: context?.countInWorkflowMs, below: 1, unit: ' ms' },
    { name: 'hostile input, longest stall', value: hostile && worst(hostile.map((one) => one.stallMs)), below: 200, unit: ' ms' },
    { name: 'hostile input, memory above idle', value: hostile && worst(hostile.map((one) => one.peakMb)), below: 300, unit: ' MB' },
    { name: 'workflow bundle', value: bundleBytes.longhaul / 1e6, below: 1.9, unit: ' MB' },
  ];
}

function table(title: string, head: readonly string[], rows: Row[]): string {
  const line = (cells: Row | readonly string[]) => `| ${cells.map((cell) => cell ?? '–').join(' | ')} |`;
  return [`## ${title}`, '', line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
