import type { Thread } from '../../client';
import { lineOf } from '../exit';
import type { Output } from '../views/output';
import { styled } from '../views/styled';
import { note } from '../views/terminal';
import { commandLine } from './answer-hint';
import type { Prompt } from './prompt';

export interface Interrupts {
  /** Call this for a Ctrl-C that a prompt received instead. */
  pressed(): void;
  dispose(): void;
}

/**
 * Handles Ctrl-C while a run is followed: the first offers to cancel the run or to leave it running, a second leaves. Without a terminal the first
 * prints what the second does. SIGTERM and SIGHUP leave immediately. Leaving does not end the run.
 */
export function onInterrupt(thread: Thread, { output, prompt, leave }: { output: Output; prompt?: Prompt; leave: () => void }): Interrupts {
  let presses = 0;
  const pressed = () => {
    presses += 1;
    if (presses > 1) return leave();
    if (!prompt) return note(styled`\nCtrl-C again leaves; the thread continues. To end it: ${commandLine('cancel', [thread.id])}`);
    output.hold();
    void offer(thread, prompt)
      .catch((error) => {
        // A second Ctrl-C or the end of the input leaves.
        if (error?.name === 'NoAnswer') return 'leave';
        note(styled`${lineOf(error)}`.fit(process.stderr.columns));
        return 'stay';
      })
      .then((choice) => {
        presses = 0;
        // Events that arrived meanwhile are not printed if the user leaves.
        if (choice === 'leave') leave();
        else output.release();
      });
  };
  process.on('SIGINT', pressed);
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.once(signal, leave);
  return {
    pressed,
    dispose() {
      process.off('SIGINT', pressed);
      for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.off(signal, leave);
    },
  };
}

async function offer(thread: Thread, prompt: Prompt): Promise<'leave' | 'stay'> {
  const answer = (await prompt.askFirst(styled`\n[c]ancel the run, [d]etach (the run continues without you), or Enter to keep watching? `))
    .trim()
    .toLowerCase();
  if (answer.startsWith('d')) return 'leave';
  if (!answer.startsWith('c')) return 'stay';
  await thread.cancel({ by: 'longhaul run', reason: 'Ctrl-C' });
  return 'stay';
}
