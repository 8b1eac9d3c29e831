import { join } from 'node:path';
import type { StartOptions, Thread } from '../../client';
import type { Content } from '../../core/message';
import type { Script } from '../model-server';
import { type Bystander, type Conversation, type PlayedRun, playClean, playStruck, startBystander } from './batch';
import type { Child } from './channel';
import { type CrashRun, type Difference, differencesOf, runOf } from './judge';
import { type Effect, effectsIn, readLedger } from './ledger';
import { type CrashPoint, type Place, placesOf, type Way } from './points';
import { type CrashReport, type CrashResult, reportOf } from './report';
import { type Stage, setStage } from './stage';

export interface CrashOptions {
  /** The agent that the conversation is with. Default: the only agent of the file. */
  agent?: string | undefined;
  input: Content;
  /** Other options of the start. */
  start?: Omit<StartOptions, 'id' | 'taskQueue'> | undefined;
  /** What people do after the start: approve, answer, send messages. Default: nothing. Every run has the same, so it must not depend on time. */
  talk?: ((thread: Thread) => Promise<unknown>) | undefined;
  /** Reads what the tools of a thread did, after its run. `workspace`: the thread's folder. Default: what they noted with `noteEffect`. */
  effects?: ((run: { threadId: string; workspace: string }) => readonly Effect[] | Promise<readonly Effect[]>) | undefined;
  /** Default: both. */
  ways?: readonly Way[] | undefined;
  /** Takes every k-th point only. Default 1: all of them. */
  every?: number | undefined;
  /** Whether a difference is as it should be, and is to be left out of the report. */
  accept?: ((difference: Difference, run: CrashRun, point: CrashPoint) => boolean) | undefined;
  /** Checks more: returns what is wrong with a run, or undefined. */
  check?: ((run: CrashRun, clean: CrashRun, point: CrashPoint) => string | undefined) | undefined;
  /** Of a Temporal server. Default: TEMPORAL_ADDRESS, or else a development server is started. */
  address?: string | undefined;
  namespace?: string | undefined;
  /** How many runs share the worker process that is killed. 1 separates them completely, and takes many times as long. Default 32. */
  runsPerWorker?: number | undefined;
  /** How long a run may take, in milliseconds. Default 120,000. */
  timeoutMs?: number | undefined;
}

/** Batches of runs under way: while the runs of one wait for a timeout, those of the other work. */
const batchesAtOnce = 2;

/**
 * Runs a conversation without faults, then once for each recorded event and each beginning and end of a model call, tool call and compensation, with
 * the worker killed (SIGKILL) right there, and once with the worker frozen there (SIGSTOP) until another has taken over. Compares answers, events and
 * effects with the run without faults. Rejects if the conversation can't be run, or differs between two runs without faults.
 *
 * `agentsFile` exports agents, as for `longhaul worker`; each worker process loads it. `script`: the model's replies, by turn or as a function that
 * depends on nothing but the request.
 */
export async function crashEverywhere(agentsFile: string, script: Script, options: CrashOptions): Promise<CrashReport> {
  const beganAt = performance.now();
  const { address, namespace, every = 1, runsPerWorker = 32, ways = ['kill', 'freeze'] } = options;
  checkCount('every', every);
  checkCount('runsPerWorker', runsPerWorker);
  const stage = await setStage({ agentsFile, script, address, namespace });
  try {
    const bystander = startBystander(stage);
    const conversation = await conversationOf(stage, bystander, options);
    const { clean, places } = await playTwice({ stage, bystander, conversation, options });
    const chosen = places.filter((_, at) => at % every === 0);
    const batches = batchesOf(chosen, { ways, runsPerWorker });
    const points = await playAll({ stage, bystander, conversation, options }, batches, clean);
    const [failure] = stage.failures;
    if (failure !== undefined) throw new Error(`crashEverywhere: a worker failed, so its runs prove nothing: ${failure}`);
    return reportOf(clean, points, Math.round(performance.now() - beganAt));
  } finally {
    await stage.stop();
  }
}

function checkCount(name: string, count: number): void {
  if (Number.isSafeInteger(count) && count >= 1) return;
  throw new TypeError(`crashEverywhere: ${name} is ${count}; it must be a whole number, at least 1.`);
}

async function conversationOf(stage: Stage, { child }: Bystander, options: CrashOptions): Promise<Conversation> {
  const names = await stage.beginWorker(child, stage.newTaskQueue());
  const { agent = names[0] ?? '', input, start, talk, timeoutMs = 120_000 } = options;
  if (options.agent === undefined && names.length > 1) {
    throw new TypeError(`crashEverywhere: the file has several agents: ${names.join(', ')}. Name one: { agent: '${agent}' }.`);
  }
  if (!names.includes(agent)) throw new TypeError(`crashEverywhere: the file has no agent '${agent}'. It has: ${names.join(', ')}.`);
  return { agent, input, start, talk, timeoutMs };
}

