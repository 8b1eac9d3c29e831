import type { DurableEvent, DurableEventData, DurableEventType, PendingCall } from './event';
import type { JsonObject } from './json';
import type { AssistantMessage, Message, ToolCall, ToolMessage, UserMessage } from './message';
import { messageOf, type ThreadState } from './state';

/**
 * An event as the state keeps it: it points at its messages instead of repeating them, so that the log costs no second copy.
 * `join` puts them back for a reader.
 */
export interface LogRecord {
  seq: number;
  type: DurableEventType;
  /** Milliseconds since 1970. */
  at: number;
  runId: string | null;
  data: JsonObject;
}

type Fields = Record<string, unknown>;

/** What is left of an event's data once its messages are pointed at. */
export function strip(type: DurableEventType, data: DurableEventData[DurableEventType]): JsonObject {
  const { message, toolCall, output, initialMessages, finalMessages, pending, ...rest } = data as Fields;
  const kept: Fields = rest;
  // Words that no message of the transcript has.
  if (output !== undefined && ownOutput.includes(type)) kept.output = output;
  // A failure's message is its words, not a message of the transcript.
  // It joins no transcript, so its log is the only place that has what it said.
  if (typeof message === 'string' || type === 'thread.message.superseded') kept.message = message;
  else if (message) kept.messageId = (message as Message).id;
  if (type === 'thread.message.created') Object.assign(kept, resultOf(message as Message));
  if (type === 'thread.message.queued') Object.assign(kept, originOf(message as Message));
  if (initialMessages) kept.messageIds = (initialMessages as Message[]).map((m) => m.id);
  if (finalMessages) {
    kept.messageIds = (finalMessages as Message[]).map((m) => m.id);
    if (output !== wordsOf(finalMessages as Message[])) kept.output = output;
  }
  if (toolCall && type === 'thread.run.step.tool_call.created') kept.toolCall = toolCall;
  else if (toolCall) kept.toolCallId = (toolCall as ToolCall).id;
  if (pending) kept.pending = (pending as PendingCall[]).map(({ arguments: _, ...call }) => call);
  return kept as JsonObject;
}

const edits: readonly DurableEventType[] = ['agent.approval.decided', 'agent.hook.completed'];

const ownOutput: readonly DurableEventType[] = ['thread.run.incomplete', 'agent.run.summarized', 'agent.run.suspended'];

/** Whose result a message is, so that it is still known to be one where a compaction has dropped it. */
function resultOf(message: Message): { result?: Result } {
  if (message.role !== 'tool') return {};
  const { toolCallId, name, isError } = message;
  return { result: { toolCallId, name, isError } };
}

/** Whose words a message of the user's role is, for the same reason. */
function originOf(message: Message): { origin?: Origin } {
  return message.role === 'user' && message.origin ? { origin: message.origin } : {};
}

type Origin = NonNullable<UserMessage['origin']>;
type Result = Pick<ToolMessage, 'toolCallId' | 'name' | 'isError'>;

/** The event as its reader sees it. Messages that made way for newer ones since are shown as gone, never as something else. */
export function join(record: LogRecord, state: ThreadState): DurableEvent {
  const data: Fields = { ...record.data };
  const look = lookup(state);
  const take = (key: string) => {
    const value = data[key];
    delete data[key];
    return value;
  };
  switch (record.type) {
    case 'thread.message.created': {
      const result = take('result') as Result | undefined;
      data.message = data.inProgress ? shell(String(take('messageId'))) : look.message(String(take('messageId')), result);
      break;
    }
    case 'thread.message.completed':
      data.message = look.answer(String(take('messageId')));
      break;
    case 'thread.message.queued':
      delete data.origin;
      data.message = look.message(String(take('messageId')));
      break;
    case 'agent.tool.background.completed':
      data.message = look.message(String(take('messageId')));
      break;
    case 'agent.run.created':
      data.initialMessages = (take('messageIds') as string[]).map((id) => look.message(id));
      break;
    case 'thread.run.completed': {
      const finalMessages = (take('messageIds') as string[]).map(look.answer);
      data.finalMessages = finalMessages;
      data.output ??= wordsOf(finalMessages);
      break;
    }
    case 'thread.run.step.tool_call.completed_by_llm':
    case 'agent.approval.requested':
      data.toolCall = look.call(String(take('toolCallId')));
      break;
    case 'agent.tool.execution.completed':
      data.output = look.output(String(data.messageId));
      break;
    case 'thread.run.requires_action':
      data.pending = (data.pending as PendingCall[]).map((call) => ({
        ...call,
        arguments: call.kind === 'limit' || call.kind === 'reply' ? '' : look.argumentsAt(record.seq, call.toolCallId),
      }));
      break;
  }
  return {
    seq: record.seq,
    type: record.type,
    timestamp: new Date(record.at).toISOString(),
    threadId: state.threadId,
    runId: record.runId,
    data,
  } as unknown as DurableEvent;
}

