import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import type { Thread } from '../../src/client';
import { callTools, hang, type Reply, say, stall } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { type Rig, startRig, until } from '../support/rig';
import { ask, handleOf, happened, logOf, reaches, receiptOf, refusal } from './asking';
import { expectPaired, gate, ofType, requestsOf, scenes, story, textOf, thrownBy, typesOf } from './scenes';

const { script, scene } = scenes();
const began: { threadId: string; n: number }[] = [];
const gates = new Map<string, { opened: Promise<void>; open(): void }>();
const step = defineTool({
  name: 'step',
  description: 'Takes a step; the first waits until it may, or is told to stop.',
  input: z.object({ n: z.number() }),
  effect: 'keyed',
  async execute({ n }, ctx) {
    began.push({ threadId: ctx.threadId, n });
    const stopped = new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
    if (n === 1) await Promise.race([gates.get(ctx.threadId)?.opened, stopped]);
    return `step ${n}`;
  },
});
const pay = defineTool({ name: 'pay', description: 'Pays.', input: z.object({}), approval: 'always', execute: () => 'paid' });
const agent = defineAgent({ name: 'walker', model: 'test-model', instructions: 'Walk.', tools: [step, pay] });

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ script, agents: [agent], bus: true });
});

const beganIn = (thread: Thread) => began.filter(({ threadId }) => threadId === thread.id).map(({ n }) => n);
const steps = (...ns: number[]) => callTools(ns.map((n) => ({ name: 'step', args: { n }, id: `call_${n}` })));
const wordsOf = (said: string, at: number) => requestsOf(rig, said)[at]?.body.messages.slice(1).map(textOf);
const statusOf = async (thread: Thread) => (await handleOf(thread).describe()).status.name;

async function begin(replies: Reply[], options: { mode?: 'conversation' } = {}) {
  const said = scene(replies);
  const id = `walk-${Math.random().toString(36).slice(2)}`;
  const held = gate();
  gates.set(id, held);
  const thread = await rig.client.start(agent, said, { id, ...options });
  return { thread, said, open: () => held.open() };
}
/** A run in the middle of its first step. */
async function walking(rest: Reply[] = [say('there')], options: { mode?: 'conversation' } = {}, ns = [1]) {
  const begun = await begin([steps(...ns), ...rest], options);
  await until(
    () => beganIn(begun.thread),
    (all) => all.includes(1),
  );
  return begun;
}
/** A run whose model has begun to answer and does not get on. */
async function answering(reply: Reply, rest: (said: string) => Reply, options: { mode?: 'conversation' } = {}) {
  let first = true;
  const said = scene((request) => {
    const stuck = first;
    first = false;
    return stuck ? reply : rest(textOf(request.messages.at(-1)));
  });
  const thread = await rig.client.start(agent, said, options);
  await until(
    () => requestsOf(rig, said).length,
    (n) => n === 1,
  );
  return { thread, said };
}

