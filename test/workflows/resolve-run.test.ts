import { defineAgent } from '../../src/agents';
import { say } from '../../src/testing/model-server';
import { type Rig, startRig, until } from '../support/rig';
import { ofType, story, typesOf } from './scenes';

const agent = (name: string) => defineAgent({ name, model: 'test-model', instructions: 'Answer.' });
const [old, added] = [agent('old'), agent('added')];

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ script: () => say('done'), agents: [old] });
});

test('a run whose agent no worker has waits for one that has it, reports that, and is then taken over by it', async () => {
  const thread = await rig.client.start('added', 'Hello', { agentWaitMs: 60_000 });
  const waiting = await until(
    () => thread.status(),
    ({ status }) => status === 'queued',
  );
  expect(waiting).toMatchObject({ status: 'queued', facts: null });
  const rest = story(thread);
  const other = await rig.addWorker({ agents: [old, added] });
  const told = await rest;
  await other.stop();
  expect(ofType(told, 'agent.run.status.changed').map(({ data }) => [data.status, data.details])).toEqual([
    ['queued', expect.stringMatching(/^Waiting for a worker that has the agent\. Unknown agent 'added'.*This worker has: old/)],
    ['in_progress', 'A worker that has the agent took it up.'],
    ['in_progress', 'LLM call for turn 1'],
  ]);
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'done' } });
});

test('a run whose agent is not available in time fails, and lists the available agents', async () => {
  const thread = await rig.client.start('added', 'Hello', { agentWaitMs: 1_000 });
  const told = await story(thread);
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.failed', data: { code: 'UnknownAgent', message: expect.stringContaining('old') } });
});

test('a thread that waits for its agent is found by the agent, by its status, and by how it ends', async () => {
  const listed = async (id: string) => (await rig.client.list({ query: `WorkflowId = '${id}' AND AgentName = 'added'` }))[0]?.status;
  const becomes = (id: string, status: string) =>
    until(
      () => listed(id),
      (now) => now === status,
    );
  const taken = await rig.client.start('added', 'Hello', { agentWaitMs: 60_000 });
  const cancelled = await rig.client.start('added', 'Hello');
  await Promise.all([becomes(taken.id, 'queued'), becomes(cancelled.id, 'queued')]);
  await cancelled.cancel();
  const failed = await rig.client.start('added', 'Hello', { agentWaitMs: 0 });
  await Promise.all([becomes(cancelled.id, 'cancelled'), becomes(failed.id, 'failed')]);
  const other = await rig.addWorker({ agents: [old, added] });
  await becomes(taken.id, 'completed');
  await other.stop();
});

test('a conversation whose agent is missing is listed with that status, and is taken over again', async () => {
  const other = await rig.addWorker({ agents: [old, added] });
  const thread = await rig.client.start('added', 'Hello', { mode: 'conversation', agentWaitMs: 60_000 });
  const becomes = (status: string) =>
    until(
      async () => (await rig.client.list({ query: `WorkflowId = '${thread.id}'` }))[0]?.status,
      (now) => now === status,
    );
  await becomes('idle');
  await other.stop();
  await thread.send('And?');
  await becomes('queued');
  const again = await rig.addWorker({ agents: [old, added] });
  await becomes('idle');
  await thread.close();
  await again.stop();
});

test('a run that waits for its agent is cancelled like any other', async () => {
  const thread = await rig.client.start('added', 'Hello');
  await until(
    () => thread.status(),
    ({ status }) => status === 'queued',
  );
  await thread.cancel({ reason: 'wrong name' });
  const told = await story(thread);
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.cancelled', data: { reason: 'wrong name' } });
  expect(typesOf(told).filter((type) => type === 'agent.run.created')).toHaveLength(1);
});
