import { Worker } from '@temporalio/worker';
import { defineAgent } from '../../src/agents';
import { say } from '../../src/testing/model-server';
import { startRig } from '../support/rig';

test('calls into workflow code have no time limit, for which Node.js would start a thread each time', async () => {
  const made = jest.spyOn(Worker, 'createWorkflowCreator' as never);
  const agent = defineAgent({ name: 'a', model: 'test-model', instructions: 'x', tools: [] });
  const rig = await startRig({ script: () => say('Hello.'), agents: [agent] });
  expect(await (await rig.client.start(agent, 'Hi')).result()).toMatchObject({ output: 'Hello.' });
  const options = made.mock.calls.map((args: unknown[]) => args[1] as object);
  expect(options).toEqual([expect.objectContaining({ isolateExecutionTimeoutMs: undefined, taskQueue: rig.taskQueue })]);
});
