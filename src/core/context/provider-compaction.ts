import { type AssistantMessage, compactionIn, type Message, type UserMessage } from '../message';
import { isSummary } from './shorten';
import { compactionNote, type SummaryNotes, summaryMessage } from './summary';

/** What the compaction in an answer, which the model's provider made, replaces. */
export interface Compacted {
  /** The provider's summary, if it can be read. */
  text: string;
  answer: AssistantMessage;
  /** The messages that models get although they are older: the objective, and what the current run began with. */
  head: Message[];
  /** The messages that models which read the compaction no longer get. */
  replaced: Message[];
  /** All messages before the answer, without the note of an earlier compaction. */
  before: Message[];
  /** The messages from the answer on. */
  after: Message[];
}

/**
 * Divides a transcript at the compaction in one of its answers. `opening`: ids of the messages that the current run began with. Returns undefined
 * if the answer has no compaction, or if no message is replaced.
 */
export function divideAtCompaction(messages: readonly Message[], answerId: string, opening: readonly string[]): Compacted | undefined {
  const at = messages.findIndex(({ id }) => id === answerId);
  const answer = messages[at];
  const compaction = answer?.role === 'assistant' ? compactionIn(answer.content) : undefined;
  if (answer?.role !== 'assistant' || !compaction) return undefined;
  const before = messages.slice(0, at).filter((message) => !isNote(message));
  const objective = before.find(({ role }) => role === 'user');
  const isHead = (message: Message) => isSaid(message) && (message === objective || opening.includes(message.id));
  // Of a compaction that can't be read, the messages stay. Those before the last one were replaced by that one.
  const since = compaction.text === '' ? messages.findLastIndex((message, i) => i < at && isNote(message)) : -1;
  const known = new Set(messages.slice(0, Math.max(since, 0)).map(({ id }) => id));
  const replaced = before.filter((message) => !isHead(message) && !isSummary(message) && !known.has(message.id));
  if (replaced.length === 0) return undefined;
  return { text: compaction.text, answer, head: before.filter(isHead), replaced, before, after: messages.slice(at) };
}

/**
 * The transcript after a provider's compaction. A readable one also becomes a summary like the engine's, for models of other providers. If it can't
 * be read, the older messages stay for them. `newId` is called once for each message that is added.
 */
export function withCompaction(
  { text, head, before, after }: Compacted,
  { retained, notes, newId }: { retained: string[]; notes: SummaryNotes; newId: () => string },
): { messages: Message[]; summary?: UserMessage } {
  const note = compactionNote(
    newId(),
    retained,
    notes,
    head.map(({ id }) => id),
  );
  if (text === '') return { messages: [...before, note, ...after] };
  const summary = summaryMessage(newId(), { text, retained }, notes);
  return { messages: [...head, summary, note, ...after], summary };
}

/** Messages without compactions and their notes, once a summary by the engine stands for what they replaced. */
export function withoutCompactions(messages: readonly Message[]): Message[] {
  return messages.filter((message) => !isNote(message)).map(without);
}

/**
 * The transcript for one model. A model that reads the newest compaction gets, in this order: the answer with it, from the compaction on, the
 * results of that answer, the note, the messages that the note repeats, and what followed. `isReadable` says whether it reads that of an answer.
 * Other models get everything but compactions and notes.
 */
export function sinceCompaction(messages: readonly Message[], isReadable: (answer: AssistantMessage) => boolean): Message[] {
  const at = messages.findLastIndex((message, i) => isNote(message) && isReadableAt(messages[i + 1], isReadable));
  const note = messages[at];
  const answer = messages[at + 1];
  if (note?.role !== 'user' || answer?.role !== 'assistant') {
    return messages
      .filter((message) => !isNote(message))
      .map((message) => (isReadableAt(message, isReadable) ? message : without(message)));
  }
  const results = endOfResults(messages, at + 2);
  const repeats = new Set(note.repeats);
  return [
    fromCompaction(answer),
    ...messages.slice(at + 2, results),
    note,
    ...messages.slice(0, at).filter(({ id }) => repeats.has(id)),
    ...messages.slice(results).filter((message) => !isNote(message)),
  ];
}

function isReadableAt(message: Message | undefined, isReadable: (answer: AssistantMessage) => boolean): boolean {
  return message?.role === 'assistant' && compactionIn(message.content) !== undefined && isReadable(message);
}

function isNote(message: Message): boolean {
  return message.role === 'user' && message.repeats !== undefined;
}

function isSaid(message: Message): boolean {
  return message.role === 'user' && !message.summary;
}

function endOfResults(messages: readonly Message[], from: number): number {
  let end = from;
  while (messages[end]?.role === 'tool') end += 1;
  return end;
}

/** Answers as rewritten. Cached, so that the result is the same object in each turn: providers encode each object once. */
const rewritten = new WeakMap<AssistantMessage, { since?: AssistantMessage; without?: AssistantMessage }>();

/** The answer without what precedes its compaction, unless a call does: its result needs it. */
function fromCompaction(answer: AssistantMessage): AssistantMessage {
  const at = answer.content.findLastIndex(({ type }) => type === 'compaction');
  if (at === 0 || answer.content.slice(0, at).some(({ type }) => type === 'tool-call')) return answer;
  const known = rewritten.get(answer) ?? {};
  rewritten.set(answer, known);
  known.since ??= { ...answer, content: answer.content.slice(at) };
  return known.since;
}

function without(message: Message): Message {
  if (message.role !== 'assistant' || !compactionIn(message.content)) return message;
  const known = rewritten.get(message) ?? {};
  rewritten.set(message, known);
  known.without ??= { ...message, content: message.content.filter(({ type }) => type !== 'compaction') };
  return known.without;
}
