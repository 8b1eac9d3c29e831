import { readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { z } from 'zod';
import { answerCap } from '../src/activities/steps/answer-cap';
import { Artifacts, memoryArtifacts } from '../src/artifacts';
import { textOf, toolCallsOf } from '../src/core/message';
import { openAi } from '../src/models/openai/client';
import { soundAnswer } from '../src/models/sound-answer';
import { inProcessBus } from '../src/stream/stream-bus';
import { createOutputTools } from '../src/tools/built-in/output-tools';
import { createShell } from '../src/tools/built-in/shell';
import { defineTool, type Tool } from '../src/tools/defining/define-tool';
import { createToolbox } from '../src/tools/running/toolbox';
import { answer } from './link';

/** A task for one process of the hostile-input measurement. The process reports the longest stall of its event loop during the task. */
export type HostileTask = { task: 'model'; url: string } | { task: 'tool'; name: keyof typeof tools };

export interface HostileOutcome {
  ended: string;
  ms: number;
  /** The longest stall of the event loop, without the time that the thread waited for a core. */
  stallMs: number;
  /** The longest stall including that time, as `monitorEventLoopDelay` measures it. */
  delayMs: number;
}

const never = new AbortController().signal;
const empty = { type: 'object', properties: {} };

/** The value is created before the measurement begins, because its creation is the tool's own work. */
let prepared: () => unknown = () => undefined;
const returning = (make: () => () => unknown): [Tool, () => object] => [
  defineTool({ name: 'hostile', description: 'Returns it.', input: empty, effect: 'pure', execute: () => prepared() }),
  () => {
    prepared = make();
    return {};
  },
];
const value = (made: unknown) => () => made;

const taking = (input: object, args: () => object): [Tool, () => object] => [
  defineTool({ name: 'hostile', description: 'Takes it.', input: input as typeof empty, effect: 'pure', execute: () => 'ran' }),
  args,
];

const artifacts = new Artifacts(memoryArtifacts());
const [readOutput, , grepOutput] = createOutputTools((...asked) => artifacts.use(...asked)) as [Tool, Tool, Tool];
const reading = (tool: Tool, make: () => Buffer): [Tool, () => Promise<object>] => [
  tool,
  async () => ({ ref: (await artifacts.keep('t', make(), 'text/plain'))?.id, offset: 1, limit: 40_000, pattern: 'no such text' }),
];

/** Tools, each with a function that creates the arguments of its call. */
const tools = {
  'a text of 50 MB': returning(() => value('line of text\n'.repeat(4_000_000))),
  'a list of 10,000,000 numbers': returning(() => value(Array.from({ length: 10_000_000 }, (_, i) => i))),
  'an object 1,000,000 levels deep': returning(() => value(nested(1_000_000))),
  'an object that is new each time it is looked at': returning(() => bottomless),
  'getters that throw': returning(() => () => new Proxy({}, { ownKeys: refuse, get: refuse })),
  '1,000,000 parts': returning(() => value(Array(1_000_000).fill({ type: 'text', text: 'part' }))),
  'bytes, 50 MB': returning(() => value(Buffer.alloc(50_000_000))),
  'an error with 5,000,000 rows': returning(() => {
    const error = Object.assign(new Error('no'), { data: Array(5_000_000).fill({ row: 1 }) });
    return () => Promise.reject(error);
  }),
  'a command that prints 500 MB': [createShell(), () => ({ command: 'head -c 500000000 /dev/zero | tr "\\0" "x"' })],
  'a pattern that backtracks': taking({ type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } }, () => ({
    a: `${'a'.repeat(34)}!`,
  })),
  'unique items, 100,000 objects': taking({ type: 'object', properties: { a: { type: 'array', uniqueItems: true } } }, () => ({
    a: Array.from({ length: 100_000 }, (_, i) => ({ i })),
  })),
  'forms that refer to each other': taking(
    {
      type: 'object',
      properties: { a: { $ref: '#/$defs/f' } },
      $defs: {
        f: {
          anyOf: ['p', 'q', 'r'].map((k) => ({
            type: 'object',
            properties: { a: { $ref: '#/$defs/f' }, [k]: { type: 'string' } },
            required: [k],
          })),
        },
      },
    },
    () => nested(60),
  ),
  'arguments 50,000 levels deep': [
    defineTool({ name: 'hostile', description: 'Takes it.', input: z.object({ a: z.json() }), effect: 'pure', execute: () => 'ran' }),
    () => ({ toString: () => `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}` }),
  ],
  'a stored line of 60 MB is read': reading(readOutput, () => Buffer.from('é'.repeat(30_000_000))),
  'a stored line of 60 MB is searched': reading(grepOutput, () => Buffer.from('é'.repeat(30_000_000))),
  'stored lines of 60 MB are read': reading(readOutput, () => Buffer.alloc(60_000_000, 'a line of text\n')),
  'stored lines of 60 MB are searched': reading(grepOutput, () => Buffer.alloc(60_000_000, 'a line of text\n')),
} satisfies Record<string, [Tool, () => object | Promise<object>]>;

