import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { startTemporal } from '../../scripts/temporal.js';
import { LonghaulClient, type Thread } from '../../src/client';
import type { DurableEvent } from '../../src/core/event';
import { workflowBundleOptions } from '../../src/workflow-bundle';
import { build, built } from '../build';
import { type Link, startProcess } from '../link';
import { median, show } from '../numbers';
import type { Spent } from '../worker';
import { type EndlessModel, startEndlessModel, type Turn } from './model';
import { objective, windowTokens } from './task';

const usage = `npm run endless -- [--turns N] [--kill-every N]
  One thread with so many turns (default 10,000) and a small context window, on two workers; one of them is killed, and another started, after so
  many turns (default 250). Checks every request to the model and, at the end, the whole log. Exits with code 1 if anything is wrong.`;

interface Run {
  thread: Thread;
  model: EndlessModel;
  turns: number;
  kills: number;
  /** Memory of the worker that is never killed, in megabytes, at even distances. */
  memory: number[];
  log: DurableEvent[];
  /** Events in the history of each execution, oldest first. */
  executions: number[];
  archived: number;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { turns: { type: 'string', default: '10000' }, 'kill-every': { type: 'string', default: '250' }, help: { type: 'boolean' } },
  });
  if (values.help) return console.log(usage);
  const [turns, killEvery] = [Number(values.turns), Number(values['kill-every'])];
  if (!(turns >= 20 && killEvery >= 1)) throw new Error(`--turns must be at least 20, and --kill-every at least 1.\n\n${usage}`);
  const { text, missed } = report(await run(turns, killEvery));
  console.log(text);
  process.exitCode = missed === 0 ? 0 : 1;
}

