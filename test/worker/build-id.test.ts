import { defineAgent } from '../../src/agents';
import { say } from '../../src/testing/model-server';
import type { WorkerOptions } from '../../src/worker';
import { startRig } from '../support/rig';

const agents = [defineAgent({ name: 'helper', model: 'openai/gpt-5', instructions: 'Help.' })];

/** The build ids in the history of a short thread, each once. */
async function buildIds(worker: Partial<WorkerOptions>): Promise<string[]> {
  const rig = await startRig({ script: () => say('Hello.'), agents, worker });
  const thread = await rig.client.start('helper', 'Hi');
  await thread.result();
  const { events } = await rig.client.temporal.workflow.getHandle(thread.id).fetchHistory();
  const ids = (events ?? []).flatMap((event) => [
    event.workflowTaskStartedEventAttributes?.workerVersion?.buildId,
    event.workflowTaskCompletedEventAttributes?.workerVersion?.buildId,
    event.activityTaskStartedEventAttributes?.workerVersion?.buildId,
  ]);
  return [...new Set(ids.filter((id): id is string => Boolean(id)))];
}

test('a history names the workflow code by a short id, which each of its tasks repeats', async () => {
  expect(await buildIds({})).toEqual([expect.stringMatching(/^longhaul\+[0-9a-f]{16}$/)]);
});

test('the build id can be replaced', async () => {
  expect(await buildIds({ temporal: { buildId: 'mine' } })).toEqual(['mine']);
});