describe('a message that is sent during a run', () => {
  test('for the next turn is in the next request, after the results, and its sender can follow it there', async () => {
    const { thread, said, open } = await walking();
    const receipt = await ask(thread, 'sendMessage', { input: 'Slower, please.', id: 'm-1' });
    expect(receipt).toEqual({ accepted: true, seq: expect.any(Number), id: 'm-1' });
    expect(await receiptOf(thread, 'm-1')).toEqual({ id: 'm-1', state: 'accepted', seq: receipt.seq });
    open();
    const told = await story(thread);
    expect(wordsOf(said, 1)?.slice(2)).toEqual(['step 1', 'Slower, please.']);
    const runId = told[0]?.runId;
    const injected = told.find((event) => event.type === 'thread.message.created' && event.data.message.id === 'm-1');
    expect(await receiptOf(thread, 'm-1')).toEqual({ id: 'm-1', state: 'injected', seq: injected?.seq, runId, turn: 2 });
  });

  test('with delivery now aborts the running model call: its connection closes, and the next request has the message', async () => {
    const { thread, said } = await answering(stall('On and on'), (words) => say(`heard: ${words}`));
    await ask(thread, 'sendMessage', { input: 'Stop that, do this.', delivery: 'now', id: 'm-1' });
    const told = await story(thread);
    const [request] = requestsOf(rig, said);
    expect(await request?.closed).toBe('by-client');
    const [shell] = ofType(told, 'thread.message.created').filter(({ data }) => data.inProgress);
    expect(ofType(told, 'thread.message.incomplete').map(({ data }) => data)).toMatchObject([
      { stepId: shell?.data.stepId, messageId: shell?.data.message.id, reason: 'superseded' },
    ]);
    expect(wordsOf(said, 1)).toEqual([said, 'Stop that, do this.']);
    expect(told.at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'heard: Stop that, do this.' } });
    expect(await receiptOf(thread, 'm-1')).toMatchObject({ state: 'injected', turn: 2 });
  });

  test('with delivery now also aborts a call that the provider has not begun to answer, and one that waits for a retry', async () => {
    const limited: Reply = { kind: 'body', status: 429, headers: { 'retry-after': '60' }, body: '{}' };
    for (const reply of [hang(), limited]) {
      const { thread, said } = await answering(reply, (words) => say(`heard: ${words}`));
      await ask(thread, 'sendMessage', { input: 'Now!', delivery: 'now' });
      expect((await story(thread)).at(-1)).toMatchObject({ data: { output: 'heard: Now!' } });
      expect(requestsOf(rig, said)).toHaveLength(2);
    }
  });

  test('with delivery now does not stop a tool: it is in the request after it', async () => {
    const { thread, said, open } = await walking();
    await ask(thread, 'sendMessage', { input: 'Now!', delivery: 'now' });
    open();
    const told = await story(thread);
    expect(typesOf(told)).not.toContain('thread.message.incomplete');
    expect(wordsOf(said, 1)?.slice(2)).toEqual(['step 1', 'Now!']);
  });

  test('two with delivery now abort one call after the other, and both are in the transcript', async () => {
    let n = 0;
    const said = scene(() => (++n <= 2 ? stall('On and on') : say('both')));
    const thread = await rig.client.start(agent, said);
    for (const count of [1, 2]) {
      await until(
        () => requestsOf(rig, said).length,
        (length) => length === count,
      );
      await ask(thread, 'sendMessage', { input: `Word ${count}`, delivery: 'now' });
    }
    const told = await story(thread);
    expect(wordsOf(said, 2)).toEqual([said, 'Word 1', 'Word 2']);
    expect(ofType(told, 'thread.message.incomplete')).toHaveLength(2);
  });

  test('with delivery now, for an answer that arrived nevertheless, is in the one request after it', async () => {
    // Either may be first, and now and then the run is over before it is asked: then there is nothing to see.
    for (let tries = 1; ; tries++) {
      const held = gate();
      let asked = 0;
      const said = scene(({ messages }) =>
        ++asked === 1 ? held.opened.then(() => say('first')) : say(`heard: ${textOf(messages.at(-1))}`),
      );
      const thread = await rig.client.start(agent, said);
      await until(
        () => requestsOf(rig, said).length,
        (n) => n === 1,
      );
      const sent = ask(thread, 'sendMessage', { input: 'Now!', delivery: 'now' }).then(
        () => true,
        (error) =>
          /aborted by closing|already completed|closed to new messages/.test(`${error.message} ${error.cause?.message}`)
            ? false
            : Promise.reject(error),
      );
      held.open();
      if (!(await sent) && tries < 20) continue;
      const told = await story(thread);
      expect(told.at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'heard: Now!', turns: 2 } });
      expect(ofType(told, 'thread.message.completed').length + ofType(told, 'thread.message.incomplete').length).toBe(2);
      expect(requestsOf(rig, said)).toHaveLength(2);
      return;
    }
  });

  test('for after the run starts the next one, with settings and limits of its own that end with it', async () => {
    const { thread, said, open } = await walking([say('there'), steps(2), say('there again')], { mode: 'conversation' });
    const later = {
      input: 'Then go back.',
      delivery: 'after-run',
      id: 'm-1',
      settings: { temperature: 0.7 },
      model: 'other',
      limits: { turns: 1 },
    };
    await ask(thread, 'sendMessage', later);
    open();
    const told = await until(
      () => story(thread),
      (events) => ofType(events, 'agent.run.created').length === 2 && events.at(-1)?.type === 'thread.run.incomplete',
    );
    expect(wordsOf(said, 1)).not.toContain('Then go back.');
    expect(wordsOf(said, 2)?.at(-1)).toBe('Then go back.');
    expect(requestsOf(rig, said)[1]?.body).not.toHaveProperty('temperature');
    expect(requestsOf(rig, said)[2]?.body).toMatchObject({ temperature: 0.7, model: 'other' });
    const [, second] = ofType(told, 'agent.run.created');
    expect(second?.data.initialMessages).toMatchObject([{ id: 'm-1' }]);
    expect(told.at(-1)).toMatchObject({ data: { limit: 'turns', max: 1 } });
    await thread.send('And on.');
    await until(
      () => thread.status(),
      ({ status, queued }) => status === 'idle' && queued === 0,
    );
    await until(
      () => requestsOf(rig, said).length,
      (length) => length === 4,
    );
    expect(requestsOf(rig, said)[3]?.body).toMatchObject({ model: 'test-model' });
    expect(requestsOf(rig, said)[3]?.body).not.toHaveProperty('temperature');
    await thread.close();
  });

  test('several for after the run start a run each, in their order', async () => {
    const { thread, open } = await walking([say('0'), say('1'), say('2')], { mode: 'conversation' });
    for (const n of [1, 2]) await ask(thread, 'sendMessage', { input: `Then ${n}.`, delivery: 'after-run', id: `m-${n}` });
    open();
    const told = await until(
      () => story(thread),
      (events) => ofType(events, 'thread.run.completed').length === 3,
    );
    expect(
      ofType(told, 'agent.run.created')
        .map(({ data }) => data.initialMessages.map(({ id }) => id))
        .slice(1),
    ).toEqual([['m-1'], ['m-2']]);
    await thread.close();
  });

  test('is refused if it has an invalid combination of options, with a valid one', async () => {
    const { thread, open } = await walking();
    expect(await refusal(ask(thread, 'sendMessage', { input: 'x', delivery: 'after-run' }))).toMatch(
      /ends with its run.*conversation.*leave out `delivery: "after-run"`/,
    );
    expect(await refusal(ask(thread, 'sendMessage', { input: 'x', model: 'other' }))).toMatch(/model apply.*a run is active.*after-run/);
    expect(await refusal(ask(thread, 'sendMessage', { input: 'x', delivery: 'soon' }))).toMatch(/`delivery` must be one of "next-turn"/);
    expect(await refusal(ask(thread, 'sendMessage', { input: 'x', correlationId: 'c-1' }))).toMatch(/no reply to "c-1" is waited for/);
    open();
    await story(thread);
  });

  test('is taken in once by the id of its sender, however often and on whatever path it arrives', async () => {
    const { thread, said, open } = await walking();
    const first = await ask(thread, 'sendMessage', { input: 'Once.', id: 'm-1' });
    await ask(thread, 'sendMessage', { input: 'Once.', id: 'm-1' });
    await handleOf(thread).signal('sendMessage', { input: 'Once.', id: 'm-1' });
    open();
    const told = await story(thread);
    expect(wordsOf(said, 1)?.filter((words) => words === 'Once.')).toHaveLength(1);
    expect(ofType(told, 'thread.message.queued').map(({ seq }) => seq)).toEqual([first.seq]);
    expect(ofType(told, 'agent.request.rejected')).toEqual([]);
  });

  test('and that a run did not take in before its end is reported to its sender as superseded', async () => {
    const { thread } = await walking();
    await ask(thread, 'sendMessage', { input: 'Too late.', id: 'm-1' });
    await thread.cancel();
    const told = await story(thread);
    const [event] = ofType(told, 'thread.message.superseded');
    expect(event?.data).toMatchObject({ messageId: 'm-1', reason: expect.stringMatching(/the run ended before/) });
    expect(await receiptOf(thread, 'm-1')).toMatchObject({ id: 'm-1', state: 'superseded', seq: event?.seq, reason: event?.data.reason });
    expect(await receiptOf(thread, 'm-2')).toBeNull();
  });

  test('and that a thread did not take in before it was closed, too', async () => {
    const { thread } = await walking([say('there')], { mode: 'conversation' });
    await ask(thread, 'sendMessage', { input: 'Too late.', id: 'm-1', delivery: 'after-run' });
    await ask(thread, 'close', { cancel: true, reason: 'shop is shut' });
    const told = await story(thread);
    expect(ofType(told, 'thread.run.cancelled')[0]?.data).toEqual({ reason: 'shop is shut' });
    expect(await receiptOf(thread, 'm-1')).toMatchObject({ state: 'superseded', reason: expect.stringMatching(/closed/) });
    expect(ofType(told, 'agent.run.created')).toHaveLength(1);
    await until(
      () => statusOf(thread),
      (status) => status === 'COMPLETED',
    );
  });
});

