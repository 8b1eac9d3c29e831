import { devNull } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import type { Thread } from '../../src/client';
import { defineHooks } from '../../src/hooks';
import { callTools, fail, hang, type Reply, type ScriptRequest, say } from '../../src/testing/model-server';
import { createAskHuman, defineTool, mcpTools, suspend } from '../../src/tools';
import type { CompactingReply } from '../support/compacting-server';
import { until } from '../support/rig';

const input = z.object({ n: z.number() });
const pure = defineTool({ name: 'pure', description: 'Looks.', input, effect: 'pure', execute: ({ n }) => `looked at ${n}` });
const once = defineTool({ name: 'once', description: 'Pays.', input, execute: ({ n }) => `paid ${n}` });
const asked = defineTool({
  name: 'asked',
  description: 'Asks first.',
  input,
  effect: 'keyed',
  approval: 'always',
  execute: ({ n }) => `did ${n}`,
});
const outside = defineTool({ name: 'outside', description: 'Is answered outside.', input });

export const agent = defineAgent({
  name: 'representative',
  model: 'test-model',
  instructions: 'Work.',
  tools: [pure, once, asked, outside],
  retry: { baseMs: 20 },
});

const patience = { deadlineMs: 300, onDeadline: [{ escalate: ['leads'] }, 'deny' as const] };
const two = defineTool({
  name: 'two',
  description: 'Asks two people.',
  input,
  approval: { approvers: 2, groups: ['office'] },
  execute: ({ n }) => `did ${n}`,
});
const late = defineTool({ name: 'late', description: 'Nobody decides.', input, approval: patience, execute: ({ n }) => `did ${n}` });
const behind = defineTool({ name: 'behind', description: 'Goes on behind.', input, background: true, execute: ({ n }) => `did ${n}` });
/** Threads whose slow calls end. */
const released = new Set<string>();
const slow = defineTool({
  name: 'slow',
  description: 'Goes on behind for long.',
  input,
  background: true,
  timeoutMs: 60_000,
  async execute({ n }, { threadId, signal }) {
    while (!released.has(threadId) && !signal.aborted) await new Promise((resolve) => setTimeout(resolve, 50));
    signal.throwIfAborted();
    return `did ${n}`;
  },
});
const sleeps = defineTool({
  name: 'sleeps',
  description: 'Waits for a reply.',
  input,
  execute: ({ n }) => suspend({ result: 'asked', correlationId: `order-${n}`, ttlMs: n }),
});

const careful = defineAgent({
  name: 'careful',
  model: 'test-model',
  instructions: 'Work.',
  tools: [pure, two, late, behind, slow, sleeps, createAskHuman({ groups: ['office'] })],
  stop: 'verify',
});
const hooks = defineHooks({
  'before:execution': () => ({ messages: ['Mind the step.'] }),
  'pause:check': () => undefined,
  'before:llm': () => ({ instructions: 'Be brief.' }),
  'after:llm': ({ text }) => (text === 'secret' ? { text: 'redacted' } : undefined),
  'approve:tool': ({ call }) => (call.arguments.includes('13') ? { approved: false, reason: 'unlucky' } : undefined),
  'before:tool': ({ call }) => (call.arguments.includes('7') ? { args: { n: 8 } } : undefined),
  'after:tool': ({ content }) => (content === 'looked at 8' ? { content: 'looked away' } : undefined),
  'check:completion': ({ output }) => (output === 'redacted' ? { prompt: 'Is that all?' } : undefined),
  'after:execution': () => undefined,
  'on:event': () => {
    throw new Error('nobody listens');
  },
});
const hooked = defineAgent({ name: 'hooked', model: 'test-model', instructions: 'Work.', tools: [pure], hooks });
const limited = { name: 'limited', model: 'test-model', instructions: 'Work.', tools: [pure], limits: { turns: 1 } } as const;

const lengthy = defineTool({
  name: 'lengthy',
  description: 'Says much.',
  input,
  effect: 'pure',
  execute: ({ n }) => `read ${n} ${'x'.repeat(1_000)}`,
});
/** Its window is nearly full after five or six turns. */
const small = { model: 'test-model', instructions: 'Work.', tools: [lengthy] };
const window = { windowTokens: 2_400, reserveTokens: 400, keepTurns: 1 };

/** A server over stdio, which takes no notes. */
const desk = {
  command: process.execPath,
  args: [join(__dirname, '../tools/mcp/asking-server.mjs'), 'stdio', devNull],
  questions: true as const,
};

