import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import { callTools, fail, say } from '../../src/testing/model-server';
import { defineTool, suspend, type ToolContext, ToolFailure } from '../../src/tools';
import { type Rig, startRig, until } from '../support/rig';
import { happened, pester, reaches } from './asking';
import { gate, ofType, scenes, story, typesOf } from './scenes';

const { script, scene } = scenes();
/** What `compensate` got, by thread. */
const undone: Record<string, { id: string; output: unknown; key: string; attempt: number }[]> = {};
const begun: Record<string, string[]> = {};
const held = gate();

/** Books something. What it does depends on the id. */
async function execute({ id }: { id: string }, { threadId, idempotencyKey, signal }: ToolContext) {
  begun[threadId] = [...(begun[threadId] ?? []), idempotencyKey];
  if (id === 'failing') throw new Error('no seats');
  if (id === 'long') return 'x'.repeat(5_000);
  if (id === 'hanging') await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
  return { booked: id };
}

async function compensate({ id }: { id: string }, output: unknown, { threadId, idempotencyKey, attempt, signal }: ToolContext) {
  undone[threadId] = [...(undone[threadId] ?? []), { id, output, key: idempotencyKey, attempt }];
  if (id === 'stubborn') throw new Error('the airline refuses');
  if (id === 'final') throw new ToolFailure('no refunds');
  if (id === 'flaky' && attempt === 1) throw new Error('try later');
  if (id === 'slow') await held.opened;
  if (id === 'moving' && attempt === 1)
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
}

const booking = {
  description: 'Books.',
  input: z.object({ id: z.string() }),
  effect: 'saga' as const,
  retry: { maxAttempts: 2, initialMs: 10 },
  execute,
  compensate,
};
const tools = [
  defineTool({ ...booking, name: 'book' }),
  defineTool({ ...booking, name: 'book_behind', background: true }),
  defineTool({ name: 'look', description: 'Looks.', input: z.object({}), effect: 'pure', execute: () => 'seen' }),
  defineTool({
    name: 'rest',
    description: 'Waits.',
    input: z.object({}),
    execute: () => suspend({ result: 'resting', ttlMs: 1_000 }),
  }),
  defineTool({ name: 'ask', description: 'Asks.', input: z.object({}), approval: 'always', execute: () => 'done' }),
];
const agent = defineAgent({ name: 'traveller', model: 'test-model', instructions: 'Book.', tools, retry: { maxAttempts: 1 } });

let rig: Rig;
beforeAll(async () => {
  // Without caches, every workflow task replays its thread.
  const worker = { continueAsNewAfter: { events: 200, bytes: 4_000_000 }, transcriptCacheSize: 0, temporal: { maxCachedWorkflows: 0 } };
  rig = await startRig({ script, agents: [agent], worker });
});

const book = (id: string, name = 'book') => callTools([{ name, args: { id }, id: `call_${id}` }]);
const broken = () => fail(400, { message: 'broken' });
const of = (id: string) => (undone[id] ?? []).map((one) => [one.id, one.output]);

test('the calls of a failed run are compensated, the newest first, with their arguments, outputs and a key of their own', async () => {
  const thread = await rig.client.start(agent, scene([book('flight'), book('failing'), book('long'), book('hotel'), broken()]));
  const log = await story(thread);
  expect(log.at(-1)?.type).toBe('thread.run.failed');
  // A call that failed may have done a part of its work, and a long output is not kept.
  expect(of(thread.id)).toEqual([
    ['hotel', { booked: 'hotel' }],
    ['long', undefined],
    ['failing', undefined],
    ['flight', { booked: 'flight' }],
  ]);
  const keys = undone[thread.id]?.map(({ key }) => key) ?? [];
  expect(new Set([...keys, ...(begun[thread.id] ?? [])]).size).toBe(8);
  expect(typesOf(log.slice(-9))).toEqual([
    ...Array.from({ length: 4 }, () => ['agent.tool.compensation.started', 'agent.tool.compensation.completed']).flat(),
    'thread.run.failed',
  ]);
  expect((await thread.status()).compensations?.map(({ toolCallId, status }) => [toolCallId, status])).toEqual([
    ['call_hotel', 'completed'],
    ['call_long', 'completed'],
    ['call_failing', 'completed'],
    ['call_flight', 'completed'],
  ]);
});

test('the calls of a run that completes stay, and so do those of a run that ends at a limit', async () => {
  const thread = await rig.client.start(agent, scene([book('flight'), say('Booked.')]));
  expect((await story(thread)).at(-1)?.type).toBe('thread.run.completed');
  const limited = await rig.client.start(agent, scene([book('flight'), say('Booked.')]), { limits: { turns: 1 } });
  expect((await story(limited)).at(-1)?.type).toBe('thread.run.incomplete');
  expect([undone[thread.id], undone[limited.id]]).toEqual([undefined, undefined]);
  expect((await thread.status()).compensations).toBeUndefined();
});

