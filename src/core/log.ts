import { type DurableEvent, type DurableEventData, type DurableEventType, pendingKinds } from './event';
import type { JsonObject } from './json';
import {
  type AnswerPart,
  type AssistantMessage,
  type Content,
  type Message,
  type ToolCall,
  type ToolMessage,
  textOf,
  toolCallsOf,
  type UserMessage,
  wordsOf,
} from './message';
import { messageOf, type ThreadState } from './state';

/**
 * An event as stored in the state. It refers to its messages by id, so that the log does not contain them a second time. `join` puts them back
 * for readers.
 */
export interface LogRecord {
  seq: number;
  type: DurableEventType;
  /** Milliseconds since 1970. */
  at: number;
  runId: string | null;
  data: JsonObject;
}

/** How the data of one event type is stored, if it contains messages, calls or outputs that are already in the state. */
interface Reference<T extends DurableEventType, Kept = unknown> {
  keep(data: DurableEventData[T]): Kept;
  restore(kept: Kept, look: Lookup, seq: number): DurableEventData[T];
}

/** The data is stored unchanged. */
const plain: Reference<never> = { keep: (data) => data, restore: (kept) => kept as never };

/** Lets the compiler infer `Kept`. */
function reference<T extends DurableEventType, Kept>(_type: T, how: Reference<T, Kept>): Reference<T> {
  return how as Reference<T>;
}

/** One entry per event type, so that a new type does not compile without one. */
const references: { [T in DurableEventType]: Reference<T> } = {
  'agent.run.created': reference('agent.run.created', {
    keep: ({ initialMessages, ...rest }) => ({ ...rest, messageIds: initialMessages.map(({ id }) => id) }),
    restore: ({ messageIds, ...rest }, look) => ({ ...rest, initialMessages: messageIds.map((id) => look.message(id)) }),
  }),
  'thread.message.created': reference('thread.message.created', {
    keep: ({ message, ...rest }) => ({ ...rest, messageId: message.id, ...resultOf(message) }),
    restore: ({ messageId, result, ...rest }, look) => ({
      ...rest,
      message: rest.inProgress ? draft(messageId) : look.message(messageId, result),
    }),
  }),
  'thread.message.completed': reference('thread.message.completed', {
    keep: ({ message, ...rest }) => ({ ...rest, messageId: message.id }),
    restore: ({ messageId, ...rest }, look) => ({ ...rest, message: look.answer(messageId) }),
  }),
  'thread.message.queued': reference('thread.message.queued', {
    keep: ({ message, ...rest }) => ({ ...rest, messageId: message.id, ...originOf(message) }),
    restore: ({ messageId, origin: _, ...rest }, look) => ({ ...rest, message: look.message(messageId) }),
  }),
  'agent.tool.background.completed': reference('agent.tool.background.completed', {
    keep: ({ message, ...rest }) => ({ ...rest, messageId: message.id }),
    restore: ({ messageId, ...rest }, look) => ({ ...rest, message: look.message(messageId) }),
  }),
  'thread.run.completed': reference('thread.run.completed', {
    keep: ({ finalMessages, output, ...rest }) => ({
      ...rest,
      messageIds: finalMessages.map(({ id }) => id),
      ...(output !== saidIn(finalMessages) && { output }),
    }),
    restore({ messageIds, output, ...rest }, look) {
      const finalMessages = messageIds.map(look.answer);
      return { ...rest, finalMessages, output: output ?? saidIn(finalMessages) };
    },
  }),
  'thread.run.step.tool_call.completed_by_llm': reference('thread.run.step.tool_call.completed_by_llm', {
    keep: ({ toolCall, ...rest }) => ({ ...rest, toolCallId: toolCall.id }),
    restore: ({ toolCallId, ...rest }, look) => ({ ...rest, toolCall: look.call(toolCallId) }),
  }),
  'agent.approval.requested': reference('agent.approval.requested', {
    keep: ({ toolCall, ...rest }) => ({ ...rest, toolCallId: toolCall.id }),
    restore: ({ toolCallId, ...rest }, look) => ({ ...rest, toolCall: look.call(toolCallId) }),
  }),
  'agent.tool.execution.completed': reference('agent.tool.execution.completed', {
    keep: ({ output: _, ...rest }) => rest,
    restore: (kept, look) => ({ ...kept, output: look.output(kept.messageId) }),
  }),
  'thread.run.requires_action': reference('thread.run.requires_action', {
    keep: ({ pending, ...rest }) => ({ ...rest, pending: pending.map(({ arguments: _, ...call }) => call) }),
    restore: ({ pending, ...rest }, look, seq) => ({
      ...rest,
      pending: pending.map((call) => ({
        ...call,
        arguments: pendingKinds[call.kind].isCall ? look.argumentsAt(seq, call.toolCallId) : '',
      })),
    }),
  }),
  'agent.tools.loaded': plain,
  'agent.tool.question.asked': plain,
  'agent.tool.question.answered': plain,
  'agent.tool.outcome.unknown': plain,
  'agent.tool.outcome.settled': plain,
  'agent.tool.compensation.started': plain,
  'agent.tool.compensation.completed': plain,
  'agent.tool.compensation.failed': plain,
  'agent.run.status.changed': plain,
  'agent.run.step.created': plain,
  'thread.message.incomplete': plain,
  'agent.llm.fallback': plain,
  'thread.run.step.tool_call.created': plain,
  'agent.tool.execution.started': plain,
  'agent.approval.voted': plain,
  'agent.approval.escalated': plain,
  'agent.approval.decided': plain,
  'agent.input.expired': plain,
  'agent.limit.reached': plain,
  'agent.limit.handed_out': plain,
  'agent.limit.extended': plain,
  'agent.run.paused': plain,
  'agent.run.resumed': plain,
  'agent.run.suspended': plain,
  'agent.hook.completed': plain,
  'thread.message.superseded': plain,
  'thread.closed': plain,
  'thread.reopened': plain,
  'agent.request.accepted': plain,
  'agent.request.rejected': plain,
  'thread.context.compaction.started': plain,
  'thread.context.compacted': plain,
  'thread.context.kept': plain,
  'agent.run.summarized': plain,
  'thread.run.failed': plain,
  'thread.run.incomplete': plain,
  'thread.run.cancelled': plain,
  'thread.run.expired': plain,
};

