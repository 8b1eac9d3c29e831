import { Connection } from '@temporalio/client';
import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import { type InboxFilter, type InboxItem, LonghaulClient, type Thread } from '../../src/client';
import { callTools, type ScriptedCall, say } from '../../src/testing/model-server';
import { askHuman, defineTool, suspend } from '../../src/tools';
import { type Rig, startRig, until } from '../support/rig';
import { startServer } from '../support/temporal';
import { scenes, thrownBy } from '../workflows/scenes';

const { script, scene } = scenes();
const deploy = defineTool({
  name: 'deploy',
  description: 'Deploys.',
  input: z.object({ to: z.string() }),
  approval: () => ({ groups: ['leads', 'owners'], reason: 'It changes production.', deadlineMs: 3_600_000 }),
  execute: () => 'deployed',
});
const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  input: z.object({ cents: z.number() }),
  approval: () => ({ groups: ['money'], approvers: 2 }),
  execute: () => 'paid',
});
const mail = defineTool({
  name: 'mail',
  description: 'Asks by mail.',
  input: z.object({ id: z.string() }),
  execute: ({ id }) => suspend({ result: 'sent', correlationId: id }),
});
const tools = [deploy, pay, mail, askHuman];
const define = (name: string) => defineAgent({ name, model: 'test-model', instructions: 'Do it.', tools, atLimit: 'ask' });

let rig: Rig;
let named: { first: string; second: string };
let threads: Record<'deploys' | 'both' | 'asks' | 'sleeps' | 'limited', Thread>;

const call = (name: string, args: object): ScriptedCall => ({ name, args, id: `call_${name}` });
const toDeploy = call('deploy', { to: 'production' });
const toPay = call('pay', { cents: 5 });

beforeAll(async () => {
  // Names of their own: the server is shared, and what waits in other files is none of ours.
  const mine = Date.now().toString(36);
  named = { first: `first-${mine}`, second: `second-${mine}` };
  rig = await startRig({ script, agents: [define(named.first), define(named.second)] });
  const begin = async (agent: string, calls: ScriptedCall[], options = {}) => {
    const thread = await rig.client.start(
      agent,
      scene(({ body }) => (body.tools ? callTools(calls) : say('I wait.'))),
      options,
    );
    await until(
      () => thread.pending(),
      (pending) => pending.length > 0,
    );
    return thread;
  };
  const deploys = await begin(named.first, [toDeploy]);
  const both = await begin(named.first, [toPay, toDeploy]);
  const asks = await begin(named.second, [call('ask_human', { question: 'Which?', options: ['a', 'b'] })]);
  const sleeps = await begin(named.second, [call('mail', { id: `mail-${mine}` })]);
  const limited = await begin(named.second, [call('deploy', { to: 'nowhere' })], { limits: { turns: 0 } });
  threads = { deploys, both, asks, sleeps, limited };
});

/** What is listed of ours, once the index has all of it. */
async function listed(filter: InboxFilter, count: number): Promise<InboxItem[]> {
  const agents = filter.agent ? [filter.agent] : Object.values(named);
  const look = async () => (await Promise.all(agents.map((agent) => rig.client.pending({ ...filter, agent })))).flat();
  return until(look, (items) => items.length === count);
}

test('the pending calls of all threads are listed with the question, the people and the deadline, oldest first', async () => {
  const items = await listed({}, 6);
  expect(items.map(({ threadId, agent, status, call: one }) => [threadId, agent, status, one?.kind, one?.name])).toEqual([
    [threads.deploys.id, named.first, 'requires_action', 'approval', 'deploy'],
    [threads.both.id, named.first, 'requires_action', 'approval', 'pay'],
    [threads.both.id, named.first, 'requires_action', 'approval', 'deploy'],
    [threads.asks.id, named.second, 'requires_action', 'question', 'ask_human'],
    [threads.sleeps.id, named.second, 'suspended', 'reply', 'reply'],
    [threads.limited.id, named.second, 'requires_action', 'limit', 'turns'],
  ]);
  expect(items[0]?.call).toMatchObject({
    groups: ['leads', 'owners'],
    reason: 'It changes production.',
    dueAt: expect.stringMatching(/Z$/),
  });
  for (const { since, call: one } of items) expect(since).toBe(one?.since);
});

