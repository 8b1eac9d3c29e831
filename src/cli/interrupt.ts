import type { Thread } from '../client';
import { commandLine } from './answer-hint';
import { lineOf } from './exit';
import type { Output } from './output';
import type { Prompt } from './prompt';
import { styled } from './styled';
import { note } from './terminal';

export interface Interrupts {
  /** To be called for Ctrl-C that a prompt swallowed. */
  pressed(): void;
  dispose(): void;
}

/**
 * What Ctrl-C means while a run is followed: the first offers to cancel or to leave it running, a second leaves. Where nobody can answer
 * (no terminal) the first says what the second does. SIGTERM and SIGHUP leave at once: the run goes on.
 */
export function onInterrupt(thread: Thread, { output, prompt, leave }: { output: Output; prompt?: Prompt; leave: () => void }): Interrupts {
  let presses = 0;
  const pressed = () => {
    presses += 1;
    if (presses > 1) return leave();
    if (!prompt) return note(styled`\nCtrl-C again leaves; the thread goes on. To end it: ${commandLine('cancel', [thread.id])}`);
    output.hold();
    void offer(thread, prompt)
      .catch((error) => {
        // A second Ctrl-C, or the end of the input.
        if (error?.name === 'NoAnswer') return 'leave';
        note(styled`${lineOf(error)}`);
        return 'stay';
      })
      .then((choice) => {
        presses = 0;
        // What came meanwhile is not shown to whoever leaves.
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
  const answer = (await prompt.askFirst(styled`\n[c]ancel the run, [d]etach (it goes on without you), or Enter to go on watching? `))
    .trim()
    .toLowerCase();
  if (answer.startsWith('d')) return 'leave';
  if (!answer.startsWith('c')) return 'stay';
  await thread.cancel({ by: 'longhaul run', reason: 'Ctrl-C' });
  return 'stay';
}
