import type { LonghaulClient, Thread } from '../client';
import type { PendingCall } from '../core/event';
import { answerHint, commandLine } from './answer-hint';
import { type Approvals, isFor, nobody, yesToAll } from './approvals';
import { askPerson } from './ask-person';
import { withClient } from './connect';
import { exitCodeOfRun, type Followed, follow } from './follow';
import { type FormatOptions, formatOf } from './format-names';
import { givenText } from './given-text';
import { onInterrupt } from './interrupt';
import { createOutput, type Output } from './output';
import { createPrompt, type Prompt } from './prompt';
import { paint, type Styled, styled } from './styled';
import { note, say } from './terminal';

export interface RunOptions extends FormatOptions {
  agent: string;
  thread?: string;
  model?: string;
  conversation?: boolean;
  yes?: boolean;
  /** Who answers here, and in which groups. */
  by?: string;
  group?: string[];
  taskQueue?: string;
}

/** Starts a thread, or attaches to the one with the same id and request, and follows it to its rest. */
export async function run(input: string, options: RunOptions): Promise<void> {
  const { taskQueue } = options;
  const words = await givenText(input, 'the input');
  process.exitCode = await withClient({ ...(taskQueue && { taskQueue }) }, async (client) => {
    const { agent, thread: id, model, conversation } = options;
    const thread = await client.start(agent, words, {
      ...(id && { id }),
      ...(model && { model }),
      ...(conversation && { mode: 'conversation' }),
    });
    note(paint.dim(`thread ${thread.id} · agent ${agent}`));
    return watch(client, thread, options);
  });
}

type WatchOptions = Pick<RunOptions, 'format' | 'json' | 'yes' | 'model' | 'by' | 'group'>;

/** Follows a run with someone, or nobody, to answer what it asks. Returns the exit code. */
export async function watch(client: LonghaulClient, thread: Thread, options: WatchOptions): Promise<number> {
  const { yes, model } = options;
  const leaving = new AbortController();
  const interactive = process.stdin.isTTY === true && process.stderr.isTTY === true;
  const hint = answerHint(thread.id);
  // What is asked here, or agreed to, needs no command; an output can only come from outside, and what is for others only from them.
  const who = { ...(options.by && { by: options.by }), ...(options.group && { groups: options.group }) };
  const answeredHere = (call: PendingCall) => isFor(call, who) && (yes ? call.kind === 'approval' : interactive && call.kind !== 'output');
  const output = createOutput({
    format: formatOf(options),
    about: { ...(model && { model }) },
    hint: (call) => (answeredHere(call) ? '' : hint(call)),
  });
  let interrupted = () => {};
  const prompt = interactive ? createPrompt({ input: process.stdin, output: process.stderr, onInterrupt: () => interrupted() }) : undefined;
  const interrupts = onInterrupt(thread, { output, ...(prompt && { prompt }), leave: () => leaving.abort() });
  interrupted = interrupts.pressed;
  leaving.signal.addEventListener('abort', () => prompt?.close());

  let gone: { error: unknown } | undefined;
  const approvals = answering(thread, options, prompt, (error) => {
    gone = { error };
    leaving.abort();
  });
  const idle = hintWhenIdle(client, output);
  try {
    const followed = await follow(thread, { output: idle.output, approvals, signal: leaving.signal });
    if (gone && (gone.error as Error).name !== 'NoAnswer') throw gone.error;
    return conclude(thread, gone ? { end: 'waits' } : followed);
  } catch (error) {
    // What it was started for is not lost, whatever the error says of workers.
    if ((error as { code?: string }).code === 'no-worker') note(styled`Thread ${thread.id} stays. ${comeBack(thread)}`);
    throw error;
  } finally {
    idle.stop();
    prompt?.close();
    interrupts.dispose();
  }
}

function answering(
  thread: Thread,
  { yes, by, group }: WatchOptions,
  prompt: Prompt | undefined,
  onGone: (error: unknown) => void,
): Approvals {
  const groups = group && { groups: group };
  if (yes) return yesToAll(thread, { ...(by && { by }), ...groups });
  if (!prompt) return nobody(thread);
  return askPerson(thread, { prompt, write: say, by: by ?? 'longhaul run', ...groups, onGone });
}

async function conclude(thread: Thread, followed: Followed): Promise<number> {
  if (followed.end === 'left') {
    note(styled`\nThe thread goes on. ${comeBack(thread)}`);
  }
  if (followed.end === 'waits') {
    const { pending, paused } = await thread.status();
    const hint = answerHint(thread.id);
    const rests =
      pending.length === 0 ? 'is paused' : pending.every(({ kind }) => kind === 'reply') ? 'waits for a reply' : 'waits for a person';
    note(styled`Thread ${thread.id} ${rests}, and nobody is there to ask. It stays, and goes on with`);
    for (const call of pending) note(styled`  ${hint(call)}`);
    if (paused) note(styled`  ${commandLine('resume', [thread.id])}   (paused${paused.by ? ` by ${paused.by}` : ''}: ${paused.reason})`);
  }
  return exitCodeOfRun(followed);
}

function comeBack(thread: Thread): Styled {
  return styled`Come back with: ${commandLine('events', [thread.id])}`;
}

const idleMs = 4_000;

/** Says what is missing when nothing has come for a while: mostly a worker. */
function hintWhenIdle(client: LonghaulClient, output: Output): { output: Output; stop: () => void } {
  const timer = setTimeout(() => {
    note(paint.dim(`waiting for a worker on task queue ${client.taskQueue} (longhaul worker starts one) …`));
  }, idleMs);
  return {
    output: {
      ...output,
      event(event) {
        clearTimeout(timer);
        output.event(event);
      },
    },
    stop: () => clearTimeout(timer),
  };
}
