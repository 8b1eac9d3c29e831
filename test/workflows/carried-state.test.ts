import { defineAgent } from '../../src/agents';
import { workflowType } from '../../src/contract/thread';
import { newThread } from '../../src/core/state';
import { say } from '../../src/testing/model-server';
import { type Rig, startRig } from '../support/rig';

const agent = defineAgent({ name: 'clerk', model: 'test-model', instructions: 'Answer.' });

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ script: () => say('done'), agents: [agent] });
});

const forged = (threadId: string) => newThread({ threadId, agent: 'clerk', mode: 'one-shot', overrides: {}, queue: [] });

test.each([
  ['an empty object', () => ({})],
  ['a text', () => 'state'],
  ['null', () => null],
  ['a state that nobody carried over', forged],
])('a thread that is started with a second argument, %s, is refused with a message, and is not wedged', async (_, second) => {
  const workflowId = `forged-${Math.random().toString(36).slice(2)}`;
  const handle = await rig.client.temporal.workflow.start(workflowType, {
    workflowId,
    taskQueue: rig.taskQueue,
    args: [{ agent: 'clerk', input: 'Hello' }, second(workflowId)],
  });
  await expect(handle.result()).rejects.toMatchObject({
    cause: { type: 'InvalidInput', message: expect.stringContaining('a thread is started with one argument') },
  });
});

test('a retry policy of the start does not let a second argument count as a carried-over state', async () => {
  const workflowId = `forged-${Math.random().toString(36).slice(2)}`;
  const handle = await rig.client.temporal.workflow.start(workflowType, {
    workflowId,
    taskQueue: rig.taskQueue,
    retry: { maximumAttempts: 3, initialInterval: 100 },
    args: [{ agent: 'clerk', input: 'Hello' }, forged(workflowId)],
  });
  await expect(handle.result()).rejects.toMatchObject({ cause: { type: 'InvalidInput' } });
});
