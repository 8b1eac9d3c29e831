import { bounds } from '../../core/bounds';
import { isObject, type Json, JsonNesting, parseObject } from '../../core/json';
import type { ToolCall } from '../../core/message';
import type { ModelDelta } from '../model';
import { LimitExceeded } from '../wire/limit-exceeded';

interface Draft extends ToolCall {
  /** The index in the stream, or the index that it would have had. */
  index: number;
  /** The nesting of the arguments so far. */
  nesting: JsonNesting;
  /** Whether the arguments are a JSON object; set once they are complete. */
  isWhole?: boolean;
  extra?: unknown;
  extraChars: number;
}

/**
 * Some compatible servers attach data to a tool call that must be sent back with it (Gemini's thought signatures). Without it they reject the
 * next request.
 */
export const extraField = 'extra_content';

export type ToolCallDelta = Extract<ModelDelta, { type: 'tool-call' }>;

export interface ToolCallAssembly {
  /** Takes one entry of `delta.tool_calls`. Returns what it adds, if anything, as a delta to show. Throws `LimitExceeded`. */
  take(fragment: unknown): ToolCallDelta | undefined;
  /** The number of characters of all arguments so far. */
  size(): number;
  /** The calls; data that the server attached to a call is its `opaque`. */
  calls(): (ToolCall & { opaque?: Json })[];
}

/**
 * Assembles tool calls from their fragments. By the specification, each call has an index, its id and name come first and complete, and its
 * arguments in pieces. Servers also leave out the index or the id, repeat id and name with every piece, split them, or give all parallel calls
 * the index 0. `names` are the tools sent to the model: they distinguish a repeated name from the second half of one.
 */
export function assembleToolCalls(names: readonly string[]): ToolCallAssembly {
  const drafts: Draft[] = [];
  let size = 0;

  function take(fragment: unknown): ToolCallDelta | undefined {
    if (!isObject(fragment)) return undefined;
    const fn = isObject(fragment.function) ? fragment.function : {};
    const piece = { index: indexOf(fragment.index), id: text(fragment.id), name: text(fn.name), arguments: argumentsText(fn.arguments) };
    const draft = find(piece) ?? begin(piece.index);
    const before = { id: draft.id, name: draft.name };
    // Id and name are complete once arguments have begun; later ones are repetitions.
    if (draft.arguments === '') {
      // One character above the limit is enough to detect an id or name that is too long.
      if (piece.id !== draft.id) draft.id = (draft.id + piece.id).slice(0, bounds.callIdChars + 1);
      if (!isRepeated(draft.name, piece.name)) draft.name = (draft.name + piece.name).slice(0, bounds.callNameChars + 1);
    }
    draft.arguments += piece.arguments;
    draft.nesting.add(piece.arguments);
    size += piece.arguments.length;
    if (fragment[extraField] !== undefined) keepExtra(draft, fragment[extraField]);
    if (draft.id === before.id && draft.name === before.name && piece.arguments === '') return undefined;
    return {
      type: 'tool-call',
      index: drafts.indexOf(draft),
      ...(draft.id !== before.id && { id: draft.id }),
      ...(draft.name !== before.name && { name: draft.name }),
      ...(piece.arguments && { arguments: piece.arguments }),
    };
  }

  /** The call that a fragment continues; `undefined` if it begins a new one. */
  function find(piece: { index?: number; id: string; name: string }): Draft | undefined {
    const last = piece.index === undefined ? drafts.at(-1) : drafts.findLast((draft) => draft.index === piece.index);
    if (!last) return undefined;
    const sameId = piece.id !== '' && drafts.find((draft) => draft.id === piece.id);
    if (sameId && (piece.index === undefined || sameId.index === piece.index)) return sameId;
    if (piece.name === '') return last;
    const anotherId = piece.id !== '' && last.id !== '';
    if (piece.index === undefined) {
      const complete = last.arguments !== '' && (piece.name !== last.name || isComplete(last));
      return anotherId || complete ? undefined : last;
    }
    // A second call with the same index. Before the arguments begin, it is a split id and name.
    return anotherId && last.arguments !== '' ? undefined : last;
  }

  function begin(index: number | undefined): Draft {
    if (drafts.length >= bounds.callsPerAnswer) throw new LimitExceeded('its answer', bounds.callsPerAnswer, 'tool calls');
    const place = index ?? (drafts.at(-1)?.index ?? -1) + 1;
    const draft: Draft = { index: place, id: '', name: '', arguments: '', nesting: new JsonNesting(), extraChars: 0 };
    drafts.push(draft);
    return draft;
  }

  function keepExtra(draft: Draft, extra: unknown): void {
    draft.extra = extra;
    draft.extraChars = JSON.stringify(extra).length;
    const all = drafts.reduce((sum, { extraChars }) => sum + extraChars, 0);
    if (all > bounds.opaqueChars) throw new LimitExceeded('its opaque data', bounds.opaqueChars, 'characters of JSON');
  }

  function isRepeated(name: string, piece: string): boolean {
    return piece === name && !names.some((known) => known.startsWith(name + piece));
  }

  // A stable sort: calls with the same index stay in their order of arrival.
  const inOrder = () => drafts.filter(saysSomething).toSorted((a, b) => a.index - b.index);
  return {
    take,
    size: () => size,
    calls: () =>
      inOrder().map(({ id, name, arguments: args, extra }) => ({
        id,
        name,
        arguments: args,
        ...(extra !== undefined && { opaque: { [extraField]: extra as Json } }),
      })),
  };
}

/** Some servers write every field of a message, including an empty `function_call`. */
function saysSomething({ id, name, arguments: args, extra }: Draft): boolean {
  return id !== '' || name !== '' || args !== '' || extra !== undefined;
}

/** Whether the arguments are a complete object. Called for each piece, so the result is cached. */
function isComplete(draft: Draft): boolean {
  if (!draft.nesting.hasEnded) return false;
  draft.isWhole ??= parseObject(draft.arguments) !== undefined;
  return draft.isWhole;
}

function indexOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) ? value : undefined;
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Some servers send the arguments as the object itself. */
function argumentsText(value: unknown): string {
  return isObject(value) ? JSON.stringify(value) : text(value);
}
