import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import type { Thread } from '../../src/client';
import { findSuspended } from '../../src/client/find-thread';
import { defineHooks } from '../../src/hooks';
import { callTools, hang, say } from '../../src/testing/model-server';
import { askHuman, defineTool, suspend } from '../../src/tools';
import { type Rig, startRig, until } from '../support/rig';
import { ofType, requestsOf, scenes, story, thrownBy } from '../workflows/scenes';

const { script, scene } = scenes();
const ended: string[] = [];
const hooks = defineHooks({
  'after:execution': [
    () => {
      throw new Error('the first clean-up is broken');
    },
    (_, ctx) => {
      ended.push(ctx.threadId);
    },
  ],
});
const deploy = defineTool({
  name: 'deploy',
  description: 'Deploys.',
  input: z.object({ to: z.string() }),
  approval: () => ({ groups: ['leads'], reason: 'It changes production.' }),
  execute: ({ to }) => `deployed to ${to}`,
});
const mail = defineTool({
  name: 'mail',
  description: 'Asks by mail.',
  input: z.object({ id: z.string() }),
  execute: ({ id }) => suspend({ result: 'sent', correlationId: id }),
});
const agent = defineAgent({ name: 'controlled', model: 'test-model', instructions: 'Do it.', tools: [deploy, mail, askHuman], hooks });

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ script, agents: [agent] });
});

const call = (name: string, args: object, id = `call_${name}`) => callTools([{ name, args, id }]);

async function started(input: string, status: string, options = {}): Promise<Thread> {
  const thread = await rig.client.start(agent, input, options);
  await until(
    () => thread.status(),
    (now) => now.status === status,
  );
  return thread;
}

async function modelAsked(input: string, times = 1): Promise<void> {
  await until(
    () => requestsOf(rig, input).length,
    (n) => n >= times,
  );
}

describe('cancel by id', () => {
  test('[A101] a run is cancelled by its own id, by the id of its thread and by its correlation id, from any client', async () => {
    const ids = { mail: `mail-1-${rig.taskQueue}` };
    const inputs = [scene([hang()]), scene([hang()]), scene([call('mail', { id: ids.mail }), say('I wait.'), say('never')])];
    const [byRun, byThread, bySuspension] = await Promise.all(inputs.map((input) => rig.client.start(agent, input)));
    await Promise.all(inputs.map((input) => modelAsked(input)));
    await until(
      () => (bySuspension as Thread).status(),
      ({ status }) => status === 'suspended',
    );
    const { runId } = await (byRun as Thread).status();
    expect((await rig.client.findThread(runId ?? '')).id).toBe(byRun?.id);
    await Promise.all([
      rig.client.cancel(runId ?? '', { by: 'dana', reason: 'by run' }),
      rig.client.cancel(byThread?.id ?? '', { reason: 'by thread' }),
      rig.client.cancel(ids.mail, { reason: 'by suspension' }),
    ]);
    const ends = await Promise.all([byRun, byThread, bySuspension].map(async (thread) => (await story(thread as Thread)).at(-1)));
    expect(ends.map((end) => [end?.type, end?.data])).toEqual([
      ['thread.run.cancelled', { by: 'dana', reason: 'by run' }],
      ['thread.run.cancelled', { reason: 'by thread' }],
      ['thread.run.cancelled', { reason: 'by suspension' }],
    ]);
  });

  test('a run that has ended is not cancelled by its id, and neither is the next run of its thread', async () => {
    const thread = await started(
      scene(({ turn }) => (turn === 0 ? say('first') : hang())),
      'idle',
      { mode: 'conversation' },
    );
    const { runId: first } = await thread.status();
    await thread.send('go on');
    await until(
      () => thread.status(),
      ({ status, runId }) => status === 'in_progress' && runId !== first,
    );
    expect(await thrownBy(rig.client.cancel(first ?? ''))).toMatchObject({ code: 'run-not-found' });
    expect((await thrownBy(thread.cancel({ runId: first ?? '' }))).message).toMatch(/is not going on/);
    expect(await thread.isRunning()).toBe(true);
    await thread.destroy();
  });

  test('[B45] an unknown id is reported as unknown, even one that would break a list filter', async () => {
    for (const id of ['run_nobody', `it's "odd" \\ ' OR 1=1`]) {
      expect(await thrownBy(rig.client.cancel(id))).toMatchObject({
        name: 'LonghaulError',
        code: 'run-not-found',
        message: expect.stringContaining(id),
      });
    }
    expect(await thrownBy(rig.client.reply('mail-nobody', 'yes'))).toMatchObject({
      code: 'run-not-found',
      message: expect.stringContaining('no thread waits for a reply to "mail-nobody"'),
    });
  });

  test('a blank id, name or filter is refused before any request is sent', async () => {
    for (const [ask, message] of [
      [() => rig.client.attach('').pending(), "attach: the thread's id is blank"],
      [() => rig.client.findThread(' '), 'the id is blank'],
      [() => rig.client.cancel(''), 'the id is blank'],
      [() => rig.client.reply('', 'yes'), 'reply: the correlation id is blank'],
      [() => rig.client.pending({ group: '' }), 'pending: group must be a string that is not blank; it is ""'],
      [() => rig.client.pending({ agent: ' ' }), 'pending: agent must be a string that is not blank; it is " "'],
      [() => rig.client.list({ query: '' }), 'list: the filter is blank; leave it out for all threads'],
      [
        () => rig.client.start('tester', 'hello', { model: '' }),
        `The thread was not started: model must be a model's name, or a list of 1 to 10; it is ""`,
      ],
    ] as const) {
      expect(await thrownBy((async () => ask())())).toMatchObject({ name: 'LonghaulError', code: 'invalid-input', message });
    }
  });
});

