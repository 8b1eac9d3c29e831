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

test('a run whose agent no worker has waits for one that has it, says so, and is then taken up by it', async () => {
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

test('a run whose agent does not come in time fails, and names the agents that there are', async () => {
  const thread = await rig.client.start('added', 'Hello', { agentWaitMs: 1_000 });
  const told = await story(thread);
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.failed', data: { code: 'UnknownAgent', message: expect.stringContaining('old') } });
});

test('a run that waits for its agent is cancelled as any other', async () => {
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
