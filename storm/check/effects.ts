import type { LedgerLine } from '../ledger';
import { tools } from '../tool-facts';
import type { Evidence, LogEvent, Violation } from './evidence';
import { calledIn, type Marks, marksOf } from './marks';

interface Outcome {
  call: string;
  name: string;
  status: string;
  /** Whether the log says that it began. */
  started: boolean;
  /** The model's mark in the arguments. */
  n: string;
}

/** Every call of a log with its outcome; a call in the background has the outcome that was recorded at its end. */
export function outcomesOf(log: readonly LogEvent[], marks?: Marks): Outcome[] {
  const open = new Map<string, Outcome>();
  const all: Outcome[] = [];
  for (const event of log) {
    const { type, data } = event;
    const called = calledIn(event, marks);
    if (called) {
      const one = { ...called, status: 'none', started: false };
      open.set(called.call, one);
      all.push(one);
      continue;
    }
    const one = open.get(String(data.toolCallId));
    if (!one) continue;
    if (type === 'agent.tool.execution.started') one.started = true;
    if (type === 'agent.tool.execution.completed') one.status = data.background ? 'behind' : String(data.status);
    if (type === 'agent.tool.background.completed') one.status = String(data.status);
  }
  return all;
}

/** Effects that the ledger shows as lost, doubled, or without a call. */
export function wrongEffects({ threads, ledger, effects }: Evidence): Violation[] {
  const found: Violation[] = [];
  const say = (rule: string, thread: string, what: string) => found.push({ rule, thread, what });
  const lines = new Map<string, LedgerLine[]>();
  for (const line of ledger) lines.set(line.n, [...(lines.get(line.n) ?? []), line]);
  const keyed = new Map<string, number>();
  for (const { n } of effects) keyed.set(n, (keyed.get(n) ?? 0) + 1);

  const marks = marksOf({ ledger, effects });
  for (const { id, log } of threads) {
    for (const { call, name, status, started, n } of outcomesOf(log ?? [], marks)) {
      const facts = tools[name];
      // A shell command has no mark.
      if (!facts || (!n && name === 'shell')) continue;
      const begins = (lines.get(n) ?? []).filter(({ what }) => what === 'begin').length;
      const taken = (lines.get(n) ?? []).filter(({ what }) => what === 'effect').length;
      const ends = (lines.get(n) ?? []).filter(({ what }) => what === 'end').length;
      const isOnce = facts.effect === 'once' || facts.effect === 'saga';
      const which = `${name} ${call} (${n}, ${status})`;
      if (facts.outside) {
        if (begins > 0) say('effect without approval', id, `${which} began, and is answered from outside`);
        continue;
      }
      if (!started && begins > 0) say('effect without approval', id, `${which} began ${begins} times; the log says that it never began`);
      if (['skipped', 'denied', 'rejected', 'none'].includes(status) && begins > 0)
        say('effect without approval', id, `${which} began nevertheless`);
      if (isOnce && begins > 1) say('effect doubled', id, `${which} began ${begins} times`);
      if (facts.effect === 'keyed' && (keyed.get(n) ?? 0) > 1)
        say('effect doubled', id, `${which} took effect ${keyed.get(n)} times, with different keys`);
      if (facts.effect === 'verify' && taken > 1) say('effect doubled', id, `${which} took effect ${taken} times`);
      if (status !== 'success' || !started) continue;
      if (facts.effect === 'verify' && taken !== 1) say('effect lost', id, `${which} took effect ${taken} times`);
      if (isOnce && (begins !== 1 || ends !== 1)) say('effect lost', id, `${which} began ${begins} times and ended ${ends} times`);
      if (facts.effect === 'keyed' && keyed.get(n) !== 1) say('effect lost', id, `${which} took effect ${keyed.get(n) ?? 0} times`);
    }
  }
  return [...found, ...strangers(threads, lines, marks), ...sharedKeys(ledger)];
}

/** Calls that began and are not in the log. */
function strangers(threads: Evidence['threads'], lines: Map<string, LedgerLine[]>, marks: Marks): Violation[] {
  const known = new Map(threads.map(({ id, log }) => [id, log && new Set(outcomesOf(log, marks).map(({ n }) => n))]));
  return [...lines.values()].flatMap(([line]) => {
    const calls = line && known.get(line.thread);
    if (!line || !calls || calls.has(line.n)) return [];
    return [
      {
        rule: 'effect without approval',
        thread: line.thread,
        what: `${line.tool} ${line.call} (${line.n}) began, and the log does not have it`,
      },
    ];
  });
}

/** Calls with the same key: a service that honours keys would take the second call for a retry of the first. */
function sharedKeys(ledger: readonly LedgerLine[]): Violation[] {
  const calls = new Map<string, LedgerLine>();
  return ledger.flatMap((line) => {
    const first = calls.get(line.key);
    if (!first) calls.set(line.key, line);
    if (!first || first.n === line.n || first.tool === 'shell') return [];
    return [
      { rule: 'key shared', thread: line.thread, what: `${line.key} is the key of ${first.tool} ${first.n} and ${line.tool} ${line.n}` },
    ];
  });
}