/** The first is the usual one. */
export const agents = [
  agent,
  careful,
  hooked,
  defineAgent({ ...limited, atLimit: 'ask' }),
  defineAgent({ ...limited, name: 'summing', atLimit: 'summarize' }),
  defineAgent({ ...limited, name: 'giving', limits: { toolRounds: 0 }, atLimit: 'hand-out' }),
  defineAgent({ ...small, name: 'clearing', context: window }),
  defineAgent({ ...small, name: 'condensing', context: { ...window, pruneMinimumTokens: 1_000_000 } }),
  defineAgent({ ...small, name: 'leaving', model: 'openai-responses/gpt-5.2', context: { windowTokens: 20_000, compaction: 'provider' } }),
  defineAgent({ ...small, name: 'sliding', context: { ...window, windowTokens: 20_000, maxMessages: 6, keepMessages: 4 } }),
  defineAgent({
    name: 'clerk',
    model: 'test-model',
    instructions: 'Work.',
    tools: [mcpTools({ servers: { desk: desk } })],
  }),
  defineAgent({ name: 'doing', model: 'test-model', instructions: 'Work.', tools: [pure], stop: 'done-tool' }),
  defineAgent({ name: 'finding', model: 'test-model', instructions: 'Work.', tools: [pure, once], toolSearch: { threshold: 0, limit: 1 } }),
];

interface RepresentativeRun {
  /** Default `representative`. */
  agent?: string;
  replies(request: ScriptRequest): Reply;
  /** What people do in it. */
  act?(thread: Thread): Promise<unknown>;
  mode?: 'conversation';
  /** With a provider that compacts and a store for outputs, instead of `replies`. */
  compacts?: true;
  /** On a server that suggests continue-as-new early. */
  short?: true;
}

const waiting = (thread: Thread, count = 1) =>
  until(
    () => thread.pending(),
    (pending) => pending.length === count,
  );
const said = (thread: Thread, count: number) =>
  until(
    () => thread.messages(),
    (messages) => messages.length >= count,
  );
const idle = (thread: Thread) =>
  until(
    () => thread.status(),
    (status) => status.status === 'idle',
  );

/** Reads what follows the newest output. A transcript that was shortened does not tell the turn, but it has that output. */
function readOn({ messages }: ScriptRequest): Reply {
  const read = messages.flatMap(({ content }) => (typeof content === 'string' ? (/^read (\d+)/.exec(content)?.[1] ?? []) : []));
  const next = Number(read.at(-1) ?? 0) + 1;
  return next <= 9 ? callTools([{ name: 'lengthy', args: { n: next }, id: `call_${next}` }]) : say('done');
}

/** The replies of a provider that compacts, in the run `left-to-the-provider`. */
export function compactingReply({ n }: { n: number }): CompactingReply {
  if (n > 3) return { says: 'done' };
  return { ...(n === 2 && { compacts: 'Some was read.' }), calls: { name: 'lengthy', args: { n } } };
}

/** The reply of the run that a request belongs to. Requests for summaries all have the same. */
export function replyTo(request: ScriptRequest): Reply {
  if (request.input.includes('<transcript>'))
    return say('<retain>\n- nothing is forgotten\n</retain>\n<summary>\nSome was read.\n</summary>');
  return (representativeRuns[request.input] as RepresentativeRun).replies(request);
}

