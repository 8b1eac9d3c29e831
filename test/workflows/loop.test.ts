import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import type { Thread } from '../../src/client';
import { type EphemeralEvent, isDurable } from '../../src/core/event';
import { callTools, fail, finish, refuse, say, slowly, type WireMessage, withUsage } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { answerParts } from '../support/answer-parts';
import { collect, type Rig, startRig, until } from '../support/rig';
import { expectInvariants, gate, ofType, requestsOf, roles, scenes, story, thrownBy, typesOf } from './scenes';

const { script, scene } = scenes();

const add = defineTool({
  name: 'add',
  description: 'Adds.',
  input: z.object({ a: z.number(), b: z.number() }),
  effect: 'pure',
  execute: ({ a, b }) => a + b,
});
const look = defineTool({ name: 'look', description: 'Asks outside.', input: z.object({ what: z.string() }) });
const bare = defineAgent({ name: 'bare', model: 'test-model', instructions: 'Be brief.' });
const adder = defineAgent({ name: 'adder', model: 'test-model', instructions: 'Add.', tools: [add, look] });
const short = defineAgent({ name: 'short', model: 'test-model', instructions: 'Add.', tools: [add], limits: { turns: 2 } });

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ script, agents: [bare, adder, short], bus: true });
});

const oneTurn = [
  'agent.run.step.created',
  'thread.message.created',
  'agent.run.status.changed',
  'thread.message.created',
  'thread.message.completed',
];

test('[A1][A2][A5][A9][A10][A11][A13][B16] a run that answers with text has exactly these events, in this order, with one envelope', async () => {
  const thread = await rig.client.start(bare, scene([say('Hello.')]));
  const events = await story(thread);
  expect(typesOf(events)).toEqual(['agent.run.created', ...oneTurn, 'thread.run.completed']);
  for (const event of events) expect(Object.keys(event).sort()).toEqual(['data', 'runId', 'seq', 'threadId', 'timestamp', 'type']);

  const [created, step, user, status, shell, answer, end] = events;
  expect(new Set(events.map((event) => event.runId)).size).toBe(1);
  expect(created?.data).toMatchObject({
    status: 'in_progress',
    initialMessages: [{ role: 'user', content: expect.stringMatching(/^scene/) }],
  });
  expect(step?.data).toEqual({ stepId: `${created?.runId}-turn-1`, turn: 1 });
  expect(user?.data).toMatchObject({ message: { role: 'user' } });
  expect(status?.data).toMatchObject({ status: 'in_progress', details: 'LLM call for turn 1' });
  expect(shell?.data).toMatchObject({ inProgress: true, message: { role: 'assistant', content: [] } });
  expect(answer?.data).toMatchObject({
    message: { role: 'assistant', content: [{ type: 'text', text: 'Hello.' }] },
    finishReason: 'stop',
    model: 'test-model',
  });
  const idOf = (event: unknown) => (event as { data: { message: { id: string } } }).data.message.id;
  expect(idOf(shell)).toBe(idOf(answer));
  expect(end).toMatchObject({
    type: 'thread.run.completed',
    data: { output: 'Hello.', turns: 1, finalMessages: [{ role: 'assistant', content: [{ type: 'text', text: 'Hello.' }] }] },
  });
  expect(roles(await thread.messages())).toEqual(['user', 'assistant']);
});

test('[A5][A6][A7][A8][A9][A14][A29][A30][A31][A79][B9] a run with a tool has exactly these events, and every step its own id', async () => {
  const thread = await rig.client.start(
    adder,
    scene([callTools([{ name: 'add', args: { a: 1, b: 2 }, id: 'call_1' }], 'Let me add.'), say('3')]),
  );
  const events = await story(thread);
  expect(typesOf(events)).toEqual([
    'agent.run.created',
    'agent.run.step.created',
    'thread.message.created',
    'agent.run.status.changed',
    'thread.message.created',
    'thread.run.step.tool_call.created',
    'thread.run.step.tool_call.completed_by_llm',
    'thread.message.completed',
    'agent.tool.execution.started',
    'agent.tool.execution.completed',
    ...oneTurn,
    'thread.run.completed',
  ]);
  const steps = ofType(events, 'agent.run.step.created').map((event) => event.data.stepId);
  expect(new Set(steps).size).toBe(2);
  expect(ofType(events, 'agent.run.status.changed').map(({ data }) => [data.previousStatus, data.status, data.details])).toEqual([
    ['in_progress', 'in_progress', 'LLM call for turn 1'],
    ['in_progress', 'in_progress', 'LLM call for turn 2'],
  ]);
  const [first] = ofType(events, 'thread.message.completed');
  expect(first?.data).toMatchObject({
    finishReason: 'tool_calls',
    message: { content: answerParts('Let me add.', [{ id: 'call_1', name: 'add', arguments: '{"a":1,"b":2}' }]) },
  });

  const messages = await thread.messages();
  expect(roles(messages)).toEqual(['user', 'assistant', 'tool', 'assistant']);
  for (const message of messages) expect(message).toMatchObject({ runId: events[0]?.runId, stepId: expect.stringMatching(/-turn-\d$/) });
  expect(messages[2]).toMatchObject({ toolCallId: 'call_1', name: 'add', content: '3', isError: false });
});

