import type { DurableEvent } from '../../core/event';
import type { Stop } from './marks';

/** How the worker is struck. `kill`: SIGKILL. `freeze`: SIGSTOP, and SIGCONT after another worker has taken over. */
export type Way = 'kill' | 'freeze';

/** A place in the run without faults, at which the worker is killed or frozen in another run of the same conversation. */
export interface CrashPoint {
  way: Way;
  /** The place in words, such as `while event 12 (agent.tool.execution.started: refund) is recorded`. */
  at: string;
  /** The `seq` of the newest event at that time. */
  seq: number;
}

/** A place with what a worker process needs to know of it. */
export interface Place extends Omit<CrashPoint, 'way'> {
  stop: Stop;
}

/** Returns the places of a run: the keys of its marks, in order, and its log. */
export function placesOf(keys: readonly string[], events: readonly DurableEvent[]): Place[] {
  const names = toolNames(events);
  const places: Place[] = [];
  let gate: string | undefined;
  let seq = 0;
  for (const key of new Set(keys)) {
    const recorded = /^event (\d+)$/.exec(key)?.[1];
    const event = events[Number(recorded) - 1];
    // An event of a workflow task that was lost, although nothing was killed.
    if (recorded !== undefined && !event) continue;
    seq = event?.seq ?? seq;
    const at = event ? `while event ${seq} (${titleOf(event, names)}) is recorded` : wordsOf(key, names);
    places.push({ at, seq, stop: { at: key, ...(gate !== undefined && { gate }) } });
    if (key.startsWith('model call begins')) gate = key;
  }
  return places;
}

function toolNames(events: readonly DurableEvent[]): Map<string, string> {
  return new Map(events.flatMap(({ data }) => ('toolCallId' in data && 'name' in data ? [[data.toolCallId, data.name]] : [])));
}

function titleOf({ type, data }: DurableEvent, names: ReadonlyMap<string, string>): string {
  const tool = 'toolCallId' in data ? names.get(String(data.toolCallId)) : undefined;
  return tool === undefined ? type : `${type}: ${tool}`;
}

/** `call call_1 begins #2`: the second time that call_1 begins. */
function wordsOf(key: string, names: ReadonlyMap<string, string>): string {
  const [, what, id = '', moment, count] = /^(model call|call|compensation) ?(.*?) ?(begins|ended)(?: #(\d+))?$/.exec(key) ?? [];
  const time = count === undefined ? '' : ` (number ${count})`;
  const tool = names.get(id) ?? id;
  if (what === 'model call') {
    return moment === 'begins' ? `as a model call begins${time}` : `after a model has answered${time}, before the answer is recorded`;
  }
  const call = what === 'call' ? tool : `the compensation of ${tool}`;
  return moment === 'begins' ? `as ${call} begins${time}` : `after ${call} has ended${time}, before its outcome is recorded`;
}
