import { excerpt } from '../json';
import { type Content, fileWords, type Message, textOf, toolCallsOf, type UserMessage, wordsOf } from '../message';
import type { ContextState } from '../state';
import { shortText } from '../text';
import { unreachable } from '../unreachable';
import type { Division } from './shorten';

/**
 * Retained facts have a bound, because every summary repeats them: at most so many, and so many characters together. The newest stay. One alone may
 * take a quarter, so that a long line, which the output of a tool may have suggested, does not remove all others.
 */
const mostFacts = 100;
const factsChars = 12_000;
const factChars = 3_000;

/** A summary as the model wrote it. */
export interface Summary {
  text: string;
  /** Facts to repeat word for word in every later summary. */
  retained: string[];
}

/** Reads the model's answer. Without tags all of it is the summary. Returns undefined if it is empty. */
export function readSummary(answer: string): Summary | undefined {
  const retained = inTag(answer, 'retain');
  const rest = answer.replace(tag('retain'), '').trim();
  const text = (inTag(rest, 'summary') ?? rest.replace(/<\/?summary>/gi, '')).trim();
  const facts = linesOf(retained ?? '');
  return text === '' && facts.length === 0 ? undefined : { text, retained: facts };
}

/** The last tag may lack its end, if the answer was cut at its maximum length. */
function tag(name: string): RegExp {
  return new RegExp(`<${name}>([\\s\\S]*?)(?:</${name}>|$)`, 'i');
}

function inTag(text: string, name: string): string | undefined {
  return tag(name).exec(text)?.[1];
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.replace(/^\s*[-*•]\s+/, '').trim())
    .filter((line) => line !== '');
}

/** Merges facts, without duplicates and oldest first. A fact that is repeated counts as new, and one that is too long is cut. */
export function mergeFacts(earlier: readonly string[], newer: readonly string[]): string[] {
  const added = newer.map((fact) => shortText(fact, factChars));
  const facts = [...new Set([...earlier.filter((fact) => !added.includes(fact)), ...added])].slice(-mostFacts);
  let chars = 0;
  const first = facts.findLastIndex((fact) => (chars += fact.length) > factsChars) + 1;
  return facts.slice(first);
}

const handoff =
  'The conversation up to here was too long to be kept. Its earlier part is replaced by this summary, which was written for whoever continues the work. Build on what is done; do not repeat it.';

/** Each archive has the summary before it, which names earlier archives, so all of them can be found. */
const mostArchives = 20;

/** Adds the reference of what a summary replaced to those of earlier summaries. */
export function archivesWith({ archives = [] }: Pick<ContextState, 'archives'> = {}, ref: string): string[] {
  return [...archives.filter((one) => one !== ref), ref].slice(-mostArchives);
}

/** What a summary message says besides the summary. `background`: calls whose results are still to come. */
export interface SummaryNotes {
  background?: readonly { id: string; name: string }[];
  archives?: readonly string[];
  /** The agent's plan. */
  plan?: string;
}

/** The message that replaces the summarized ones. */
export function summaryMessage(id: string, summary: Summary, notes: SummaryNotes = {}): UserMessage {
  const content = [handoff, ...sectionsOf(summary, notes)].join('\n\n');
  return { id, role: 'user', content, origin: 'engine', summary: true };
}

const repeated =
  'The conversation before the compaction above was too long to be kept. The messages directly after this note are the first one of the conversation and those that the current work began with, once more and word for word. They are not new: what was done about them is done.';

/** What a model that reads its provider's compaction gets in addition to it. `repeats`: the ids of the messages that it gets once more. */
export function compactionNote(id: string, retained: string[], notes: SummaryNotes, repeats: string[]): UserMessage {
  const content = [repeated, ...sectionsOf({ text: '', retained }, notes)].join('\n\n');
  return { id, role: 'user', content, origin: 'engine', summary: true, repeats };
}

function sectionsOf({ text, retained }: Summary, { background = [], archives = [], plan }: SummaryNotes): string[] {
  const running = background.map(({ id: call, name }) => `${name} (${call})`).join(', ');
  return [
    ...(retained.length > 0 ? [`<retain>\n${retained.map((fact) => `- ${fact}`).join('\n')}\n</retain>`] : []),
    ...(text === '' ? [] : [`<summary>\n${text}\n</summary>`]),
    ...(plan === undefined ? [] : [`<plan>\n${plan}\n</plan>`]),
    ...(archives.length === 0 ? [] : [whereArchived(archives)]),
    ...(running === '' ? [] : [`Still running in the background; their results will come as messages: ${excerpt(running, 2_000)}`]),
  ];
}

