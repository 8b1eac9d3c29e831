import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import type { StartOptions, Thread } from '../../src/client';
import type { AgentEvent } from '../../src/core/event';
import { defineHooks } from '../../src/hooks';
import { createModelCatalog } from '../../src/models/catalog/model-catalog';
import { callTools, fail, type Reply, say, thinking, withUsage } from '../../src/testing/model-server';
import { createShell, defineTool, writeFile } from '../../src/tools';
import { collect, type Rig, startRig } from '../support/rig';
import { requestsOf, scenes } from './scenes';

// Real threads on a real worker, whose logs are told in the words of other systems.

/** Threads of which a tool's progress was seen behind its beginning. */
const heard = new Set<string>();
const numbers = z.object({ a: z.number(), b: z.number() });
const tools = [
  defineTool({ name: 'add', description: 'Adds.', input: numbers, effect: 'pure', execute: ({ a, b }) => a + b }),
  defineTool({
    name: 'breaks',
    description: 'Breaks.',
    input: z.object({}),
    execute() {
      throw new Error('it broke');
    },
  }),
  defineTool({ name: 'slow', description: 'Never ends.', input: z.object({}), timeoutMs: 500, execute: () => new Promise(() => {}) }),
  defineTool({
    name: 'talks',
    description: 'Says how far it is.',
    input: z.object({}),
    async execute(_, ctx) {
      // Until the reader of the run has received it.
      for (let n = 1; n <= 100 && !heard.has(ctx.threadId); n++) {
        ctx.progress(`step ${n}`);
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
      return 'all the way';
    },
  }),
  defineTool({
    name: 'update_plan',
    description: 'Plans.',
    input: z.object({ steps: z.array(z.object({ description: z.string(), status: z.string() })) }),
    execute: () => 'Plan updated',
  }),
  defineTool({
    name: 'pay',
    description: 'Pays.',
    input: z.object({ cents: z.number() }),
    approval: () => ({ reason: 'money leaves the house' }),
    execute: ({ cents }) => `paid ${cents}`,
  }),
  defineTool({ name: 'outside', description: 'Is done outside.', input: z.object({}) }),
  createShell(),
  writeFile,
];
const base = { model: 'openai/test-model', instructions: 'Work.', tools, retry: { baseMs: 10, jitter: false, maxAttempts: 3 } };
const broken = (id: string) => ({
  id,
  run() {
    throw new Error(`${id} broke`);
  },
});
export const worker = defineAgent({ ...base, name: 'worker' });
/** Hooks that step in, by the numbers that are to be added; some fail. */
export const hooked = defineAgent({
  ...base,
  name: 'hooked',
  hooks: defineHooks({
    'after:llm': broken('reader'),
    'after:execution': broken('closer'),
    'before:tool': ({ call }) => {
      if (call.arguments.includes('"a":0')) return { skip: true, mockResult: 0 };
      return call.arguments.includes('"a":1') ? { args: { a: 10, b: 2 } } : undefined;
    },
    'approve:tool': ({ call }) => {
      if (call.arguments.includes('"a":2')) return { approved: false, reason: 'not twos' };
      return call.name === 'pay' ? { approved: true, reason: 'it is little' } : undefined;
    },
  }),
});

/** A tenth of a cent a token. */
const catalog = createModelCatalog({ overrides: { 'openai/test-model': { inputPerMillion: 1_000, outputPerMillion: 1_000 } } });
/** 100 tokens in, of which 40 from the cache, and 20 out: 12 cents. */
export const priced = <R extends Parameters<typeof withUsage>[0]>(reply: R) =>
  withUsage(reply, { promptTokens: 100, cachedTokens: 40, completionTokens: 20 });

export async function startProjecting() {
  const { script, scene } = scenes();
  const workspace = mkdtempSync(join(tmpdir(), 'longhaul-projected-'));
  const rig: Rig = await startRig({ script, agents: [worker, hooked], bus: true, worker: { catalog, workspace } });
  return {
    rig,
    scene,
    end: () => rmSync(workspace, { recursive: true, force: true }),
    /** A run with these replies, as a live reader sees it and as it is in the log. `act` is what people do meanwhile. */
    async told(
      replies: Reply[],
      options: StartOptions & { agent?: typeof worker } = {},
      act?: (thread: Thread, asked: () => number) => Promise<unknown>,
    ) {
      let n = 0;
      const { agent = worker, ...rest } = options;
      const input = scene(() => replies[Math.min(n++, replies.length - 1)] as Reply);
      const thread = await rig.client.start(agent, input, rest);
      const following = follow(thread);
      await act?.(thread, () => requestsOf(rig, input).length);
      const live = await following;
      return { thread, input, live, log: await logOf(thread), requests: requestsOf(rig, input) };
    },
  };
}

async function follow(thread: Thread): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of thread.events()) {
    events.push(event);
    if (event.type !== 'agent.tool.progress' || event.data.name !== 'talks') continue;
    const { toolCallId } = event.data;
    if (events.some((one) => one.type === 'agent.tool.execution.started' && one.data.toolCallId === toolCallId)) heard.add(thread.id);
  }
  return events;
}

/** The log of a thread, to the end of its last run. */
export function logOf(thread: Thread): Promise<AgentEvent[]> {
  return collect(thread.events({ live: false }));
}

const plan = (status: string, id: string) => ({ name: 'update_plan', args: { steps: [{ description: 'look', status }] }, id });
/** Thoughts, words and four tools, of which the shell fails; then an overloaded provider, a plan that is done, and an answer. */
export const busy: Reply[] = [
  priced(
    thinking(
      'I should look.',
      callTools(
        [
          { name: 'shell', args: { command: 'echo out; exit 3' }, id: 'call_1' },
          { name: 'write_file', args: { path: 'a.txt', content: 'x' }, id: 'call_2' },
          plan('in_progress', 'call_3'),
          { name: 'talks', args: {}, id: 'call_4' },
        ],
        'Looking.',
      ),
    ),
  ),
  fail(503),
  priced(callTools([plan('completed', 'call_5')])),
  priced(say('Done.')),
];
