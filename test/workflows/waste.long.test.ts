import { defineAgent } from '../../src/agents';
import { createModelCatalog } from '../../src/models/catalog/model-catalog';
import { cut, fail, say, stall, withUsage } from '../../src/testing/model-server';
import { inPackage } from '../support/in-package';
import { collect, type Rig, startRig, startWorkerProcess, until } from '../support/rig';
import { ofType, requestsOf, scenes, story } from './scenes';

const { script, scene } = scenes();
const agent = defineAgent({
  name: 'spender',
  model: 'test-model',
  instructions: 'x'.repeat(4_000),
  retry: { baseMs: 10 },
});
const measured = { promptTokens: 1_000, completionTokens: 10 };
const words = 'y'.repeat(400);

let rig: Rig;
beforeAll(async () => {
  const catalog = createModelCatalog({ overrides: { 'openai/test-model': { inputPerMillion: 1, outputPerMillion: 10 } } });
  rig = await startRig({ script, agents: [agent], worker: { catalog }, bus: true });
});

/** Until the reader has seen all the words: so the step has, too. */
async function untilSaid(thread: Awaited<ReturnType<Rig['client']['start']>>) {
  let said = '';
  for await (const event of thread.events()) {
    if (event.type === 'thread.message.delta') said += event.data.contentChunk ?? '';
    if (said.length >= words.length) return;
  }
}

/** Of 4,000 characters of instructions and some of a message, and of 400 that the model said. */
function expectEstimate(wasted: { usage: { inputTokens: number; outputTokens: number }; costUsd?: number; estimated?: true } | undefined) {
  const { usage, costUsd, estimated } = wasted ?? {};
  expect(usage?.inputTokens).toBeGreaterThanOrEqual(1_000);
  expect(usage?.inputTokens).toBeLessThan(1_100);
  expect(usage?.outputTokens).toBe(100);
  expect(costUsd).toBeCloseTo(((usage?.inputTokens ?? 0) + 10 * 100) / 1e6);
  expect(estimated).toBe(true);
}

test('the cost of an answer up to its cancel is estimated, reported with its end, and counted', async () => {
  const thread = await rig.client.start(agent, scene([stall(words)]));
  await untilSaid(thread);
  await thread.cancel();
  const told = await story(thread);
  const [ended, ...more] = ofType(told, 'thread.message.incomplete');
  expect(more).toEqual([]);
  expect(ended?.data.reason).toBe('cancelled');
  expectEstimate(ended?.data.spent?.wasted);
  const { metrics } = await thread.usage();
  expect(metrics.models['test-model']?.usage).toEqual(ended?.data.spent?.wasted?.usage);
});

test('an answer that was aborted for a message counts, too', async () => {
  let asked = 0;
  const thread = await rig.client.start(
    agent,
    scene(() => (++asked === 1 ? stall(words) : withUsage(say('done'), measured))),
  );
  await untilSaid(thread);
  await thread.send('Now!', { delivery: 'now' });
  const told = await story(thread);
  const [ended] = ofType(told, 'thread.message.incomplete');
  expect(ended?.data.reason).toBe('superseded');
  expectEstimate(ended?.data.spent?.wasted);
  expect(ofType(told, 'thread.message.completed')[0]?.data).not.toHaveProperty('wasted');
  expect((await thread.usage()).metrics.models['test-model']?.usage.outputTokens).toBe(110);
  expect(told.at(-1)?.data).toMatchObject({ usage: { outputTokens: 110 } });
});

test('a stream that broke off is reported with the answer that follows; a refused call costs nothing', async () => {
  let asked = 0;
  const replies = [fail(429, { headers: { 'retry-after-ms': '10' } }), cut(words), withUsage(say('done'), measured)];
  const thread = await rig.client.start(
    agent,
    scene(() => replies[asked++] ?? say('too much')),
  );
  const told = await story(thread);
  const [answer] = ofType(told, 'thread.message.completed');
  expect(answer?.data.attempts).toHaveLength(2);
  expect(answer?.data.usage).toMatchObject({ inputTokens: 1_000, outputTokens: 10 });
  expectEstimate(answer?.data.wasted);
  expect((await thread.usage()).metrics.models['test-model']?.usage.outputTokens).toBe(110);
  expect(told.at(-1)?.data).toMatchObject({ usage: { outputTokens: 110 } });
});

test('an attempt that was lost with its worker counts with its input', async () => {
  const lone = await startRig({ script, agents: [], workers: 0 });
  const start = () =>
    startWorkerProcess({
      address: lone.address,
      taskQueue: lone.taskQueue,
      agentsFile: inPackage('agents/killable.js'),
      modelUrl: lone.model.url,
    });
  let asked = 0;
  const input = scene(() => (++asked === 1 ? stall(words) : withUsage(say('done'), measured)), `${'z'.repeat(4_000)} scene`);
  const first = await start();
  const thread = await lone.client.start('killable', input);
  await until(
    () => requestsOf(lone, input).length,
    (n) => n === 1,
  );
  await first.kill();
  await start();
  await collect(thread.events({ live: false }));
  const [answer] = ofType(await story(thread), 'thread.message.completed');
  expect(answer?.data.usage).toMatchObject({ inputTokens: 1_000, outputTokens: 10 });
  expect(answer?.data.wasted).toMatchObject({ estimated: true });
  expect(answer?.data.wasted?.usage.inputTokens).toBeGreaterThanOrEqual(1_000);
});
