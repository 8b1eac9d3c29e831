import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import type { Thread } from '../../src/client';
import type { Receipt } from '../../src/contract/requests';
import type { ThreadInput } from '../../src/contract/thread';
import { sentId } from '../../src/core/call-ids';
import type { DurableEventType } from '../../src/core/event';
import { toolCallsOf } from '../../src/core/message';
import { callTools, say, type WireMessage } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { type Rig, startRig, until } from '../support/rig';
import { executionsOf, handleOf, happened, logOf, reaches } from './asking';
import { ofType, requestsOf, scenes, story, textOf } from './scenes';

const { script, scene } = scenes();
const charges: { threadId: string; key: string; id: string }[] = [];
const charge = defineTool({
  name: 'charge',
  description: 'Charges.',
  input: z.object({ n: z.number() }),
  effect: 'keyed',
  execute({ n }, { threadId, idempotencyKey, toolCallId }) {
    charges.push({ threadId, key: idempotencyKey, id: toolCallId });
    return `charged ${n}: ${'x'.repeat(400)}`;
  },
});
const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  input: z.object({}),
  effect: 'keyed',
  approval: 'always',
  execute: () => 'paid',
});
const agent = defineAgent({ name: 'cashier', model: 'test-model', instructions: 'Charge.', tools: [charge, pay] });

let rig: Rig;
beforeAll(async () => {
  // A turn with a tool counts as about twenty events, so a thread goes on in a new execution after every few turns.
  rig = await startRig({ script, agents: [agent], worker: { continueAsNewAfter: { events: 90, bytes: 4_000_000 } } });
});

/** A conversation whose provider begins to number its calls at `call_1` with every answer. */
async function numbering(options: Partial<ThreadInput> = {}) {
  const input = scene(({ messages }) => {
    if (messages.at(-1)?.role === 'tool') return say('Charged.');
    const both = [1, 2].map((n) => ({ name: 'charge', args: { n }, id: `call_${n}` }));
    // Long enough that a summary is shorter.
    return callTools(both, `I charge. ${'Mind the gap. '.repeat(100)}`);
  });
  const thread = await rig.client.start(agent, input, { mode: 'conversation', ...options });
  return { thread, input };
}
const atRest = (thread: Thread, runs: number) =>
  until(
    async () => ({ ...(await thread.status()), ...(await thread.usage()) }),
    (both) => both.status === 'idle' && both.runs === runs,
  );

test('no idempotency key and no call id occurs twice, however the provider numbers its calls and after compactions', async () => {
  const { thread, input } = await numbering();
  let runs = 1;
  await atRest(thread, runs);
  for (let n = 0; n < 6; n++) {
    if (n % 2 === 1) {
      await thread.compact();
      runs += 1;
      await atRest(thread, runs);
    }
    await thread.send(`Once more, ${n}`);
    runs += 1;
    await atRest(thread, runs);
  }
  const told = await story(thread);
  expect(ofType(told, 'thread.context.compacted').length).toBeGreaterThanOrEqual(3);
  expect((await executionsOf(thread)).length).toBeGreaterThan(1);

  const mine = charges.filter((one) => one.threadId === thread.id);
  expect(mine).toHaveLength(14);
  expect(new Set(mine.map(({ key }) => key)).size).toBe(14);
  const completed = ofType(told, 'agent.tool.execution.completed').map(({ data }) => data.toolCallId);
  expect(completed).toEqual(mine.map(({ id }) => id));
  expect(new Set(completed).size).toBe(14);
  expect(completed.slice(0, 2)).toEqual(['call_1', 'call_2']);

  // What the provider is sent: every call under an id of its own, its own numbers where they are free.
  const last = requestsOf(rig, input).at(-1)?.body.messages ?? [];
  const ids = last.flatMap((message) => message.tool_calls?.map(({ id }) => id) ?? []);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).toContain('call_1');
  expect(last.filter(({ role }) => role === 'tool').map((message) => message.tool_call_id)).toEqual(ids);
  const kept = (await thread.messages()).flatMap((message) => (message.role === 'assistant' ? toolCallsOf(message.content) : []));
  expect(kept.map(sentId)).toEqual(ids);
  await thread.close();
});

