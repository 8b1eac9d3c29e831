import { z } from 'zod';
import { requestCounts } from '../../bench/server-metrics';
import type { TemporalServer } from '../../scripts/temporal.js';
import { defineAgent } from '../../src/agents';
import type { StepProgress } from '../../src/contract/activities';
import { callTools, say, slowly } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { createWorker } from '../../src/worker';
import { type Rig, startRig, until } from '../support/rig';
import { startServer } from '../support/temporal';
import { requestsOf, scenes } from './scenes';

const { script, scene } = scenes();
const agent = defineAgent({
  name: 'slow',
  model: 'test-model',
  instructions: 'Take your time.',
  tools: [
    defineTool({ name: 'look', description: 'Looks.', input: z.object({}), effect: 'pure', execute: () => 'seen' }),
    defineTool({ name: 'pay', description: 'Pays.', input: z.object({}), effect: 'once', execute: () => 'paid' }),
  ],
});
/** An answer that takes ten seconds. */
const tenSeconds = () => slowly(say('word '.repeat(100)), { chunkMs: 100, chunkSize: 5 });

let server: TemporalServer;
beforeAll(async () => {
  server = await startServer({ metrics: true });
});
const heartbeats = async ({ client }: Rig) =>
  (await requestCounts(server.metricsUrl ?? '', client.temporal.workflow)).RecordActivityTaskHeartbeat ?? 0;

test.each([
  [5, {}],
  [2, { takeoverMs: 8_000 }],
])('a model call of ten seconds sends at most %i heartbeats with %j, and at least one', async (most, options) => {
  const rig = await startRig({ script, agents: [agent], address: server.address, worker: options });
  const before = await heartbeats(rig);
  const thread = await rig.client.start(agent, scene([tenSeconds()]));
  await thread.result();
  const sent = (await heartbeats(rig)) - before;
  expect(sent).toBeLessThanOrEqual(most);
  expect(sent).toBeGreaterThanOrEqual(1);
});

test('short steps send no heartbeat, except the one with which a once tool asks whether it may begin', async () => {
  const rig = await startRig({ script, agents: [agent], address: server.address });
  const run = async (name: string) => {
    const before = await heartbeats(rig);
    await (await rig.client.start(agent, scene([callTools([{ name, args: {} }]), say('done')]))).result();
    return (await heartbeats(rig)) - before;
  };
  expect(await run('look')).toBe(0);
  expect(await run('pay')).toBe(1);
});

test.each([
  ['no text', {}, undefined],
  ['the text so far, and how often it will come', { liveTextMs: 200 }, 200],
])('heartbeats carry %s with %j', async (_, options, liveMs) => {
  const rig = await startRig({ script, agents: [agent], address: server.address, worker: options });
  const input = scene([tenSeconds()]);
  const thread = await rig.client.start(agent, input);
  const progress = await until(
    async () => {
      const { raw } = await rig.client.temporal.workflow.getHandle(thread.id).describe();
      const data = raw.pendingActivities?.[0]?.heartbeatDetails?.payloads?.[0]?.data;
      return data ? (JSON.parse(Buffer.from(data).toString()) as StepProgress) : undefined;
    },
    (seen) => seen !== undefined && (liveMs === undefined || seen.text !== undefined),
  );
  expect(progress?.text).toEqual(liveMs ? expect.stringMatching(/^word /) : undefined);
  expect(progress?.liveMs).toBe(liveMs);
  await thread.cancel();
  expect(await requestsOf(rig, input)[0]?.closed).toBe('by-client');
});

test.each([
  [{ takeoverMs: 2_999 }, /takeoverMs is 2999; it must be a number of milliseconds, at least 3000/],
  [{ takeoverMs: Number.NaN }, /takeoverMs is NaN/],
  [{ takeoverMs: 1e12 }, /takeoverMs is 1000000000000; it must be .* at most 86400000/],
  [{ liveTextMs: 50 }, /liveTextMs is 50; it must be a number of milliseconds, at least 100/],
  [{ drainMs: -1 }, /drainMs is -1; it must be a number of milliseconds, at least 0/],
  [{ maxConcurrentSteps: 0 }, /maxConcurrentSteps is 0; it must be a number of steps, at least 1/],
  [{ transcriptCacheSize: Number.NaN }, /transcriptCacheSize is NaN; it must be a number of characters, at least 0/],
  [{ agents: [] }, /agents is empty/],
])('a worker with %j is refused', async (options, words) => {
  await expect(createWorker({ agents: [agent], ...options })).rejects.toThrow(words);
});
