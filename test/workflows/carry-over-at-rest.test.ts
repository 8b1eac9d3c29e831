import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import type { Thread } from '../../src/client';
import { defineHooks } from '../../src/hooks';
import { callTools, type Reply, type ScriptedCall, say } from '../../src/testing/model-server';
import { createAskHuman, defineTool, suspend } from '../../src/tools';
import { type Rig, startRig, until } from '../support/rig';
import { ask, pester, reaches, receiptOf, refusal } from './asking';
import { ofType, requestsOf, scenes, story, textOf } from './scenes';

// A waiting thread continues as new when many requests arrive (I4), and has the same state in the new execution.
const { script, scene } = scenes();
const ran: { threadId: string; n: number }[] = [];
const counted: { threadId: string; hook: string }[] = [];
const delivered = new Map<string, number[]>();
const input = z.object({ n: z.number() });
const execute = ({ n }: { n: number }, ctx: { threadId: string }) => {
  ran.push({ threadId: ctx.threadId, n });
  return `did ${n}`;
};
/** Long enough for a thread to continue as new before it. */
const lateMs = 12_000;
const tools = [
  defineTool({ name: 'free', description: 'Does.', input, effect: 'keyed', execute }),
  defineTool({ name: 'quick', description: 'Does.', input, effect: 'pure', execute }),
  defineTool({ name: 'two', description: 'Two agree.', input, approval: { approvers: 2 }, execute }),
  defineTool({ name: 'late', description: 'In time.', input, approval: { deadlineMs: lateMs }, execute }),
  defineTool({ name: 'mail', description: 'Mails.', input, execute: () => suspend({ result: 'sent', correlationId: 'mail-1' }) }),
  createAskHuman(),
];
const model = { model: 'test-model', instructions: 'Do.', tools };
const agent = defineAgent({ name: 'doer', ...model });
const frugal = defineAgent({ name: 'frugal', ...model, limits: { turns: 1 }, atLimit: 'ask' });
const watched = defineAgent({
  name: 'watched',
  ...model,
  hooks: defineHooks({
    'before:execution': (_, ctx) => void counted.push({ threadId: ctx.threadId, hook: ctx.hook }),
    'approve:tool': (_, ctx) => void counted.push({ threadId: ctx.threadId, hook: ctx.hook }),
    'on:event': async (_, ctx) => {
      const numbers = (await ctx.events()).map(({ seq }) => seq);
      delivered.set(ctx.threadId, [...(delivered.get(ctx.threadId) ?? []), ...numbers]);
    },
  }),
});

let rig: Rig;
beforeAll(async () => {
  const worker = { continueAsNewAfter: { events: 200, bytes: 4_000_000 } };
  rig = await startRig({ script, agents: [agent, frugal, watched], bus: true, worker });
});

const ranIn = (thread: Thread) => ran.filter(({ threadId }) => threadId === thread.id).map(({ n }) => n);
const does = (name: string, n: number): ScriptedCall => ({ name, args: { n }, id: `call_${n}` });

async function begin(replies: Reply[], options: { agent?: { name: string }; mode?: 'conversation' } = {}) {
  const said = scene(replies);
  const thread = await rig.client.start(options.agent ?? agent, said, options.mode ? { mode: options.mode } : {});
  return { thread, said, results: () => requestsOf(rig, said).at(-1)?.body.messages.map(textOf).slice(3) };
}

test('[A117] a call that waits for its second vote keeps its first, and calls that ran meanwhile do not run again', async () => {
  const { thread, results } = await begin([callTools([does('quick', 1), does('two', 2), does('free', 3)]), say('done')]);
  await reaches(thread, 'requires_action', 1);
  await ask(thread, 'approve', { toolCallId: 'call_2', by: 'dana' });
  await pester(thread);
  expect(await refusal(ask(thread, 'approve', { toolCallId: 'call_2', by: 'dana' }))).toMatch(
    /"dana" has agreed to "call_2" \(two\) already/,
  );
  await ask(thread, 'approve', { toolCallId: 'call_2', by: 'eve' });
  const told = await story(thread);
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'done' } });
  expect(ranIn(thread)).toEqual([1, 2, 3]);
  expect(results()).toEqual(['did 1', 'did 2', 'did 3']);
  expect(ofType(told, 'thread.run.requires_action')).toHaveLength(1);
});

test('edited arguments of a decision, in a new execution, are checked and used', async () => {
  const { thread } = await begin([callTools([does('late', 1)]), say('done')]);
  await reaches(thread, 'requires_action', 1);
  await pester(thread);
  expect(await refusal(ask(thread, 'approve', { toolCallId: 'call_1', arguments: { n: 'x' } }))).toMatch(/do not fit late/);
  await ask(thread, 'approve', { toolCallId: 'call_1', arguments: { n: 7 } });
  await story(thread);
  expect(ranIn(thread)).toEqual([7]);
});

test('a deadline still counts from the first question', async () => {
  const { thread } = await begin([callTools([does('late', 1)]), say('done')]);
  await reaches(thread, 'requires_action', 1);
  await pester(thread);
  const told = await story(thread);
  const [asked] = ofType(told, 'agent.approval.requested');
  const [decided] = ofType(told, 'agent.approval.decided');
  expect(decided?.data).toMatchObject({ approved: false, source: 'deadline' });
  // The deadline does not restart with the new execution: the call is due once, and nobody decides before.
  expect(ofType(told, 'agent.approval.requested')).toHaveLength(1);
  const dueAt = Date.parse(asked?.data.dueAt ?? '');
  expect(dueAt - Date.parse(asked?.timestamp ?? '')).toBe(lateMs);
  const decidedAt = Date.parse(decided?.timestamp ?? '');
  expect(decidedAt).toBeGreaterThanOrEqual(dueAt);
  // A deadline counted from the new execution would be at least this much later.
  expect(decidedAt - dueAt).toBeLessThan(lateMs);
  expect(ranIn(thread)).toEqual([]);
});

