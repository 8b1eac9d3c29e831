import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import { callTools, say } from '../../src/testing/model-server';
import { defineTool, updatePlan } from '../../src/tools';
import { type Rig, startRig } from '../support/rig';
import { requestsOf, scenes, story, textOf } from './scenes';

const { script, scene } = scenes();
const read = defineTool({
  name: 'read',
  description: 'Reads.',
  input: z.object({ name: z.string() }),
  effect: 'pure',
  execute: ({ name }) => `${name}: ${'x'.repeat(6_000)}`,
});
const context = { windowTokens: 12_000, reserveTokens: 2_000, pruneMinimumTokens: 1_000_000, keepTurns: 1, summaryTokens: 500 };
const agent = defineAgent({ name: 'planner', model: 'test-model', instructions: 'Work.', tools: [read, updatePlan], context });

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ script, agents: [agent] });
});

const plan = (...steps: [string, string][]) => ({
  name: 'update_plan',
  args: { steps: steps.map(([description, status]) => ({ description, status })) },
});

test('[B162] the last plan that was accepted is in the status, and stays when the transcript is summarized', async () => {
  let turn = 0;
  const input = scene(() => {
    turn += 1;
    if (turn === 1) return callTools([plan(['read', 'in_progress'], ['repair', 'pending'])]);
    if (turn === 2) return callTools([plan(['read', 'completed'], ['repair', 'in_progress'])]);
    if (turn === 3) return callTools([plan(['read', 'in_progress'], ['repair', 'in_progress'])]);
    return turn < 14 ? callTools([{ name: 'read', args: { name: `file-${turn}` } }]) : say('done');
  }, 'Plan and read');
  const thread = await rig.client.start(agent, input);
  await story(thread);
  const status = await thread.status();
  expect(status.plan).toBe('[x] read\n[>] repair');
  const last = requestsOf(rig, input).at(-1)?.body.messages ?? [];
  expect(last.some((message) => textOf(message).includes('<plan>\n[x] read\n[>] repair\n</plan>'))).toBe(true);
  expect(JSON.stringify(last)).not.toContain('update_plan');
});
