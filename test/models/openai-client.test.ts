import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer } from 'node:net';
import type { ModelSettings } from '../../src/core/agent';
import { textOf, toolCallsOf } from '../../src/core/message';
import type { ModelAnswer, ModelDelta, ModelFailure } from '../../src/models/model';
import { type OpenAiOptions, openAi } from '../../src/models/openai/client';
import {
  callTools,
  cut,
  empty,
  errorInStream,
  events,
  fail,
  finish,
  hang,
  type ModelServer,
  notSse,
  type Reply,
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
import { answerParts } from '../support/answer-parts';

let server: ModelServer | undefined;
const raws: Server[] = [];
const wires: TcpServer[] = [];
afterEach(async () => {
  await server?.stop();
  server = undefined;
  for (const raw of raws.splice(0)) raw.close().closeAllConnections();
  for (const wire of wires.splice(0)) wire.close();
});

/** The base URL of a server for what the scripted one can't do. */
async function rawServer(listener: RequestListener): Promise<string> {
  const raw = createServer(listener);
  raws.push(raw);
  await new Promise<void>((resolve) => raw.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(raw.address() as AddressInfo).port}/v1`;
}

/** The result of a call if the server answers with exactly these bytes and closes the connection. */
async function failureOfBytes(bytes: string): Promise<ModelFailure> {
  const wire = createTcpServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.end(bytes, 'latin1'));
  });
  wires.push(wire);
  await new Promise<void>((resolve) => wire.listen(0, '127.0.0.1', resolve));
  const baseUrl = `http://127.0.0.1:${(wire.address() as AddressInfo).port}/v1`;
  return ask([], { options: { baseUrl } }).then(
    (answer) => {
      throw new Error(`answered: ${JSON.stringify(answer)}`);
    },
    (error: ModelFailure) => error,
  );
}

interface Ask {
  options?: OpenAiOptions;
  settings?: ModelSettings;
  signal?: AbortSignal;
  onDelta?: (delta: ModelDelta) => void;
}

const never = new AbortController().signal;
const add = { name: 'add', description: 'Adds.', parameters: { type: 'object' } };

async function ask(script: Script, { options, settings = {}, signal = never, onDelta }: Ask = {}): Promise<ModelAnswer> {
  server ??= await startModelServer(script);
  const provider = openAi({ baseUrl: server.url, ...options });
  return provider.call(
    { model: 'gpt-test', instructions: 'Be brief.', messages: [{ id: 'u', role: 'user', content: 'hi' }], tools: [add], settings },
    { signal, onDelta },
  );
}

/** The failure of a call to a fresh server with this one reply. */
async function failureOf(reply: Reply, options?: Ask): Promise<ModelFailure> {
  await server?.stop();
  server = undefined;
  const failure = await ask([reply], options).then(
    (answer) => {
      throw new Error(`answered: ${JSON.stringify(answer)}`);
    },
    (error: ModelFailure) => error,
  );
  expect(failure.name).toBe('ModelFailure');
  return failure;
}

const chunk = (delta: object, finishReason: string | null = null) => ({ choices: [{ index: 0, delta, finish_reason: finishReason }] });
const until = async (condition: () => unknown) => {
  const deadline = Date.now() + 20_000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error('the condition did not come true within 20 s');
    await new Promise((resolve) => setImmediate(resolve));
  }
};