/** Returns an event's data with references in place of its messages. */
export function strip<T extends DurableEventType>(type: T, data: DurableEventData[T]): JsonObject {
  return references[type].keep(data) as JsonObject;
}

/** The call that a result message belongs to, so that this stays known after a compaction drops the message. */
function resultOf(message: Message): { result?: Result } {
  if (message.role !== 'tool') return {};
  const { toolCallId, name, isError } = message;
  return { result: { toolCallId, name, isError } };
}

/** The origin of a message with the role `user`, for the same reason. */
function originOf(message: Message): { origin?: Origin } {
  return message.role === 'user' && message.origin ? { origin: message.origin } : {};
}

type Origin = NonNullable<UserMessage['origin']>;
type Result = Pick<ToolMessage, 'toolCallId' | 'name' | 'isError'>;

/** Returns the event as readers see it. Messages that a compaction has dropped have `[no longer kept]` as their text. */
export function join(record: LogRecord, state: ThreadState): DurableEvent {
  const { seq, type, at, runId } = record;
  const data = references[type].restore(record.data, lookup(state), seq);
  return { seq, type, timestamp: new Date(at).toISOString(), threadId: state.threadId, runId, data } as DurableEvent;
}

/** Returns the model's text in these messages, trimmed. */
export function saidIn(messages: readonly Message[]): string {
  return messages
    .map((m) => (m.role === 'assistant' ? wordsOf(m.content) : ''))
    .join('\n')
    .trim();
}

function draft(id: string): AssistantMessage {
  return { id, role: 'assistant', content: [], attempt: 1 };
}

/** Returns a placeholder for an answer that a compaction has dropped, with the ids and names of its calls. */
function droppedAnswer(id: string, calls: readonly ToolCall[]): AssistantMessage {
  const content: AnswerPart[] = [{ type: 'text', text: gone }, ...calls.map((call) => ({ type: 'tool-call' as const, ...call }))];
  return { ...draft(id), content };
}

