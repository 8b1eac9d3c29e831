import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { replayThreads } from '../src/testing';
import { encodings } from './encodings';
import { type Billed, measureActions } from './measures/actions';
import { type Approvals, measureApprovals } from './measures/approvals';
import { type Cancels, measureCancels } from './measures/cancel';
import { type ColdReplay, measureColdReplay, turnsOfAnExecution } from './measures/cold-replay';
import { type Context, measureWindow } from './measures/context';
import { type Encoding, measureEncoding } from './measures/encoding';
import type { HistoryFacts } from './measures/history';
import { type Hostile, measureHostileInput } from './measures/hostile-input';
import { measurePace, type PaceRound } from './measures/pace';
import { measureResume, measureTakeover, type Resume } from './measures/resume';
import { report } from './report';
import { type Contender, contenders, type Rig, startRig } from './rig';

const parts = [
  'pace',
  'resume',
  'cold-replay',
  'cancel',
  'takeover',
  'actions',
  'approvals',
  'encoding',
  'context',
  'hostile-input',
] as const;
type Part = (typeof parts)[number];

const usage = `npm run bench -- [--quick] [--only ${parts.join(',')}] [--rounds N] [--check]
  --quick   a few turns of everything, in under a minute: shows that the bench works, without checking targets
  --only    measure only these parts
  --rounds  how many rounds the contenders run (default 5)
  --check   exit with code 1 if a target is missed`;

/** All measurements; parts that were left out are empty. */
export interface Results {
  at: string;
  quick: boolean;
  node: string;
  bundleBytes: Rig['bundleBytes'];
  histories: Partial<Record<Contender, HistoryFacts>>;
  pace: PaceRound[];
  resume: Resume[];
  coldReplay: ColdReplay[];
  cancels: Cancels;
  takeoverMs: number[];
  billed?: Billed;
  approvals?: Approvals;
  encoding?: Encoding[];
  context?: Context;
  hostile?: Hostile[];
  /** Parts that failed, each with the reason. */
  failures: string[];
}

interface Plan {
  rounds: number;
  turns: Record<Contender, number>;
  sessions: number;
  turnsEach: number;
  resumeAfter: number;
  resumes: number;
  replays: number;
  cancels: number;
  takeovers: number;
  /** How long the answer is streamed whose heartbeats are counted. */
  answerMs: number;
  decisions: number;
  crowd: number;
  encodedTurns: number;
  windowTurns: number;
}

const full: Plan = {
  rounds: 5,
  // A naive turn takes seconds towards the end, so the naive loop runs until the server ends it only once, not in every round.
  turns: { longhaul: 200, floor: 200, naive: 100 },
  sessions: 32,
  turnsEach: 10,
  resumeAfter: 100,
  resumes: 3,
  replays: 3,
  cancels: 30,
  takeovers: 5,
  answerMs: 10_000,
  decisions: 100,
  crowd: 1_000,
  encodedTurns: 100,
  windowTurns: 100,
};
const quick: Plan = {
  rounds: 1,
  turns: { longhaul: 60, floor: 60, naive: 60 },
  sessions: 8,
  turnsEach: 3,
  resumeAfter: 20,
  resumes: 1,
  replays: 1,
  cancels: 5,
  takeovers: 1,
  answerMs: 500,
  decisions: 5,
  crowd: 20,
  encodedTurns: 20,
  windowTurns: 25,
};

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string', default: parts.join(',') },
      rounds: { type: 'string' },
      check: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return console.log(usage);
  const only = values.only.split(',');
  const unknown = only.find((part) => !parts.includes(part as Part));
  if (unknown !== undefined) throw new Error(`--only ${unknown}: there is no such part. The parts are ${parts.join(', ')}.`);
  const plan = { ...(values.quick ? quick : full), ...(values.rounds && { rounds: Number(values.rounds) }) };

  const rig = await startRig();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void rig.stop().then(() => process.exit(130)));
  try {
    const results = await measure(rig, plan, (part) => only.includes(part), values.quick);
    results.failures.push(...(await replayAll(rig)));
    const { text, missed } = report(results);
    console.log(text);
    console.log(`\nEverything measured: ${save(results)}`);
    if (results.failures.length > 0 || (values.check && missed > 0)) process.exitCode = 1;
  } finally {
    await rig.stop();
  }
}

