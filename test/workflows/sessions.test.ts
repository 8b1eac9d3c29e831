import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import { isDurable } from '../../src/core/event';
import { defineHooks } from '../../src/hooks';
import { callTools, fail, say } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { collect, startRig, until } from '../support/rig';
import { requestsOf, roles, scenes, textOf, thrownBy } from './scenes';

const { script, scene } = scenes();
const outside = defineTool({ name: 'outside', description: 'Is answered outside.', input: z.object({}) });
const shop = (version: string, hooks?: ReturnType<typeof defineHooks>) =>
  defineAgent({
    name: 'shop',
    model: 'test-model',
    instructions: `You keep the shop (${version}).`,
    tools: [outside],
    retry: { maxAttempts: 1 },
    ...(hooks && { hooks }),
  });

test('[B183] a thread that completed, was cancelled or failed is complete on the next worker, which has an empty cache', async () => {
  const rig = await startRig({ script, agents: [shop('one')] });
  const started = [
    await rig.client.start(
      'shop',
      scene(() => say('Good morning.')),
      { mode: 'conversation' },
    ),
    await rig.client.start('shop', scene([callTools([{ name: 'outside', args: {} }])]), { mode: 'conversation' }),
    await rig.client.start(
      'shop',
      scene(() => fail(500)),
      { mode: 'conversation' },
    ),
  ] as const;
  await until(
    () => started[1].pending(),
    ({ length }) => length === 1,
  );
  await started[1].cancel({ by: 'dana' });
  const seen = [];
  for (const thread of started)
    seen.push({ events: (await collect(thread.events())).filter(isDurable), messages: await thread.messages() });
  expect(seen.map(({ events }) => events.at(-1)?.type)).toEqual(['thread.run.completed', 'thread.run.cancelled', 'thread.run.failed']);

  await rig.workers[0]?.stop();
  await rig.addWorker();
  for (const [i, thread] of started.entries()) {
    expect((await collect(thread.events())).filter(isDurable)).toEqual(seen[i]?.events);
    expect(await thread.messages()).toEqual(seen[i]?.messages);
  }
});

test('[B184] a thread that is continued has the current instructions and one reminder of what changed, however often it is continued', async () => {
  const rig = await startRig({ script, agents: [shop('one')] });
  const input = scene(() => say('Noted.'));
  const thread = await rig.client.start('shop', input, { mode: 'conversation' });
  await collect(thread.events());

  await rig.workers[0]?.stop();
  const resumed = defineHooks({
    'before:llm': () => ({ instructions: '<system-reminder>Since you were here: the shop moved.</system-reminder>' }),
  });
  await rig.addWorker({ agents: [shop('two', resumed)] });
  for (const words of ['And now?', 'And now again?']) {
    await thread.send(words);
    await collect(thread.events());
  }

  const [first, ...later] = requestsOf(rig, input);
  expect(textOf(first?.body.messages[0])).toBe('You keep the shop (one).');
  expect(later).toHaveLength(2);
  for (const { body } of later) {
    const prompts = body.messages.filter(({ role }) => role === 'system').map(textOf);
    expect(prompts).toEqual(['You keep the shop (two).\n\n<system-reminder>Since you were here: the shop moved.</system-reminder>']);
    expect(
      body.messages
        .filter(({ role }) => role !== 'system')
        .map(textOf)
        .join(),
    ).not.toContain('reminder');
  }
  expect(roles(await thread.messages())).toEqual(['user', 'assistant', 'user', 'assistant', 'user', 'assistant']);
});

test('[A106] a run continues while it is queued, in progress or requires action; completed, failed, cancelled or at its limit it does not', async () => {
  const rig = await startRig({ script, agents: [shop('one')], workers: 0 });
  const outside = (id: string) => callTools([{ name: 'outside', args: {}, id }]);
  const again = [{ toolCallId: 'call_1', output: 'here' }];
  const waiting = scene([outside('call_1'), say('Thank you.')]);
  const queued = await rig.client.start('shop', waiting);
  // Said to a thread that no worker has taken up yet, and to one in progress: both are part of its run.
  await rig.client.temporal.workflow.getHandle(queued.id).signal('sendMessage', { input: 'First of all.' });
  await rig.addWorker();
  await until(
    () => queued.pending(),
    ({ length }) => length === 1,
  );
  await queued.send('And hurry.');
  await queued.submitToolOutputs(again);
  expect(await queued.result()).toMatchObject({ status: 'completed', output: 'Thank you.' });
  expect(requestsOf(rig, waiting).at(-1)?.body.messages.map(textOf)).toEqual(
    expect.arrayContaining(['First of all.', 'And hurry.', 'here']),
  );

  const ends = {
    completed: await rig.client.start('shop', scene([say('Done.')])),
    failed: await rig.client.start('shop', scene([fail(401)])),
    cancelled: await rig.client.start('shop', scene([outside('call_1')])),
    limited: await rig.client.start('shop', scene([say('Done.')]), { limits: { turns: 0 } }),
  };
  await until(
    () => ends.cancelled.pending(),
    ({ length }) => length === 1,
  );
  await ends.cancelled.cancel();
  for (const [end, thread] of Object.entries(ends)) {
    const before = (await collect(thread.events())).filter(isDurable);
    await until(
      async () => (await rig.client.temporal.workflow.getHandle(thread.id).describe()).status.name,
      (status) => status !== 'RUNNING',
    );
    for (const asked of [thread.submitToolOutputs(again), thread.approve('call_1'), thread.send('More.'), thread.resume()]) {
      expect({ end, code: (await thrownBy(asked)).code }).toEqual({ end, code: 'thread-closed' });
    }
    expect((await collect(thread.events())).filter(isDurable)).toEqual(before);
  }
});

test('[A106] a waiting run continues; one that has ended never does, whatever it is sent', async () => {
  const rig = await startRig({ script, agents: [shop('one')] });
  const oneShot = await rig.client.start('shop', scene([callTools([{ name: 'outside', args: {}, id: 'call_1' }]), say('Thank you.')]));
  const [call] = await until(
    () => oneShot.pending(),
    ({ length }) => length === 1,
  );
  await oneShot.submitToolOutputs([{ toolCallId: call?.toolCallId ?? '', output: 'here' }]);
  expect(await oneShot.result()).toMatchObject({ status: 'completed', output: 'Thank you.' });

  const conversation = await rig.client.start(
    'shop',
    scene(() => fail(500)),
    { mode: 'conversation' },
  );
  const end = (await collect(conversation.events())).at(-1);
  expect(end?.type).toBe('thread.run.failed');
  for (const [thread, refusal] of [
    [oneShot, /closed|has ended/],
    [conversation, /does not wait for an answer or an output/],
  ] as const) {
    expect((await thrownBy(thread.submitToolOutputs([{ toolCallId: 'call_1', output: 'again' }]))).message).toMatch(refusal);
  }
  expect((await conversation.status()).status).toBe('idle');
  expect((await collect(conversation.events())).at(-1)).toEqual(end);
});
