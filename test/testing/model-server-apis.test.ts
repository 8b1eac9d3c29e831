import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import type { Message, Usage } from '../../src/core/message';
import type { ModelRequest } from '../../src/models/model';
import { defaultModels } from '../../src/models/registry';
import {
  callTools,
  cut,
  empty,
  errorInStream,
  fail,
  finish,
  type ModelServer,
  refuse,
  type Script,
  say,
  slowly,
  stall,
  startModelServer,
  thinking,
  unfinished,
  withUsage,
} from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { startRig } from '../support/rig';
import { story } from '../workflows/scenes';

let server: ModelServer;
afterEach(() => server?.stop());

const question: Message = { id: 'm1', role: 'user', content: 'add 1 and 2' };
const calls = [
  { id: 'call_1', name: 'add', arguments: '{"a":1}' },
  { id: 'call_2', name: 'add', arguments: '{"a":2}' },
];
const later: Message[] = [
  question,
  {
    id: 'm2',
    role: 'assistant',
    attempt: 1,
    content: [{ type: 'text', text: 'so:' }, ...calls.map((call) => ({ type: 'tool-call' as const, ...call }))],
  },
  ...calls.map(
    ({ id }): Message => ({ id: `r${id}`, role: 'tool', toolCallId: id, name: 'add', content: `result of ${id}`, isError: false }),
  ),
  { id: 'm3', role: 'user', content: 'and now?' },
];

const apis = [
  ['openai/gpt-5', 'chat-completions'],
  ['openai-responses/gpt-5', 'responses'],
  ['anthropic/claude-opus-4-5', 'messages'],
] as const;

/** The answer of the built-in provider of an API, and the request that the server got. */
async function ask(name: string, script: Script, messages: readonly Message[] = [question]) {
  server = await startModelServer(script);
  const options = { baseUrl: server.url, apiKey: 'test' };
  const { provider, model } = defaultModels({ openai: options, anthropic: options }).resolve(name);
  const tools = [{ name: 'add', description: 'Adds.', parameters: { type: 'object' as const, properties: {} } }];
  const request: ModelRequest = { model, instructions: 'Be brief.', messages, tools, settings: {} };
  const deltas: string[] = [];
  const answer = provider.call(request, {
    signal: AbortSignal.timeout(20_000),
    onDelta: (delta) => void (delta.type === 'text' && deltas.push(delta.text)),
  });
  return { answer: await answer, deltas, sent: server.requests[0] };
}

const usage: Usage = { inputTokens: 10, cachedInputTokens: 4, cacheWriteTokens: 0, outputTokens: 6, reasoningTokens: 0 };

