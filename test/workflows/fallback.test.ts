import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import { callTools, fail, finish, type Reply, type ScriptRequest, say } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { type Rig, startRig, until } from '../support/rig';
import { ofType, requestsOf, scenes, story, typesOf } from './scenes';

const { script, scene } = scenes();
const pure = defineTool({
  name: 'pure',
  description: 'Echoes.',
  input: z.object({ n: z.number() }),
  effect: 'pure',
  execute: ({ n }) => `${n}`,
});
const retry = { baseMs: 10, maxAttempts: 2 };
const made = (name: string, more: Partial<Parameters<typeof defineAgent>[0]> = {}) =>
  defineAgent({ name, model: ['first', 'openai/second', 'third'], instructions: 'Answer.', tools: [pure], retry, ...more });
const listed = made('listed');
const filtered = made('filtered', { fallbackOnContentFilter: true });

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ script, agents: [listed, filtered] });
});

/** What each model answers, by its name. */
const by = (replies: Record<string, (request: ScriptRequest) => Reply>) => (request: ScriptRequest) =>
  replies[request.body.model]?.(request) ?? say(`${request.body.model} answers`);
const asked = (input: string) => requestsOf(rig, input).map(({ body }) => body.model);
const overloaded = () => fail(503, { message: 'too busy' });

test('the next model of the list answers if one fails after its retries, and continues until the run ends', async () => {
  const input = scene(
    by({
      first: overloaded,
      second: ({ turn }) => (turn === 0 ? callTools([{ name: 'pure', args: { n: 1 } }]) : say('done')),
    }),
  );
  const thread = await rig.client.start(listed, input, { mode: 'conversation' });
  await until(
    () => thread.status(),
    ({ status }) => status === 'idle',
  );
  expect(asked(input)).toEqual(['first', 'first', 'second', 'second']);
  const told = await story(thread);
  expect(typesOf(told)).toContain('agent.llm.fallback');
  expect(ofType(told, 'agent.llm.fallback').map(({ data }) => data)).toEqual([
    {
      stepId: expect.any(String),
      model: 'first',
      nextModel: 'openai/second',
      code: 'overloaded',
      message: expect.stringContaining('too busy'),
    },
  ]);
  // The failed model's message is closed before the next one's begins, and each is announced.
  const shells = told.filter(({ type, data }) => type === 'thread.message.created' && 'inProgress' in data);
  expect(shells).toHaveLength(3);
  expect(ofType(told, 'thread.message.incomplete')).toMatchObject([{ data: { reason: 'failed' } }]);
  expect(ofType(told, 'thread.message.completed').map(({ data }) => data.model)).toEqual(['openai/second', 'openai/second']);
  expect((await thread.messages()).flatMap((message) => (message.role === 'assistant' ? [message.model] : []))).toEqual([
    'openai/second',
    'openai/second',
  ]);

  // A new run begins with the first of the list again.
  await thread.send('again');
  await until(
    () => thread.usage(),
    ({ runs }) => runs === 2,
  );
  await until(
    () => thread.status(),
    ({ status }) => status === 'idle',
  );
  expect(asked(input).slice(4)).toEqual(['first', 'first', 'second']);
  await thread.close();
});

test('if every model fails, the run fails with the error of the last one', async () => {
  const input = scene(
    by({ first: overloaded, second: () => fail(404, { message: 'gone' }), third: () => fail(402, { message: 'no money' }) }),
  );
  const told = await story(await rig.client.start(listed, input));
  expect(asked(input)).toEqual(['first', 'first', 'second', 'third']);
  expect(ofType(told, 'agent.llm.fallback').map(({ data }) => [data.model, data.nextModel, data.code])).toEqual([
    ['first', 'openai/second', 'overloaded'],
    ['openai/second', 'third', 'not-found'],
  ]);
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.failed', data: { code: 'quota', details: { model: 'third' } } });
});

test('an invalid key or request is not passed to another model', async () => {
  for (const [status, code] of [
    [401, 'auth'],
    [400, 'bad-request'],
  ] as const) {
    const input = scene(by({ first: () => fail(status, { message: 'no' }) }));
    const told = await story(await rig.client.start(listed, input));
    expect(asked(input)).toEqual(['first']);
    expect(told.at(-1)).toMatchObject({ type: 'thread.run.failed', data: { code } });
  }
});

test('a content filter switches to another model if the agent says so, even if it stopped an answer that has a cost', async () => {
  const replies = {
    first: () => fail(400, { code: 'content_filter', message: 'filtered' }),
    second: () => finish('content_filter', 'half'),
  };
  const refused = scene(by(replies));
  const before = await story(await rig.client.start(listed, refused));
  expect(before.at(-1)).toMatchObject({ type: 'thread.run.failed', data: { code: 'content-filter' } });

  const input = scene(by(replies));
  const thread = await rig.client.start(filtered, input);
  const told = await story(thread);
  expect(asked(input)).toEqual(['first', 'second', 'third']);
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'third answers' } });
  expect(ofType(told, 'agent.llm.fallback').map(({ data }) => data.code)).toEqual(['content-filter', 'content-filter']);
  // The half answer is in no message, and its tokens are counted.
  expect(JSON.stringify(await thread.messages())).not.toContain('half');
  const [, spent] = ofType(told, 'thread.message.incomplete');
  expect(spent?.data.spent).toMatchObject({ model: 'openai/second', usage: { outputTokens: expect.any(Number) } });
  const { usage } = await thread.result();
  const answered = ofType(told, 'thread.message.completed')[0]?.data.usage.inputTokens ?? 0;
  expect(usage.inputTokens).toBe(answered + (spent?.data.spent?.usage.inputTokens ?? 0));
});

test('the start of a thread may set a list of its own, which overrides that of the agent', async () => {
  const input = scene(by({ fourth: overloaded }));
  const told = await story(await rig.client.start(listed, input, { model: ['fourth', 'fifth'] }));
  expect(asked(input)).toEqual(['fourth', 'fourth', 'fifth']);
  expect(told.at(-1)).toMatchObject({ data: { output: 'fifth answers' } });
  for (const [model, words] of [
    [[], /list of 1 to 10/],
    [['a', ''], /model\[1\] must be a string that is not blank/],
    [['a', 'a'], /twice/],
  ] as const) {
    await expect(rig.client.start(listed, 'x', { model: model as never })).rejects.toThrow(words);
    expect(() => made('wrong', { model: model as never })).toThrow(words);
  }
});