describe('pause', () => {
  test('[A107] a thread is paused and resumed, and its status says whether it is paused; its run then ends', async () => {
    const thread = await started(scene([call('deploy', { to: 'x' }), say('done')]), 'requires_action');
    expect(await thread.isPaused()).toBe(false);
    await thread.pause({ by: 'dana', reason: 'lunch' });
    expect(await thread.isPaused()).toBe(true);
    expect((await thread.status()).paused).toEqual({ by: 'dana', reason: 'lunch' });
    await thread.approve('call_deploy', { by: 'lee', groups: ['leads'] });
    await until(
      () => thread.status(),
      ({ status }) => status === 'paused',
    );
    await thread.resume({ by: 'dana' });
    expect(await thread.isPaused()).toBe(false);
    expect((await thread.result()).output).toBe('done');
    expect(await thread.isPaused()).toBe(false);
  });
});

describe('the end', () => {
  test('[A116] a thread counts as running until its run has ended, also while it waits, and not after it was terminated', async () => {
    const [done, killed] = await Promise.all([
      started(scene([call('deploy', { to: 'x' }), say('done')]), 'requires_action'),
      started(scene([call('deploy', { to: 'y' })]), 'requires_action'),
    ]);
    expect(await done.isRunning()).toBe(true);
    await done.reject('call_deploy', { groups: ['leads'] });
    await done.result();
    expect(await done.isRunning()).toBe(false);
    await rig.client.temporal.workflow.getHandle(killed.id).terminate('enough');
    expect(await killed.isRunning()).toBe(false);
    const idle = await started(scene([say('hello')]), 'idle', { mode: 'conversation' });
    expect(await idle.isRunning()).toBe(false);
    await idle.destroy();
  });

  test.each(['one-shot', 'conversation'] as const)(
    '[A115] destroying a %s cancels its run, runs every clean-up hook even if one fails, and can be repeated; then nothing can be sent',
    async (mode) => {
      const input = scene([hang()]);
      const thread = await rig.client.start(agent, input, { mode });
      await modelAsked(input);
      await Promise.all([thread.destroy({ by: 'dana', reason: 'no longer needed' }), thread.destroy()]);
      expect(await thrownBy(thread.send('hello?'))).toMatchObject({ code: 'thread-closed' });
      const told = await story(thread);
      expect(ofType(told, 'thread.run.cancelled')).toHaveLength(1);
      expect(ofType(told, 'agent.hook.completed')[0]?.data.errors).toMatchObject([
        { message: expect.stringContaining('clean-up is broken') },
      ]);
      expect(ended.filter((id) => id === thread.id)).toEqual([thread.id]);
      await thread.destroy();
      expect(await thrownBy(thread.send('hello?'))).toMatchObject({ code: 'thread-closed' });
    },
  );

  test('destroying a conversation that was closed during its run ends the run; a thread that does not exist is an error', async () => {
    const input = scene([hang()]);
    const thread = await rig.client.start(agent, input, { mode: 'conversation' });
    await modelAsked(input);
    await thread.close();
    expect(await thrownBy(thread.send('one more'))).toMatchObject({
      code: 'thread-closed',
      message: expect.stringContaining('start a new thread'),
    });
    expect(await thread.isRunning()).toBe(true);
    await thread.destroy();
    expect((await story(thread)).map(({ type }) => type)).toEqual(expect.arrayContaining(['thread.closed', 'thread.run.cancelled']));
    expect(await thrownBy(rig.client.attach('thread_nowhere').destroy())).toMatchObject({ code: 'thread-not-found' });
  });

  test('[B185] a request to a thread that does not exist is refused with a code', async () => {
    const thread = rig.client.attach('thread_nowhere');
    for (const request of [
      () => thread.send('x'),
      () => thread.resume(),
      () => thread.status(),
      () => thread.audit(),
      () => thread.isRunning(),
      () => thread.receipt('x'),
    ]) {
      expect(await thrownBy(request())).toMatchObject({ code: 'thread-not-found', message: expect.stringContaining('"thread_nowhere"') });
    }
  });
});