function whereArchived(archives: readonly string[]): string {
  const refs = archives.map((ref) => `ref=${ref}`).join(', ');
  return `What was replaced can still be read with read_output and searched with grep_output, oldest first: ${refs}`;
}

const dropped = 'The conversation was too long to be kept. Older messages were left out here, without a summary.';

/** The transcript with a message in place of those that were dropped and stored. It takes the place of an earlier such message. */
export function withDropNote(id: string, messages: readonly Message[], archives: readonly string[]): Message[] {
  const note: UserMessage = { id, role: 'user', content: `${dropped}\n\n${whereArchived(archives)}`, origin: 'engine', summary: true };
  const kept = messages.filter((message) => !isDropNote(message));
  const first = kept[0]?.role === 'user' ? 1 : 0;
  return [...kept.slice(0, first), note, ...kept.slice(first)];
}

function isDropNote(message: Message): boolean {
  return message.role === 'user' && message.summary === true && textOf(message.content).startsWith(dropped);
}

export function withSummary({ head, tail }: Division, summary: UserMessage): Message[] {
  return [...head, summary, ...tail];
}

/** Writes messages as text, for a model that summarizes them: any model can read it, whoever wrote them and whatever tools they call. */
export function transcriptText(messages: readonly Message[]): string {
  return messages
    .filter((message) => !isNote(message))
    .map(messageText)
    .join('\n\n');
}

/** A note with a provider's compaction is about other messages. */
function isNote(message: Message): boolean {
  return message.role === 'user' && message.repeats !== undefined;
}

function messageText(message: Message): string {
  switch (message.role) {
    case 'user':
      return `[${message.summary ? 'earlier summary' : (message.origin ?? 'user')}]\n${partsText(message.content)}`;
    case 'tool':
      return `[result of ${message.name} (${message.toolCallId})${message.isError ? ', an error' : ''}]\n${partsText(message.content)}`;
    case 'assistant': {
      const calls = toolCallsOf(message.content).map(({ id, name, arguments: args }) => `[calls ${name} (${id})] ${args}`);
      return ['[assistant]', wordsOf(message.content), ...calls].filter((line) => line !== '').join('\n');
    }
    default:
      return unreachable(message);
  }
}

function partsText(content: Content): string {
  if (typeof content === 'string') return content;
  return content.map((part) => (part.type === 'text' ? part.text : part.type === 'image' ? '[Image]' : fileWords(part))).join('\n');
}

/** The prompt with which a model is asked for a summary. `wanted`: what the agent wants in it, if not the usual. */
export function summaryPrompt(messages: readonly Message[], wanted: string = usualSummary): string {
  return `A conversation between a user and an assistant has become too long for the model's context window. The part of it below is going to be replaced by what you write now. Do not go on with the task.

<transcript>
${transcriptText(withoutOpenCalls(messages))}
</transcript>

${wanted.trim()}

Write your answer in exactly this form:
<retain>
- one line for each fact that must not change by being retold: identifiers, paths, addresses, commands, numbers, references to outputs, instructions of the user, decisions
</retain>
<summary>
the summary
</summary>
If the transcript has an earlier summary, include what still matters of it: it is replaced, too. The user's first message and the facts of earlier <retain> lists are kept without your doing.`;
}

/** The model might take calls without results, at the end, for its own to make. */
function withoutOpenCalls(messages: readonly Message[]): Message[] {
  const last = messages.at(-1);
  if (last?.role !== 'assistant') return [...messages];
  const content = last.content.filter(({ type }) => type !== 'tool-call');
  return [...messages.slice(0, -1), ...(wordsOf(content) === '' ? [] : [{ ...last, content }])];
}

const usualSummary = `Write a handoff summary for another model that will continue the task:
- progress: what was done, what was found out, and the decisions that were made, with their reasons
- constraints and preferences, as far as the user or the environment set them
- what remains to be done, as concrete next steps, and what is under way
- critical data: values, examples and references that are needed to continue
- files that were read or changed, and how they were changed
- errors that occurred, and how they were resolved or why not
Be concise and structured. Do not invent anything.`;