/** Runs that together use every command that the workflow sends to the server, by name. The user message identifies the run. */
export const representativeRuns: Record<string, RepresentativeRun> = {
  words: { replies: () => say('Hello.') },
  tools: {
    replies: ({ turn }) =>
      turn === 0
        ? callTools([
            { name: 'once', args: { n: 1 } },
            { name: 'pure', args: { n: 2 } },
            { name: 'nowhere', args: {} },
            { name: 'pure', rawArguments: '{' },
            { name: 'once', args: { n: 3 } },
          ])
        : say('done'),
  },
  'found-tools': {
    agent: 'finding',
    replies: ({ turn }) =>
      turn === 3
        ? say('done')
        : callTools([
            turn === 1 ? { name: 'pure', args: { n: 1 } } : { name: 'find_tools', args: { query: turn === 0 ? 'looks' : 'pays' } },
          ]),
  },
  retries: { replies: ({ n }) => (n % 2 === 0 ? fail(503) : say('at last')) },
  failure: { replies: () => fail(401) },
  approvals: {
    replies: ({ turn }) => (turn === 0 ? callTools([1, 2, 3].map((n) => ({ name: 'asked', args: { n }, id: `call_${n}` }))) : say('done')),
    async act(thread) {
      await waiting(thread, 3);
      await thread.approve('call_1', { arguments: { n: 'one' } }).catch(() => undefined);
      await thread.approve('call_1', { by: 'dana', arguments: { n: 10 } });
      await thread.reject('call_2', { by: 'dana', reason: 'not that one' });
      await thread.approve('call_3', { remember: 'thread' });
    },
  },
  'outputs-by-signal': {
    replies: ({ turn }) => (turn === 0 ? callTools([{ name: 'outside', args: { n: 1 }, id: 'call_1' }]) : say('done')),
    async act(thread) {
      await waiting(thread);
      const handle = thread.client.temporal.workflow.getHandle(thread.id);
      await handle.signal('approve', 'nonsense');
      await handle.signal('submitToolOutputs', { outputs: [{ toolCallId: 'call_1', output: { x: 1 } }] });
    },
  },
  'cancelled-in-the-answer': {
    replies: () => hang(),
    async act(thread) {
      await until(
        () => thread.status(),
        (status) => status.turn === 1,
      );
      await thread.cancel({ reason: 'changed my mind' });
    },
  },
  'cancelled-at-rest': {
    replies: () =>
      callTools([
        { name: 'outside', args: { n: 1 } },
        { name: 'once', args: { n: 2 } },
      ]),
    async act(thread) {
      await waiting(thread);
      await thread.cancel();
    },
  },
  conversation: {
    mode: 'conversation',
    replies: ({ messages }) => say(`heard ${messages.length}`),
    async act(thread) {
      await idle(thread);
      await thread.send('again', { id: 'm-1' });
      await until(
        () => thread.usage(),
        (usage) => usage.runs === 2,
      );
      await idle(thread);
      await thread.close();
    },
  },
  'two-approvers': {
    agent: 'careful',
    replies: ({ turn }) => (turn === 0 ? callTools([{ name: 'two', args: { n: 1 }, id: 'call_1' }]) : say('done')),
    async act(thread) {
      await waiting(thread);
      await thread.approve('call_1', { by: 'dana' }).catch(() => undefined);
      await thread.approve('call_1', { by: 'dana', groups: ['office'] });
      await thread.approve('call_1', { by: 'sam', groups: ['office'] });
    },
  },
  'nobody-decides': {
    agent: 'careful',
    replies: ({ turn }) => (turn === 0 ? callTools([{ name: 'late', args: { n: 1 } }]) : say('done')),
  },
  'refused-and-stopped': {
    replies: () =>
      callTools([
        { name: 'asked', args: { n: 1 }, id: 'call_1' },
        { name: 'once', args: { n: 2 } },
      ]),
    async act(thread) {
      await waiting(thread);
      await thread.reject('call_1', { by: 'dana', stop: true });
    },
  },
  question: {
    agent: 'careful',
    replies: ({ turn }) => (turn === 0 ? callTools([{ name: 'ask_human', args: { question: 'Which?' }, id: 'call_1' }]) : say('done')),
    async act(thread) {
      await waiting(thread);
      await thread.pause({ by: 'dana' });
      await thread.answer('call_1', 'This one.', { by: 'sam', groups: ['office'] });
      await until(
        () => thread.status(),
        ({ status }) => status === 'paused',
      );
      await thread.resume({ by: 'dana' });
    },
  },
  asleep: {
    agent: 'careful',
    replies: ({ turn }) => (turn === 0 ? callTools([{ name: 'sleeps', args: { n: 60_000 } }]) : say('done')),
    async act(thread) {
      await waiting(thread);
      await thread.send('Good morning.', { correlationId: 'order-60000' });
    },
  },
  overslept: {
    agent: 'careful',
    replies: ({ turn }) => (turn === 0 ? callTools([{ name: 'sleeps', args: { n: 300 } }]) : say('done')),
  },
  behind: {
    agent: 'careful',
    replies: ({ turn }) => (turn === 0 ? callTools([1, 2].map((n) => ({ name: 'behind', args: { n } }))) : say('done')),
  },
  'own-background': {
    agent: 'careful',
    replies: ({ turn }) => (turn === 0 ? callTools([1, 2].map((n) => ({ name: 'behind', args: { n } }))) : say('done')),
  },
  'stopped-background': {
    agent: 'careful',
    replies: ({ turn }) => (turn === 0 ? callTools([{ name: 'slow', args: { n: 1 } }]) : say('I wait.')),
    async act(thread) {
      await said(thread, 4);
      await thread.cancel();
    },
  },
  'carried-background': {
    agent: 'careful',
    short: true,
    replies: ({ turn }) => (turn === 0 ? callTools([{ name: 'slow', args: { n: 1 } }]) : say('I wait.')),
    async act(thread) {
      await said(thread, 4);
      const handle = thread.client.temporal.workflow.getHandle(thread.id);
      const { runId } = await handle.describe();
      for (let n = 0; n < 30; n++) await handle.signal('approve', { toolCallId: 'none' });
      await until(
        () => handle.describe(),
        (now) => now.runId !== runId,
      );
      released.add(thread.id);
    },
  },
  reopened: {
    mode: 'conversation',
    replies: () => say('Hello.'),
    async act(thread) {
      await idle(thread);
      await thread.close();
      await thread.client.reopen(thread.id, { by: 'dana' });
      await thread.send('Again');
      await said(thread, 4);
      await idle(thread);
      await thread.close();
    },
  },
  hooked: {
    agent: 'hooked',
    replies: ({ turn }) => (turn === 0 ? callTools([7, 13, 1].map((n) => ({ name: 'pure', args: { n } }))) : say('secret')),
  },
  'more-granted': {
    agent: 'limited',
    replies: ({ turn }) => (turn < 2 ? callTools([{ name: 'pure', args: { n: turn } }]) : say('done')),
    async act(thread) {
      const [limit] = await waiting(thread);
      await thread.approve(limit?.toolCallId ?? '', { more: 5, by: 'dana' });
    },
  },
  'summed-up': { agent: 'summing', replies: ({ turn }) => (turn === 0 ? callTools([{ name: 'pure', args: { n: 1 } }]) : say('so far')) },
  'handed-out': {
    agent: 'giving',
    replies: ({ turn }) => (turn === 0 ? callTools([{ name: 'pure', args: { n: 1 }, id: 'call_1' }]) : say('done')),
    async act(thread) {
      await waiting(thread);
      await thread.submitToolOutputs([{ toolCallId: 'call_1', output: 'seen' }]);
    },
  },
  'done-tool': {
    agent: 'doing',
    replies: ({ turn }) => (turn === 0 ? say('done, I think') : callTools([{ name: 'done', args: { message: 'Done.' } }])),
  },
  steered: {
    mode: 'conversation',
    replies: ({ messages }) => (messages.some(({ content }) => content === 'Wait!') ? say('heard') : hang()),
    async act(thread) {
      await until(
        () => thread.status(),
        ({ turn }) => turn === 1,
      );
      await thread.send('Wait!', { delivery: 'now' });
      await thread.send('And then this.', { delivery: 'after-run', limits: { turns: 3 } });
      await until(
        () => thread.usage(),
        ({ runs }) => runs === 2,
      );
      await idle(thread);
      await thread.compact();
      await until(
        () => thread.usage(),
        ({ runs }) => runs === 3,
      );
      await thread.close({ cancel: true });
    },
  },
  'no-agent': {
    agent: 'nobody',
    replies: () => say('never'),
    async act(thread) {
      await until(
        () => thread.status(),
        ({ status }) => status === 'queued',
      );
      await thread.cancel({ reason: 'wrong name' });
    },
  },
  chain: { short: true, replies: ({ turn }) => (turn < 8 ? callTools([{ name: 'pure', args: { n: turn } }]) : say('done')) },
  compacted: {
    short: true,
    replies: ({ turn }) => (turn < 8 ? callTools([{ name: 'pure', args: { n: turn } }]) : say('done')),
    act: async (thread) => void (await thread.compact({ by: 'dana', reason: 'it is long' })),
  },
  cleared: {
    agent: 'clearing',
    mode: 'conversation',
    replies: readOn,
    async act(thread) {
      await idle(thread);
      await thread.compact({ by: 'dana' });
      await until(
        () => thread.usage(),
        ({ runs }) => runs === 2,
      );
      await idle(thread);
      await thread.close();
    },
  },
  condensed: { agent: 'condensing', replies: readOn },
  slid: { agent: 'sliding', replies: readOn },
  cut: {
    agent: 'condensing',
    mode: 'conversation',
    replies: () => say('noted'),
    async act(thread) {
      await idle(thread);
      await thread.send(`begin ${'x'.repeat(7_000)} end`);
      await said(thread, 4);
      await idle(thread);
      await thread.close();
    },
  },
  'server-asks': {
    agent: 'clerk',
    replies: ({ turn }) => (turn === 0 ? callTools([{ name: 'desk__book', args: {}, id: 'call_1' }]) : say('done')),
    async act(thread) {
      await waiting(thread);
      await thread.answerQuestion('call_1', { content: { seats: 2, place: 'a' }, by: 'dana' });
    },
  },
  'left-to-the-provider': { agent: 'leaving', compacts: true, replies: readOn },
  waited: {
    short: true,
    replies: ({ turn }) =>
      turn === 8 ? say('done') : callTools([{ name: turn === 1 ? 'asked' : 'pure', args: { n: turn }, id: `call_${turn}` }]),
    async act(thread) {
      await waiting(thread);
      await thread.approve('call_1');
    },
  },
};
