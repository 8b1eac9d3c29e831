import { bounds } from '../../core/bounds';
import { isObject, JsonNesting, parseObject } from '../../core/json';
import type { ToolCall } from '../../core/message';
import { LimitExceeded } from '../limit-exceeded';
import type { ModelDelta } from '../model';

interface Draft extends ToolCall {
  /** The index on the wire, or the place it would have had. */
  index: number;
  /** Of the arguments. */
  nesting: JsonNesting;
  /** Whether the arguments are an object, once they may be. */
  isWhole?: boolean;
  extra?: unknown;
  extraChars: number;
}

export interface ToolCallAssembly {
  /** Takes one entry of `delta.tool_calls`; what it adds, as a delta for the eye. Throws `LimitExceeded`. */
  take(fragment: unknown): ModelDelta | undefined;
  /** Characters of all arguments so far. */
  size(): number;
  calls(): ToolCall[];
  /** What the server hung on each call, in the order of `calls`. */
  extras(): unknown[];
}

/**
 * Puts tool calls together from their fragments. By the book each call has an index, its id and name come first and whole, its arguments in pieces.
 * Servers also leave out the index or the id, repeat id and name with every piece, split them, or give all parallel calls the index 0.
 * `names` are the tools the model was given: they tell a repeated name from the second half of one.
 */
export function assembleToolCalls(names: readonly string[]): ToolCallAssembly {
  const drafts: Draft[] = [];
  let size = 0;

  function take(fragment: unknown): ModelDelta | undefined {
    if (!isObject(fragment)) return undefined;
    const fn = isObject(fragment.function) ? fragment.function : {};
    const piece = { index: indexOf(fragment.index), id: text(fragment.id), name: text(fn.name), arguments: argumentsText(fn.arguments) };
    const draft = find(piece) ?? begin(piece.index);
    const before = { id: draft.id, name: draft.name };
    // Id and name are complete once arguments have begun: what comes of them later is repetition.
    if (draft.arguments === '') {
      // What is longer than any id or name shows by one character more.
      if (piece.id !== draft.id) draft.id = (draft.id + piece.id).slice(0, bounds.callIdChars + 1);
      if (!isRepeated(draft.name, piece.name)) draft.name = (draft.name + piece.name).slice(0, bounds.callNameChars + 1);
    }
    draft.arguments += piece.arguments;
    draft.nesting.add(piece.arguments);
    size += piece.arguments.length;
    if (fragment.extra_content !== undefined) keepExtra(draft, fragment.extra_content);
    return {
      type: 'tool-call',
      index: drafts.indexOf(draft),
      ...(draft.id !== before.id && { id: draft.id }),
      ...(draft.name !== before.name && { name: draft.name }),
      ...(piece.arguments && { arguments: piece.arguments }),
    };
  }

  /** The call a fragment continues; `undefined` when it begins a new one. */
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
    // A second call under an index that is taken. Before the arguments it is a split id and name.
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
    if (all > bounds.opaqueChars) throw new LimitExceeded('what it wants to see again', bounds.opaqueChars, 'characters of JSON');
  }

  function isRepeated(name: string, piece: string): boolean {
    return piece === name && !names.some((known) => known.startsWith(name + piece));
  }

  // A stable sort: calls under one index stay in the order in which they came.
  const inOrder = () => drafts.toSorted((a, b) => a.index - b.index);
  return {
    take,
    size: () => size,
    calls: () => inOrder().map(({ id, name, arguments: args }) => ({ id, name, arguments: args })),
    extras: () => inOrder().map(({ extra }) => extra),
  };
}

/** Whether the arguments are an object that has ended. This is asked with each piece, so they are parsed only once. */
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
