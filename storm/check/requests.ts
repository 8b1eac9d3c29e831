import type { JournalLine } from '../journal';
import type { Evidence, LogEvent, Violation } from './evidence';
import { terminal } from './logs';

/** A message that was accepted is taken in once, or marked as superseded; one whose outcome is unknown is taken in at most once. */
export function lostMessages({ threads, journal }: Evidence): Violation[] {
  const found: Violation[] = [];
  for (const { id, log } of threads) {
    if (!log) continue;
    const say = (rule: string, what: string) => found.push({ rule, thread: id, what });
    const sent = byKey(journal, id, 'message', ({ messageId }) => messageId ?? '');
    for (const [messageId, lines] of sent) {
      const queued = log.filter(({ type, data }) => type === 'thread.message.queued' && idOf(data) === messageId).length;
      const created = log.filter(({ type, data }) => type === 'thread.message.created' && idOf(data) === messageId).length;
      const superseded = log.filter(({ type, data }) => type === 'thread.message.superseded' && data.messageId === messageId).length;
      if (queued > 1 || created > 1 || superseded > 1 || created + superseded > 1) {
        say('message doubled', `${messageId} was queued ${queued} times, taken in ${created} times, superseded ${superseded} times`);
      }
      const accepted = lines.some(({ outcome, via }) => outcome === 'accepted' && via === 'update');
      if (accepted && queued === 0) say('message lost', `${messageId} was accepted, and the log does not have it`);
      if (queued === 1 && created + superseded === 0) say('message lost', `${messageId} was queued, and neither taken in nor superseded`);
      const signalled = lines.some(({ outcome, via }) => outcome === 'accepted' && via === 'signal');
      if (signalled && queued === 0 && !hasRejection(log, 'sendMessage'))
        say('message lost', `${messageId} was signalled, and neither queued nor rejected`);
    }
    // Every message in the log was sent by a person.
    for (const { type, data } of log) {
      const { origin } = (data.message ?? {}) as { origin?: string };
      const name = idOf(data);
      if (type !== 'thread.message.queued' || origin || !name || sent.has(name)) continue;
      say('message without a sender', `${name} was queued, and nobody sent it`);
    }
  }
  return found;
}

/** Every accepted decision or answer is in the log once, and the log has none that nobody sent. */
export function lostDecisions({ threads, journal }: Evidence): Violation[] {
  const found: Violation[] = [];
  for (const { id, log } of threads) {
    if (!log) continue;
    const say = (rule: string, what: string) => found.push({ rule, thread: id, what });
    const made = byKey(journal, id, 'decision', ({ mark }) => mark);
    const places = new Map<string, number>();
    for (const { type, data } of log) {
      if (!['agent.approval.decided', 'agent.approval.voted', 'agent.limit.extended'].includes(type) || data.source) continue;
      const mark = String(data.reason ?? '');
      places.set(mark, (places.get(mark) ?? 0) + 1);
      if (!made.has(mark))
        say('decision without a sender', `${type} of ${data.toolCallId ?? data.id} by ${data.by}: ${mark || 'without a mark'}`);
    }
    for (const [mark, lines] of made) {
      const times = places.get(mark) ?? 0;
      const [{ nonsense, toolCallId } = lines[0] as JournalLine] = lines;
      if (times > 1) say('decision doubled', `${mark} on ${toolCallId} is in the log ${times} times`);
      const outcome = (what: string, via: string) => lines.some((line) => line.outcome === what && line.via === via);
      if (outcome('accepted', 'update') && times === 0)
        say('decision lost', `${mark} on ${toolCallId} was accepted, and the log does not have it`);
      if (outcome('refused', 'update') && times > 0)
        say('refused decision applied', `${mark} on ${toolCallId} was refused, and took effect nevertheless`);
      if (nonsense && times > 0) say('refused decision applied', `${mark} was invalid, and took effect nevertheless`);
      if (outcome('accepted', 'signal') && times === 0 && !hasRejection(log, 'approve'))
        say('decision lost', `${mark} on ${toolCallId} was signalled, and neither applied nor rejected`);
    }
    for (const [mark, lines] of byKey(journal, id, 'output', (line) => line.mark)) {
      const times = log.filter(
        ({ type, data }) => type === 'agent.tool.execution.completed' && JSON.stringify(data.output ?? '').includes(mark),
      ).length;
      const compacted = log.some(({ type }) => type === 'thread.context.compacted');
      if (times > 1) say('decision doubled', `the answer ${mark} is in the log ${times} times`);
      if (lines.some(({ outcome, via }) => outcome === 'accepted' && via === 'update') && times === 0 && !compacted) {
        say('decision lost', `the answer ${mark} to ${lines[0]?.toolCallId} was accepted, and the log does not have it`);
      }
    }
  }
  return found;
}