test('a question is answered, and a cancel takes effect, in a new execution', async () => {
  const question: ScriptedCall = { name: 'ask_human', args: { question: 'Which?' }, id: 'call_q' };
  const [answered, cancelled] = [await begin([callTools([question]), say('done')]), await begin([callTools([question])])];
  for (const { thread } of [answered, cancelled]) {
    await reaches(thread, 'requires_action', 1);
    await pester(thread);
  }
  await ask(answered.thread, 'submitToolOutputs', { outputs: [{ toolCallId: 'call_q', output: 'this' }] });
  await story(answered.thread);
  expect(answered.results()).toEqual(['this']);
  await cancelled.thread.cancel({ reason: 'enough' });
  expect((await story(cancelled.thread)).at(-1)).toMatchObject({ type: 'thread.run.cancelled', data: { reason: 'enough' } });
});

test('[A117] a run that is paused, before a model call or between tools, continues when it is resumed', async () => {
  const { thread, said } = await begin([callTools([does('late', 1), does('free', 2)]), say('done')]);
  await reaches(thread, 'requires_action', 1);
  await ask(thread, 'pause', { reason: 'a look', by: 'dana' });
  await ask(thread, 'approve', { toolCallId: 'call_1' });
  await reaches(thread, 'paused');
  await pester(thread);
  expect(ranIn(thread)).toEqual([]);
  await ask(thread, 'resume');
  await story(thread);
  expect(ranIn(thread)).toEqual([1, 2]);
  expect(requestsOf(rig, said)).toHaveLength(2);

  const talk = await begin([say('one'), say('two')], { mode: 'conversation' });
  await reaches(talk.thread, 'idle');
  await ask(talk.thread, 'pause');
  await talk.thread.send('And now?');
  await reaches(talk.thread, 'paused');
  await pester(talk.thread);
  expect(requestsOf(rig, talk.said)).toHaveLength(1);
  await ask(talk.thread, 'resume');
  await until(
    () => talk.thread.status(),
    ({ status, messages }) => status === 'idle' && messages === 4,
  );
  await talk.thread.close();
});

test('[A117] a suspended run continues with its reply', async () => {
  const said = scene(({ body, turn }) => (turn === 0 ? callTools([does('mail', 1)]) : say(body.tools ? 'thanks' : 'I wait.')));
  const thread = await rig.client.start(agent, said);
  await reaches(thread, 'suspended');
  await pester(thread);
  await ask(thread, 'sendMessage', { input: 'Yes.', correlationId: 'mail-1' });
  const told = await story(thread);
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'thanks' } });
  expect(ofType(told, 'agent.run.suspended')).toHaveLength(1);
});

test('a run that requests an extension of a limit gets it', async () => {
  const { thread } = await begin([callTools([does('free', 1)]), say('done')], { agent: frugal });
  await reaches(thread, 'requires_action', 1);
  await pester(thread);
  const [pending] = await thread.pending();
  await ask(thread, 'approve', { toolCallId: pending?.toolCallId, more: 1 });
  expect((await story(thread)).at(-1)?.type).toBe('thread.run.completed');
});

test('a message is taken in once by its id, even if it is sent again to a new execution', async () => {
  const { thread } = await begin([callTools([does('late', 1)]), say('done'), say('never')], { mode: 'conversation' });
  await reaches(thread, 'requires_action', 1);
  const first = await ask(thread, 'sendMessage', { input: 'Once.', id: 'm-1' });
  await pester(thread);
  await ask(thread, 'sendMessage', { input: 'Once.', id: 'm-1' });
  expect(await receiptOf(thread, 'm-1')).toMatchObject({ state: 'accepted', seq: first.seq });
  await ask(thread, 'approve', { toolCallId: 'call_1' });
  const told = await story(thread);
  await ask(thread, 'sendMessage', { input: 'Once.', id: 'm-1' });
  expect(await receiptOf(thread, 'm-1')).toMatchObject({ state: 'injected', turn: 2 });
  expect((await thread.messages()).filter(({ id }) => id === 'm-1')).toHaveLength(1);
  expect(ofType(told, 'agent.run.created')).toHaveLength(1);
  await thread.close();
});

test('[A127][B188] hooks of the beginning of a run and of permission do not run again, and on:event misses nothing', async () => {
  const { thread } = await begin([callTools([does('late', 1)]), say('done')], { agent: watched });
  await reaches(thread, 'requires_action', 1);
  await pester(thread);
  await ask(thread, 'approve', { toolCallId: 'call_1' });
  const told = await story(thread);
  expect(counted.filter(({ threadId }) => threadId === thread.id).map(({ hook }) => hook)).toEqual(['before:execution', 'approve:tool']);
  const numbers = await until(
    () => delivered.get(thread.id) ?? [],
    (all) => all.includes(told.length),
  );
  expect([...new Set(numbers)]).toEqual(told.map(({ seq }) => seq));
});