test('an approval is for one call, even if the provider gave the same id to a call that was compacted', async () => {
  const input = scene(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? say('x'.repeat(3_000)) : callTools([{ name: 'pay', args: {}, id: 'call_1' }]),
  );
  const thread = await rig.client.start(agent, input, { mode: 'conversation' });
  await reaches(thread, 'requires_action', 1);
  await thread.approve('call_1', { by: 'dana' });
  await atRest(thread, 1);
  await thread.send('Another.');
  await reaches(thread, 'requires_action', 1);
  const [second] = await thread.pending();
  await thread.approve(second?.toolCallId ?? '');
  await atRest(thread, 2);
  await thread.compact();
  await atRest(thread, 3);
  await thread.send('And another.');
  await reaches(thread, 'requires_action', 1);
  const [third] = await thread.pending();
  await expect(thread.approve('call_1')).rejects.toMatchObject({ code: 'request-refused' });
  await thread.approve(third?.toolCallId ?? '', { by: 'lee' });
  await atRest(thread, 4);
  const decided = ofType(await story(thread), 'agent.approval.decided').map(({ data }) => data.toolCallId);
  expect(decided).toEqual(['call_1', second?.toolCallId, third?.toolCallId]);
  expect(new Set(decided).size).toBe(3);
  await thread.close();
});