test('[A3][A6][A103][A105] a run that continues with outputs from outside says so, and creates neither a second run nor an old step id', async () => {
  const thread = await rig.client.start(adder, scene([callTools([{ name: 'look', args: { what: 'x' }, id: 'call_x' }]), say('seen')]));
  await until(
    () => thread.pending(),
    (pending) => pending.length === 1,
  );
  await thread.submitToolOutputs([{ toolCallId: 'call_x', output: 'it is blue' }]);
  const events = await story(thread);
  expect(typesOf(events).slice(6)).toEqual([
    'thread.run.step.tool_call.completed_by_llm',
    'thread.message.completed',
    'agent.run.status.changed',
    'thread.run.requires_action',
    'agent.run.status.changed',
    'agent.tool.execution.completed',
    ...oneTurn,
    'thread.run.completed',
  ]);
  expect(ofType(events, 'agent.run.created')).toHaveLength(1);
  expect(ofType(events, 'agent.run.status.changed').map(({ data }) => [data.previousStatus, data.status, data.details])).toEqual([
    ['in_progress', 'in_progress', 'LLM call for turn 1'],
    ['in_progress', 'requires_action', undefined],
    ['requires_action', 'in_progress', 'Continuing run with tool results.'],
    ['in_progress', 'in_progress', 'LLM call for turn 2'],
  ]);
  const steps = ofType(events, 'agent.run.step.created').map((event) => event.data.stepId);
  expect(new Set(steps).size).toBe(steps.length);
  expect(roles(await thread.messages())).toEqual(['user', 'assistant', 'tool', 'assistant']);
});

test('[A10][A12][A29] deltas arrive on the side channel between the message shell and the answer, and together they are the answer', async () => {
  const text = 'The quick brown fox jumps over the lazy dog, twice, and rests.';
  const input = scene([slowly(callTools([{ name: 'add', args: { a: 1, b: 2 } }], text), { chunkMs: 10, chunkSize: 7 }), say('3')]);
  const thread = await rig.client.start(adder, input);
  const events = await collect(thread.events());
  const deltas = events.filter((event): event is EphemeralEvent<'thread.message.delta'> => event.type === 'thread.message.delta');
  const [answer] = ofType(events, 'thread.message.completed');
  const ofFirst = deltas.filter((delta) => delta.data.turn === 1);
  expect(ofFirst.map((delta) => delta.data.contentChunk ?? '').join('')).toBe(text);
  expect(new Set(ofFirst.map((delta) => delta.data.messageId))).toEqual(new Set([answer?.data.message.id]));
  expect(ofFirst.map((delta) => delta.data.index)).toEqual(ofFirst.map((_, i) => i));
  expect(
    ofFirst
      .flatMap((delta) => delta.data.toolCallsChunk ?? [])
      .map((chunk) => chunk.arguments ?? '')
      .join(''),
  ).toBe('{"a":1,"b":2}');
  expect(ofFirst.every((delta) => !('seq' in delta))).toBe(true);
  const types = events.map(({ type }) => type);
  expect(types.indexOf('thread.message.delta')).toBeGreaterThan(
    events.findIndex((event) => event.type === 'thread.message.created' && event.data.inProgress === true),
  );
  // Live, so before the answer is whole.
  expect(events.findIndex((event) => event.type === 'thread.message.delta')).toBeLessThan(
    events.findIndex((event) => event.type === 'thread.message.completed'),
  );
  expectInvariants(events.filter(isDurable), await thread.messages(), thread.id);
});

