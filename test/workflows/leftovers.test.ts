import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import { byTurn, callTools, fail, say } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { collect, startRig, until } from '../support/rig';

const plain = defineAgent({ name: 'plain', model: 'test-model', instructions: 'Answer.' });

test('a message that a failing one-shot run did not take in is recorded as unread, before the terminal event', async () => {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const rig = await startRig({ script: () => held.then(() => fail(401)), agents: [plain] });
  const thread = await rig.client.start(plain, 'Hi');
  await until(
    () => rig.model.requests.length,
    (n) => n === 1,
  );
  await thread.send('One more thing', { id: 'more-1' });
  release();
  const [unread, end] = (await collect(thread.events())).slice(-2);
  expect(unread).toMatchObject({
    type: 'thread.message.superseded',
    data: { messageId: 'more-1', reason: expect.stringContaining('before it took the message in') },
  });
  expect(end).toMatchObject({ type: 'thread.run.failed', data: { code: 'auth', details: { status: 401, maxAttempts: 5 } } });
});

test('outputs that are too large to be carried over together are shortened for the next execution, and stay complete in the log of the previous one', async () => {
  const ask = defineTool({ name: 'ask', description: 'Asks outside.', input: z.object({}) });
  const agent = defineAgent({ name: 'asker', model: 'test-model', instructions: 'Ask.', tools: [ask] });
  const both = callTools([
    { name: 'ask', args: {} },
    { name: 'ask', args: {} },
  ]);
  const rig = await startRig({
    script: byTurn([both, say('Done.')]),
    agents: [agent],
    worker: { continueAsNewAfter: { events: 8_000, bytes: 2_000_000 } },
  });
  const thread = await rig.client.start(agent, 'Ask twice.');
  const calls = await until(
    () => thread.pending(),
    (pending) => pending.length === 2,
  );
  for (const [i, { toolCallId }] of calls.entries()) {
    await thread.submitToolOutputs([{ toolCallId, output: `${i}${'x'.repeat(1_200_000)}` }]);
  }
  expect(await thread.result()).toMatchObject({ status: 'completed', output: 'Done.' });
  const events = await collect(thread.events());
  expect(events.map((event) => ('seq' in event ? event.seq : 0))).toEqual(events.map((_, i) => i + 1));
  expect(events.some((event) => event.type === 'thread.context.compacted')).toBe(true);
  const outputs = events.flatMap((event) => (event.type === 'agent.tool.execution.completed' ? [String(event.data.output).length] : []));
  expect(outputs).toEqual([1_200_001, 1_200_001]);
});
