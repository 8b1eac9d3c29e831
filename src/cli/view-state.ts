import type { PendingCall } from '../core/event';
import { type Paint, type Part, Styled, styled } from './styled';
import { shortArguments } from './words';

export interface ViewOptions {
  paint: Paint;
  /** Columns of the terminal. Default 100. */
  width?: number;
  /** How the reader answers what waits, in words that follow the call; nothing where the program asks itself. */
  hint?: (call: PendingCall) => Part;
}

export interface ViewState {
  options: ViewOptions;
  atLineStart: boolean;
  /** Of each message that the model is writing: what came of it, and how much of that is on the screen. */
  texts: Map<string, { attempt: number; text: string; shown: number }>;
  calls: Map<string, { name: string; arguments: string }>;
  /** The last progress of each call, and the second in which it was shown. */
  noted: Map<string, { message: string; second: string }>;
  retriesShown?: number;
  startedAt?: number;
  toolCalls?: number;
  /** Closing words that were shown, and come again with the end that they lead to. */
  closing?: string;
}

export function newViewState(options: ViewOptions): ViewState {
  return { options, atLineStart: true, texts: new Map(), calls: new Map(), noted: new Map() };
}

export const nothing = styled``;

/** A whole line, on a line of its own. */
export function line(state: ViewState, ...parts: Part[]): Styled {
  const before = state.atLineStart ? nothing : styled`\n`;
  state.atLineStart = true;
  return Styled.join([before, ...parts, styled`\n`]);
}

export function width({ options }: ViewState): number {
  // A terminal that does not know its width says 0.
  return Math.max(40, options.width || 100);
}

export function callLine(state: ViewState, mark: Part, id: string, name: string): Styled {
  const args = shortArguments(state.calls.get(id)?.arguments ?? '', width(state) - name.length - 6);
  return styled`${mark} ${state.options.paint.bold(name)}${args ? ` ${args}` : ''}`;
}

/** From now on it is shown as it will run. */
export function editCall(state: ViewState, id: string, editedArguments: string | undefined): void {
  const call = state.calls.get(id);
  if (call && editedArguments !== undefined) state.calls.set(id, { ...call, arguments: editedArguments });
}

export function nameOf(state: ViewState, id: string): string {
  return state.calls.get(id)?.name ?? id;
}
