import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import { callTools, say } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { type Rig, startRig, until } from '../support/rig';
import { ofType, scenes, story } from './scenes';

const { script, scene } = scenes();
const begun: string[] = [];
const input = z.object({ id: z.string() });

/** Blocks the first time, until it is aborted. */
async function execute({ id }: { id: string }, { signal }: { signal: AbortSignal }): Promise<string> {
  begun.push(id);
  if (begun.filter((one) => one === id).length > 1) return 'done again';
  await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
  return 'never';
}
const tools = (['once', 'keyed'] as const).map((effect) => defineTool({ name: effect, description: 'Works.', input, effect, execute }));
const agent = defineAgent({ name: 'worker', model: 'test-model', instructions: 'Work.', tools });

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ script, agents: [agent] });
});

test.each([
  ['once', 'unknown', 1],
  ['keyed', 'success', 2],
] as const)(
  'a %s tool whose activity an operator resets while it runs has the outcome %s, and nobody is told of a cancel',
  async (name, status, times) => {
    const id = `${name}-${Math.random().toString(36).slice(2)}`;
    const thread = await rig.client.start(
      agent,
      scene(({ turn }) => (turn === 0 ? callTools([{ name, args: { id } }]) : say('done'))),
    );
    await until(
      () => begun,
      (ids) => ids.includes(id),
    );
    const { temporal } = rig.client;
    const [activity] = (await temporal.workflow.getHandle(thread.id).describe()).raw.pendingActivities ?? [];
    await temporal.workflowService.resetActivity({
      namespace: temporal.options.namespace,
      execution: { workflowId: thread.id },
      id: activity?.activityId ?? '',
    });
    const told = await story(thread);
    expect(ofType(told, 'agent.tool.execution.completed').map(({ data }) => data.status)).toEqual([status]);
    expect(begun.filter((one) => one === id)).toHaveLength(times);
  },
);
