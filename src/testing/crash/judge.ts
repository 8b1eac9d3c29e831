import { type DurableEvent, isTerminal } from '../../core/event';
import { essenceOf } from './essence';
import type { Effect } from './ledger';

/** How one run of the conversation went. */
export interface CrashRun {
  threadId: string;
  /** The event that ended the run, such as `thread.run.completed`, or undefined if it did not end. */
  end: string | undefined;
  /** The final answer, or the code and message of the failure. */
  answer: string;
  events: readonly DurableEvent[];
  effects: readonly Effect[];
  /** The calls whose outcome was reported as unknown, to the model or to a person. */
  unknown: readonly { toolCallId: string; tool: string }[];
}

export interface Difference {
  /**
   * `doubled`: an effect happened more often than without faults, or only with them. `missing`: one did not happen, and no outcome of its tool was
   * reported as unknown. `answer`, `events`: they differ. `stuck`: the run did not end. `not-reached`: the run never came to the point. `check`: the
   * author's check failed.
   */
  kind: 'doubled' | 'missing' | 'answer' | 'events' | 'stuck' | 'not-reached' | 'check';
  message: string;
}

export function runOf(threadId: string, events: readonly DurableEvent[], effects: readonly Effect[]): CrashRun {
  const last = events.findLast(isTerminal);
  return { threadId, end: last?.type, answer: answerOf(last), events, effects, unknown: unknownIn(events) };
}

function answerOf(last: DurableEvent | undefined): string {
  if (!last) return '';
  const { code, output, message } = last.data as { code?: string; output?: string; message?: string };
  return [code, output ?? message].filter((part) => part !== undefined).join(': ');
}

function isUnknown({ type, data }: DurableEvent): boolean {
  return type === 'agent.tool.outcome.unknown' || (type === 'agent.tool.execution.completed' && data.status === 'unknown');
}

function unknownIn(events: readonly DurableEvent[]): { toolCallId: string; tool: string }[] {
  const calls = new Map<string, string>();
  for (const event of events) {
    if (isUnknown(event)) {
      const { toolCallId, name } = event.data as { toolCallId: string; name: string };
      calls.set(toolCallId, name);
    }
  }
  return [...calls].map(([toolCallId, tool]) => ({ toolCallId, tool }));
}

/**
 * Compares a run with the one without faults. What follows an unknown outcome is the decision of the model, of people, or of the tool's `onUnknown`, so
 * after it only the effects are compared.
 */
export function differencesOf(run: CrashRun, clean: CrashRun): Difference[] {
  const effects = compareEffects(run, clean);
  if (run.end === undefined) {
    const last = run.events.at(-1);
    return [
      { kind: 'stuck', message: `the run did not end; its last event is ${last ? `${last.seq} (${last.type})` : 'none'}` },
      ...effects,
    ];
  }
  return [...compareLogs(run, clean), ...effects];
}

function compareLogs(run: CrashRun, clean: CrashRun): Difference[] {
  if (run.unknown.length === 0 && (run.end !== clean.end || run.answer !== clean.answer)) {
    return [{ kind: 'answer', message: `it ended with ${ending(run)}, and without faults with ${ending(clean)}` }];
  }
  const until = run.events.findIndex(isUnknown);
  const told = essenceOf(until < 0 ? run.events : run.events.slice(0, until), run.threadId);
  const usual = essenceOf(clean.events, clean.threadId);
  const length = until < 0 ? Math.max(told.length, usual.length) : told.length;
  for (let at = 0; at < length; at++) {
    if (told[at] === usual[at]) continue;
    // Calls that run concurrently end in any order, also before the unknown outcome.
    if (until >= 0 && usual.includes(told[at] ?? '')) continue;
    const [here, there] = [told[at], usual[at]].map((text) => (text === undefined ? 'nothing' : text));
    return [{ kind: 'events', message: `event ${at + 1} is ${around(here, there)}, and without faults ${around(there, here)}` }];
  }
  return [];
}

function ending({ end, answer }: CrashRun): string {
  return `${end} (${JSON.stringify(answer.slice(0, 200))})`;
}

/** The text from a little before the first difference on. */
function around(text = '', other = ''): string {
  const type = text.split(' ', 1)[0] ?? '';
  let from = 0;
  while (from < text.length && text[from] === other[from]) from++;
  const begin = Math.max(type.length, from - 40);
  const rest = text.slice(begin, begin + 160);
  return rest ? `${type} ${begin > type.length ? '…' : ''}${rest.trim()}` : type;
}

function compareEffects(run: CrashRun, clean: CrashRun): Difference[] {
  const [here, there] = [count(run.effects), count(clean.effects)];
  return [...new Set([...here.keys(), ...there.keys()])].flatMap((key): Difference[] => {
    const [tool = '', what = ''] = JSON.parse(key) as string[];
    const [times, usual] = [here.get(key) ?? 0, there.get(key) ?? 0];
    if (times > usual) {
      return [{ kind: 'doubled', message: `${tool}: "${what}" happened ${often(times)}, and without faults ${often(usual)}` }];
    }
    const excused = run.unknown.filter((call) => call.tool === tool).length;
    if (usual - times <= excused) return [];
    const why =
      excused > 0 ? `, and only ${excused} outcomes of ${tool} were reported as unknown` : ', and no outcome was reported as unknown';
    return [{ kind: 'missing', message: `${tool}: "${what}" happened ${often(times)}, and without faults ${often(usual)}${why}` }];
  });
}

function count(effects: readonly Effect[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { tool, what } of effects) {
    const key = JSON.stringify([tool, what]);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

function often(times: number): string {
  if (times === 0) return 'never';
  return times === 1 ? 'once' : `${times} times`;
}
