import pc from 'picocolors';
import type { AgentEvent, PendingCall } from '../core/event';
import type { Format } from './format-names';
import { type About, createLines } from './formats';
import { createView } from './render';

export interface Output {
  event(event: AgentEvent): void;
  /** Keeps what comes from now on back, while a question is on the screen. */
  hold(): void;
  release(): void;
}

export interface OutputOptions {
  /** JSON lines; without it text for people. */
  format?: Format | undefined;
  about?: About & { from?: number };
  hint?: (call: PendingCall) => string;
}

/** Events to standard output. Everything else a command says goes to standard error. */
export function createOutput({ format, about, hint }: OutputOptions): Output {
  const view = format ? createLines(format, about) : createView({ paint: pc, width: process.stdout.columns, ...(hint && { hint }) });
  let held: string[] | undefined;
  return {
    event(event) {
      const text = view(event);
      if (text === '') return;
      if (held) held.push(text);
      else process.stdout.write(text);
    },
    hold() {
      held ??= [];
    },
    release() {
      if (held && held.length > 0) process.stdout.write(held.join(''));
      held = undefined;
    },
  };
}

/** What is said beside the events. */
export function note(text: string): void {
  process.stderr.write(`${text}\n`);
}

export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}
