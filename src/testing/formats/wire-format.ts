import { createHash } from 'node:crypto';
import type { ScriptedCall, StreamReply } from '../model-replies';

/** A message, in the form of Chat Completions. */
export interface WireMessage {
  role: string;
  content?: string | null | { type: string; text?: string; image_url?: { url: string; detail?: string } }[];
  tool_calls?: { id: string; type: string; function: { name: string; arguments: string } }[];
  tool_call_id?: string;
}

/** The APIs that the model server has. */
export type ApiName = 'chat-completions' | 'responses' | 'messages';

/** The format of requests and answers of one API. */
export interface WireFormat {
  /** The end of the path of its requests. */
  path: string;
  /** The conversation in a request. */
  messages(body: Body): WireMessage[];
  /** The events of an answer. A string is sent unchanged as the data of an event. */
  answer(reply: StreamReply, request: AnswerRequest): unknown[];
  /** Whether each event also has a line with its type. */
  named: boolean;
  /** What follows the last event of a complete answer. */
  end: string[];
}

export type Body = Record<string, unknown>;

export interface AnswerRequest {
  model: string;
  /** The same for the same request, so that a retry can't be told from the first attempt. */
  hash: string;
  usage: Counts | null;
  /** Splits a text into pieces, as it is sent over time. */
  pieces(text: string | undefined): string[];
  /** As `pieces`, for the arguments of calls. */
  argumentPieces(text: string): string[];
}

interface Counts {
  prompt: number;
  cached: number;
  completion: number;
  reasoning: number;
}

/** Returns the text of the events of an answer, each as it is sent. */
export function encoded(format: WireFormat, reply: StreamReply, body: Body, bodyText: string): string[] {
  const size = reply.pace?.chunkSize ?? 20;
  const request: AnswerRequest = {
    model: String(body.model),
    hash: createHash('sha1').update(bodyText).digest('hex').slice(0, 10),
    usage: countsOf(reply, bodyText),
    pieces: (text) => pieces(text, size),
    argumentPieces: (text) => pieces(text, reply.pace ? size : 200),
  };
  const events = [...(reply.events ?? format.answer(reply, request)), ...(reply.end === 'done' ? format.end : [])];
  return events.map((event) => {
    if (typeof event === 'string') return `data: ${event}\n\n`;
    const { type } = event as { type?: unknown };
    return `${format.named && typeof type === 'string' ? `event: ${type}\n` : ''}data: ${JSON.stringify(event)}\n\n`;
  });
}

export function argumentsOf(call: ScriptedCall): string {
  return call.rawArguments ?? JSON.stringify(call.args ?? {});
}

/** The estimated usage, at about four characters a token for request and answer. Constant for the same input. */
function countsOf({ usage, reasoning, text, refusal, calls = [] }: StreamReply, bodyText: string): Counts | null {
  if (usage === null) return null;
  const said = [reasoning, text, refusal, ...calls.map((call) => call.name + argumentsOf(call))].join('');
  return {
    prompt: usage?.promptTokens ?? Math.ceil(bodyText.length / 4),
    cached: usage?.cachedTokens ?? 0,
    completion: usage?.completionTokens ?? Math.ceil(said.length / 4),
    reasoning: usage?.reasoningTokens ?? 0,
  };
}

function pieces(text: string | undefined, size: number): string[] {
  const characters = Array.from(text ?? '');
  const list: string[] = [];
  for (let from = 0; from < characters.length; from += size) list.push(characters.slice(from, from + size).join(''));
  return list;
}

/** The text of a content in any of the formats. */
export function textIn(content: unknown): string {
  if (typeof content === 'string') return content;
  return Array.isArray(content)
    ? content.map((part: { text?: unknown }) => (typeof part?.text === 'string' ? part.text : '')).join('')
    : '';
}
