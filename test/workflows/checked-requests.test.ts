import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import { defineHooks } from '../../src/hooks';
import { callTools, say } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { type Rig, startRig } from '../support/rig';
import { ask, handleOf, happened, reaches, refusal } from './asking';
import { gate, ofType, scenes } from './scenes';

const { script, scene } = scenes();
const input = z.object({ cents: z.number() });
let held = gate();
let checking = gate();
let begun = gate();
const pay = defineTool({ name: 'pay', description: 'Pays.', input, approval: 'always', execute: () => 'paid' });
const slow = defineTool({ name: 'slow', description: 'Takes its time.', input, execute: () => held.opened.then(() => 'done') });
/** Looks at edited arguments for as long as the gate is closed, and refuses large ones. */
const hooks = defineHooks({
  'approve:tool': async ({ call }) => {
    const { cents } = JSON.parse(call.arguments) as { cents: number };
    if (cents === 9) {
      begun.open();
      await checking.opened;
    }
    return cents > 100 ? { approved: false, reason: 'too much' } : undefined;
  },
});
const clerk = defineAgent({ name: 'clerk', model: 'test-model', instructions: 'Pay.', tools: [pay, slow], hooks, strategy: 'parallel' });

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ script, agents: [clerk], worker: { continueAsNewAfter: { events: 40, bytes: 1_000_000 } } });
});
beforeEach(() => {
  held = gate();
  checking = gate();
  begun = gate();
});

test('the id of another request that is still being carried out is refused', async () => {
  const two = callTools(['call_1', 'call_2'].map((id) => ({ name: 'pay', args: { cents: 1 }, id })));
  const thread = await rig.client.start(clerk, scene([two, say('done')]));
  await reaches(thread, 'requires_action', 2);
  const one = ask(thread, 'approve', { id: 'x', toolCallId: 'call_1', arguments: { cents: 9 } });
  await begun.opened;
  const other = thread.approve('call_2', { id: 'x' });
  await expect(other).rejects.toMatchObject({ refusal: 'id-reused', message: expect.stringContaining('is being carried out') });
  checking.open();
  await one;
  await thread.approve('call_2', { id: 'y' });
  expect(await thread.result()).toMatchObject({ output: 'done' });
});

test('an endless series of edits is refused before the history is full, and the thread continues as new', async () => {
  const calls = callTools([
    { name: 'slow', args: { cents: 1 }, id: 'call_slow' },
    { name: 'pay', args: { cents: 1 }, id: 'call_pay' },
  ]);
  const thread = await rig.client.start(clerk, scene([calls, say('done')]));
  await happened(thread, 'agent.approval.requested');
  const edit = (cents: number) => ({ toolCallId: 'call_pay', arguments: { cents } });
  for (let i = 0; i < 40; i++) await handleOf(thread).signal('approve', edit(1_000 + i));
  const log = await happened(thread, 'agent.request.rejected', 40);
  const codes = ofType(log, 'agent.request.rejected').map(({ data }) => data.code);
  expect(codes).toContain('busy');
  expect(codes.filter((code) => code !== 'busy' && code !== 'edit-refused')).toEqual([]);
  // An update that is refused leaves nothing in history.
  const { historyLength } = await handleOf(thread).describe();
  expect(await refusal(ask(thread, 'approve', edit(2)))).toMatch(/must continue as new/);
  expect((await handleOf(thread).describe()).historyLength - historyLength).toBeLessThan(5);
  held.open();
  await thread.approve('call_pay');
  expect(await thread.result()).toMatchObject({ output: 'done' });
  expect((await handleOf(thread).describe()).raw.workflowExecutionInfo?.firstRunId).not.toBe((await handleOf(thread).describe()).runId);
});
