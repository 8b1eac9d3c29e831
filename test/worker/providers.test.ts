import { defineAgent } from '../../src/agents';
import { noUsage } from '../../src/core/message';
import type { ModelProvider } from '../../src/models/model';
import { createModels } from '../../src/models/registry';
import { say } from '../../src/testing/model-server';
import type { WorkerOptions } from '../../src/worker';
import { startRig } from '../support/rig';

const agents = [defineAgent({ name: 'helper', model: 'own/x', instructions: 'Help.' })];

/** Runs a thread on a worker with these options, stops the worker, and returns how often the provider had been closed before and after that. */
async function closedAround(options: (own: ModelProvider) => Partial<WorkerOptions>): Promise<{ before: number; after: number }> {
  let closed = 0;
  const own: ModelProvider = {
    call: async () => ({ parts: [{ type: 'text', text: 'Hello.' }], finishReason: 'stop', usage: noUsage }),
    close: () => {
      closed += 1;
    },
  };
  const rig = await startRig({ script: () => say('unused'), agents, worker: options(own) });
  await (await rig.client.start('helper', 'Hi')).result();
  const before = closed;
  await rig.workers[0]?.stop();
  return { before, after: closed };
}

test('[A216] a worker closes the providers of its options when it ends', async () => {
  expect(await closedAround((own) => ({ models: undefined, providers: { own } }))).toEqual({ before: 0, after: 1 });
});

test('a worker does not close the models that it was given, because other workers may use them', async () => {
  expect(await closedAround((own) => ({ models: createModels({ own }) }))).toEqual({ before: 0, after: 0 });
});
