import type { Content, UserMessage } from '../core/message';
import { activeRun, messageOf, type QueuedMessage, type SentBack, type ThreadState } from '../core/state';
import { newId } from './record';
import type { Thread } from './thread';

/** The messages that the run under way takes in at its next turn. */
export function waiting({ queue, run }: ThreadState): QueuedMessage[] {
  return queue.filter((m) => m.delivery !== 'after-run' || run?.opening.includes(m.id));
}

/** What the next run begins with: everything said since the last, or else the first message that was to begin a run of its own. */
export function openingOf({ queue }: ThreadState): UserMessage[] {
  const said = queue.filter((m) => m.delivery !== 'after-run');
  return (said.length > 0 ? said : queue.slice(0, 1)).map(messageOf);
}

export function takeInMessages({ record }: Thread, messages: readonly QueuedMessage[], stepId?: string): void {
  for (const message of messages) record('thread.message.created', { ...(stepId && { stepId }), message: messageOf(message) });
}

/** What the run under way began with, where it has not had a turn yet. */
export function takeInOpening(thread: Thread): void {
  const { queue, run } = thread.state;
  takeInMessages(
    thread,
    queue.filter(({ id }) => run?.opening.includes(id)),
  );
}

/**
 * What the engine, a hook or a tool still had to say when the run ended: left waiting, it would begin another run that nobody asked for.
 * Results stay in the transcript; reminders have nobody to remind.
 */
export function settleOwnWords(thread: Thread): void {
  for (const message of thread.state.queue.filter(({ origin }) => origin !== undefined)) {
    if (message.origin === 'tool') takeInMessages(thread, [message]);
    else supersede(thread, message, 'the run ended before it was said to the model');
  }
}

/** Brings the results of the last answer's calls into the transcript, in the order of the calls. */
export function takeInResults({ state, record }: Thread, stepId?: string): void {
  for (const call of state.run?.calls ?? []) {
    if (call.phase !== 'done') continue;
    const { id, name, messageId, outcome } = call;
    const isError = outcome.status !== 'success';
    record('thread.message.created', {
      ...(stepId && { stepId }),
      message: { id: messageId, role: 'tool', toolCallId: id, name, content: outcome.content, isError },
    });
  }
}

/** Says something to the model that no one outside said. It is taken in at the next turn. */
export function say(
  { record }: Thread,
  content: Content,
  { origin, sentBack }: { origin: NonNullable<UserMessage['origin']>; sentBack?: keyof SentBack },
): void {
  const message: UserMessage = { id: newId('msg'), role: 'user', content, origin };
  record('thread.message.queued', { message }, sentBack && { sentBack });
}

/** Whoever was told that a message is accepted is told that it will not be read. What the run under way began with is its own. */
export function refuseQueue(thread: Thread, reason: string): void {
  const opening = activeRun(thread.state)?.opening ?? [];
  for (const message of thread.state.queue) if (!opening.includes(message.id)) supersede(thread, message, reason);
}

function supersede({ record }: Thread, message: QueuedMessage, reason: string): void {
  record('thread.message.superseded', { messageId: message.id, message: messageOf(message), reason });
}
