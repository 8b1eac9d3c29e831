import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Approvals } from '../../src/cli/commands/approvals';
import { askPerson } from '../../src/cli/commands/ask-person';
import { createPrompt, type Prompt } from '../../src/cli/commands/prompt';
import { paint, type Styled, styled } from '../../src/cli/views/styled';
import { shortArguments } from '../../src/cli/views/words';
import type { Thread } from '../../src/client';
import { isTerminal } from '../../src/core/event';
import { replayThreads } from '../../src/testing';
import { killMoment } from './kill-moment';
import { task } from './project';
import { createScreen, type Screen } from './screen';
import { type Stage, setStage } from './stage';
import { summary } from './summary';
import { tally } from './tally';
import type { WorkerProcess } from './worker-process';

const interrupted = 130;

/** Runs the demo. Returns the exit code; leaves no process behind. */
export async function demo({ keep }: { keep: boolean }): Promise<number> {
  const screen = createScreen(process.stdout);
  const leaving = new AbortController();
  // Getting Temporal may take minutes. Until the stage is set there is nothing to shut down, and exiting ends every process that was started.
  let leave = (): void => process.exit(interrupted);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => leave());
  screen.say('starting Temporal …');
  const stage = await setStage((text) => screen.say(text));
  leave = () => leaving.abort();
  try {
    const ok = await play(stage, screen, keep, leaving.signal);
    if (leaving.signal.aborted && !ok) return interrupted;
    return ok ? 0 : 1;
  } finally {
    await stage.clear();
  }
}

async function play(stage: Stage, screen: Screen, keep: boolean, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return false;
  const first = await stage.startWorker();
  screen.say(`worker 1 is process ${first.pid}; the model is ${stage.model}`);
  if (stage.uiUrl) screen.say(styled`Web UI: ${paint.cyan(stage.uiUrl)}`);
  screen.say(`a small broken program is in ${stage.project.folder}`);

  const thread = await stage.client.start('coder', task);
  const { completed, killedAt, startMs, failure } = await watch(stage, thread, first, screen, signal);
  if (failure) throw failure;
  if (!completed) return false;
  const counted = await tally(thread, killedAt);
  const { replayed, diverged } = await replayThreads({
    client: stage.client,
    executions: [{ workflowId: thread.id }],
    keep: join(tmpdir(), 'longhaul-diverged'),
  });
  const replays = { replayed, of: replayed + diverged.length };
  process.stdout.write(summary(counted, { published: stage.project.published(), startMs, replays }));
  for (const { error, historyFile } of diverged)
    screen.say(paint.red(`the history does not replay: ${error}; it is saved in ${historyFile}`));
  if (killedAt === undefined) screen.say('the run ended before its worker could be killed in the middle of a model call');
  await showAround(stage, `/namespaces/${stage.namespace}/workflows/${thread.id}/${counted.execution}/history`, keep, screen, signal);
  return diverged.length === 0;
}

async function showAround(stage: Stage, path: string, keep: boolean, screen: Screen, signal: AbortSignal): Promise<void> {
  const { uiUrl } = stage;
  if (!uiUrl) return screen.say(`the run is in the Web UI of ${stage.address}, at ${path}`);
  if (!keep) return screen.say(`the run was in the Web UI at ${path}, which ends with the demo; "npm run demo -- --keep" keeps it running`);
  screen.say(styled`the run in the Web UI: ${paint.cyan(uiUrl + path)}`);
  screen.say(`each step is a row with its summary, and the interrupted model call shows its attempts`);
  screen.say(`the Web UI keeps running, and ${stage.project.folder} is kept, until you press Ctrl-C`);
  await untilAborted(signal);
}

interface Watched {
  completed: boolean;
  killedAt?: number;
  /** How long the second worker took to start, in milliseconds. */
  startMs?: number;
  failure?: unknown;
}

/** Follows the run to its end, kills the worker in the middle, and decides on its approvals. */
async function watch(stage: Stage, thread: Thread, worker: WorkerProcess, screen: Screen, signal: AbortSignal): Promise<Watched> {
  const watched: Watched = { completed: false };
  const failed = new AbortController();
  const fail = (error: unknown) => {
    watched.failure = error;
    failed.abort();
  };
  let replacement: Promise<void> = Promise.resolve();
  const moment = killMoment(() => {
    watched.killedAt = Date.now();
    replacement = replaceWorker(stage, worker, screen).then((ms) => {
      watched.startMs = ms;
    }, fail);
  });
  const { approvals, prompt } = answers(thread, screen, fail);
  try {
    for await (const event of thread.events({ signal: AbortSignal.any([signal, failed.signal]) })) {
      screen.event(event);
      moment.event(event);
      if (event.type === 'thread.run.requires_action') await approvals.offer(event.data.pending);
      if (event.type === 'agent.approval.decided') approvals.decided(event.data.toolCallId);
      if (isTerminal(event)) watched.completed = event.type === 'thread.run.completed';
    }
  } finally {
    moment.stop();
    prompt?.close();
    await replacement;
  }
  return watched;
}

async function replaceWorker(stage: Stage, worker: WorkerProcess, screen: Screen): Promise<number> {
  await worker.kill();
  screen.say(paint.red(`kill -9 ${worker.pid}: the worker is gone, in the middle of the model's answer`));
  const began = performance.now();
  const next = await stage.startWorker();
  screen.say(`worker 2 is process ${next.pid}; it gets everything it needs from Temporal`);
  return performance.now() - began;
}

/** Approvals come from the person at the terminal; without a terminal the demo approves the calls itself, and prints that. */
function answers(thread: Thread, screen: Screen, fail: (error: unknown) => void): { approvals: Approvals; prompt?: Prompt } {
  if (process.stdin.isTTY && process.stdout.isTTY) {
    const prompt = createPrompt({ input: process.stdin, output: process.stdout, onInterrupt: () => process.kill(process.pid, 'SIGINT') });
    const write = ({ text }: Styled) => void process.stdout.write(text);
    return { prompt, approvals: askPerson(thread, { prompt, write, by: 'you', onGone: fail }) };
  }
  return {
    approvals: {
      async offer(pending) {
        for (const call of pending) {
          screen.say(`there is no terminal to ask a person, so the demo approves "${shortArguments(call.arguments, 60)}" in 1 s`);
          await sleep(1_000);
          await thread.approve(call.toolCallId, { by: 'demo', reason: 'approved by the demo itself' });
        }
        return 'answering';
      },
      decided: () => undefined,
    },
  };
}

function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  // A listener does not keep the process alive.
  const alive = setInterval(() => undefined, 60_000);
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => {
      clearInterval(alive);
      resolve();
    });
  });
}
