import { type Item, textIn } from './hosted-tools';

/** The parts of an item that arrive in pieces. */
export type PieceKind = 'text' | 'refusal' | 'summary' | 'thought' | 'arguments' | 'input' | 'code';

/** The events that bring pieces, without the suffixes `.delta` and `.done`. */
const pieceEvents = new Map<string, PieceKind>([
  ['response.output_text', 'text'],
  ['response.refusal', 'refusal'],
  ['response.reasoning_summary_text', 'summary'],
  ['response.reasoning_text', 'thought'],
  // Sent by servers that implement a draft of the API.
  ['response.reasoning', 'thought'],
  ['response.function_call_arguments', 'arguments'],
  ['response.mcp_call_arguments', 'arguments'],
  ['response.custom_tool_call_input', 'input'],
  ['response.code_interpreter_call_code', 'code'],
]);

export interface PieceEvent {
  kind: PieceKind;
  /** The index among the pieces of this kind in the item. */
  place: number;
  text: string;
  /** Whether `text` is the whole text. */
  isWhole: boolean;
}

export function pieceIn(event: Item): PieceEvent | undefined {
  const [, name = '', end] = /^(.+)\.(delta|done)$/.exec(textIn(event.type)) ?? [];
  const kind = pieceEvents.get(name);
  if (!kind) return undefined;
  const place = event.content_index ?? event.summary_index ?? 0;
  const isWhole = end === 'done';
  const whole = event.text ?? event.refusal ?? event.arguments ?? event.input ?? event.code;
  return { kind, place: indexOf(place), text: textIn(isWhole ? whole : event.delta), isWhole };
}

/** `Number` can throw for other types. */
export function indexOf(value: unknown): number {
  const index = typeof value === 'number' || typeof value === 'string' ? Number(value) : 0;
  return Number.isInteger(index) ? index : 0;
}

/** An item while it is streamed. */
export interface ItemDraft {
  /** The item as announced, later as completed. */
  item: Item;
  /** Its index in the response. */
  index: number;
  isDone: boolean;
  pieces: Map<string, { kind: PieceKind; place: number; text: string[]; annotations: Item[] }>;
  /** The number of characters in it, once it is complete. */
  size: { said: number; opaque: number };
  /** For a call: its index among the calls. */
  call?: number;
  /** Whether part of it was shown. */
  isShown: boolean;
}

/** Creates an item for a piece that arrived without an announced item. */
export function itemFor(kind: PieceKind, event: Item): Item {
  const id = textIn(event.item_id);
  if (kind === 'text' || kind === 'refusal') return { type: 'message', role: 'assistant', ...(id && { id }) };
  if (kind === 'summary' || kind === 'thought') return { type: 'reasoning', ...(id && { id }), summary: [] };
  if (kind === 'arguments') return { type: 'function_call', ...(id && { id, call_id: id }), name: textIn(event.name) };
  return { type: kind === 'code' ? 'code_interpreter_call' : 'custom_tool_call', ...(id && { id }) };
}

/** The item as known so far: as completed, or as assembled from its pieces. */
export function itemOf(draft: ItemDraft, status: string): Item {
  const { item, pieces } = draft;
  if (pieces.size === 0 || (draft.isDone && !isBare(item))) return item;
  const all = [...pieces.values()].sort((a, b) => a.place - b.place).map((piece) => ({ ...piece, text: piece.text.join('') }));
  const of = (...kinds: PieceKind[]) => all.filter(({ kind }) => kinds.includes(kind));
  const made = { ...item, ...(item.status !== undefined && { status }) };
  switch (item.type) {
    case 'message':
      return { ...made, content: of('text', 'refusal').map(toContent) };
    case 'reasoning': {
      const content = of('thought').map(({ text }) => ({ type: 'reasoning_text', text }));
      const summary = of('summary').map(({ text }) => ({ type: 'summary_text', text }));
      return { ...made, summary, ...(content.length > 0 && { content }) };
    }
    default: {
      const fields = of('arguments', 'input', 'code').map(({ kind, text }) => [kind, text]);
      return { ...made, ...Object.fromEntries(fields) };
    }
  }
}

/** Some servers omit from the completed item what they sent in pieces. */
function isBare({ type, content, arguments: args }: Item): boolean {
  if (type === 'message') return content === undefined || content === null || (Array.isArray(content) && content.length === 0);
  return type === 'function_call' && (args === undefined || args === null || args === '');
}

function toContent({ kind, text, annotations }: { kind: PieceKind; text: string; annotations: Item[] }): Item {
  return kind === 'refusal' ? { type: 'refusal', refusal: text } : { type: 'output_text', text, annotations };
}

/** Whether a piece of this kind can belong to the item. */
export function fits({ item: { type } }: ItemDraft, kind: PieceKind): boolean {
  if (kind === 'text' || kind === 'refusal') return type === 'message';
  if (kind === 'summary' || kind === 'thought') return type === 'reasoning';
  return type !== 'message' && type !== 'reasoning';
}

/** Whether an announced or completed item is different from the one that currently has its index. */
export function isAnother({ item: known, isDone }: ItemDraft, item: Item): boolean {
  return known.type !== item.type || (isDone && known.id !== item.id);
}
