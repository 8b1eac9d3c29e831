import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import { memoryArtifacts } from '../../src/artifacts';
import type { Thread } from '../../src/client';
import { readLog } from '../../src/client/log-pages';
import { type DurableEvent, isDurable, isTerminal } from '../../src/core/event';
import { defineHooks } from '../../src/hooks';
import { callTools, type Reply, type ScriptedCall, type ScriptRequest, say } from '../../src/testing/model-server';
import { defineTool, suspend } from '../../src/tools';
import { collect, type Rig, startRig, until } from '../support/rig';
import { ask, executionsOf, handleOf, pester, reaches, refusal } from './asking';
import { expectInvariants, gate, ofType, requestsOf, scenes, summariesOf, textOf } from './scenes';

// Each state that a thread may be in when it continues as new: it goes on as if nothing had happened, and clients notice nothing.
const { script, scene } = scenes();
const input = z.object({ n: z.number() });
const ran: { threadId: string; n: number }[] = [];
const slowly = gate();
const heard: string[] = [];
const long = Array.from({ length: 20_000 }, (_, at) => `line ${at}`).join('\n');
const execute = ({ n }: { n: number }, { threadId }: { threadId: string }) => {
  ran.push({ threadId, n });
  return `did ${n}`;
};
const tools = [
  defineTool({ name: 'free', description: 'Does.', input, effect: 'pure', execute }),
  defineTool({ name: 'pay', description: 'Pays.', input, effect: 'keyed', approval: 'always', execute }),
  defineTool({ name: 'two', description: 'Two agree.', input, approval: { approvers: 2, deadlineMs: 600_000 }, execute }),
  defineTool({ name: 'mail', description: 'Mails.', input, execute: () => suspend({ result: 'sent', correlationId: 'reply-1' }) }),
  defineTool({
    name: 'report',
    description: 'Reports.',
    input,
    background: true,
    timeoutMs: 120_000,
    execute: (given, context) => slowly.opened.then(() => execute(given, context)),
  }),
  defineTool({ name: 'list', description: 'Lists.', input, effect: 'pure', execute: () => long }),
];
const base = { model: 'test-model', instructions: 'Do.', tools };
const failing = defineHooks({
  'before:llm'(_, { threadId }) {
    heard.push(threadId);
    throw new Error('not today');
  },
});
const agents = [
  defineAgent({ ...base, name: 'doer' }),
  defineAgent({ ...base, name: 'thrifty', threadLimits: { turns: 5 } }),
  defineAgent({ ...base, name: 'watched', hooks: failing, hookErrors: 2 }),
  defineAgent({ ...base, name: 'forgetful', context: { windowTokens: 12_000, reserveTokens: 2_000, keepTurns: 1, summaryTokens: 500 } }),
];

let rig: Rig;
const artifacts = memoryArtifacts();
beforeAll(async () => {
  const worker = { continueAsNewAfter: { events: 200, bytes: 4_000_000 }, artifacts };
  rig = await startRig({ script, agents, worker, client: { artifacts } });
});

interface Kept {
  /** Default `doer`. */
  agent?: string;
  mode?: 'conversation';
  replies: Reply[] | ((request: ScriptRequest) => Reply);
  /** Brings the thread into the state. */
  before(thread: Thread, said: string): Promise<unknown>;
  /** Uses the state, after the thread has continued as new, and ends the run. */
  after(thread: Thread, said: string): Promise<unknown>;
  output: string;
}

/** Long enough that a summary is shorter. */
const [second, fourth] = ['Second', 'Fourth'].map((word) => `${word} ${'x'.repeat(6_000)}`) as [string, string];
const call = (name: string, n: number): ScriptedCall => ({ name, args: { n }, id: `call_${n}` });
const waits = (thread: Thread) => reaches(thread, 'requires_action', 1);
const runs = (thread: Thread, wanted: number) =>
  until(
    async () => ({ ...(await thread.usage()), ...(await thread.status()) }),
    ({ runs, status }) => runs === wanted && status === 'idle',
  );
const ranIn = (thread: Thread) => ran.filter(({ threadId }) => threadId === thread.id).map(({ n }) => n);
const users = (thread: Thread) =>
  thread.messages().then((all) => all.filter(({ role }) => role === 'user').map(({ content }) => content as string));

