import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import type { ThreadResult } from '../../src/contract/thread';
import { defineHooks } from '../../src/hooks';
import { callTools, say } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { startRig } from '../support/rig';

const effects = new Map<string, number>();
const once = new Set<string>();

function tool(name: string, effect: 'pure' | 'keyed' | 'once') {
  return defineTool({
    name,
    description: 'Counts.',
    input: z.object({}),
    effect,
    approval: 'never',
    async execute(_, { idempotencyKey }) {
      if (effect === 'once') once.add(idempotencyKey);
      effects.set(idempotencyKey, (effects.get(idempotencyKey) ?? 0) + 1);
      return name;
    },
  });
}

/** What a rolling deploy brings. */
const fresh = defineAgent({
  name: 'fresh',
  model: 'test-model',
  instructions: 'Count.',
  tools: [tool('read', 'pure'), tool('send', 'keyed'), tool('pay', 'once')],
  hooks: defineHooks({ 'after:tool': () => undefined }),
});
const other = defineAgent({ name: 'other', model: 'test-model', instructions: 'Wait.' });

test('with a second worker that lacks their agent, 30 of 30 threads complete, no effect is lost, and none of a once tool is doubled', async () => {
  const calls = ['read', 'send', 'pay'].map((name) => ({ name, args: {} }));
  const rig = await startRig({
    agents: [other],
    script: ({ messages }) => (messages.some(({ role }) => role === 'tool') ? say('Done.') : callTools(calls)),
  });
  await rig.addWorker({ agents: [other, fresh] });
  const threads = await Promise.all(Array.from({ length: 30 }, () => rig.client.start('fresh', 'count')));
  // Of the workflows: on a busy machine a query may wait longer behind so many tasks than a reader waits.
  const results = await Promise.all(threads.map(({ id }) => rig.client.temporal.workflow.getHandle(id).result() as Promise<ThreadResult>));
  expect(results.map(({ output }) => output)).toEqual(Array(30).fill('Done.'));
  expect(effects.size).toBe(90);
  // A busy machine may cost the others an attempt, under the same key.
  expect([...effects].filter(([key, times]) => once.has(key) && times !== 1)).toEqual([]);
  expect(once.size).toBe(30);
}, 240_000);
