import type { Content, UserMessage } from '../core/message';
import { activeRun, messageOf, type QueuedMessage, type SentBack, type ThreadState } from '../core/state';
import { newId } from './record';
import type { ThreadContext } from './thread-context';

/** The queued messages that the active run takes in at its next turn. */
export function waiting({ queue, run }: ThreadState): QueuedMessage[] {
  return queue.filter((m) => m.delivery !== 'after-run' || run?.opening.includes(m.id));
}

/** The messages that the next run begins with: all queued ones without `after-run`, or else the first one with it. */
export function openingOf({ queue }: ThreadState): UserMessage[] {
  const said = queue.filter((m) => m.delivery !== 'after-run');
  return (said.length > 0 ? said : queue.slice(0, 1)).map(messageOf);
}

export function takeInMessages({ record }: ThreadContext, messages: readonly QueuedMessage[], stepId?: string): void {
  for (const message of messages) record('thread.message.created', { ...(stepId && { stepId }), message: messageOf(message) });
}

/** Takes in the run's opening messages that are still queued, because it has not had a turn yet. */
export function takeInOpening(thread: ThreadContext): void {
  const { queue, run } = thread.state;
  takeInMessages(
    thread,
    queue.filter(({ id }) => run?.opening.includes(id)),
  );
}

/**
 * Clears queued messages of the engine, hooks and tools when a run ends, because they would begin another run that nobody requested. Results
 * of tools join the transcript; the other messages are superseded.
 */
export function settleOwnWords(thread: ThreadContext): void {
  for (const message of thread.state.queue.filter(({ origin }) => origin !== undefined)) {
    if (message.origin === 'tool') takeInMessages(thread, [message]);
    else supersede(thread, message, 'the run ended before it was said to the model');
  }
}

/** Adds the results of the last answer's calls to the transcript, in the order of the calls. */
export function takeInResults({ state, record }: ThreadContext, stepId?: string): void {
  for (const call of state.run?.calls ?? []) {
    if (call.phase !== 'done') continue;
    const { id, name, messageId, outcome } = call;
    const { outputRef } = outcome;
    const isError = outcome.status !== 'success';
    record('thread.message.created', {
      ...(stepId && { stepId }),
      message: { id: messageId, role: 'tool', toolCallId: id, name, content: outcome.content, isError, ...(outputRef && { outputRef }) },
    });
  }
}

/** Queues a message of the engine, a hook or a tool. The run takes it in at its next turn. */
export function say(
  { record }: ThreadContext,
  content: Content,
  { origin, sentBack }: { origin: NonNullable<UserMessage['origin']>; sentBack?: keyof SentBack },
): void {
  const message: UserMessage = { id: newId('msg'), role: 'user', content, origin };
  record('thread.message.queued', { message }, sentBack && { sentBack });
}

/** Records for each queued message that it will not be taken in, except for the opening messages of the active run. */
export function refuseQueue(thread: ThreadContext, reason: string): void {
  const opening = activeRun(thread.state)?.opening ?? [];
  for (const message of thread.state.queue) if (!opening.includes(message.id)) supersede(thread, message, reason);
}

function supersede({ record }: ThreadContext, message: QueuedMessage, reason: string): void {
  record('thread.message.superseded', { messageId: message.id, message: messageOf(message), reason });
}
