import type { LonghaulClient, Thread } from '../../client';
import type { PendingCall } from '../../core/event';
import { type FormatOptions, formatOf } from '../views/format-names';
import { createOutput, type Output } from '../views/output';
import { paint, type Styled, styled } from '../views/styled';
import { note, say } from '../views/terminal';
import { answerHint, commandLine, programName } from './answer-hint';
import { type Approvals, isFor, nobody, yesToAll } from './approvals';
import { askPerson, isAskedOf, type Person } from './ask-person';
import { withClient } from './connect';
import { exitCodeOfRun, type Followed, follow } from './follow';
import { givenText } from './given-text';
import { onInterrupt } from './interrupt';
import { createPrompt, type Prompt } from './prompt';

export interface RunOptions extends FormatOptions {
  agent: string;
  thread?: string;
  model?: string;
  conversation?: boolean;
  yes?: boolean;
  /** Who answers at this terminal, and in which groups. */
  by?: string;
  group?: string[];
  taskQueue?: string;
}

/** Starts a thread, or attaches to the one with the same id and request, and follows its run until it ends or waits. */
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

/** Follows a run, with or without someone to answer its questions. Returns the exit code. */
export async function watch(client: LonghaulClient, thread: Thread, options: WatchOptions): Promise<number> {
  const { yes, model } = options;
  const leaving = new AbortController();
  const interactive = process.stdin.isTTY === true && process.stderr.isTTY === true;
  const hint = answerHint(thread.id);
  // Questions that are asked or approved here need no command hint. Outputs, which come from outside, and calls for other people do.
  const who = { ...(options.by && { by: options.by }), ...(options.group && { groups: options.group }) };
  const answeredHere = (call: PendingCall) =>
    yes ? call.kind === 'approval' && isFor(call, who) : interactive && isAskedOf(thread, call, who);
  const asked = new Set<string>();
  const output = createOutput({
    format: formatOf(options),
    about: { ...(model && { model }) },
    hint: (call) => (answeredHere(call) ? '' : hint(call)),
    // Where the text of the run is on the same screen, the prompt alone shows the question.
    asks: (call) => interactive && !yes && process.stdout.isTTY === true && answeredHere(call),
    wasAsked: (id) => asked.has(id),
  });
  let interrupted = () => {};
  const prompt = interactive ? createPrompt({ input: process.stdin, output: process.stderr, onInterrupt: () => interrupted() }) : undefined;
  const interrupts = onInterrupt(thread, { output, ...(prompt && { prompt }), leave: () => leaving.abort() });
  interrupted = interrupts.pressed;
  leaving.signal.addEventListener('abort', () => prompt?.close());

  let gone: { error: unknown } | undefined;
  const approvals = answering(thread, options, prompt, {
    onAsked: (id) => asked.add(id),
    onGone: (error) => {
      gone = { error };
      leaving.abort();
    },
  });
  const idle = hintWhenIdle(client, output);
  try {
    const followed = await follow(thread, { output: idle.output, approvals, signal: leaving.signal });
    if (gone && (gone.error as Error).name !== 'NoAnswer') throw gone.error;
    return conclude(thread, gone ? { end: 'waits' } : followed);
  } catch (error) {
    // The run is not lost, although the error reports that no worker answers.
    if ((error as { code?: string }).code === 'no-worker') note(styled`Thread ${thread.id} is not lost. ${comeBack(thread)}`);
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
  notices: Pick<Person, 'onAsked' | 'onGone'>,
): Approvals {
  const groups = group && { groups: group };
  if (yes) return yesToAll(thread, { ...(by && { by }), ...groups });
  if (!prompt) return nobody(thread);
  return askPerson(thread, { prompt, write: say, columns: process.stderr.columns, by: by ?? 'longhaul run', ...groups, ...notices });
}

async function conclude(thread: Thread, followed: Followed): Promise<number> {
  if (followed.end === 'left') {
    note(styled`\nThe thread continues. ${comeBack(thread)}`);
  }
  if (followed.end === 'waits') {
    const { pending, paused } = await thread.status();
    const hint = answerHint(thread.id);
    const waitsFor =
      pending.length === 0 ? 'is paused' : pending.every(({ kind }) => kind === 'reply') ? 'waits for a reply' : 'waits for a person';
    note(styled`Thread ${thread.id} ${waitsFor}, and nobody can be asked here. To continue it:`);
    for (const call of pending) note(styled`  ${hint(call)}`);
    if (paused)
      note(
        styled`  ${commandLine('resume', [thread.id])}   (paused${paused.by ? ` by ${paused.by}` : ''}: ${paused.reason})`.fit(
          process.stderr.columns,
        ),
      );
  }
  return exitCodeOfRun(followed);
}

function comeBack(thread: Thread): Styled {
  return styled`Follow it again with: ${commandLine('events', [thread.id])}`;
}

const idleMs = 4_000;

/** Prints a hint when no event has arrived for a while: usually a worker is missing. */
function hintWhenIdle(client: LonghaulClient, output: Output): { output: Output; stop: () => void } {
  const timer = setTimeout(() => {
    note(paint.dim(`waiting for a worker on task queue ${client.taskQueue} (${programName()} worker starts one) …`));
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