test('a thread is found by each tool and each group that it waits for, not only by the first', async () => {
  const { deploys, both } = threads;
  const found = async (filter: InboxFilter, count: number) =>
    (await listed({ agent: named.first, ...filter }, count)).map(({ threadId, call: one }) => [threadId, one?.name]);
  expect(await found({ tool: 'pay' }, 1)).toEqual([[both.id, 'pay']]);
  expect(await found({ tool: 'deploy' }, 2)).toEqual([
    [deploys.id, 'deploy'],
    [both.id, 'deploy'],
  ]);
  expect(await found({ group: 'owners' }, 2)).toEqual([
    [deploys.id, 'deploy'],
    [both.id, 'deploy'],
  ]);
  expect(await found({ group: 'money' }, 1)).toEqual([[both.id, 'pay']]);
  expect(await found({ group: 'money', tool: 'deploy' }, 0)).toEqual([]);
  expect(await found({ tool: `o'"\\clock` }, 0)).toEqual([]);
});

test('by age and number: the oldest come first, and those that have not waited long enough are left out', async () => {
  expect((await listed({ agent: named.first, limit: 1 }, 1)).map(({ threadId }) => threadId)).toEqual([threads.deploys.id]);
  expect(await rig.client.pending({ agent: named.first, olderThanMs: 3_600_000 })).toEqual([]);
  await until(
    () => rig.client.pending({ agent: named.first, olderThanMs: 200 }),
    (items) => items.length === 3,
  );
});

test('an answered call disappears immediately, although the index lags behind; another call of the thread keeps its waiting time', async () => {
  const { both } = threads;
  const before = (await both.pending()).find(({ name }) => name === 'deploy')?.since;
  await both.reject('call_pay', { by: 'dana', groups: ['money'] });
  const left = await rig.client.pending({ agent: named.first });
  expect(left.filter(({ threadId, call: one }) => threadId === both.id && one?.name === 'pay')).toEqual([]);
  const [item] = (await listed({ agent: named.first, tool: 'deploy' }, 2)).slice(-1);
  expect(item).toMatchObject({ threadId: both.id, since: before });
});

test('a thread without a worker is listed without details, with a note, and does not delay the others for long', async () => {
  const agent = define(`lone-${named.first}`);
  const lone = await startRig({ script, agents: [agent] });
  const waiting = await Promise.all([1, 2, 3].map(() => lone.client.start(agent, scene([callTools([toDeploy])]))));
  await until(
    () => lone.client.pending({ agent: agent.name }),
    (items) => items.length === 3 && items.every((item) => item.call),
  );
  await Promise.all(lone.workers.map((worker) => worker.stop()));
  const items = await new LonghaulClient(lone.client.temporal, { requestTimeoutMs: 1_000 }).pending({ agent: agent.name });
  expect(items.map(({ threadId }) => threadId).sort()).toEqual(waiting.map(({ id }) => id).sort());
  for (const item of items)
    expect(item).toMatchObject({ agent: agent.name, status: 'requires_action', note: expect.stringContaining('no worker answers') });
  expect(items.some((item) => item.call)).toBe(false);
  // Whether what was sent is an answer only a worker can tell.
  const { workflow } = lone.client.temporal;
  await workflow.getHandle(waiting[0]?.id ?? '').signal('approve', { toolCallId: 'call_deploy', approved: true });
  const later = await new LonghaulClient(lone.client.temporal, { requestTimeoutMs: 1_000 }).pending({ agent: agent.name });
  expect(later).toHaveLength(3);
  for (const { threadId, note } of later) expect(note?.includes('also waits for a worker')).toBe(threadId === waiting[0]?.id);
  await Promise.all(waiting.map(({ id }) => workflow.getHandle(id).terminate()));
});

test('if no worker was ever up, the inbox does not wait for one', async () => {
  const agent = define(`none-${named.first}`);
  const lone = await startRig({ script, agents: [agent], workers: 0 });
  const { workflow } = lone.client.temporal;
  // As after a restart of the server, which forgets who polled.
  const searchAttributes = { AgentName: [agent.name], AgentStatus: ['requires_action'] };
  const workflowId = `none-${named.first}`;
  await workflow.start('agentThread', {
    workflowId,
    taskQueue: lone.taskQueue,
    args: [{ agent: agent.name, input: 'x' }],
    searchAttributes,
  });
  const look = async () => {
    const began = Date.now();
    return { items: await lone.client.pending({ agent: agent.name }), ms: Date.now() - began };
  };
  const { items, ms } = await until(look, ({ items: found }) => found.length === 1);
  expect(items[0]).toMatchObject({ note: expect.stringContaining('no worker answers') });
  expect(ms).toBeLessThan(3_000);
  await workflow.getHandle(workflowId).terminate();
});

