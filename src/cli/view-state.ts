import type { PendingCall } from '../core/event';
import { shortArguments } from './words';

/** The colours that a view uses; picocolors has them. */
export type Paint = Record<'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan', (text: string) => string>;

export interface ViewOptions {
  paint: Paint;
  /** Columns of the terminal. Default 100. */
  width?: number;
  /** How the reader answers what waits, in words that follow the call; nothing where the program asks itself. */
  hint?: (call: PendingCall) => string;
}

export interface ViewState {
  options: ViewOptions;
  atLineStart: boolean;
  /** What is on the screen of each message that the model is writing. */
  texts: Map<string, { attempt: number; text: string }>;
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

/** A whole line, on a line of its own. */
export function line(state: ViewState, text: string): string {
  const before = state.atLineStart ? '' : '\n';
  state.atLineStart = true;
  return `${before}${text}\n`;
}

export function width({ options }: ViewState): number {
  // A terminal that does not know its width says 0.
  return Math.max(40, options.width || 100);
}

export function callLine(state: ViewState, mark: string, id: string, name: string): string {
  const args = shortArguments(state.calls.get(id)?.arguments ?? '', width(state) - name.length - 6);
  return `${mark} ${state.options.paint.bold(name)}${args ? ` ${args}` : ''}`;
}

export function nameOf(state: ViewState, id: string): string {
  return state.calls.get(id)?.name ?? id;
}
