import { defineAgent } from '../../src/agents';
import type { Thread } from '../../src/client';
import { isDurable } from '../../src/core/event';
import { say } from '../../src/testing/model-server';
import { collect, type Rig, startRig, until } from '../support/rig';
import { handleOf } from './asking';
import { scenes, story, thrownBy } from './scenes';

// What remains readable when the server has deleted executions. A namespace's retention is at least an hour (a day, if it is global), so the
// test deletes them as the server does at its end.
const { script, scene } = scenes();
const agent = defineAgent({ name: 'talker', model: 'test-model', instructions: 'Talk.' });

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ script, agents: [agent], bus: true });
});

const ended = (thread: Thread) =>
  until(
    () => handleOf(thread).describe(),
    ({ status }) => status.name !== 'RUNNING',
  );
const readAll = async (thread: Thread) => (await collect(thread.events({ live: false }))).filter(isDurable);

async function deleted(thread: Thread, runId: string): Promise<void> {
  const { workflowService, options } = rig.client.temporal;
  const workflowExecution = { workflowId: thread.id, runId };
  await workflowService.deleteWorkflowExecution({ namespace: options.namespace, workflowExecution });
  await until(
    () =>
      rig.client.temporal.workflow
        .getHandle(thread.id, runId)
        .describe()
        .then(
          () => 'there',
          (error: Error) => error.name,
        ),
    (found) => found === 'WorkflowNotFoundError',
    90_000,
  );
}

async function closed(): Promise<{ thread: Thread; execution: string }> {
  const thread = await rig.client.start(agent, scene([say('One.'), say('Two.'), say('Three.')]), { mode: 'conversation' });
  await story(thread);
  await thread.close();
  return { thread, execution: (await ended(thread)).runId };
}

test('a reopened conversation goes on when the execution that it reopened is deleted: its context and its newer events stay', async () => {
  const { thread, execution } = await closed();
  const before = await readAll(thread);
  await rig.client.reopen(thread.id);
  await deleted(thread, execution);
  const left = await readAll(thread);
  expect(left.map(({ type, seq }) => ({ type, seq }))).toEqual([{ type: 'thread.reopened', seq: before.length + 1 }]);
  await thread.send('Again');
  await until(
    () => thread.messages(),
    (messages) => messages.length === 4,
  );
  expect(await thread.result()).toMatchObject({ output: 'Two.', thread: { runs: 2 } });
  expect(await thread.audit()).toMatchObject({ truncated: true });
  await thread.close();
});

test('a closed conversation that the server has deleted does not exist any more: it is neither read nor reopened', async () => {
  const { thread, execution } = await closed();
  await deleted(thread, execution);
  expect(await thrownBy(rig.client.reopen(thread.id))).toMatchObject({ code: 'thread-not-found' });
  expect(await thrownBy(thread.result())).toMatchObject({ code: 'thread-not-found' });
});
