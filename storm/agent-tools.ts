import { z } from 'zod';
import { createAskHuman, defineTool, type ProbeAnswer, type ProbeRequest, suspend, type Tool, type ToolContext } from '../src/tools';
import { createShell } from '../src/tools/built-in/shell';
import { mayDieAt } from './kill-points';
import { append, type LedgerLine, ledgerFile, readLines, takeEffect } from './ledger';
import { random } from './random';
import { tools as facts } from './tool-facts';

const input = z.object({ n: z.string(), ms: z.number().int().min(0).max(60_000), edited: z.string().optional() });
/** The second version of the agents has one more argument. */
const newer = input.extend({ note: z.string().optional() });
type Input = z.output<typeof newer>;

/** The tools of every agent. They record in the ledger what they do, and may kill their process at any kill point. */
export function stormTools(folder: string, version: 1 | 2): Tool[] {
  const schema = version === 1 ? input : newer;
  const run = (name: string) => (args: Input, ctx: ToolContext) => work(folder, name, args, ctx);
  const policy = (args: Input, answer: object | boolean): never => {
    mayDieAt(folder, 'approval-policy');
    return (args.ms < 0 ? false : answer) as never;
  };
  const leads = { groups: ['leads'] };
  const ways: Record<string, object> = {
    flaky: { retry: { maxAttempts: 3, initialMs: 50, maxMs: 200 } },
    slow_look: { retry: { maxAttempts: 2, initialMs: 50 } },
    pay_asked: { approval: 'always' },
    pay_two: {
      approval: { approvers: 2, ...leads, deadlineMs: 6_000, onDeadline: ['ask-again', { escalate: ['leads', 'owners'] }, 'deny'] },
    },
    write_late: { approval: { when: (args: Input) => policy(args, true), deadlineMs: 3_000, onDeadline: 'approve' } },
    pay_denied: { approval: { when: (args: Input) => policy(args, leads), deadlineMs: 2_500, onDeadline: 'deny' } },
    behind: { background: true },
    behind_once: { background: true },
    book_behind: { background: true },
    outside_late: { ask: { deadlineMs: 3_000, onDeadline: ['ask-again', 'deny'] } },
  };
  const plain = Object.entries(facts).flatMap(([name, { effect, outside }]) => {
    if (['ask_human', 'shell', 'sleeps', 'dump'].includes(name)) return [];
    const definition = {
      name,
      description: `The tool ${name}, version ${version}.`,
      input: schema,
      effect,
      timeoutMs: 20_000,
      ...ways[name],
    };
    const undo = (args: Input, _: unknown, ctx: ToolContext) => compensate(folder, name, args, ctx);
    const more = {
      ...(effect === 'verify' && { probe: (asked: ProbeRequest) => probe(folder, asked) }),
      ...(effect === 'saga' && { compensate: undo }),
    };
    return [defineTool({ ...definition, ...more, ...(!outside && { execute: run(name) }) })];
  });
  return [
    ...plain,
    dump(folder, schema),
    sleeps(folder, schema),
    createAskHuman({ deadlineMs: 8_000, onDeadline: ['ask-again', 'deny'] }),
    createShell(),
  ];
}

/** Returns up to 60 kB, so that outputs are stored and the window of a small model fills up. */
function dump(folder: string, schema: typeof input): Tool {
  return defineTool({
    name: 'dump',
    description: 'Returns many lines.',
    input: schema,
    effect: 'pure',
    async execute(args, ctx) {
      await work(folder, 'dump', args, ctx);
      const rng = random(args.n, 'dump');
      const lines = rng.chance(0.1) ? 2_000 : rng.between(20, 200);
      return Array.from({ length: lines }, (_, line) => `line ${line} of ${args.n} ..........`).join('\n');
    },
  });
}

function sleeps(folder: string, schema: typeof input): Tool {
  return defineTool({
    name: 'sleeps',
    description: 'Suspends the run until a reply arrives.',
    input: schema,
    effect: 'keyed',
    async execute(args, ctx) {
      const result = await work(folder, 'sleeps', args, ctx);
      return suspend({ result, correlationId: `reply-${args.n}`, ttlMs: 12_000 });
    },
  });
}

/** The service says whether it has had a request with this key. */
function probe(folder: string, { idempotencyKey }: ProbeRequest): ProbeAnswer {
  const had = readLines<LedgerLine>(ledgerFile(folder)).find(({ what, key }) => what === 'effect' && key === idempotencyKey);
  return had ? { status: 'done', output: `${had.tool} did ${had.n}` } : { status: 'not-done' };
}

/** Undoes a call, or does nothing if it had no effect, which the service honours by key. */
function compensate(folder: string, tool: string, args: Input, ctx: ToolContext): void {
  mayDieAt(folder, 'compensation');
  takeEffect(folder, lineOf(tool, args, ctx));
  setTimeout(() => mayDieAt(folder, 'compensation'), args.ms % 5);
}

function lineOf(tool: string, { n, edited }: Input, ctx: ToolContext): LedgerLine {
  return {
    what: 'begin',
    at: Date.now(),
    thread: ctx.threadId,
    run: ctx.runId,
    call: ctx.toolCallId,
    tool,
    effect: facts[tool]?.effect ?? 'once',
    key: ctx.idempotencyKey,
    n,
    attempt: ctx.attempt,
    pid: process.pid,
    ...(edited && { edited }),
  };
}

async function work(folder: string, tool: string, args: Input, ctx: ToolContext): Promise<string> {
  const { n, ms } = args;
  mayDieAt(folder, 'tool-before-begin');
  const line = lineOf(tool, args, ctx);
  append(ledgerFile(folder), line);
  mayDieAt(folder, 'tool-after-begin');
  try {
    await pause(ms, ctx);
  } catch (error) {
    append(ledgerFile(folder), { ...line, what: 'aborted', at: Date.now() });
    throw error;
  }
  if (tool === 'fails') throw new Error(`${n} failed, as this tool always does`);
  if (tool === 'flaky' && ctx.attempt === 1) throw new Error(`${n} failed the first time`);
  if (line.effect === 'keyed') takeEffect(folder, line);
  if (line.effect === 'verify') append(ledgerFile(folder), { ...line, what: 'effect', at: Date.now() });
  mayDieAt(folder, 'tool-after-effect');
  append(ledgerFile(folder), { ...line, what: 'end', at: Date.now() });
  setTimeout(() => mayDieAt(folder, 'tool-after-result'), ms % 5);
  return `${tool} did ${n}`;
}

async function pause(ms: number, { signal, progress }: ToolContext): Promise<void> {
  if (ms > 300) progress('working');
  await new Promise<void>((resolve, reject) => {
    const aborted = () => {
      clearTimeout(timer);
      reject(new Error('aborted'));
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', aborted);
      resolve();
    }, ms);
    if (signal.aborted) aborted();
    else signal.addEventListener('abort', aborted, { once: true });
  });
}