async function measure(rig: Rig, plan: Plan, wanted: (part: Part) => boolean, isQuick: boolean): Promise<Results> {
  const { bundleBytes } = rig;
  const results: Results = {
    at: new Date().toISOString(),
    quick: isQuick,
    node: process.version,
    bundleBytes,
    histories: {},
    pace: [],
    resume: [],
    coldReplay: [],
    cancels: { same: [], elsewhere: [] },
    takeoverMs: [],
    failures: [],
  };
  // If one part fails, the results of the others must be kept.
  const take = async (part: Part, run: () => Promise<void>) => {
    if (!wanted(part)) return;
    await run().catch((error: Error) => {
      say(`${part}: ${error.message}`);
      results.failures.push(`${part}: ${error.message}`);
    });
  };
  await take('pace', () => measureRounds(rig, plan, results, isQuick));
  await take('resume', async () => {
    for (let i = 0; i < plan.resumes; i++) {
      for (const contender of ['longhaul', 'naive'] as const) {
        say(`resume ${i + 1} of ${plan.resumes}: ${contender}`);
        results.resume.push(await measureResume(rig, contender, plan.resumeAfter));
      }
    }
  });
  await take('cold-replay', async () => {
    const most = await turnsOfAnExecution(rig);
    for (let i = 0; i < plan.replays; i++) {
      say(`cold replay ${i + 1} of ${plan.replays}`);
      results.coldReplay.push(await measureColdReplay(rig, most));
    }
  });
  await take('cancel', async () => {
    say('cancel');
    results.cancels = await measureCancels(rig, plan.cancels);
  });
  await take('takeover', async () => {
    for (let i = 0; i < plan.takeovers; i++) {
      say(`takeover ${i + 1} of ${plan.takeovers}`);
      results.takeoverMs.push(await measureTakeover(rig));
    }
  });
  await take('actions', async () => {
    say('billable actions');
    results.billed = await measureActions(rig, plan.answerMs);
  });
  await take('approvals', async () => {
    say(`approvals: ${plan.decisions} decisions, and ${plan.crowd} threads at once`);
    results.approvals = await measureApprovals(rig, plan);
  });
  await take('encoding', async () => {
    say('encoding');
    results.encoding = await measureEncoding(rig, { turns: plan.encodedTurns, rounds: plan.rounds });
  });
  await take('context', async () => {
    say('a full window');
    results.context = await measureWindow(rig, plan.windowTurns);
  });
  await take('hostile-input', async () => {
    results.hostile = await measureHostileInput((input) => say(`hostile input, ${input}`));
  });
  return results;
}

async function measureRounds(rig: Rig, plan: Plan, results: Results, isQuick: boolean): Promise<void> {
  for (let i = 0; i < plan.rounds; i++) {
    // Rotate the order from round to round, because the speed of the machine varies over time.
    for (let k = 0; k < contenders.length; k++) {
      const contender = contenders[(i + k) % contenders.length] as Contender;
      say(`round ${i + 1} of ${plan.rounds}: ${contender}`);
      const turns = plan.turns[contender];
      const { round, history } = await measurePace(rig, contender, { turns, sessions: plan.sessions, turnsEach: plan.turnsEach });
      results.pace.push(round);
      if (contender !== 'naive' || isQuick) results.histories[contender] ??= await history();
    }
  }
  if (isQuick) return;
  say('naive, 200 turns or until the server ends it');
  const { history } = await measurePace(rig, 'naive', { turns: 200, sessions: 0, turnsEach: 0 });
  results.histories.naive = await history();
}

/** Replays every Longhaul history of the bench, to check that fast runs were also correct. Returns the failures. */
async function replayAll({ client }: Rig): Promise<string[]> {
  const began = performance.now();
  const { replayed, diverged } = await replayThreads({ client, encoding: encodings.both, keep: join(__dirname, 'results/diverged') });
  say(`replayed ${replayed + diverged.length} histories in ${((performance.now() - began) / 1_000).toFixed(1)} s`);
  return diverged.map(
    ({ threadId, runId, error, historyFile }) => `replay of thread ${threadId}, execution ${runId}: ${error} (${historyFile})`,
  );
}

function say(line: string): void {
  console.error(`bench: ${line}`);
}

function save(results: Results): string {
  const folder = join(__dirname, 'results');
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${results.at.replace(/[:.]/g, '-')}.json`);
  writeFileSync(file, JSON.stringify(results, null, 2));
  return file;
}

main().catch((error: Error) => {
  console.error(error.message);
  process.exitCode = 1;
});
