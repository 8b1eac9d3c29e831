import type { AgentEvent } from '../../core/event';
import type { Format } from './format-names';
import { type About, createLines } from './formats';
import { createView, type ViewOptions } from './render';
import { paint, Styled } from './styled';
import { print } from './terminal';

export interface Output {
  event(event: AgentEvent): void;
  /** Holds back further output while a question is on the screen. */
  hold(): void;
  release(): void;
}

export interface OutputOptions extends Pick<ViewOptions, 'hint' | 'asks' | 'wasAsked'> {
  /** The format of JSON lines. Default: text for people. */
  format?: Format | undefined;
  about?: About & { from?: number };
}

/** Prints events to standard output. All other output of a command goes to standard error. */
export function createOutput({ format, about, ...asking }: OutputOptions): Output {
  const view = format
    ? createLines(format, about)
    : createView({ paint, width: process.stdout.columns, columns: process.stdout.columns, ...asking });
  let held: Styled[] | undefined;
  return {
    event(event) {
      const text = view(event);
      if (held) held.push(text);
      else print(text);
    },
    hold() {
      held ??= [];
    },
    release() {
      if (held) print(Styled.join(held));
      held = undefined;
    },
  };
}