describe.each(apis)('for %s the server has the API %s:', (name, api) => {
  test('text, and usage', async () => {
    const counts = { promptTokens: 10, cachedTokens: 4, completionTokens: 6 };
    const { answer, deltas, sent } = await ask(name, [withUsage(slowly(say('Hello, world.'), { chunkMs: 1, chunkSize: 5 }), counts)]);
    expect(answer).toMatchObject({ parts: [{ type: 'text', text: 'Hello, world.' }], finishReason: 'stop', usage });
    expect(deltas).toEqual(['Hello', ', wor', 'ld.']);
    expect(sent?.api).toBe(api);
  });

  test('tool calls after a text, with ids that are the same for the same request', async () => {
    const script: Script = () =>
      callTools(
        [
          { name: 'add', args: { a: 1 } },
          { name: 'add', rawArguments: '{"a":' },
        ],
        'So:',
      );
    const ids: unknown[] = [];
    for (const _ of [1, 2]) {
      const { answer } = await ask(name, script);
      expect(answer.finishReason).toBe('tool_calls');
      expect(answer.parts).toMatchObject([
        { type: 'text', text: 'So:' },
        { type: 'tool-call', name: 'add', arguments: '{"a":1}' },
        { type: 'tool-call', name: 'add', arguments: '{"a":' },
      ]);
      ids.push(answer.parts.map((part) => part.type === 'tool-call' && part.id));
      await server.stop();
    }
    expect(ids[1]).toEqual(ids[0]);
    expect(new Set(ids[0] as string[]).size).toBe(3);
  });

  test('reasoning, a refusal, and an answer that is too long', async () => {
    const thought = (await ask(name, [thinking('Hm.', say('Yes.'))])).answer;
    expect(thought.parts).toMatchObject([
      { type: 'reasoning', text: 'Hm.' },
      { type: 'text', text: 'Yes.' },
    ]);
    await server.stop();
    const refused = (await ask(name, [refuse('No.')])).answer;
    expect(JSON.stringify(refused.parts)).toContain('No.');
    expect(refused.parts[0]?.type === 'refusal' || refused.finishReason === 'content_filter').toBe(true);
    await server.stop();
    expect((await ask(name, [finish('length', 'par')])).answer).toMatchObject({ parts: [{ text: 'par' }], finishReason: 'length' });
  });

  test.each([
    ['a rate limit', fail(429, { headers: { 'retry-after': '2' } }), { kind: 'rate-limit', details: { retryAfterMs: 2_000 } }],
    ['a broken connection', cut('par'), { kind: 'truncated-stream' }],
    ['a stream without its end', unfinished('par'), { kind: 'truncated-stream' }],
    ['an empty answer', empty(), { kind: 'empty' }],
    ['an error in the stream', errorInStream('par', { message: 'the server is on fire' }), { message: expect.stringContaining('on fire') }],
  ])('%s', async (_what, reply, failure) => {
    await expect(ask(name, [reply])).rejects.toMatchObject({ name: 'ModelFailure', ...failure });
  });

  test('a stalled answer stays open', async () => {
    server = await startModelServer([stall('par')]);
    const controller = new AbortController();
    const options = { baseUrl: server.url, apiKey: 'test' };
    const { provider, model } = defaultModels({ openai: options, anthropic: options }).resolve(name);
    const request: ModelRequest = { model, instructions: '', messages: [question], tools: [], settings: {} };
    const onDelta = () => controller.abort(new Error('enough'));
    await expect(provider.call(request, { signal: controller.signal, onDelta })).rejects.toThrow('enough');
    await expect(server.requests[0]?.closed).resolves.toBe('by-client');
  });

  test('the script gets the conversation in one form', async () => {
    const { sent } = await ask(name, [say('Seven.')], later);
    const [system, ...rest] = sent?.messages ?? [];
    expect(system?.content).toBe('Be brief.');
    const expected = [
      { role: 'user', content: 'add 1 and 2' },
      {
        role: 'assistant',
        content: 'so:',
        tool_calls: calls.map(({ id, name: tool, arguments: args }) => ({
          id,
          type: 'function',
          function: { name: tool, arguments: args },
        })),
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'result of call_1' },
      { role: 'tool', tool_call_id: 'call_2', content: 'result of call_2' },
      { role: 'user', content: 'and now?' },
    ];
    expect(rest).toEqual(expected);
    expect(sent?.turn).toBe(1);
  });
});

test('one script by turn runs a thread with tools through each of the APIs', async () => {
  const look = defineTool({ name: 'look', description: 'Looks.', input: z.object({}), effect: 'pure', execute: () => 'a cat' });
  const agent = defineAgent({ name: 'seer', model: 'openai/gpt-5', instructions: 'Be brief.', tools: [look] });
  const script: Script = ({ turn, messages }) =>
    turn === 0 ? callTools([{ name: 'look' }]) : say(`I see ${messages.findLast(({ role }) => role === 'tool')?.content}.`);
  server = await startModelServer(script);
  const options = { baseUrl: server.url, apiKey: 'test' };
  const models = defaultModels({ openai: options, anthropic: options });
  const rig = await startRig({ script: [], agents: [agent], worker: { models } });
  for (const [model] of apis) {
    const told = await story(await rig.client.start('seer', 'Look.', { model }));
    expect(told.at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'I see a cat.', turns: 2 } });
  }
  expect(server.requests.map(({ api, turn }) => [api, turn])).toEqual(
    apis.flatMap(([, api]) => [
      [api, 0],
      [api, 1],
    ]),
  );
});