test('[A139][A141][A149][A158][B10] the model is sent the instructions, the history and new messages, unchanged and in order', async () => {
  const rawArguments = '{ "a": 1,\n "b": 2 }';
  const input = scene([callTools([{ name: 'add', rawArguments, id: 'call_raw' }], 'Adding.'), say('3'), say('Again: 3')]);
  const thread = await rig.client.start(adder, input, { mode: 'conversation' });
  await story(thread);
  await thread.send('And now?');
  await until(
    () => requestsOf(rig, input).length,
    (n) => n === 3,
  );
  const [first, second, third] = requestsOf(rig, input).map(({ body }) => body.messages);
  expect(first?.map((m) => m.role)).toEqual(['system', 'user']);
  expect(first?.[0]?.content).toBe('Add.');
  expect(second?.slice(0, 2)).toEqual(first);
  expect(second?.[2]).toMatchObject({
    role: 'assistant',
    content: 'Adding.',
    tool_calls: [{ id: 'call_raw', function: { name: 'add', arguments: rawArguments } }],
  });
  expect(second?.[3]).toMatchObject({ role: 'tool', tool_call_id: 'call_raw', content: '3' });
  expect(third?.slice(0, 4)).toEqual(second);
  expect(third?.slice(4).map((m) => [m.role, m.content])).toEqual([
    ['assistant', '3'],
    ['user', 'And now?'],
  ]);
  await thread.close();
});

test('[A146][A157][A158] an awaited and a streamed run send the same requests: each message once, in the order in which they were added at the same time', async () => {
  const added = ['first', 'second', 'third'];
  const requests = async (follow: (thread: Thread) => Promise<unknown>) => {
    const held = gate();
    const adding = callTools([{ name: 'add', args: { a: 1, b: 2 }, id: 'call_1' }], 'Adding.');
    const input = scene(({ turn }) => (turn === 0 ? held.opened.then(() => adding) : say('3')));
    const thread = await rig.client.start(adder, input);
    const followed = follow(thread);
    await until(
      () => requestsOf(rig, input).length,
      (n) => n === 1,
    );
    for (const text of added) await thread.send(text);
    held.open();
    await followed;
    const told = await story(thread);
    const taken = ofType(told, 'thread.message.created').filter(({ data }) => added.includes(String(data.message.content)));
    expect(taken).toHaveLength(3);
    expect(new Set(taken.map(({ timestamp }) => timestamp)).size).toBe(1);
    return requestsOf(rig, input).map(({ body }) => JSON.parse(JSON.stringify(body.messages).replaceAll(input, 'the input')));
  };
  const awaited = await requests((thread) => thread.result());
  const streamed = await requests((thread) => collect(thread.events()));
  expect(streamed).toEqual(awaited);
  expect(awaited[1].map(({ role, content }: WireMessage) => [role, content])).toEqual([
    ['system', 'Add.'],
    ['user', 'the input'],
    ['assistant', 'Adding.'],
    ['tool', '3'],
    ...added.map((text) => ['user', text]),
  ]);
});

test('[A219] usage is counted in the events, the run, the thread and the result', async () => {
  const one = { promptTokens: 100, cachedTokens: 60, completionTokens: 20, reasoningTokens: 5 };
  const input = scene([
    withUsage(callTools([{ name: 'add', args: { a: 1, b: 2 } }]), one),
    withUsage(say('3'), { ...one, promptTokens: 150 }),
  ]);
  const thread = await rig.client.start(adder, input);
  const events = await story(thread);
  const total = { inputTokens: 250, cachedInputTokens: 120, cacheWriteTokens: 0, outputTokens: 40, reasoningTokens: 10 };
  expect(ofType(events, 'thread.message.completed').map((event) => event.data.usage.inputTokens)).toEqual([100, 150]);
  expect(ofType(events, 'thread.run.completed')[0]?.data.usage).toEqual(total);
  expect(await thread.usage()).toMatchObject({ thread: total, run: total, runs: 1, turns: 2 });
  expect((await thread.result()).usage).toEqual(total);
});

test('[B6] the model is never called more often than the limit of turns, and the run is incomplete, not failed', async () => {
  const input = scene(() => callTools([{ name: 'add', args: { a: 1, b: 2 } }]));
  const thread = await rig.client.start(short, input);
  const events = await story(thread);
  expect(events.at(-1)).toMatchObject({ type: 'thread.run.incomplete', data: { limit: 'turns', max: 2 } });
  expect(requestsOf(rig, input)).toHaveLength(2);
  expect(await thread.result()).toMatchObject({ status: 'incomplete', turns: 2, reason: expect.stringContaining('2 turns') });

  const overridden = scene(() => callTools([{ name: 'add', args: { a: 1, b: 2 } }]));
  await story(await rig.client.start(short, overridden, { limits: { turns: 3 } }));
  expect(requestsOf(rig, overridden)).toHaveLength(3);
});