function nested(depth: number): object {
  let value: object = {};
  for (let i = 0; i < depth; i++) value = { a: value };
  return value;
}

function bottomless(): object {
  return { toJSON: () => ({ again: bottomless(), more: bottomless() }) };
}

function refuse(): never {
  throw new Error('not to be looked at');
}

async function callModel(url: string): Promise<string> {
  const cap = answerCap(never);
  const bus = inProcessBus();
  let index = 0;
  const delta = { messageId: 'm', turn: 1, attempt: 1 };
  const given = await openAi({ baseUrl: url, apiKey: 'sk-bench-0123456789' }).call(
    { model: 'm', instructions: 'i', messages: [{ id: 'u', role: 'user', content: 'hi' }], tools: [], settings: {} },
    {
      signal: cap.signal,
      onDelta(piece) {
        cap.count(piece);
        const data = { ...delta, index: index++, ...(piece.type === 'text' && { contentChunk: piece.text }) };
        bus.publish({ kind: 'event', event: { type: 'thread.message.delta', timestamp: '', threadId: 't', runId: 'r', data } });
      },
    },
  );
  const { parts } = soundAnswer(given);
  return `an answer: ${textOf(parts).length} characters, ${toolCallsOf(parts).length} calls`;
}

let text = '{}';

async function prepare(asked: HostileTask): Promise<void> {
  if (asked.task === 'model') return;
  const given = await tools[asked.name][1]();
  text = Object.hasOwn(given, 'toString') ? String(given) : JSON.stringify(given);
}

async function callTool(name: keyof typeof tools): Promise<string> {
  const [tool] = tools[name];
  const call = { id: 'c', name: tool.name, arguments: text };
  const toolbox = createToolbox([tool]);
  const host = { signal: never, idempotencyKey: 'k', threadId: 't', runId: 'r', attempt: 1, workspace: tmpdir() };
  const { outcome } = await toolbox.execute(call, host);
  const words = typeof outcome.content === 'string' ? outcome.content : JSON.stringify(outcome.content);
  return `${outcome.status}, ${words.length} characters: ${words.slice(0, 120)}`;
}

let stallMs = 0;
let last = performance.now();
let lastWaitMs = 0;
const everyMs = 5;
const delays = monitorEventLoopDelay({ resolution: everyMs });

/** How long this thread has waited for a core, if the system reports it. CPU time of other processes does not count as a stall. */
function waitMs(): number {
  try {
    return Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}

function tick(): void {
  const [now, wait] = [performance.now(), waitMs()];
  stallMs = Math.max(stallMs, now - last - everyMs - (wait - lastWaitMs));
  [last, lastWaitMs] = [now, wait];
}

async function run(asked: HostileTask): Promise<HostileOutcome> {
  delays.enable();
  const timer = setInterval(tick, everyMs);
  [last, lastWaitMs] = [performance.now(), waitMs()];
  const began = performance.now();
  const work = asked.task === 'model' ? callModel(asked.url) : callTool(asked.name);
  const ended = await work.catch((error: Error & { kind?: string }) => `${error.kind ?? error.name}: ${error.message.slice(0, 200)}`);
  // The last stall is recorded by the tick after it.
  await new Promise((resolve) => setTimeout(resolve, 20));
  clearInterval(timer);
  return { ended, ms: Math.round(performance.now() - began), stallMs: Math.round(stallMs), delayMs: Math.round(delays.max / 1e6) };
}

answer({
  ready: () => Object.keys(tools),
  /** Returns the memory after a garbage collection, in kilobytes, and resets the peak. */
  idle: async (asked: HostileTask) => {
    await prepare(asked);
    globalThis.gc?.();
    await new Promise((resolve) => setTimeout(resolve, 100));
    writeFileSync('/proc/self/clear_refs', '5');
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);
  },
  tools: () => Object.keys(tools),
  run,
});
