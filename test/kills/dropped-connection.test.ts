import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import type { LonghaulClient } from '../../src/client';
import { callTools, say } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { startProxy } from '../support/proxy';
import { startRig, until } from '../support/rig';
import { closeBeforeServers } from '../support/temporal';
import { scenes, story } from '../workflows/scenes';

const { script, scene } = scenes();
const droppedMs = 20_000;

/** Calls under way, by thread: what ends them. */
const begun = new Map<string, (() => void)[]>();
const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  input: z.object({}),
  effect: 'once',
  timeoutMs: 180_000,
  execute: (_, { threadId }) =>
    new Promise<string>((resolve) => begun.set(threadId, [...(begun.get(threadId) ?? []), () => resolve('paid')])),
});
const agent = defineAgent({ name: 'payer', model: 'test-model', instructions: 'Pay.', tools: [pay] });

/** How long after its beginning the server has heard of a thread's call, in whole seconds. */
async function heardOfFor({ temporal }: LonghaulClient, id: string): Promise<number> {
  const { raw } = await temporal.workflow.getHandle(id).describe();
  const [call] = raw.pendingActivities ?? [];
  return begun.has(id) ? Number(call?.lastHeartbeatTime?.seconds ?? 0) - Number(call?.lastStartedTime?.seconds ?? 0) : 0;
}

test('a once call that runs while the connections of its worker are silently dropped for 20 s keeps its outcome, whenever it ends', async () => {
  const near = await startRig({ script, agents: [agent], workers: 0 });
  const way = await startProxy(near.address);
  closeBeforeServers(() => way.close());
  const far = await startRig({ script, agents: [agent], address: way.address });
  const start = () => near.client.start(agent, scene([callTools([{ name: 'pay', args: {} }]), say('done')]), { taskQueue: far.taskQueue });
  const [during, after] = await Promise.all([start(), start()]);
  await Promise.all(
    [during, after].map(({ id }) =>
      until(
        () => heardOfFor(near.client, id),
        (seconds) => seconds > 1,
      ),
    ),
  );

  way.swallow();
  for (const end of begun.get(during.id) ?? []) end();
  // How long they are dropped is the fault itself.
  await new Promise((resolve) => setTimeout(resolve, droppedMs));
  await way.heal();
  const seen = way.connections;
  await until(
    () => way.connections,
    (connections) => connections > seen,
  );
  for (const end of begun.get(after.id) ?? []) end();

  for (const thread of [during, after]) {
    const told = await story(thread);
    expect(told.find(({ type }) => type === 'agent.tool.execution.completed')).toMatchObject({
      data: { status: 'success', output: 'paid' },
    });
    expect(told.at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'done' } });
    expect(begun.get(thread.id)).toHaveLength(1);
  }
});
