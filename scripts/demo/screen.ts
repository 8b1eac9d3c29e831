import pc from 'picocolors';
import { createView } from '../../src/cli/render';
import type { AgentEvent } from '../../src/core/event';

/** The run as it goes on, and between its lines what the demo itself does. */
export interface Screen {
  event(event: AgentEvent): void;
  /** A line of the demo's own. */
  say(text: string): void;
}

export function createScreen(out: NodeJS.WriteStream): Screen {
  const view = createView({ paint: pc, width: out.columns });
  let atLineStart = true;
  const write = (text: string) => {
    if (text === '') return;
    out.write(text);
    atLineStart = text.endsWith('\n');
  };
  return {
    event: (event) => write(view(event)),
    say: (text) => write(`${atLineStart ? '' : '\n'}${pc.bold(pc.yellow('demo'))} ${text}\n`),
  };
}
