import type { TerminalEvent } from '../../src/core/event';
import { hashOf } from '../reader-line';
import { callsOf, type Evidence, type LogEvent, type Violation } from './evidence';

export const terminal = Object.keys({
  'thread.run.completed': true,
  'thread.run.failed': true,
  'thread.run.incomplete': true,
  'thread.run.cancelled': true,
  'thread.run.expired': true,
} satisfies Record<TerminalEvent['type'], true>);

/** I3: `seq` counts from 1 without gaps; each run has one terminal event, and it is the run's last. */
export function brokenLogs({ threads }: Evidence): Violation[] {
  return threads.flatMap(({ id, log, status, unreadable }) => {
    if (!log) return status === 'MISSING' ? [] : [{ rule: 'unreadable', thread: id, what: unreadable ?? 'it has no log' }];
    return brokenLog(log).map((what) => ({ rule: 'I3', thread: id, what }));
  });
}

export function brokenLog(log: readonly LogEvent[]): string[] {
  const found: string[] = [];
  for (const [i, { seq, type }] of log.entries()) if (seq !== i + 1) found.push(`event ${i + 1} of the log has seq ${seq} (${type})`);
  const runs = new Set(log.flatMap(({ runId }) => (runId ? [runId] : [])));
  for (const run of runs) {
    const own = log.filter(({ runId }) => runId === run);
    const ends = own.filter(({ type }) => terminal.includes(type));
    if (ends.length !== 1) found.push(`run ${run} has ${ends.length} terminal events: ${ends.map(({ type }) => type).join(', ')}`);
    else if (own.at(-1) !== ends[0]) found.push(`run ${run} goes on after its end: ${own.at(-1)?.type}`);
    const begins = own.filter(({ type }) => type === 'agent.run.created').length;
    if (begins !== 1) found.push(`run ${run} begins ${begins} times`);
  }
  return found.slice(0, 5);
}

/** I2: each call has one outcome in the log, and one tool message after it in the transcript. */
export function unpaired({ threads }: Evidence): Violation[] {
  return threads.flatMap(({ id, log = [], messages }) => {
    const found: string[] = [];
    // Providers may reuse ids of calls: an outcome belongs to the newest call with its id.
    const open = new Map<string, string>();
    for (const { type, data } of log) {
      const call = (data.toolCall as { id: string } | undefined)?.id ?? '';
      if (type === 'thread.run.step.tool_call.completed_by_llm') {
        if (open.has(call)) found.push(`call ${call} was made again before it had an outcome`);
        open.set(call, String(data.stepId));
      } else if (type === 'agent.tool.execution.completed') {
        if (!open.delete(String(data.toolCallId))) found.push(`call ${data.toolCallId} has more than one outcome`);
      }
    }
    for (const call of open.keys()) found.push(`call ${call} has no outcome`);
    const missing: string[] = [];
    for (const message of messages) {
      if (message.role === 'assistant') missing.push(...callsOf(message).map((call) => call.id));
      if (message.role !== 'tool') continue;
      const at = missing.indexOf(message.toolCallId ?? '');
      if (at === -1) found.push(`the transcript has a result for ${message.toolCallId} without its call`);
      else missing.splice(at, 1);
    }
    for (const call of missing) found.push(`the transcript has no result for ${call}`);
    return found.slice(0, 5).map((what) => ({ rule: 'I2', thread: id, what }));
  });
}

/** Readers, including those that disconnected and continued, received exactly the events of the log, in order and without gaps. */
export function misread({ threads, readers }: Evidence): Violation[] {
  const found: Violation[] = [];
  const logs = new Map(threads.map(({ id, log, messages }) => [id, { log, whole: isWhole(log ?? [], messages) }]));
  const last = new Map<string, { from: number; seq: number }>();
  for (const { thread, reader, from, seq, type, timestamp, hash } of readers) {
    const key = `${thread}/${reader}`;
    const before = last.get(key);
    last.set(key, { from, seq });
    const wanted = before && before.from === from ? before.seq + 1 : from;
    if (seq !== wanted) found.push({ rule: 'reader', thread, what: `reader ${reader} received ${seq} instead of ${wanted}` });
    const { log, whole } = logs.get(thread) ?? {};
    const event = log?.[seq - 1];
    if (!log) continue;
    // Events that the client creates for a thread that was ended from outside are in no log.
    if (!event) found.push({ rule: 'reader', thread, what: `reader ${reader} saw ${seq} ${type}, which the log does not have` });
    else if (event.type !== type || event.timestamp !== timestamp) {
      found.push({
        rule: 'reader',
        thread,
        what: `reader ${reader} saw ${seq} ${type} ${timestamp}; the log has ${event.type} ${event.timestamp}`,
      });
    } else if (whole && hashOf(event) !== hash) {
      found.push({ rule: 'reader', thread, what: `reader ${reader} saw ${seq} ${type} with other content than the log has` });
    }
  }
  return found;
}

/** Whether nothing was compacted: a reader that reads after a compaction sees its messages as removed. */
function isWhole(log: readonly LogEvent[], messages: readonly { content: unknown }[]): boolean {
  return messages.length > 0 && !log.some(({ type }) => type === 'thread.context.compacted');
}
