import { createView } from '../../src/cli/views/render';
import { type Part, paint, type Styled, styled } from '../../src/cli/views/styled';
import type { AgentEvent } from '../../src/core/event';

/** Prints the events of the run, and between them what the demo itself does. */
export interface Screen {
  event(event: AgentEvent): void;
  /** Prints a line of the demo itself. */
  say(text: Part): void;
}

export function createScreen(out: NodeJS.WriteStream): Screen {
  const view = createView({ paint, width: out.columns });
  let atLineStart = true;
  const write = ({ text }: Styled) => {
    if (text === '') return;
    out.write(text);
    atLineStart = text.endsWith('\n');
  };
  return {
    event: (event) => write(view(event)),
    say: (text) => write(styled`${atLineStart ? '' : styled`\n`}${paint.bold(paint.yellow('demo'))} ${text}\n`),
  };
}