const states: Record<string, Kept> = {
  'an approval with a deadline and a vote': {
    replies: [callTools([call('two', 1)]), say('done')],
    async before(thread) {
      await waits(thread);
      await thread.approve('call_1', { by: 'dana' });
    },
    async after(thread) {
      expect((await thread.pending())[0]).toMatchObject({ votes: ['dana'], approvers: 2, dueAt: expect.any(String) });
      expect(await refusal(ask(thread, 'approve', { toolCallId: 'call_1', by: 'dana' }))).toMatch(/has agreed .* already/);
      await thread.approve('call_1', { by: 'eve' });
    },
    output: 'done',
  },
  'queued messages, one of them for a run of its own with settings': {
    mode: 'conversation',
    replies: ({ messages }) => (messages.length === 2 ? callTools([call('pay', 1)]) : say(`heard ${textOf(messages.at(-1))}`)),
    async before(thread) {
      await waits(thread);
      await thread.send('and this', { id: 'm-1' });
      await thread.send('then that', { id: 'm-2', delivery: 'after-run', limits: { turns: 0 } });
    },
    async after(thread) {
      expect((await thread.status()).queued).toBe(2);
      await thread.approve('call_1');
      await runs(thread, 2);
      // The second run's own limit ended it.
      expect((await thread.result()).status).toBe('incomplete');
      expect((await users(thread)).slice(1)).toEqual(['and this', 'then that']);
      await thread.send('at last');
      await runs(thread, 3);
    },
    output: 'heard at last',
  },
  'a pause': {
    replies: [callTools([call('pay', 1)]), say('done')],
    async before(thread) {
      await waits(thread);
      await thread.pause({ reason: 'a look', by: 'dana' });
      await thread.approve('call_1');
      await reaches(thread, 'paused');
    },
    async after(thread) {
      expect(await thread.status()).toMatchObject({ paused: { reason: 'a look', by: 'dana' } });
      expect(ranIn(thread)).toEqual([]);
      await thread.resume();
    },
    output: 'done',
  },
  'a suspension': {
    replies: ({ body, messages }) =>
      messages.length === 2 ? callTools([call('mail', 1)]) : say(body.tools ? `got ${textOf(messages.at(-1))}` : 'I wait.'),
    before: (thread) => reaches(thread, 'suspended'),
    after: (thread) => thread.send('Yes.', { correlationId: 'reply-1' }),
    output: 'got Yes.',
  },
  'a background call': {
    replies: [callTools([call('report', 1)]), say('I wait.'), say('all there')],
    before: (thread) =>
      until(
        () => thread.messages(),
        (messages) => messages.length === 4,
      ),
    async after(thread) {
      expect(ranIn(thread)).toEqual([]);
      slowly.open();
    },
    output: 'all there',
  },
  'what the thread has spent': {
    agent: 'thrifty',
    mode: 'conversation',
    replies: ({ messages }) => (messages.at(-1)?.role === 'user' ? callTools([call('free', messages.length)]) : say('one done')),
    async before(thread) {
      await runs(thread, 1);
      await thread.send('More');
      await runs(thread, 2);
    },
    async after(thread) {
      expect(await thread.usage()).toMatchObject({ remaining: { thread: { turns: 1 } }, metrics: { tools: { free: { calls: 2 } } } });
      await thread.send('And more');
      await runs(thread, 3);
      expect(await thread.result()).toMatchObject({ status: 'incomplete', reason: expect.stringContaining('5') });
    },
    output: '',
  },
  'the errors of a hook': {
    agent: 'watched',
    mode: 'conversation',
    replies: () => say('said'),
    before: (thread) => runs(thread, 1),
    async after(thread) {
      await thread.send('Two');
      await runs(thread, 2);
      await thread.send('Three');
      await runs(thread, 3);
      // The second error in a row disabled it.
      expect(heard.filter((id) => id === thread.id)).toHaveLength(2);
    },
    output: 'said',
  },
  'a remembered rule': {
    mode: 'conversation',
    replies: ({ messages }) => (messages.at(-1)?.role === 'user' ? callTools([call('pay', messages.length)]) : say('paid')),
    async before(thread) {
      await waits(thread);
      const [pending] = await thread.pending();
      await thread.approve(pending?.toolCallId ?? '', { by: 'dana', remember: 'thread' });
      await runs(thread, 1);
    },
    async after(thread) {
      await thread.send('Again');
      await runs(thread, 2);
      expect(ranIn(thread)).toHaveLength(2);
    },
    output: 'paid',
  },
  'the ids of requests that were carried out': {
    mode: 'conversation',
    replies: () => say('said'),
    async before(thread) {
      await runs(thread, 1);
      await thread.pause({ id: 'p-1' });
      await thread.resume({ id: 'r-1' });
      await thread.send('Once', { id: 'm-1' });
      await runs(thread, 2);
    },
    async after(thread) {
      await thread.pause({ id: 'p-1' });
      expect((await thread.status()).paused).toBeUndefined();
      expect(await thread.receipt('m-1')).toMatchObject({ state: 'injected' });
      await thread.send('Once', { id: 'm-1' });
      expect((await thread.usage()).runs).toBe(2);
    },
    output: 'said',
  },
  'references to stored outputs': {
    mode: 'conversation',
    replies: ({ messages }) => (messages.length === 2 ? callTools([call('list', 1)]) : say('listed')),
    before: (thread) => runs(thread, 1),
    async after(thread) {
      expect((await thread.messages()).find(({ role }) => role === 'tool')).toMatchObject({ outputRef: { lines: 20_000 } });
      expect(await thread.output('call_1')).toMatchObject({ content: long });
    },
    output: 'listed',
  },
  'a summary, and what it replaced': {
    agent: 'forgetful',
    mode: 'conversation',
    replies: ({ messages }) => say(`answer to ${textOf(messages.at(-1)).slice(0, 6)}`),
    async before(thread) {
      await runs(thread, 1);
      await thread.send(second);
      await runs(thread, 2);
      await thread.send('Third');
      await runs(thread, 3);
      await thread.compact();
      await runs(thread, 4);
    },
    async after(thread, said) {
      await thread.send(fourth);
      await runs(thread, 5);
      const sent = requestsOf(rig, said).at(-1)?.body.messages.map(textOf) ?? [];
      expect(sent[1]).toBe(said);
      expect(sent.filter((text) => text.includes('the answer is 42'))).toHaveLength(1);
      await thread.send('Fifth');
      await runs(thread, 6);
      await thread.compact();
      await runs(thread, 7);
      // The next summary takes in the one of the earlier execution.
      expect(summariesOf(rig, said)).toHaveLength(2);
      expect(textOf(summariesOf(rig, said)[1]?.body.messages.at(-1))).toContain('A part of the work is done.');
      const archived = await thread.messages({ archived: true });
      expect(archived.flatMap(({ role, content }) => (role === 'user' ? [content] : []))).toEqual(
        expect.arrayContaining([said, second, 'Third', fourth, 'Fifth']),
      );
      await thread.send('Last');
      await runs(thread, 8);
    },
    output: 'answer to Last',
  },
  'a request to close after the run': {
    mode: 'conversation',
    replies: [callTools([call('pay', 1)]), say('done')],
    async before(thread) {
      await waits(thread);
      await thread.close();
    },
    async after(thread) {
      expect((await thread.status()).closed).toBe(true);
      await thread.approve('call_1');
    },
    output: 'done',
  },
};