describe('a cancel', () => {
  test('[A113] during the last model call takes effect, although that call would have ended the run', async () => {
    const held = gate();
    const said = scene(() => held.opened.then(() => say('done')));
    const thread = await rig.client.start(agent, said);
    await until(
      () => requestsOf(rig, said).length,
      (n) => n === 1,
    );
    await thread.cancel({ reason: 'no need' });
    held.open();
    expect((await story(thread)).at(-1)).toMatchObject({ type: 'thread.run.cancelled', data: { reason: 'no need' } });
  });

  test('[A111][A112][A113] in the middle of a batch ends it: recorded once, with a terminal event, and the run rejects as cancelled', async () => {
    const { thread } = await walking([say('there')], {}, [1, 2, 3]);
    await thread.cancel({ reason: 'turn back', by: 'dana' });
    const told = await story(thread);
    expect(beganIn(thread)).toEqual([1]);
    expect(told.filter(({ type }) => type === 'thread.run.cancelled')).toHaveLength(1);
    expect(told.at(-1)).toMatchObject({ type: 'thread.run.cancelled', data: { reason: 'turn back', by: 'dana' } });
    expect(await thrownBy(thread.result())).toMatchObject({
      code: 'run-cancelled',
      message: expect.stringMatching(/cancelled.*turn back/),
    });
  });

  test('of a named run that is not the current one is refused with a code', async () => {
    const { thread, open } = await walking();
    expect(await refusal(ask(thread, 'cancel', { runId: 'run_other' }))).toMatch(/run "run_other" is not going on in thread/);
    const { runId } = await thread.status();
    await ask(thread, 'cancel', { runId });
    open();
    expect((await story(thread)).at(-1)?.type).toBe('thread.run.cancelled');
  });

  test("that is Temporal's own ends the run and closes the thread, also while it waits for a person", async () => {
    const { thread } = await begin([callTools([{ name: 'pay', args: {}, id: 'call_p' }])], { mode: 'conversation' });
    await reaches(thread, 'requires_action', 1);
    await handleOf(thread).cancel();
    await until(
      () => statusOf(thread),
      (status) => status === 'CANCELLED',
    );
    expect(typesOf(await story(thread))).toContain('thread.run.cancelled');
    expectPaired(await thread.messages());
  });

  test('that terminates the thread records nothing, so the client creates the terminal event for readers', async () => {
    const { thread } = await walking();
    await handleOf(thread).terminate('the plug was pulled');
    const last = [];
    for await (const event of thread.events({ live: false })) last.push(event);
    expect(last.at(-1)).toMatchObject({ type: 'thread.run.expired', data: { reason: 'terminated' } });
    expect(await thrownBy(thread.result())).toMatchObject({ code: 'thread-terminated' });
  });
});

test('[A106] a run that has ended is not continued: neither by outputs, nor by a decision, nor by a message to a one-shot thread', async () => {
  const { thread } = await begin([say('there')]);
  await thread.result();
  for (const asked of [
    ask(thread, 'sendMessage', { input: 'More!' }),
    ask(thread, 'approve', { toolCallId: 'call_1' }),
    ask(thread, 'submitToolOutputs', { outputs: [{ toolCallId: 'call_1', output: 1 }] }),
  ]) {
    expect(await refusal(asked)).toMatch(/already completed|closed to new messages|does not wait|nothing in thread/);
  }
  const talk = await begin([steps(2), say('there'), say('again')], { mode: 'conversation' });
  await happened(talk.thread, 'thread.run.completed');
  expect(await refusal(ask(talk.thread, 'submitToolOutputs', { outputs: [{ toolCallId: 'call_2', output: 1 }] }))).toMatch(
    /"call_2" was answered already/,
  );
  expect(typesOf(await logOf(talk.thread)).filter((type) => type === 'agent.run.created')).toHaveLength(1);
  await talk.thread.close();
});