test('[B16][B17] the result is the last answer, trimmed', async () => {
  const input = scene([callTools([{ name: 'add', args: { a: 1, b: 2 } }], 'One moment.'), say('\n  It is 3.  \n')]);
  const thread = await rig.client.start(adder, input);
  expect(await thread.result()).toMatchObject({ status: 'completed', output: 'It is 3.' });
  expect((await story(thread)).at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'It is 3.' } });
});

test('[B18] a refusal is the answer', async () => {
  const thread = await rig.client.start(bare, scene([refuse('I would rather not.')]));
  expect(await thread.result()).toMatchObject({ status: 'completed', output: 'I would rather not.' });
  expect((await story(thread)).at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'I would rather not.' } });
});

test('[A13] an answer cut at its length, or filtered, ends the run once, and the partial answer is kept', async () => {
  for (const reason of ['length', 'content_filter']) {
    const thread = await rig.client.start(bare, scene([finish(reason, 'Half a sen')]));
    const events = await story(thread);
    expect(events.at(-1)).toMatchObject({ type: 'thread.run.failed', data: { code: 'llm_finish_reason_error' } });
    expect(await thread.messages()).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: [{ type: 'text', text: 'Half a sen' }] },
    ]);
    expect(await thrownBy(thread.result())).toMatchObject({ code: 'run-failed', runCode: 'llm_finish_reason_error' });
  }
});

test('[A13] a run that fails in the middle of its second turn has one terminal event', async () => {
  const thread = await rig.client.start(adder, scene([callTools([{ name: 'add', args: { a: 1, b: 2 } }]), fail(401)]));
  expect((await story(thread)).at(-1)).toMatchObject({ type: 'thread.run.failed', data: { code: 'auth' } });
});

test('a reader may begin anywhere, and two readers get the same', async () => {
  const held = gate();
  const input = scene(async ({ turn }) => {
    if (turn === 1) await held.opened;
    return turn === 0 ? callTools([{ name: 'add', args: { a: 1, b: 2 } }]) : say('3');
  });
  const thread = await rig.client.start(adder, input);
  const early = collect(thread.events({ live: false }));
  await until(
    () => thread.status(),
    (status) => status.turn === 2,
  );
  const late = collect(thread.events({ from: 8, live: false }));
  held.open();
  const all = await early;
  expect(await late).toEqual(all.slice(7));
  expect(await collect(thread.events({ live: false }))).toEqual(all);
});

test('settings of the run override those of the agent, and reach the provider with its own options', async () => {
  const input = scene([say('ok')]);
  const settings = { temperature: 0.5, maxTokens: 77, toolChoice: 'required' as const, providerOptions: { seed: 7 } };
  await story(await rig.client.start(adder, input, { model: 'other-model', settings }));
  const [request] = requestsOf(rig, input);
  expect(request?.body).toMatchObject({
    model: 'other-model',
    temperature: 0.5,
    max_tokens: 77,
    tool_choice: 'required',
    seed: 7,
    stream: true,
  });
});

test('an image that the provider refuses is left out, so that the thread is not lost with it', async () => {
  const title = scene(({ body }) =>
    JSON.stringify(body).includes('image_url')
      ? fail(400, { message: 'The image could not be decoded.' })
      : say(JSON.stringify(body).includes('[image not shown: the provider refused the request with it]') ? 'no image' : 'nothing'),
  );
  const thread = await rig.client.start(adder, title, { mode: 'conversation' });
  expect(await thread.result()).toMatchObject({ output: 'nothing' });
  await thread.send([{ type: 'image', url: 'data:image/png;base64,iVBORw0KGgo=' }]);
  await until(
    () => thread.usage(),
    ({ runs }) => runs === 2,
  );
  expect(await thread.result()).toMatchObject({ status: 'completed', output: 'no image' });
});

test('an input of text and image reaches the model as parts', async () => {
  const input = scene([say('a cat')]);
  const url = 'data:image/png;base64,iVBORw0KGgo=';
  const thread = await rig.client.start(bare, [
    { type: 'text', text: input },
    { type: 'image', url, detail: 'low' },
  ]);
  expect((await story(thread)).at(-1)).toMatchObject({ type: 'thread.run.completed' });
  expect(requestsOf(rig, input)[0]?.body.messages[1]?.content).toEqual([
    { type: 'text', text: input },
    { type: 'image_url', image_url: { url, detail: 'low' } },
  ]);
});