function supersededIn({ log }: ThreadState, id: string): Message | undefined {
  const record = log.findLast(({ type, data }) => type === 'thread.message.superseded' && data.messageId === id);
  return record?.data.message as Message | undefined;
}

function queuedIn({ queue }: ThreadState, id: string): Message | undefined {
  const queued = queue.find((m) => m.id === id);
  return queued && messageOf(queued);
}

function callIn(messages: readonly Message[], id: string): ToolCall | undefined {
  for (let i = messages.length - 1; i >= 0; i--) {
    const m = messages[i];
    const found = m?.role === 'assistant' && toolCallsOf(m.content).find((one) => one.id === id);
    if (found) return found;
  }
  return undefined;
}

/** Returns the name of a call whose message a compaction has dropped. */
function nameIn({ log }: ThreadState, id: string): string {
  for (let i = log.length - 1; i >= 0; i--) {
    const { type, data } = log[i] as LogRecord;
    const made = type === 'thread.run.step.tool_call.created' && (data.toolCall as Pick<ToolCall, 'id' | 'name'>);
    if (made && made.id === id) return made.name;
  }
  return '';
}

/** Returns the origin of a message that a compaction has dropped. */
function originIn({ log }: ThreadState, id: string): { origin?: Origin } {
  const record = log.find(
    ({ type, data }) => data.messageId === id && (type === 'thread.message.queued' || type === 'agent.tool.background.completed'),
  );
  if (record?.type === 'agent.tool.background.completed') return { origin: 'tool' };
  return record?.data.origin ? { origin: record.data.origin as Origin } : {};
}

/** The text of a message that a compaction has dropped. */
export const gone = '[no longer kept]';

/** Returns the ids of the calls in an answer that a compaction has dropped. */
function callsIn({ log }: ThreadState, messageId: string): string[] {
  const step = log.find(({ type, data }) => type === 'thread.message.completed' && data.messageId === messageId)?.data.stepId;
  const called = log.filter(({ type, data }) => type === 'thread.run.step.tool_call.completed_by_llm' && data.stepId === step);
  return called.map(({ data }) => String(data.toolCallId));
}

/** Events that may replace the model's arguments. */
const edits: readonly DurableEventType[] = ['agent.approval.decided', 'agent.hook.completed'];

type Lookup = ReturnType<typeof lookup>;

function lookup(state: ThreadState) {
  const kept = (id: string) => state.archived?.find((m) => m.id === id) ?? state.messages.findLast((m) => m.id === id);
  const message = (id: string, result?: Result): Message => {
    const found = kept(id) ?? queuedIn(state, id) ?? supersededIn(state, id);
    return found ?? (result ? { id, role: 'tool', ...result, content: gone } : { id, role: 'user', content: gone, ...originIn(state, id) });
  };
  const call = (id: string): ToolCall => {
    const found = callIn(state.messages, id) ?? callIn(state.archived ?? [], id);
    return found ?? { id, name: nameIn(state, id), arguments: gone };
  };
  return {
    message,
    call,
    answer: (id: string): AssistantMessage => (kept(id) as AssistantMessage | undefined) ?? droppedAnswer(id, callsIn(state, id).map(call)),
    /** Returns a call's arguments at the time of an event: as the tool takes them, or as they had been edited. */
    argumentsAt(seq: number, id: string): string {
      const written = (r: LogRecord) =>
        r.type === 'agent.approval.requested' ? r.data.arguments : edits.includes(r.type) && (r.data.arguments ?? r.data.editedArguments);
      const last = state.log.findLast((r) => r.seq < seq && r.data.toolCallId === id && typeof written(r) === 'string');
      return last ? (written(last) as string) : call(id).arguments;
    },
    output(messageId: string): Content {
      const waiting = state.run?.calls.find((call) => call.phase === 'done' && call.messageId === messageId);
      if (waiting?.phase === 'done') return waiting.outcome.content;
      const found = message(messageId);
      return found.role === 'assistant' ? textOf(found.content) : found.content;
    },
  };
}