/** What the model said in its last messages, without the blanks around it; the messages themselves have it to the letter. */
export function wordsOf(messages: readonly Message[]): string {
  return messages
    .map((m) => (m.role === 'assistant' ? m.refusal || m.content : ''))
    .join('\n')
    .trim();
}

function shell(id: string): AssistantMessage {
  return { id, role: 'assistant', content: '', toolCalls: [], attempt: 1 };
}

function supersededIn({ log }: ThreadState, id: string): Message | undefined {
  const record = log.findLast(({ type, data }) => type === 'thread.message.superseded' && data.messageId === id);
  return record?.data.message as Message | undefined;
}

function queuedIn({ queue }: ThreadState, id: string): Message | undefined {
  const queued = queue.find((m) => m.id === id);
  return queued && messageOf(queued);
}

/** The name of a call whose message a compaction has dropped. */
function nameIn({ log }: ThreadState, id: string): string {
  for (let i = log.length - 1; i >= 0; i--) {
    const { type, data } = log[i] as LogRecord;
    const made = type === 'thread.run.step.tool_call.created' && (data.toolCall as Pick<ToolCall, 'id' | 'name'>);
    if (made && made.id === id) return made.name;
  }
  return '';
}

/** Whose words a message was that a compaction has dropped. */
function originIn({ log }: ThreadState, id: string): { origin?: Origin } {
  const record = log.find(
    ({ type, data }) => data.messageId === id && (type === 'thread.message.queued' || type === 'agent.tool.background.completed'),
  );
  if (record?.type === 'agent.tool.background.completed') return { origin: 'tool' };
  return record?.data.origin ? { origin: record.data.origin as Origin } : {};
}

const gone = '[no longer kept]';

/** The ids of the calls in an answer that a compaction has dropped. */
function callsIn({ log }: ThreadState, messageId: string): string[] {
  const step = log.find(({ type, data }) => type === 'thread.message.completed' && data.messageId === messageId)?.data.stepId;
  const called = log.filter(({ type, data }) => type === 'thread.run.step.tool_call.completed_by_llm' && data.stepId === step);
  return called.map(({ data }) => String(data.toolCallId));
}

function lookup(state: ThreadState) {
  const kept = (id: string) => state.messages.findLast((m) => m.id === id);
  const message = (id: string, result?: Result): Message => {
    const found = kept(id) ?? queuedIn(state, id) ?? supersededIn(state, id);
    return found ?? (result ? { id, role: 'tool', ...result, content: gone } : { id, role: 'user', content: gone, ...originIn(state, id) });
  };
  const call = (id: string): ToolCall => {
    for (let i = state.messages.length - 1; i >= 0; i--) {
      const m = state.messages[i];
      const found = m?.role === 'assistant' && m.toolCalls.find((one) => one.id === id);
      if (found) return found;
    }
    return { id, name: nameIn(state, id), arguments: gone };
  };
  return {
    message,
    call,
    answer: (id: string): Message => kept(id) ?? { ...shell(id), content: gone, toolCalls: callsIn(state, id).map(call) },
    /** What a call was to run with when an event was recorded: as the tool takes it, or as someone edited it before. */
    argumentsAt(seq: number, id: string): string {
      const written = (r: LogRecord) =>
        r.type === 'agent.approval.requested' ? r.data.arguments : edits.includes(r.type) && r.data.editedArguments;
      const last = state.log.findLast((r) => r.seq < seq && r.data.toolCallId === id && typeof written(r) === 'string');
      return last ? (written(last) as string) : call(id).arguments;
    },
    output(messageId: string) {
      const waiting = state.run?.calls.find((call) => call.phase === 'done' && call.messageId === messageId);
      return waiting?.phase === 'done' ? waiting.outcome.content : message(messageId).content;
    },
  };
}