/** Reads as a client that never disconnects does, until the thread is over. */
async function follow(thread: Thread): Promise<DurableEvent[]> {
  const seen: DurableEvent[] = [];
  const isOver = async () => (await handleOf(thread).describe()).status.name !== 'RUNNING';
  for (let over = false; !over; ) {
    over = await isOver();
    for await (const event of thread.events({ from: seen.length + 1, live: false })) if (isDurable(event)) seen.push(event);
  }
  return seen;
}

test.each(Object.entries(states))('%s: carried over, in one log without gaps, and readable to the end', async (_, state) => {
  const { agent = 'doer', mode, replies, before, after, output } = state;
  const said = scene(replies);
  const thread = await rig.client.start(agent, said, mode ? { mode } : {});
  const followed = follow(thread);
  // Awaited below; if the test fails before, its reader ends with the client.
  followed.catch(() => undefined);
  await before(thread, said);
  const recorded = (await readLog(rig.client.temporal, thread.id)).events;
  await pester(thread);
  // Read from its beginning while it goes on in a new execution.
  expect((await readLog(rig.client.temporal, thread.id)).events.slice(0, recorded.length)).toEqual(recorded);
  await after(thread, said);
  if (mode && !(await thread.status()).closed) {
    expect((await thread.result()).output).toBe(output);
    await thread.close();
  }
  await until(
    () => handleOf(thread).describe(),
    ({ status }) => status.name !== 'RUNNING',
  );
  const told = (await collect(thread.events({ live: false }))).filter(isDurable);
  expectInvariants(told, await thread.messages(), thread.id);
  expect(await followed).toEqual(told);
  expect(await collect(thread.events({ from: recorded.length, live: false }))).toEqual(told.slice(recorded.length - 1));
  expect(told.filter(isTerminal)).toHaveLength(ofType(told, 'agent.run.created').length);
  expect((await thread.result()).output).toBe(output);
  expect((await executionsOf(thread)).length).toBeGreaterThan(1);
});