describe('answers', () => {
  test('text, usage and finish reason are in one answer, of one request, with the key and the headers', async () => {
    const usage = { promptTokens: 10, cachedTokens: 4, completionTokens: 6, reasoningTokens: 2 };
    const options = { apiKey: 'k-123', organization: 'o', project: 'p', headers: { 'x-team': 't' } };
    expect(await ask([withUsage(say('Hello, world, in more than one chunk.'), usage)], { options })).toEqual({
      parts: [{ type: 'text', text: 'Hello, world, in more than one chunk.' }],
      finishReason: 'stop',
      usage: { inputTokens: 10, cachedInputTokens: 4, cacheWriteTokens: 0, outputTokens: 6, reasoningTokens: 2 },
    });
    expect(server?.requests).toHaveLength(1);
    expect(server?.requests[0]?.headers).toMatchObject({
      authorization: 'Bearer k-123',
      'openai-organization': 'o',
      'openai-project': 'p',
      'x-team': 't',
    });
    expect(server?.requests[0]?.body).toMatchObject({ model: 'gpt-test', stream: true, stream_options: { include_usage: true } });
  });

  test('without usage the numbers are zero', async () => {
    expect((await ask([withUsage(say('x'), null)])).usage).toEqual({
      inputTokens: 0,
      cachedInputTokens: 0,
      cacheWriteTokens: 0,
      outputTokens: 0,
      reasoningTokens: 0,
    });
  });

  test('[A28] [A30] text and several calls are returned with their arguments as the model wrote them', async () => {
    const answer = await ask([
      callTools(
        [
          { name: 'add', rawArguments: '{ "a":1 }', id: 'c1' },
          { name: 'add', rawArguments: '{bad', id: 'c2' },
        ],
        'so',
      ),
    ]);
    expect(answer).toMatchObject({
      finishReason: 'tool_calls',
      parts: answerParts('so', [
        { id: 'c1', name: 'add', arguments: '{ "a":1 }' },
        { id: 'c2', name: 'add', arguments: '{bad' },
      ]),
    });
  });

  test('[A27] calls that arrive in small pieces are the same, and their deltas add up to them', async () => {
    const deltas: ModelDelta[] = [];
    const reply = slowly(callTools([{ name: 'add', args: { text: 'é😀' }, id: 'c1' }], 'one two'), { chunkMs: 0, chunkSize: 3 });
    const answer = await ask([reply], { onDelta: (delta) => deltas.push(delta) });
    expect(toolCallsOf(answer.parts)).toEqual([{ id: 'c1', name: 'add', arguments: '{"text":"é😀"}' }]);
    expect(deltas.map((delta) => (delta.type === 'text' ? delta.text : '')).join('')).toBe('one two');
    expect(deltas.map((delta) => (delta.type === 'tool-call' ? (delta.arguments ?? '') : '')).join('')).toBe('{"text":"é😀"}');
  });

  test('[B18] a refusal is an answer, and is streamed as text', async () => {
    const deltas: ModelDelta[] = [];
    const answer = await ask([refuse('I can not do that.')], { onDelta: (delta) => deltas.push(delta) });
    expect(answer).toMatchObject({ parts: [{ type: 'refusal', text: 'I can not do that.' }], finishReason: 'stop' });
    expect(deltas.every((delta) => delta.type === 'text')).toBe(true);
  });

  test('[B20] reasoning precedes the text, under either of its names, and is streamed', async () => {
    const deltas: ModelDelta[] = [];
    const onDelta = (delta: ModelDelta) => deltas.push(delta);
    const replies = [thinking('hmm', say('yes')), events([chunk({ reasoning: 'well' }), chunk({ content: 'no' }, 'stop')])];
    expect((await ask(replies, { onDelta })).parts).toEqual([
      { type: 'reasoning', text: 'hmm' },
      { type: 'text', text: 'yes' },
    ]);
    expect((await ask([], { onDelta })).parts).toEqual([
      { type: 'reasoning', text: 'well' },
      { type: 'text', text: 'no' },
    ]);
    expect(deltas.filter((delta) => delta.type === 'reasoning')).toEqual([
      { type: 'reasoning', text: 'hmm' },
      { type: 'reasoning', text: 'well' },
    ]);
  });

  test('[B20] thoughts among the content parts are reasoning, not text', async () => {
    const thought = { type: 'thinking', thinking: [{ type: 'text', text: 'hmm' }] };
    const replies = [events([chunk({ content: [thought] }), chunk({ content: [{ type: 'text', text: 'yes' }] }, 'stop')])];
    expect((await ask(replies)).parts).toEqual([
      { type: 'reasoning', text: 'hmm' },
      { type: 'text', text: 'yes' },
    ]);
  });

  test.each([
    ['within', { completion_tokens: 9, total_tokens: 19 }, 9],
    ['within, where there is no total', { completion_tokens: 9 }, 9],
    ['beside', { completion_tokens: 9, total_tokens: 23 }, 13],
    ['beside, where there is no total', { completion_tokens: 3 }, 7],
  ])('tokens of reasoning that are counted %s the answer are output', async (_, counts, outputTokens) => {
    const usage = { prompt_tokens: 10, completion_tokens_details: { reasoning_tokens: 4 }, ...counts };
    const answer = await ask([events([chunk({ content: 'x' }, 'stop'), { choices: [], usage }])]);
    expect(answer.usage).toEqual({ inputTokens: 10, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens, reasoningTokens: 4 });
  });

  test('thoughts that only the total counts are output, and sound that only the total counts is not', async () => {
    const counts = { prompt_tokens: 10, completion_tokens: 3, total_tokens: 20 };
    const counting = (usage: object) => events([chunk({ content: 'x' }, 'stop'), { choices: [], usage }]);
    const thought = await ask([counting(counts)]);
    expect(thought.usage).toMatchObject({ inputTokens: 10, outputTokens: 10, reasoningTokens: 7 });
    await server?.stop();
    server = undefined;
    const heard = await ask([counting({ ...counts, prompt_audio_seconds: 1 })]);
    expect(heard.usage).toMatchObject({ inputTokens: 10, outputTokens: 3, reasoningTokens: 0 });
  });

  test.each([
    ['stop', 'stop'],
    ['length', 'length'],
    ['content_filter', 'content_filter'],
    ['function_call', 'tool_calls'],
    ['eos', 'stop'],
    ['a_new_reason', 'unknown'],
  ])('the finish reason %s is %s', async (reason, expected) => {
    expect((await ask([finish(reason, 'x')])).finishReason).toBe(expected);
  });

  test('[A76] a stream that ends with [DONE] and no finish reason is complete, with the reason unknown', async () => {
    expect(await ask([finish(null, 'x')])).toMatchObject({ parts: [{ type: 'text', text: 'x' }], finishReason: 'unknown' });
  });

  test('a finish reason without [DONE] is complete as well, even if the connection breaks directly after it', async () => {
    const complete = [chunk({ content: 'x' }), chunk({}, 'stop')];
    for (const end of ['close', 'cut'] as const) {
      await server?.stop();
      server = undefined;
      expect(await ask([events(complete, end)])).toMatchObject({ parts: [{ type: 'text', text: 'x' }], finishReason: 'stop' });
    }
  });

  test('the timeout for a silent server is shorter after the finish reason than in the middle', async () => {
    expect(await ask([events([chunk({ content: 'x' }, 'stop')], 'silence')], { options: { idleTimeoutMs: 50 } })).toMatchObject({
      parts: [{ type: 'text', text: 'x' }],
    });
    await expect(server?.requests[0]?.closed).resolves.toBe('by-client');
  });

  test('an empty answer because of a limit or a filter is an answer', async () => {
    expect(await ask([finish('length')])).toMatchObject({ parts: [], finishReason: 'length' });
  });

  test('comments, other choices, null deltas and a call in the old form are handled', async () => {
    const odd = [
      { choices: [] },
      { choices: [{ index: 1, delta: { content: 'not this' } }] },
      { choices: [{ index: 0, delta: null }] },
      chunk({ content: [{ type: 'text', text: 'parts' }] }),
      chunk({ function_call: { name: 'add', arguments: '{}' } }, 'function_call'),
    ];
    expect(await ask([events(odd)])).toMatchObject({
      parts: answerParts('parts', [{ id: '', name: 'add', arguments: '{}' }]),
      finishReason: 'tool_calls',
    });
  });

  test('a call in the old form that is empty is none', async () => {
    const none = { content: 'x', function_call: { name: '', arguments: '' } };
    expect(await ask([events([chunk(none, 'stop')])])).toMatchObject({ parts: answerParts('x', []), finishReason: 'stop' });
  });

  test('an error behind the reason why the answer stopped does not undo it', async () => {
    const late = { choices: [], error: { code: 400, message: 'Token limit reached' }, usage: { prompt_tokens: 4, completion_tokens: 2 } };
    expect(await ask([events([chunk({ content: 'x' }, 'length'), late])])).toMatchObject({
      parts: answerParts('x', []),
      finishReason: 'length',
      usage: { inputTokens: 4, outputTokens: 2 },
    });
    expect((await failureOf(events([chunk({ content: 'x' }, 'error'), late]))).kind).toBe('bad-request');
  });

  test('data that a server attaches to a call is kept for the next request', async () => {
    const extra = { google: { thought_signature: 's' } };
    const call = { index: 0, id: 'c', function: { name: 'add', arguments: '{}' }, extra_content: extra };
    expect((await ask([events([chunk({ tool_calls: [call] }, 'tool_calls')])])).parts).toEqual([
      { type: 'tool-call', id: 'c', name: 'add', arguments: '{}', opaque: { extra_content: extra } },
    ]);
  });

  test('connections are reused', async () => {
    const ports = new Set<number | undefined>();
    const body = `data: ${JSON.stringify(chunk({ content: 'x' }, 'stop'))}\n\ndata: [DONE]\n\n`;
    const baseUrl = await rawServer((req, res) => {
      ports.add(req.socket.remotePort);
      req.resume().on('end', () => res.writeHead(200, { 'content-type': 'text/event-stream' }).end(body));
    });
    for (let n = 0; n < 4; n++) {
      await ask([], { options: { baseUrl } });
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(ports.size).toBeLessThan(4);
  });
});

describe('failures by status and code', () => {
  const cases: [string, Reply, string][] = [
    ['[A95] 429', fail(429, { message: 'slow down' }), 'rate-limit'],
    [
      '[B73] 429 that mentions quota only in its message',
      fail(429, { message: 'You exceeded your current quota, please check your plan' }),
      'rate-limit',
    ],
    ['[B73] 429 without a message', fail(429, { message: '' }), 'rate-limit'],
    ['[B82] 429 with a quota code', fail(429, { code: 'insufficient_quota', headers: { 'x-should-retry': 'false' } }), 'quota'],
    ['[B82] 429 with a quota type', fail(429, { type: 'insufficient_quota' }), 'quota'],
    ['402', fail(402), 'quota'],
    ['[A95] [B72] 401', fail(401), 'auth'],
    ['400 about the key', fail(400, { message: 'API key not valid. Please pass a valid API key.' }), 'auth'],
    ['[B82] 403', fail(403), 'permission'],
    ['404', fail(404, { code: 'model_not_found' }), 'not-found'],
    ['400', fail(400, { message: 'unknown parameter' }), 'bad-request'],
    ['422', fail(422), 'bad-request'],
    ['[A95] 400 with the code of a context overflow', fail(400, { code: 'context_length_exceeded' }), 'context-length'],
    [
      '400 with the words of a full context',
      fail(400, { message: "This model's maximum context length is 4096 tokens." }),
      'context-length',
    ],
    [
      '400 with other words for it',
      fail(400, { message: 'The input token count (9) exceeds the maximum number of tokens allowed (8).' }),
      'context-length',
    ],
    ['400 with a type for it', fail(400, { type: 'too_many_prompt_tokens' }), 'context-length'],
    ['413', fail(413), 'context-length'],
    ['400 about a call that the model wrote', fail(400, { code: 'tool_use_failed', type: 'invalid_request_error' }), 'server'],
    ['400 of a filter', fail(400, { code: 'content_filter' }), 'content-filter'],
    ['[B74] 408', fail(408), 'timeout'],
    ['[B75] 504', fail(504), 'timeout'],
    ['[B75] 503', fail(503), 'overloaded'],
    ['529', fail(529, { type: 'overloaded_error' }), 'overloaded'],
    ['500 that says overloaded', fail(500, { message: 'The engine is currently overloaded' }), 'overloaded'],
    ['500', fail(500), 'server'],
    ['502', fail(502), 'server'],
    ['409', fail(409), 'server'],
  ];

  test.each(cases)('%s', async (_, reply, kind) => {
    const failure = await failureOf(reply);
    expect(failure.kind).toBe(kind);
    expect(failure.details.status).toBe(reply.kind === 'body' ? reply.status : undefined);
    expect(failure.message).toContain('The model provider at 127.0.0.1:');
  });

  test('[B88] a failed call is one request: the SDK repeats nothing', async () => {
    for (const reply of [fail(429, { headers: { 'retry-after': '0', 'x-should-retry': 'true' } }), fail(500), cut('x')]) {
      await failureOf(reply);
      expect(server?.requests).toHaveLength(1);
    }
  });

  test.each([
    ['milliseconds', { 'retry-after-ms': '1500' }, 1_500],
    ['seconds', { 'retry-after': '2' }, 2_000],
    ['fractions of a second', { 'retry-after': '0.5' }, 500],
  ])('[A95] [B81] Retry-After in %s is in the details', async (_, headers, expected) => {
    expect((await failureOf(fail(429, { headers: headers as unknown as Record<string, string> }))).details.retryAfterMs).toBe(expected);
    expect((await failureOf(fail(503, { headers: headers as unknown as Record<string, string> }))).details.retryAfterMs).toBe(expected);
  });

  test('[B81] Retry-After as an HTTP date is in the details; a final failure has none', async () => {
    const date = new Date(Date.now() + 30_000).toUTCString();
    const wait = (await failureOf(fail(429, { headers: { 'retry-after': date } }))).details.retryAfterMs ?? 0;
    expect(wait).toBeGreaterThan(25_000);
    expect(wait).toBeLessThanOrEqual(30_000);
    expect((await failureOf(fail(401, { headers: { 'retry-after': '1' } }))).details).toEqual({ status: 401 });
  });

  test('the failure names the model that the provider does not have, and what to check', async () => {
    const { message, details } = await failureOf(fail(404, { code: 'model_not_found', message: 'The model does not exist' }));
    expect(message).toMatch(/has no model 'gpt-test' at this address \(404, model_not_found\): The model does not exist\. Check/);
    expect(details.code).toBe('model_not_found');
  });

  test.each([
    ['beside', '{"object":"error","message":"the words","code":400}'],
    ['as a string', '{"error":"the words"}'],
    ['in a list', '[{"error":{"code":400,"message":"the words","status":"INVALID_ARGUMENT"}}]'],
    ['as a detail', '{"detail":[{"msg":"the words"}]}'],
    ['as plain text', 'the words'],
  ])('messages of servers that put them %s are not lost', async (_, body) => {
    const failure = await failureOf({ kind: 'body', status: 400, headers: { 'content-type': 'application/json' }, body });
    expect(failure.kind).toBe('bad-request');
    expect(failure.message).toContain('the words');
  });

  test.each([
    '{"error":[{"toString":1}]}',
    '{"error":{"toString":1,"message":{"toString":1,"toJSON":1}}}',
    '{"error":{"code":{"toString":1,"valueOf":1},"type":[],"message":"no"}}',
    '{"error":{"code":{"toString":null},"param":{"toString":1}}}',
    '{"error":{"__proto__":{"message":1},"constructor":1,"length":-1}}',
    '[[{"toString":1}]]',
    '{"toString":1,"detail":{"toString":1}}',
    '{"error":1e999}',
    '"\\ud800"',
    'null',
    '0',
  ])('an unusual body does not change the meaning of the status: %s', async (body) => {
    const failure = await failureOf({ kind: 'body', status: 401, headers: { 'content-type': 'application/json' }, body });
    expect(failure).toMatchObject({ kind: 'auth', details: { status: 401 } });
  });

  test.each(['{"toString":1}', '{"code":{"toString":1,"valueOf":1}}', '{"message":{"toString":1}}', '[{"toString":1}]', '7'])(
    'an error of an odd shape in the stream is a failure of the provider: %s',
    async (error) => {
      expect(await failureOf(events([JSON.parse(`{"error":${error}}`)]))).toMatchObject({ kind: 'server' });
    },
  );

  test('[B79] a body that is a web page is reported by its title, an empty one by its status', async () => {
    const html = { 'content-type': 'text/html' };
    const page = await failureOf({ kind: 'body', status: 502, headers: html, body: '<html><title>Bad gateway</title>' });
    expect(page.message).toMatch(/failed \(502\): a web page titled "Bad gateway"$/);
    expect((await failureOf({ kind: 'body', status: 500, headers: {}, body: '' })).message).toMatch(/failed \(500\)$/);
  });

  test('[B86] a message contains no key, no ids of accounts and requests, and at most 500 characters', async () => {
    const message =
      'Incorrect API key provided: sk-abc12***************wxyz of organization org-AbCdEf123456 in proj_AbCdEf1234, ' +
      `my-own-secret-key, user-AbCdEf12345, request ID req_0123456789abcdef (request id: 4f2c-9a-11). Bearer abc.def ${'long '.repeat(200)}`;
    const failure = await failureOf(fail(401, { message }), { options: { apiKey: 'my-own-secret-key' } });
    expect(failure.message.length).toBeLessThanOrEqual(500);
    expect(failure.message).not.toMatch(/sk-abc|wxyz|AbCdEf|own-secret|0123456789|4f2c|abc\.def/);
    expect(failure.message).toContain('Check OPENAI_API_KEY.');
  });
});

describe('a key that a provider repeats', () => {
  const apiKey = '9f3c1d7a5b2e4f60818293a4b5c6d7e8f9a0b1c2d3e4f5061728394a5b6c7d8e';
  const ok = (type: string, text: string): Reply => ({ kind: 'body', status: 200, headers: { 'content-type': type }, body: text });
  const echoes: [string, (before: string) => Reply][] = [
    ['in what is no stream', (before) => ok('text/plain', `${before}${apiKey} end`)],
    ['in an event that is no JSON', (before) => ok('text/event-stream', `data: ${before}${apiKey} end\n\n`)],
    ['in a half event', (before) => ok('text/event-stream', `data: ${before}${apiKey}`)],
    ['in the code of an error', (before) => fail(400, { code: `${before}${apiKey}` })],
    ['in the words of an error', (before) => fail(400, { message: `${before}${apiKey} end` })],
  ];

  test.each(echoes)('is never shown in part, wherever the text is cut: %s', async (_, echo) => {
    for (const filler of ['-', ' ', 'w ']) {
      for (const length of [10, 60, 90, 150, 190, 260, 1_950, 15_980, 19_990]) {
        const { message, details } = await failureOf(echo(filler.repeat(length / filler.length)), { options: { apiKey } });
        expect(message + (details.code ?? '')).not.toContain(apiKey.slice(0, 6));
      }
    }
  });

  test('is also hidden if it was given as a header', async () => {
    const headers = { 'api-key': 'azurekey0123456789', 'proxy-authorization': 'Basic dG9rZW4tb2YtbWluZQ==', 'x-key': 'quo"ted-key' };
    const reply = fail(401, { message: 'no: azurekey0123456789, dG9rZW4tb2YtbWluZQ==, quo"ted-key, {"quo\\"ted-key"}' });
    expect(await failureOf(reply, { options: { headers } })).toMatchObject({
      kind: 'auth',
      message: expect.stringContaining(': no: [key], [key], [key], {"[key]"}. Check'),
    });
  });
});

describe('failures on the wire', () => {
  test('quirk 2: a stream that ends without a finish reason and [DONE] is truncated, not an answer', async () => {
    expect((await failureOf(unfinished('par'))).kind).toBe('truncated-stream');
    expect((await failureOf(events(['{"choices":[{"index":0,"delta":{"content":'], 'close'))).kind).toBe('server');
  });

  test('quirk 3: a connection cut in the middle is truncated', async () => {
    const failure = await failureOf(cut('par'));
    expect(failure.kind).toBe('truncated-stream');
    expect(failure.message).toContain('the connection was lost');
  });

  test('half an event at the end of the stream is truncation too', async () => {
    const half = 'data: {"choices":[{"index":0,"delta":{"con';
    const baseUrl = await rawServer((_, res) => res.writeHead(200, { 'content-type': 'text/event-stream' }).end(half));
    await expect(ask([], { options: { baseUrl } })).rejects.toMatchObject({ kind: 'truncated-stream' });
  });

  test('[B74] quirk 4: a stream that stalls is given up after the idle timeout, and its socket is closed', async () => {
    const failure = await failureOf(stall('par'), { options: { idleTimeoutMs: 60 } });
    expect(failure.kind).toBe('timeout');
    expect(failure.message).toContain('no data for 0.06 s');
    await expect(server?.requests[0]?.closed).resolves.toBe('by-client');
  });

  test('quirk 4: a slow stream has not stalled, however long it takes', async () => {
    const reply = slowly(say('x'.repeat(30)), { chunkMs: 100, chunkSize: 1 });
    expect(textOf((await ask([reply], { options: { idleTimeoutMs: 2_000, firstByteTimeoutMs: 2_000 } })).parts)).toHaveLength(30);
  });

  test('[B74] a server that never begins to answer is given up after the first-byte timeout', async () => {
    const failure = await failureOf(hang(), { options: { firstByteTimeoutMs: 1_000 } });
    expect(failure.kind).toBe('timeout');
    expect(failure.message).toContain('did not begin to answer within 1 s');
    await expect(server?.requests[0]?.closed).resolves.toBe('by-client');
  });

  test.each([
    [{ message: 'The server is overloaded', type: 'server_error' }, 'overloaded'],
    [{ message: 'boom', code: 'server_error' }, 'server'],
    [{ message: 'slow down', code: 'rate_limit_exceeded' }, 'rate-limit'],
    [{ message: 'no', code: 429 as never }, 'rate-limit'],
    [{ message: 'too much', code: 'context_length_exceeded' }, 'context-length'],
    [{ message: 'no money', code: 'insufficient_quota' }, 'quota'],
    [{ message: 'no such call', code: 'tool_use_failed', type: 'invalid_request_error' }, 'server'],
  ])('quirk 5: an error in the stream is classified by its content: %j', async (error, kind) => {
    const failure = await failureOf(errorInStream('par', error));
    expect(failure.kind).toBe(kind);
    expect(failure.message).toContain(error.message);
  });

  test('quirk 6: failures differ by kind, and have a name of their own', async () => {
    const failure = await failureOf(fail(429));
    expect([failure.name, failure.kind]).toEqual(['ModelFailure', 'rate-limit']);
  });

  test('[B79] quirk 8: a success response that is no event stream is a failure that says what was received', async () => {
    const page = await failureOf(notSse('<html><title>Sign in</title></html>'));
    expect(page.kind).toBe('server');
    expect(page.message).toMatch(/it sent text\/html instead of an event stream.*OPENAI_BASE_URL/);
    expect((await failureOf(notSse('{"ok":true}', 'application/json'))).message).toContain('{"ok":true}');
    expect((await failureOf(notSse('{"error":{"message":"bad key","code":"invalid_api_key"}}', 'application/json'))).kind).toBe('auth');
    expect((await failureOf(notSse('', 'text/event-stream'))).kind).toBe('truncated-stream');
    expect((await failureOf(notSse('x'.repeat(2_000_000), 'text/plain'))).kind).toBe('server');
  });

  test('[B79] a piece of the stream that is not JSON is a failure with a message', async () => {
    const failure = await failureOf(events([chunk({ content: 'x' }), 'oops', chunk({}, 'stop')]));
    expect(failure.kind).toBe('server');
    expect(failure.message).toContain('not a JSON object: oops');
  });

  test('[B75] an answer without content is empty', async () => {
    expect((await failureOf(empty())).kind).toBe('empty');
    expect((await failureOf(thinking('only thoughts', empty()))).kind).toBe('empty');
  });

  test('an unreachable server is a connection failure that names the address and the remedy', async () => {
    const gone = await startModelServer([]);
    await gone.stop();
    const failure = await ask([], { options: { baseUrl: gone.url } }).catch((error) => error);
    expect(failure).toMatchObject({
      kind: 'connection',
      message: expect.stringMatching(/at 127\.0\.0\.1:\d+ can't be reached: ECONNREFUSED\. Check/),
    });
  });

  test('a server that closes the connection before it answers is a connection failure', async () => {
    const baseUrl = await rawServer((req) => req.socket.destroy());
    await expect(ask([], { options: { baseUrl } })).rejects.toMatchObject({ kind: 'connection' });
  });
});

describe('status lines', () => {
  const body = 'Content-Length: 2\r\n\r\nno';

  test.each(['000', '099', '101', '600', '999'])(
    'with a status that a response can not have are a failure that passes: %s',
    async (status) => {
      const failure = await failureOfBytes(`HTTP/1.1 ${status} Odd\r\n${body}`);
      expect(failure).toMatchObject({ name: 'ModelFailure', kind: 'server' });
      expect(failure.message).toContain(`it answered with the invalid status ${Number(status)}`);
    },
  );

  test('with an unrequested upgrade are a failure', async () => {
    const failure = await failureOfBytes('HTTP/1.1 101 Odd\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
    expect(failure).toMatchObject({ name: 'ModelFailure', kind: 'server', message: expect.stringContaining('the invalid status 101') });
  });

  test('with an invalid reason are accepted', async () => {
    const failure = await failureOfBytes(`HTTP/1.1 503 A\x01\x7f\xffB\r\n${body}`);
    expect(failure).toMatchObject({ kind: 'overloaded', details: { status: 503 } });
  });

  test('of a response without a body are reported by their status', async () => {
    expect(await failureOfBytes('HTTP/1.1 304 Not Modified\r\n\r\n')).toMatchObject({ kind: 'server', details: { status: 304 } });
  });
});

describe('abort', () => {
  test.each<[string, Reply, number]>([
    ['before the answer', hang(), 0],
    ['quirk 1: in the middle of the stream', slowly(say('x'.repeat(10_000)), { chunkMs: 100, chunkSize: 1 }), 1],
    ['while the stream stalls', stall('par'), 1],
  ])(
    '[A98] %s the call rejects with the reason, and the socket is closed although the answer would continue for minutes',
    async (_, reply, deltas) => {
      const controller = new AbortController();
      const seen: ModelDelta[] = [];
      const call = ask([reply], { signal: controller.signal, onDelta: (delta) => seen.push(delta) }).catch((error) => error);
      await until(() => server?.requests.length === 1 && seen.length >= deltas);
      const reason = new Error('my reason');
      controller.abort(reason);
      expect(await call).toBe(reason);
      await expect(server?.requests[0]?.closed).resolves.toBe('by-client');
    },
  );

  test('[B84] an abort takes precedence over the failure that it causes, and over an answer that is already complete', async () => {
    const controller = new AbortController();
    const onDelta = () => controller.abort('stop');
    await expect(ask([cut('par'), say('x')], { signal: controller.signal, onDelta })).rejects.toBe('stop');
    const second = new AbortController();
    await expect(ask([], { signal: second.signal, onDelta: () => second.abort('stop') })).rejects.toBe('stop');
  });

  test('a call that is aborted before it begins sends nothing', async () => {
    await expect(ask([say('x')], { signal: AbortSignal.abort('early') })).rejects.toBe('early');
    expect(server?.requests).toHaveLength(0);
  });

  test('after a call no listener is left on the signal', async () => {
    const controller = new AbortController();
    const removed = jest.spyOn(controller.signal, 'removeEventListener');
    const added = jest.spyOn(controller.signal, 'addEventListener');
    await ask([say('x')], { signal: controller.signal });
    expect(added.mock.calls.length).toBe(removed.mock.calls.length);
  });
});

describe('set-up', () => {
  const request = { model: 'm', instructions: '', messages: [], tools: [], settings: {} };
  const failure = (options: OpenAiOptions) =>
    openAi(options)
      .call(request, { signal: never })
      .catch((error) => error);

  test("[B78] a missing key for the provider's own address fails immediately and says what to set", async () => {
    expect(await failure({})).toMatchObject({
      name: 'ModelFailure',
      kind: 'auth',
      message: expect.stringMatching(/OPENAI_API_KEY.*OPENAI_BASE_URL/),
    });
    expect(await failure({ baseUrl: 'https://eu.api.openai.com/v1' })).toMatchObject({ kind: 'auth' });
  });

  test('another address needs no key, and the environment is not used', async () => {
    process.env.OPENAI_API_KEY = 'from-the-environment';
    try {
      await ask([say('x')]);
      expect(server?.requests[0]?.headers.authorization).toBe('Bearer no-key');
      expect(await failure({})).toMatchObject({ kind: 'auth' });
    } finally {
      delete process.env.OPENAI_API_KEY;
    }
  });

  test('an invalid base URL, an invalid key and options that are not JSON are failures with a message', async () => {
    expect(await failure({ baseUrl: 'localhost:1234' })).toMatchObject({
      kind: 'bad-request',
      message: expect.stringContaining('OPENAI_BASE_URL'),
    });
    const odd = await ask([], { options: { apiKey: 'secret-\n-key…' } }).catch((error) => error);
    expect(odd).toMatchObject({ name: 'ModelFailure', kind: 'bad-request' });
    expect(odd.message).not.toContain('secret-');
    const big = await ask([], { settings: { providerOptions: { n: 1n as never } } }).catch((error) => error);
    expect(big).toMatchObject({ name: 'ModelFailure', kind: 'bad-request' });
  });

  test('the token limit has the name that the server expects', async () => {
    await ask([say('x')], { settings: { maxTokens: 5 } });
    expect(server?.requests[0]?.body).toMatchObject({ max_tokens: 5 });
  });

  test('quirks 7 and 9: the SDK idempotency option is not used, and schemas are sent unchanged', async () => {
    await ask([say('x')]);
    expect(server?.requests[0]?.headers).not.toHaveProperty('idempotency-key');
    expect(server?.requests[0]?.body.tools?.[0]?.function).toEqual(add);
  });
});
