import type { PendingCall } from '../../core/event';
import { type Paint, type Part, Styled, styled } from './styled';
import { shortArguments } from './words';

export interface ViewOptions {
  paint: Paint;
  /** The width for shortened texts, in columns. Default 100. */
  width?: number;
  /** The columns of the terminal, if the output is a terminal that wraps longer lines. */
  columns?: number | undefined;
  /** Returns the text after a pending call that says how to answer it. Absent if the program itself asks. */
  hint?: (call: PendingCall) => Part;
  /** Whether the program asks about this call itself, on the same screen. What it has asked (`wasAsked`) is not printed a second time. */
  asks?: (call: PendingCall) => boolean;
  wasAsked?: (toolCallId: string) => boolean;
}

export interface ViewState {
  options: ViewOptions;
  atLineStart: boolean;
  /** For each message that the model is writing: its text so far, and how much of that is on the screen. */
  texts: Map<string, { attempt: number; text: string; shown: number }>;
  calls: Map<string, { name: string; arguments: string }>;
  /** The calls whose question was printed. */
  asked: Set<string>;
  /** Questions that the program itself is about to ask. They are printed if it did not, because they were answered before. */
  unasked: Map<string, () => Styled>;
  /** The last progress of each call, and the second in which it was shown. */
  noted: Map<string, { message: string; second: string }>;
  retriesShown?: number;
  startedAt?: number;
  /** The ids of the run's calls that began. Absent if the run's beginning was not shown. */
  began?: Set<string>;
  /** Whether a run is under way. Absent if neither its beginning nor its end was shown. */
  running?: boolean;
  /** The closing text that was already shown. The run's terminal event repeats it. */
  closing?: string;
}

export function newViewState(options: ViewOptions): ViewState {
  return { options, atLineStart: true, texts: new Map(), calls: new Map(), asked: new Set(), unasked: new Map(), noted: new Map() };
}

export const nothing = styled``;

/** A complete line. It is wrapped here if the terminal would wrap it. */
export function line(state: ViewState, ...parts: Part[]): Styled {
  return asItIs(state, Styled.join(parts).fit(state.options.columns));
}

/** Text that is not wrapped: the model's text, and commands to copy. */
export function asItIs(state: ViewState, ...parts: Part[]): Styled {
  const before = state.atLineStart ? nothing : styled`\n`;
  state.atLineStart = true;
  return Styled.join([before, ...parts, styled`\n`]);
}

export function width({ options }: ViewState): number {
  // A terminal that does not know its width reports 0.
  return Math.max(40, options.width || 100);
}

export function callLine(state: ViewState, mark: Part, id: string, name: string): Styled {
  const args = shortArguments(state.calls.get(id)?.arguments ?? '', width(state) - name.length - 6);
  return styled`${mark} ${state.options.paint.bold(name)}${args ? ` ${args}` : ''}`;
}

/** Records a call's edited arguments, so that it is shown as it will run. */
export function editCall(state: ViewState, id: string, editedArguments: string | undefined): void {
  const call = state.calls.get(id);
  if (call && editedArguments !== undefined) state.calls.set(id, { ...call, arguments: editedArguments });
}

/** Prints a question, unless the program asks it itself. */
export function question(state: ViewState, call: PendingCall, show: () => Styled): Styled {
  const { toolCallId: id } = call;
  state.asked.add(id);
  if (!state.options.asks?.(call)) return show();
  state.unasked.set(id, show);
  return nothing;
}

/** The question of a call that was answered, if nobody was asked it on this screen. */
export function unaskedQuestion(state: ViewState, id: string): Styled {
  const show = state.unasked.get(id);
  state.unasked.delete(id);
  return show && !state.options.wasAsked?.(id) ? show() : nothing;
}

export function nameOf(state: ViewState, id: string): string {
  return state.calls.get(id)?.name ?? id;
}
