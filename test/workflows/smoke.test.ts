import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import { byTurn, callTools, say } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { collect, startRig } from '../support/rig';

test('a run with a tool ends with its answer', async () => {
  const add = defineTool({
    name: 'add',
    description: 'Adds.',
    input: z.object({ a: z.number(), b: z.number() }),
    effect: 'pure',
    execute: ({ a, b }) => a + b,
  });
  const agent = defineAgent({ name: 'adder', model: 'test-model', instructions: 'Add.', tools: [add] });
  const rig = await startRig({ script: byTurn([callTools([{ name: 'add', args: { a: 1, b: 2 } }]), say('3')]), agents: [agent] });
  const thread = await rig.client.start(agent, 'What is 1 + 2?');
  const events = await collect(thread.events());
  expect(events.at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: '3' } });
  expect(await thread.result()).toMatchObject({ status: 'completed', output: '3', turns: 2 });
});