/** Every accepted pause, cancel or similar request is in the log, and a cancelled run does not end as if it had not been cancelled. */
export function lostControls({ threads, journal }: Evidence): Violation[] {
  const found: Violation[] = [];
  for (const { id, log } of threads) {
    if (!log) continue;
    for (const [mark, lines] of byKey(journal, id, 'control', (line) => line.mark)) {
      const accepted = lines.find(({ outcome, via }) => outcome === 'accepted' && via === 'update');
      if (!accepted) continue;
      const { name } = accepted;
      if (!log.some((event) => follows(event, name, mark)))
        found.push({ rule: 'request lost', thread: id, what: `${name} ${mark} was accepted, and the log does not have it` });
      const end = endOfCancelled(log, mark);
      if (end && unheeding.includes(end.type))
        found.push({ rule: 'cancel without effect', thread: id, what: `${name} ${mark} was accepted, and the run ended with ${end.type}` });
    }
  }
  return found;
}

/** Whether an event records the request. Its reason is its mark; for a close the log has no mark. */
function follows(event: LogEvent, name: string, mark: string): boolean {
  const { type, data } = event;
  switch (name) {
    case 'pause':
      return type === 'agent.run.paused' && data.reason === mark;
    case 'resume':
      return type === 'agent.run.resumed' && data.reason === mark;
    case 'close':
      return type === 'thread.closed' && data.reason === 'requested';
    case 'cancel':
      return cancels(event, mark);
    default:
      return type === 'agent.request.accepted' && data.request === name && data.reason === mark;
  }
}

function cancels({ type, data }: LogEvent, mark: string): boolean {
  if (type === 'agent.run.status.changed') return data.status === 'cancelling' && data.details === mark;
  return type === 'agent.request.accepted' && data.request === 'cancel' && data.reason === mark;
}

/** Ends that ignore a cancel. A failed run is not one, because a step may fail at the moment of the cancel. */
const unheeding = ['thread.run.completed', 'thread.run.incomplete'];

/** The terminal event of the cancelled run: the run at that time, or else the next. */
function endOfCancelled(log: readonly LogEvent[], mark: string): LogEvent | undefined {
  const at = log.findIndex((event) => cancels(event, mark));
  if (at === -1) return undefined;
  const run = log[at]?.runId ?? log.slice(at).find(({ type }) => type === 'agent.run.created')?.runId;
  return log.find(({ type, runId }) => runId === run && terminal.includes(type));
}

function byKey(
  journal: readonly JournalLine[],
  thread: string,
  kind: string,
  keyOf: (line: JournalLine) => string,
): Map<string, JournalLine[]> {
  const found = new Map<string, JournalLine[]>();
  for (const line of journal) {
    if (line.thread !== thread || line.kind !== kind) continue;
    found.set(keyOf(line), [...(found.get(keyOf(line)) ?? []), line]);
  }
  return found;
}

function hasRejection(log: readonly LogEvent[], request: string): boolean {
  return log.some(({ type, data }) => type === 'agent.request.rejected' && data.request === request);
}

function idOf(data: Record<string, unknown>): string {
  return (data.message as { id?: string } | undefined)?.id ?? '';
}