test('a compensation that fails is tried again; one that fails for good is shown, and does not stop the others', async () => {
  const thread = await rig.client.start(agent, scene([book('first'), book('stubborn'), book('final'), book('flaky'), broken()]));
  const log = await story(thread);
  expect(undone[thread.id]?.map(({ id, attempt }) => `${id} ${attempt}`)).toEqual([
    'flaky 1',
    'flaky 2',
    'final 1',
    'stubborn 1',
    'stubborn 2',
    'first 1',
  ]);
  expect(new Set(undone[thread.id]?.filter(({ id }) => id === 'flaky').map(({ key }) => key)).size).toBe(1);
  expect(ofType(log, 'agent.tool.compensation.failed').map(({ data }) => data)).toEqual([
    { toolCallId: 'call_final', name: 'book', message: 'no refunds', attempts: 1 },
    { toolCallId: 'call_stubborn', name: 'book', message: 'the airline refuses', attempts: 2 },
  ]);
  expect((await thread.status()).compensations).toContainEqual({
    toolCallId: 'call_stubborn',
    name: 'book',
    status: 'failed',
    error: 'the airline refuses',
  });
});

test('a cancelled run is compensated, with the call that was running, and another cancel does not stop that', async () => {
  const thread = await rig.client.start(agent, scene([book('first'), book('slow'), book('hanging')]));
  await until(
    () => begun[thread.id]?.length ?? 0,
    (count) => count === 3,
  );
  await thread.cancel({ reason: 'changed my mind' });
  await until(
    () => undone[thread.id]?.length ?? 0,
    (count) => count === 2,
  );
  await thread.cancel({ reason: 'now' });
  held.open();
  const log = await story(thread);
  expect(log.at(-1)).toMatchObject({ type: 'thread.run.cancelled', data: { reason: 'changed my mind' } });
  expect(of(thread.id)).toEqual([
    ['hanging', undefined],
    ['slow', { booked: 'slow' }],
    ['first', { booked: 'first' }],
  ]);
  expect(ofType(log, 'agent.tool.compensation.completed')).toHaveLength(3);
});

test('calls of earlier executions are compensated, and a background call, in a run that is cancelled while it waits', async () => {
  const thread = await rig.client.start(
    agent,
    scene([book('before'), book('behind', 'book_behind'), callTools([{ name: 'ask', args: {}, id: 'call_ask' }]), say('Booked.')]),
  );
  await reaches(thread, 'requires_action', 1);
  await happened(thread, 'agent.tool.background.completed');
  await pester(thread);
  await thread.cancel();
  expect((await story(thread)).at(-1)?.type).toBe('thread.run.cancelled');
  expect(of(thread.id)).toEqual([
    ['behind', { booked: 'behind' }],
    ['before', { booked: 'before' }],
  ]);
});

test('a run that expires is compensated', async () => {
  const thread = await rig.client.start(
    agent,
    scene([book('flight'), callTools([{ name: 'rest', args: {}, id: 'call_rest' }]), say('I wait.')]),
  );
  expect((await story(thread)).at(-1)?.type).toBe('thread.run.expired');
  expect(of(thread.id)).toEqual([['flight', { booked: 'flight' }]]);
});

test('a compensation goes on in another worker, with the same key, and a call whose outcome is unknown is compensated without an output', async () => {
  const thread = await rig.client.start(agent, scene([book('moving'), book('hanging'), broken()]));
  const replaceWorker = async () => {
    const [old] = rig.workers.splice(0);
    await rig.addWorker();
    await old?.stop();
  };
  await until(
    () => begun[thread.id]?.length ?? 0,
    (count) => count === 2,
  );
  await replaceWorker();
  await until(
    () => undone[thread.id]?.length ?? 0,
    (count) => count === 2,
  );
  await replaceWorker();
  const log = await story(thread);
  expect(ofType(log, 'agent.tool.execution.completed').map(({ data }) => data.status)).toEqual(['success', 'unknown']);
  expect(of(thread.id)).toEqual([
    ['hanging', undefined],
    ['moving', { booked: 'moving' }],
    ['moving', { booked: 'moving' }],
  ]);
  expect(new Set(undone[thread.id]?.map(({ key }) => key)).size).toBe(2);
  expect(ofType(log, 'agent.tool.compensation.completed')).toHaveLength(2);
});