test('one thread takes a part of the list only, however much waits in it', async () => {
  const agent = defineAgent({ name: `busy-${rig.taskQueue}`, model: 'test-model', instructions: 'Do it.', tools });
  const other = await startRig({ script, agents: [agent] });
  const calls = Array.from({ length: 14 }, (_, i) => ({ ...toDeploy, id: `call_${i}` }));
  const threads: Thread[] = [];
  for (const asked of [calls, [toPay]]) threads.push(await other.client.start(agent.name, scene([callTools(asked)])));
  const look = () => other.client.pending({ agent: agent.name, limit: 20 });
  const items = await until(look, (found) => new Set(found.map(({ threadId }) => threadId)).size === 2 && found.length === 12);
  expect(items.filter(({ call }) => call?.name === 'deploy')).toHaveLength(10);
  expect(items.filter(({ note }) => note)).toMatchObject([{ note: '4 more calls wait in this thread; its status lists them' }]);
  for (const thread of threads) await thread.cancel();
});

test('if the search attributes are not registered, it says so and what to do', async () => {
  const server = await startServer();
  const connection = await Connection.connect({ address: server.address });
  const namespace = 'bare';
  await connection.workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod: { seconds: 86_400 as never } });
  const client = await until(
    () => LonghaulClient.connect({ connection: { address: server.address }, namespace }),
    () => true,
  );
  const missing = await until(
    () => thrownBy(client.pending()),
    ({ code }) => code !== 'namespace-not-found',
  );
  expect(missing).toMatchObject({
    code: 'search-attributes-missing',
    message: expect.stringMatching(
      /^pending: .*AgentStatus.*A worker registers them.*temporal operator search-attribute create --name AgentName --type Keyword/,
    ),
  });
  for (const look of [
    () => client.findThread('run_1'),
    () => client.reply('mail', 'x'),
    () => client.list({ query: "AgentStatus = 'idle'" }),
  ]) {
    expect(await thrownBy(look())).toMatchObject({ code: 'search-attributes-missing' });
  }
  await Promise.all([client.close(), connection.close()]);
});

test('a workflow whose memo is not text neither hides the others nor ends a list', async () => {
  const { workflow } = rig.client.temporal;
  const started = await workflow.start('agentThread', {
    taskQueue: `nobody-${rig.taskQueue}`,
    workflowId: `odd-${rig.taskQueue}`,
    args: [],
    memo: { agent: { toString: 1 } },
    searchAttributes: { AgentName: [named.first], AgentStatus: ['requires_action'] },
  });
  const listed = await until(
    () => rig.client.pending({ agent: named.first }),
    (items) => items.some(({ threadId }) => threadId === started.workflowId),
  );
  expect(listed.find(({ threadId }) => threadId === started.workflowId)).toMatchObject({
    agent: named.first,
    note: expect.stringMatching(/no worker answers/),
  });
  expect(listed.map(({ threadId }) => threadId)).toContain(threads.deploys.id);
  const found = await rig.client.list({ query: `AgentName = '${named.first}'` });
  expect(found.find(({ id }) => id === started.workflowId)).toMatchObject({ agent: named.first, status: 'requires_action' });
  await started.terminate();
});

test('a workflow whose memo can not be decoded neither hides the others nor ends a list', async () => {
  const { temporal } = rig.client;
  const workflowId = `undecodable-${rig.taskQueue}`;
  const json = (data: string) => ({ metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from(data) });
  await temporal.workflowService.startWorkflowExecution({
    namespace: temporal.options.namespace,
    workflowId,
    requestId: workflowId,
    workflowType: { name: 'agentThread' },
    taskQueue: { name: `nobody-${rig.taskQueue}` },
    memo: { fields: { agent: json('{') } },
    searchAttributes: { indexedFields: { AgentName: json(JSON.stringify(named.first)), AgentStatus: json('"requires_action"') } },
  });
  const listed = await until(
    () => rig.client.list({ query: `AgentName = '${named.first}'` }),
    (found) => found.some(({ id }) => id === workflowId),
  );
  expect(listed.find(({ id }) => id === workflowId)).toMatchObject({ agent: named.first, status: 'requires_action', execution: 'RUNNING' });
  const waiting = (await rig.client.pending({ agent: named.first })).map(({ threadId }) => threadId);
  expect(waiting).toEqual(expect.arrayContaining([workflowId, threads.deploys.id]));
  await temporal.workflow.getHandle(workflowId).terminate();
});