describe('a request that is sent again under its id', () => {
  const execution = async (thread: Thread) => (await handleOf(thread).describe()).runId;
  /** Sends messages until the thread continues as new and is idle there. */
  async function nextExecution(thread: Thread): Promise<void> {
    const before = await execution(thread);
    for (let n = 0; (await execution(thread)) === before; n++) {
      expect(n).toBeLessThan(20);
      const { runs } = await thread.usage();
      await thread.send(`Go on, ${n}`);
      await atRest(thread, runs + 1);
    }
  }
  /** An idle conversation. On a message that requests it the model calls `pay`, which waits for a person. */
  async function resting() {
    const input = scene(({ messages, turn }) =>
      /^Pay/.test(textOf(messages.at(-1))) ? callTools([{ name: 'pay', args: {}, id: `call_p${turn}` }]) : say('Yes.'),
    );
    const thread = await rig.client.start(agent, input, { mode: 'conversation' });
    await atRest(thread, 1);
    return thread;
  }
  const count = async (thread: Thread, type: DurableEventType) => (await story(thread)).filter((event) => event.type === type).length;

  test('gets the same answer after a change of execution, as update and as signal, and is not carried out again', async () => {
    const thread = await resting();
    const paused = await thread.pause({ id: 'p1', reason: 'wait' });
    const resumed = await thread.resume({ id: 'p1' });
    const compacted = await thread.compact({ id: 'k1', by: 'dana' });
    await atRest(thread, 2);
    const sent = await thread.send('Once', { id: 'm1' });
    await atRest(thread, 3);
    await nextExecution(thread);
    const { seq, runs } = { ...(await thread.status()), ...(await thread.usage()) };

    expect(await thread.pause({ reason: 'wait', id: 'p1' })).toEqual(paused);
    expect(await thread.resume({ id: 'p1' })).toEqual(resumed);
    expect(await thread.compact({ id: 'k1', by: 'dana' })).toEqual(compacted);
    expect(await thread.send('Once', { id: 'm1' })).toEqual(sent);
    expect(sent).toMatchObject({ id: 'm1' });
    await handleOf(thread).signal('pause', { id: 'p1', reason: 'wait' });
    await handleOf(thread).signal('sendMessage', { id: 'm1', input: 'Once' });
    expect(await thread.status()).toMatchObject({ status: 'idle', seq, queued: 0 });
    expect(await thread.usage()).toMatchObject({ runs });
    expect(await count(thread, 'agent.run.paused')).toBe(1);
    await thread.close();
  }, 60_000);

  test('with different content is refused, in any form, also within one execution', async () => {
    const thread = await resting();
    await thread.pause({ id: 'p1', reason: 'wait' });
    await thread.send('Once', { id: 'm1' });
    await expect(thread.pause({ id: 'p1', reason: 'other words' })).rejects.toThrow(
      /the id "p1" was given to another pause before \(event \d+\); give this one an id of its own/,
    );
    await expect(thread.send('Twice', { id: 'm1' })).rejects.toThrow(/the id "m1" was given to another message before/);
    await handleOf(thread).signal('sendMessage', { id: 'm1', input: 'Thrice' });
    const [rejected] = ofType(await happened(thread, 'agent.request.rejected'), 'agent.request.rejected');
    expect(rejected?.data).toMatchObject({ request: 'sendMessage', reason: expect.stringContaining('the id "m1"') });
    await thread.resume();
    await atRest(thread, 2);
    await nextExecution(thread);
    await expect(thread.pause({ id: 'p1' })).rejects.toThrow(/the id "p1" was given to another pause before/);
    const said = (await thread.messages()).map((message) => textOf(message as WireMessage));
    expect(said.filter((text) => /^(Once|Twice|Thrice)$/.test(text))).toEqual(['Once']);
    await thread.close();
  }, 60_000);

  test('does not cancel the next run, nor decide the next call', async () => {
    const thread = await resting();
    await thread.send('Pay 1');
    await reaches(thread, 'requires_action', 1);
    const [first] = await thread.pending();
    const approved = await thread.approve(first?.toolCallId ?? '', { id: 'd1' });
    await atRest(thread, 2);
    await thread.send('Pay 2');
    await reaches(thread, 'requires_action', 1);
    const cancelled = await thread.cancel({ id: 'c1', by: 'dana' });
    await thread.cancel({ id: 'c2' }).catch(() => undefined);
    await atRest(thread, 3);
    await nextExecution(thread);

    await thread.send('Pay 3');
    await reaches(thread, 'requires_action', 1);
    expect(await thread.cancel({ id: 'c1', by: 'dana' })).toEqual(cancelled);
    await handleOf(thread).signal('cancel', { id: 'c1', by: 'dana' });
    expect(await thread.approve(first?.toolCallId ?? '', { id: 'd1' })).toEqual(approved);
    const [third] = await thread.pending();
    await expect(thread.approve(third?.toolCallId ?? '', { id: 'd1' })).rejects.toThrow(/the id "d1" was given to another approve/);
    expect(await thread.status()).toMatchObject({ status: 'requires_action', pending: [{ toolCallId: third?.toolCallId }] });
    await thread.cancel({ id: 'c3' });
    const told = await until(
      () => logOf(thread),
      (events) => ofType(events, 'thread.run.cancelled').length === 1,
    );
    expect(told.at(-1)?.type).toBe('thread.run.cancelled');
    await thread.close();
  }, 60_000);

  test('by a client that missed the answer is carried out once, even if the thread continued as new meanwhile', async () => {
    const thread = await resting();
    const update = (name: string, payload: object) =>
      handleOf(thread).executeUpdate<Receipt, [object]>(name, { args: [payload], updateId: `${name}_once` });
    const sent = await update('sendMessage', { input: 'Hello?' });
    await atRest(thread, 2);
    const closedBefore = await update('pause', {});
    await thread.resume();
    await nextExecution(thread);
    const { seq } = await thread.status();
    expect(await update('sendMessage', { input: 'Hello?' })).toEqual(sent);
    expect(await update('pause', {})).toEqual(closedBefore);
    expect(await thread.status()).toMatchObject({ status: 'idle', seq });
    await thread.close();
  }, 60_000);

  test('may be sent again if it was refused, and two concurrent ones count as one', async () => {
    const thread = await resting();
    await expect(thread.resume({ id: 'r1' })).rejects.toMatchObject({ code: 'request-refused' });
    await thread.pause();
    await thread.resume({ id: 'r1' });
    await thread.send('Pay 1');
    await reaches(thread, 'requires_action', 1);
    const [call] = await thread.pending();
    // An activity checks edited arguments, so neither decision is applied immediately.
    const decision = { toolCallId: call?.toolCallId, arguments: {}, id: 'd1' };
    const receipts = await Promise.all(
      ['a', 'b'].map((updateId) => handleOf(thread).executeUpdate<Receipt, [object]>('approve', { args: [decision], updateId })),
    );
    expect(receipts[0]).toEqual(receipts[1]);
    await atRest(thread, 2);
    expect(await count(thread, 'agent.approval.decided')).toBe(1);
    await thread.close();
  }, 60_000);
});