describe('exactly once', () => {
  test('a request that is sent twice under the same id is carried out once, with the same response; another id is another request', async () => {
    const thread = await started(
      scene([call('deploy', { to: 'x' }), call('deploy', { to: 'y' }, 'call_2'), say('done')]),
      'requires_action',
    );
    const lead = { by: 'lee', groups: ['leads'] };
    const [paused, again] = await Promise.all([thread.pause({ id: 'p-1' }), thread.pause({ id: 'p-1' })]);
    expect(again).toEqual(paused);
    await thread.resume({ id: 'p-1' });
    expect(await thrownBy(thread.resume({ id: 'p-2' }))).toMatchObject({
      code: 'request-refused',
      message: expect.stringContaining('is not paused'),
    });
    const approved = await thread.approve('call_deploy', { ...lead, id: 'decision-1' });
    expect(await thread.approve('call_deploy', { ...lead, id: 'decision-1' })).toEqual(approved);
    expect(await thrownBy(thread.approve('call_deploy', { ...lead, id: 'decision-2' }))).toMatchObject({ code: 'request-refused' });
    await until(
      () => thread.pending(),
      ([pending]) => pending?.toolCallId === 'call_2',
    );
    await thread.reject('call_2', { ...lead, reason: 'no' });
    const told = await story(thread);
    expect(ofType(told, 'agent.approval.decided')).toHaveLength(2);
    expect(ofType(told, 'agent.run.paused')).toHaveLength(1);
  });

  test('a message has a receipt by its id: accepted, then injected at its turn; a message that nobody sent has none', async () => {
    const thread = await started(scene([call('deploy', { to: 'x' }), say('done')]), 'requires_action');
    const { seq } = await thread.send('and then sleep', { id: 'm-1' });
    expect(await thread.receipt('m-1')).toEqual({ id: 'm-1', state: 'accepted', seq });
    expect(await thread.send('and then sleep', { id: 'm-1' })).toMatchObject({ accepted: true, id: 'm-1' });
    await thread.reject('call_deploy', { groups: ['leads'] });
    await story(thread);
    const { runId } = await thread.status();
    expect(await thread.receipt('m-1')).toMatchObject({ state: 'injected', runId, turn: 2 });
    expect(await thread.receipt('m-2')).toBeNull();
    expect((await thread.messages()).filter((m) => m.id === 'm-1')).toHaveLength(1);
  });
});