async function run(turns: number, killEvery: number): Promise<Run> {
  build();
  const folder = mkdtempSync(join(tmpdir(), 'longhaul-endless-'));
  const server = await startTemporal({ own: true, log: (line) => console.error(line) });
  const model = await startEndlessModel(turns);
  const client = await LonghaulClient.connect({ connection: { address: server.address }, namespace: server.namespace });
  const workers: Link[] = [];
  try {
    const codePath = join(folder, 'bundle.js');
    const { code } = await bundleWorkflowCode({ ...workflowBundleOptions(), logger: new DefaultLogger('ERROR') });
    writeFileSync(codePath, code);
    const args = { address: server.address, modelUrl: model.url, taskQueue: 'endless', codePath };
    const startWorker = async () => {
      const worker = await startProcess(built('endless/worker'), [JSON.stringify(args)]);
      workers.push(worker);
      return worker;
    };
    const steady = await startWorker();
    const thread = await client.start('endless', objective, { taskQueue: 'endless' });
    const memory: number[] = [];
    const over = thread.result().then(() => undefined);
    const kills = await killNowAndThen({ over, model, killEvery, startWorker, done: note });
    async function note(turn: number): Promise<void> {
      memory.push((await steady.ask<Spent>('spent')).rss / 1e6);
      console.error(`turn ${turn}: ${model.summaries} summaries, ${Math.round(memory.at(-1) ?? 0)} MB, ${model.faults.length} faults`);
    }
    const log: DurableEvent[] = [];
    for await (const event of thread.events({ from: 1 })) if ('seq' in event) log.push(event as DurableEvent);
    const archived = (await thread.messages({ archived: true })).length;
    return { thread, model, turns, kills, memory, log, executions: await executionsOf(client, thread.id), archived };
  } finally {
    await Promise.all(workers.map((worker) => worker.kill()));
    await client.close();
    await model.stop();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Killing {
  over: Promise<void>;
  model: EndlessModel;
  killEvery: number;
  startWorker(): Promise<Link>;
  /** Called after so many turns. */
  done(turn: number): Promise<void>;
}

/** Kills the second worker and starts another, after every so many turns, until the thread is over. Resolves with how often. */
async function killNowAndThen({ over, model, killEvery, startWorker, done }: Killing): Promise<number> {
  let [kills, isOver] = [0, false];
  void over.then(
    () => (isOver = true),
    () => (isOver = true),
  );
  let second = await startWorker();
  for (let next = killEvery; !isOver; ) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    const turn = model.turns.at(-1)?.turn ?? 0;
    if (turn < next || isOver) continue;
    next += killEvery;
    await second.kill();
    kills += 1;
    await done(turn);
    second = await startWorker();
  }
  await over;
  return kills;
}

async function executionsOf({ temporal }: LonghaulClient, id: string): Promise<number[]> {
  const found: { at: number; events: number }[] = [];
  for await (const { runId } of temporal.workflow.list({ query: `WorkflowId = '${id}'` })) {
    const { startTime, historyLength } = await temporal.workflow.getHandle(id, runId).describe();
    found.push({ at: startTime.getTime(), events: historyLength });
  }
  return found.sort((a, b) => a.at - b.at).map(({ events }) => events);
}

interface Check {
  name: string;
  value: number;
  /** The values that are right. */
  least?: number;
  most?: number;
}

function report(result: Run): { text: string; missed: number } {
  const checks = checksOf(result);
  const isRight = ({ value, least = Number.NEGATIVE_INFINITY, most = Number.POSITIVE_INFINITY }: Check) => value >= least && value <= most;
  const rows = checks.map((check) => {
    const wanted =
      check.least === check.most ? `${check.least}` : check.least === undefined ? `at most ${check.most}` : `at least ${check.least}`;
    return `| ${check.name} | ${show(check.value)} | ${wanted} | ${isRight(check) ? 'met' : '**missed**'} |`;
  });
  const faults = result.model.faults.slice(0, 20).map((fault) => `- ${fault}`);
  const text = [
    `# A thread of ${show(result.turns)} turns, ${new Date().toISOString()}`,
    `Window: ${show(windowTokens)} tokens. Memory of the worker that stays, MB: ${result.memory.map((mb) => Math.round(mb)).join(', ')}.`,
    ['| what | measured | wanted |  |', '| --- | --- | --- | --- |', ...rows].join('\n'),
    ...(faults.length > 0 ? [faults.join('\n')] : []),
  ].join('\n\n');
  return { text, missed: checks.filter((check) => !isRight(check)).length };
}

function checksOf({ model, turns, kills, memory, log, executions, archived }: Run): Check[] {
  const firsts = firstRequests(model.turns);
  const tenth = Math.floor(turns / 10);
  const pace = (from: number, to: number) =>
    median(
      firsts
        .slice(from, to)
        .map((one, i, all) => one.at - (all[i - 1]?.at ?? Number.NaN))
        .slice(1),
    );
  const completed = log.filter(({ type }) => type === 'thread.message.completed').length;
  const outcomes = log.flatMap((event) => (event.type === 'agent.tool.execution.completed' ? event.data.toolCallId : []));
  const whole = executions.slice(0, -1);
  const share = firsts.slice(1).map(({ chars, sameChars }) => sameChars / chars);
  return [
    { name: 'turns', value: completed, least: turns + 1, most: turns + 1 },
    { name: 'gaps in the log', value: log.filter(({ seq }, i) => seq !== i + 1).length, least: 0, most: 0 },
    { name: 'calls with an outcome', value: new Set(outcomes).size, least: turns, most: turns },
    { name: 'calls with two outcomes', value: outcomes.length - new Set(outcomes).size, least: 0, most: 0 },
    { name: 'messages in the archive', value: archived, least: 2 * turns + 2, most: 2 * turns + 2 },
    { name: 'faulty requests', value: model.faults.length, least: 0, most: 0 },
    { name: 'executions', value: executions.length, least: Math.min(50, Math.floor(turns / 200)) },
    { name: 'summaries', value: model.summaries, least: Math.min(50, Math.floor(turns / 200)) },
    { name: 'kills of a worker', value: kills, least: 1 },
    { name: 'ms a turn, last tenth over first', value: pace(turns - tenth, turns) / pace(0, tenth), most: 1.2 },
    { name: 'events of an execution, last over first', value: (whole.at(-1) ?? Number.NaN) / (whole[0] ?? Number.NaN), most: 1.2 },
    {
      name: 'memory of a worker, last over a tenth of the way',
      value: (memory.at(-1) ?? Number.NaN) / (memory[Math.ceil(memory.length / 10)] ?? Number.NaN),
      most: 1.3,
    },
    {
      name: 'identical start of a request, % on average',
      value: (share.reduce((sum, one) => sum + one, 0) / share.length) * 100,
      least: 95,
    },
  ];
}

/** The first request of each turn; later ones repeat it after a kill. */
function firstRequests(all: readonly Turn[]): Turn[] {
  const seen = new Set<number>();
  return all.filter(({ turn }) => !seen.has(turn) && seen.add(turn));
}

void main().catch((error: Error) => {
  console.error(error.stack ?? error);
  process.exitCode = 1;
});
