import pc from 'picocolors';
import type { AgentEvent, PendingCall } from '../core/event';
import { createView } from './render';

export interface Output {
  event(event: AgentEvent): void;
  /** Keeps what comes from now on back, while a question is on the screen. */
  hold(): void;
  release(): void;
}

/** Events to standard output: as JSON lines, or as text for people. Everything else a command says goes to standard error. */
export function createOutput({ json, hint }: { json?: boolean; hint?: (call: PendingCall) => string }): Output {
  const view = createView({ paint: pc, width: process.stdout.columns, ...(hint && { hint }) });
  let held: string[] | undefined;
  return {
    event(event) {
      const text = json ? `${JSON.stringify(event)}\n` : view(event);
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

/** How whoever reads it answers a waiting call from a command line. */
export function answerHint(threadId: string): (call: PendingCall) => string {
  return ({ kind, toolCallId }) =>
    kind === 'approval'
      ? `longhaul approve ${threadId} ${toolCallId}   (or: longhaul reject ${threadId} ${toolCallId} --reason "…")`
      : `longhaul submit ${threadId} ${toolCallId} '<output>'`;
}