interface Play {
  stage: Stage;
  bystander: Bystander;
  conversation: Conversation;
  options: CrashOptions;
}

/** Two runs without faults. What differs between them would differ with faults, too. */
async function playTwice(play: Play): Promise<{ clean: CrashRun; places: Place[] }> {
  const { stage, bystander, conversation } = play;
  const queue = stage.newTaskQueue();
  const [first, second] = await playClean(stage, bystander, conversation, [`${queue}-clean-1`, `${queue}-clean-2`]);
  if (!first || !second) throw new Error('crashEverywhere: there was no run without faults.');
  const [clean, again] = await Promise.all([judged(play, first), judged(play, second)]);
  const [difference] = [...differencesOf(again, clean), ...differencesOf(clean, again)];
  const stuck = clean.end === undefined ? { message: `it did not end within ${conversation.timeoutMs} ms` } : undefined;
  const failed = first.talkError === undefined ? stuck : { message: `talk failed: ${first.talkError}` };
  if (failed) throw new Error(`crashEverywhere: the run without faults is not usable: ${failed.message}.`);
  if (difference) throw new Error(`crashEverywhere: two runs without faults differ, so nothing can be compared: ${difference.message}`);
  return { clean, places: placesOf(first.keys, first.events) };
}

async function judged({ stage, options }: Play, { threadId, events }: PlayedRun): Promise<CrashRun> {
  const { effects = () => effectsIn(readLedger(stage.ledger), threadId) } = options;
  return runOf(threadId, events, await effects({ threadId, workspace: join(stage.workspace, threadId) }));
}

interface Batch {
  way: Way;
  places: readonly Place[];
}

/** Consecutive places are in one batch, because their runs come to them at about the same time. */
function batchesOf(all: readonly Place[], { ways, runsPerWorker }: Required<Pick<CrashOptions, 'ways' | 'runsPerWorker'>>): Batch[] {
  const starts = Array.from({ length: Math.ceil(all.length / runsPerWorker) }, (_, at) => at * runsPerWorker);
  return ways.flatMap((way) => starts.map((from) => ({ way, places: all.slice(from, from + runsPerWorker) })));
}

async function playAll(play: Play, batches: readonly Batch[], clean: CrashRun): Promise<CrashResult[]> {
  // A process takes a second of CPU to start, so it starts before it is needed.
  let unborn = batches.length;
  const newProcess = (): Child | undefined => (unborn-- > 0 ? play.stage.newProcess() : undefined);
  const born = Array.from({ length: batchesAtOnce }, newProcess);
  const results: CrashResult[][] = batches.map(() => []);
  let next = 0;
  const lane = async () => {
    for (let at = next++; at < batches.length; at = next++) {
      const [batch, victim] = [batches[at], born.shift()];
      if (!batch || !victim) return;
      born.push(newProcess());
      results[at] = await playBatch(play, victim, batch, clean);
    }
  };
  await Promise.all(Array.from({ length: batchesAtOnce }, lane));
  return results.flat();
}

async function playBatch(play: Play, victim: Child, { way, places: listed }: Batch, clean: CrashRun): Promise<CrashResult[]> {
  const name = play.stage.newTaskQueue();
  const places = new Map(listed.map((place, at) => [`${name}-${way}-${at + 1}`, place]));
  const played = await playStruck(play, victim, way, places);
  return Promise.all(
    played.map(async (one): Promise<CrashResult> => {
      const run = await judged(play, one);
      const { at = '', seq = 0 } = places.get(one.threadId) ?? {};
      const point: CrashPoint = { way, at, seq };
      return { ...point, run, differences: judge(play.options, { one, run, clean, point }) };
    }),
  );
}

function judge(
  { accept, check }: CrashOptions,
  { one, run, clean, point }: { one: PlayedRun; run: CrashRun; clean: CrashRun; point: CrashPoint },
): Difference[] {
  const found = differencesOf(run, clean);
  if (!one.reached) found.unshift({ kind: 'not-reached', message: 'the run did not come to this point' });
  if (one.talkError !== undefined) found.unshift({ kind: 'stuck', message: `talk failed: ${one.talkError}` });
  const wrong = check?.(run, clean, point);
  const kept = found.filter((difference) => !accept?.(difference, run, point));
  return wrong === undefined ? kept : [...kept, { kind: 'check', message: wrong }];
}
