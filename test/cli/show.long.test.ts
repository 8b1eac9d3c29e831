import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import { callTools, say } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { type Rig, startRig, until } from '../support/rig';
import { longhaul } from './command';

let rig: Rig;
let begun = 0;

beforeAll(async () => {
  const base = { description: 'Works.', input: z.object({ id: z.string() }) };
  const slow = defineTool({
    ...base,
    name: 'slow',
    effect: 'pure',
    execute: async (_, { signal }) => {
      begun += 1;
      await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
      return 'never';
    },
  });
  const deploy = defineTool({ ...base, name: 'deploy', approval: 'always', execute: () => 'deployed' });
  rig = await startRig({
    script: ({ input, turn }) =>
      turn === 0 && input !== 'chat' ? callTools([{ name: input, args: { id: '812' }, id: 'call_1' }]) : say('Done.'),
    agents: [defineAgent({ name: 'worker', model: 'test-model', instructions: 'Work.', tools: [slow, deploy] })],
  });
});

const show = async (id: string, ...options: string[]) =>
  (await longhaul(['show', id, ...options], { env: { TEMPORAL_ADDRESS: rig.address } })).stdout;
const list = async (id: string) =>
  (await longhaul(['list', '--query', `WorkflowId = '${id}'`, '--json'], { env: { TEMPORAL_ADDRESS: rig.address } })).stdout;

test('a reopened thread began when its first execution began', async () => {
  const thread = await rig.client.start('worker', 'chat', { mode: 'conversation' });
  await thread.result();
  const before = JSON.parse(await show(thread.id, '--json')).startedAt;
  await thread.close();
  await rig.client.reopen(thread.id);
  const executions = await until(
    async () => {
      const found = [];
      for await (const one of rig.client.temporal.workflow.list({ query: `WorkflowId = '${thread.id}'` })) found.push(one);
      return found;
    },
    (found) => found.length === 2,
  );
  expect(executions[0]?.startTime.toISOString()).not.toBe(before);
  expect(JSON.parse(await show(thread.id, '--json')).startedAt).toBe(before);
  expect(JSON.parse(await list(thread.id))).toMatchObject({ id: thread.id, startedAt: before });
  await thread.close();
});

test('show says what runs and for how long; without a worker, what the server knows', async () => {
  const waiting = await rig.client.start('worker', 'deploy');
  await until(
    () => waiting.pending(),
    (pending) => pending.length === 1,
  );
  const running = await rig.client.start('worker', 'slow');
  await until(
    () => begun,
    (times) => times === 1,
  );
  expect(await show(running.id)).toMatch(/\nnow +slow "812" \(call_1\) for \d+ s\n/);
  // The index lags by a moment.
  await until(
    () => list(waiting.id),
    (found) => found.includes('requires_action'),
  );
  await rig.workers.splice(0)[0]?.stop();
  const [asks, left] = await Promise.all([show(waiting.id), show(running.id)]);
  expect(asks).toMatch(/\nstatus +requires_action \(workflow running\)\nagent +worker\nwaits +for someone outside: deploy, since 20\S+Z\n/);
  expect(left).toMatch(
    /\nstatus +in_progress \(workflow running\)\nagent +worker\nnow +step runTool, attempt \d; waits for a worker, scheduled \d+ s ago; the attempt before: .+\n/,
  );
});