describe('questions and replies', () => {
  test('a question is answered in text, by one of the people who are asked', async () => {
    const input = scene([call('ask_human', { question: 'Which?', options: ['a', 'b'] }), say('done')]);
    const thread = await started(input, 'requires_action');
    expect(await thread.pending()).toMatchObject([{ kind: 'question', name: 'ask_human', toolCallId: 'call_ask_human' }]);
    await thread.answer('call_ask_human', 'b', { by: 'dana', groups: ['owners'] });
    await story(thread);
    expect(requestsOf(rig, input)[1]?.body.messages.at(-1)).toMatchObject({ role: 'tool', content: 'b' });
    expect((await thread.audit()).entries).toContainEqual(expect.objectContaining({ kind: 'tool', name: 'ask_human', by: 'dana' }));
  });

  test('[A120][B190] a reply finds the suspended thread, which continues with its whole history and can be suspended again', async () => {
    const [first, second] = [1, 2].map((n) => `mail-${n}-${rig.taskQueue}-again`);
    const input = scene(({ turn, body }) => {
      // Closing words are asked for without tools, and are no part of the transcript.
      if (!body.tools) return say('I wait.');
      return turn < 2 ? call('mail', { id: [first, second][turn] }, `call_${turn}`) : say('all done');
    });
    const thread = await started(input, 'suspended');
    await rig.client.reply(first as string, 'the first reply', { id: 'r-1' });
    await until(
      () => thread.pending(),
      ([pending]) => pending?.toolCallId === second,
    );
    expect(await thrownBy(thread.send('late', { correlationId: first as string }))).toMatchObject({ code: 'request-refused' });
    await rig.client.reply(second as string, 'the second reply');
    expect((await thread.result()).output).toBe('all done');
    // Three turns, and closing words before each sleep.
    expect((await thread.usage()).metrics.models['test-model']?.calls).toBe(5);
    const last = requestsOf(rig, input).at(-1)?.body.messages ?? [];
    expect(last.filter((m) => m.role !== 'system').map((m) => m.role)).toEqual([
      'user',
      'assistant',
      'tool',
      'user',
      'assistant',
      'tool',
      'user',
    ]);
    expect(last.filter((m) => m.role === 'user').map((m) => m.content)).toEqual([input, 'the first reply', 'the second reply']);
    expect(await thrownBy(rig.client.reply(second as string, 'once more'))).toMatchObject({ code: 'run-not-found' });
  });

  test('the result reports a suspension that expired without a reply', async () => {
    const brief = defineTool({
      name: 'brief',
      description: 'Waits shortly.',
      input: z.object({}),
      execute: () => suspend({ result: 'sent', ttlMs: 300 }),
    });
    const lone = await startRig({
      script,
      agents: [defineAgent({ name: 'brief', model: 'test-model', instructions: 'Wait.', tools: [brief] })],
    });
    const thread = await lone.client.start('brief', scene([call('brief', {}), say('I wait.')]));
    expect(await thrownBy(thread.result())).toMatchObject({ code: 'run-expired', message: expect.stringContaining('No reply') });
  });

  test('if several threads wait for the same reply, it is refused and lists them', async () => {
    const id = `shared-${rig.taskQueue}`;
    const threads = await Promise.all([1, 2].map(() => started(scene([call('mail', { id }), say('I wait.')]), 'suspended')));
    // The index lags. A reply while it shows one of them would be taken.
    await until(
      () => thrownBy(findSuspended(rig.client, id).then(() => Promise.reject({ code: 'one' }))),
      ({ code }) => code === 'invalid-input',
    );
    const error = await thrownBy(rig.client.reply(id, 'yes'));
    expect(error.code).toBe('invalid-input');
    for (const thread of threads) expect(error.message).toContain(thread.id);
    await Promise.all(threads.map((thread) => thread.cancel()));
  });
});
