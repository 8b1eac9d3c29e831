import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModelV2, LanguageModelV3 } from '@ai-sdk/provider';
import type { AnswerPart, Message } from '../../src/core/message';
import { type AiSdkOptions, aiSdk } from '../../src/models/ai-sdk/client';
import type { AiSdkModel, AiSdkSource } from '../../src/models/ai-sdk/spec';
import type { ModelAnswer, ModelDelta, ModelFailure, ModelRequest } from '../../src/models/model';
import { soundAnswer } from '../../src/models/sound-answer';
import { until } from '../support/until';
import { type SseReply, type SseServer, startSseServer } from './sse-server';

let server: SseServer | undefined;
afterEach(() => server?.close());

const key = 'key-of-ours-0123456789';
const tool = { name: 'add', description: 'Adds.', parameters: { type: 'object' as const, properties: { a: { type: 'number' } } } };
const user = (content: Extract<Message, { role: 'user' }>['content']): Message => ({ id: 'u', role: 'user', content });
const answer = (...content: AnswerPart[]): Message => ({ id: 'a', role: 'assistant', content, attempt: 1 });
const request = (more: Partial<ModelRequest> = {}): ModelRequest => ({
  model: 'llama',
  instructions: 'Be brief.',
  messages: [user('hi')],
  tools: [tool],
  settings: {},
  ...more,
});

interface Asking {
  options?: AiSdkOptions;
  more?: Partial<ModelRequest>;
  deltas?: ModelDelta[];
  signal?: AbortSignal;
}

/** Through the real package of OpenAI-compatible servers, over HTTP. */
async function ask(
  reply: SseReply,
  { options, more, deltas = [], signal = new AbortController().signal }: Asking = {},
): Promise<ModelAnswer> {
  server?.close();
  server = await startSseServer(reply);
  const acme = createOpenAICompatible({ name: 'acme', baseURL: `${server.url}/v1`, apiKey: key, includeUsage: true });
  return aiSdk(acme, options).call(request(more), { signal, onDelta: (delta) => deltas.push(delta) });
}

const failureOf = (asked: Promise<ModelAnswer>): Promise<ModelFailure> =>
  asked.then(
    (said) => Promise.reject(new Error(`answered: ${JSON.stringify(said)}`)),
    (error) => error,
  );

const chunk = (delta: object, more: object = {}) => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'llama',
  choices: [{ index: 0, delta, ...more }],
});
const end = (finish_reason: string, usage: object = { prompt_tokens: 10, completion_tokens: 7, total_tokens: 17 }) => [
  chunk({}, { finish_reason }),
  { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'llama', choices: [], usage },
  '[DONE]',
];
const call = (index: number, id: string, ...pieces: string[]) => [
  chunk({ tool_calls: [{ index, id, type: 'function', function: { name: 'add', arguments: '' } }] }),
  ...pieces.map((piece) => chunk({ tool_calls: [{ index, function: { arguments: piece } }] })),
];

test('if a package refuses its options, the failure says which and why', async () => {
  const failure = await failureOf(ask({ events: [] }, { more: { settings: { providerOptions: { acme: { reasoningEffort: 5 } } } } }));
  expect(failure).toMatchObject({ kind: 'bad-request' });
  expect(failure.message).toContain('invalid acme provider options: reasoningEffort: Invalid input: expected string, received number');
});

test('real models of versions 2 and 3, and their providers, are accepted', () => {
  const models = (v2: LanguageModelV2, v3: LanguageModelV3): AiSdkModel[] => [v2, v3];
  const sources = (v2: (id: string) => LanguageModelV2, v3: (id: string) => Promise<LanguageModelV3>): AiSdkSource[] => [
    v2,
    v3,
    createOpenAICompatible({ name: 'acme', baseURL: 'http://localhost' }),
  ];
  expect([models.length, sources.length]).toEqual([2, 2]);
});

describe('through the real package of OpenAI-compatible servers', () => {
  test('text, reasoning, calls and usage arrive, even if the bytes arrive one by one', async () => {
    const events = [
      chunk({ role: 'assistant', reasoning_content: 'Let me ' }),
      chunk({ reasoning_content: 'see.' }),
      chunk({ content: 'I ' }),
      chunk({ content: 'add.' }),
      ...call(0, 'call_a', '{"a"', ':1}'),
      ...call(1, 'call_b', '{"a":2}'),
      ...end('tool_calls', {
        prompt_tokens: 10,
        completion_tokens: 7,
        prompt_tokens_details: { cached_tokens: 4 },
        completion_tokens_details: { reasoning_tokens: 3 },
      }),
    ];
    const deltas: ModelDelta[] = [];
    const expected = {
      parts: [
        { type: 'reasoning', text: 'Let me see.' },
        { type: 'text', text: 'I add.' },
        { type: 'tool-call', id: 'call_a', name: 'add', arguments: '{"a":1}' },
        { type: 'tool-call', id: 'call_b', name: 'add', arguments: '{"a":2}' },
      ],
      finishReason: 'tool_calls',
      usage: { inputTokens: 10, cachedInputTokens: 4, cacheWriteTokens: 0, outputTokens: 7, reasoningTokens: 3 },
    };
    expect(soundAnswer(await ask({ events }, { deltas }))).toEqual(expected);
    expect(soundAnswer(await ask({ events, chunk: 1 }))).toEqual(expected);
    const shown = (type: string) => deltas.flatMap((delta) => (delta.type === type && 'text' in delta ? delta.text : [])).join('');
    expect([shown('reasoning'), shown('text')]).toEqual(['Let me see.', 'I add.']);
    const args = (index: number) =>
      deltas.flatMap((delta) => (delta.type === 'tool-call' && delta.index === index ? (delta.arguments ?? []) : []));
    expect([args(0).join(''), args(1).join('')]).toEqual(['{"a":1}', '{"a":2}']);
    expect(deltas).toContainEqual({ type: 'tool-call', index: 1, id: 'call_b', name: 'add' });
  });

  test('the transcript, the tools and the settings are in its one request', async () => {
    const messages: Message[] = [
      user([
        { type: 'text', text: 'Look.' },
        { type: 'image', url: 'https://example.com/cat.png' },
        { type: 'image', url: 'data:image/png;base64,AAAA' },
      ]),
      answer(
        { type: 'reasoning', text: 'Hm.' },
        { type: 'tool-call', id: 't1', providerId: 'call_a', name: 'add', arguments: '{"a":1}' },
        { type: 'tool-call', id: 't2', name: 'add', arguments: 'no json' },
      ),
      {
        id: 'r1',
        role: 'tool',
        toolCallId: 't1',
        name: 'add',
        content: [{ type: 'image', url: 'data:image/png;base64,BBBB' }],
        isError: false,
      },
      { id: 'r2', role: 'tool', toolCallId: 't2', name: 'add', content: 'bad', isError: true },
      answer({ type: 'text', text: '' }),
      user(''),
      user('And now?'),
    ];
    const settings = {
      temperature: 0.5,
      maxTokens: 100,
      toolChoice: { tool: 'add' },
      reasoningEffort: 'low' as const,
      providerOptions: { topP: 0.9, acme: { user: 'u1' } },
    };
    await ask(
      { events: [chunk({ content: 'ok' }), ...end('stop')] },
      { more: { messages, settings }, options: { headers: { 'x-team': 'blue' } } },
    );
    expect(server?.requests).toHaveLength(1);
    expect(server?.requests[0]?.headers).toMatchObject({ authorization: `Bearer ${key}`, 'x-team': 'blue' });
    expect(server?.requests[0]?.body).toMatchObject({
      model: 'llama',
      stream: true,
      temperature: 0.5,
      max_tokens: 100,
      top_p: 0.9,
      user: 'u1',
      reasoning_effort: 'low',
      tool_choice: { type: 'function', function: { name: 'add' } },
      tools: [{ type: 'function', function: { name: 'add', description: 'Adds.', parameters: tool.parameters } }],
    });
    const note = '(An image or file of this result: in the next message.)';
    const image = (url: string) => ({ type: 'image_url', image_url: { url } });
    expect(server?.requests[0]?.body.messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [{ type: 'text', text: 'Look.' }, image('https://example.com/cat.png'), image('data:image/png;base64,AAAA')],
      },
      {
        role: 'assistant',
        content: null,
        reasoning_content: 'Hm.',
        tool_calls: [
          { id: 'call_a', type: 'function', function: { name: 'add', arguments: '{"a":1}' } },
          { id: 't2', type: 'function', function: { name: 'add', arguments: '{"malformed_arguments":"no json"}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_a', content: note },
      { role: 'tool', tool_call_id: 't2', content: 'bad' },
      { role: 'user', content: [{ type: 'text', text: 'From the result of add:' }, image('data:image/png;base64,BBBB')] },
      { role: 'user', content: 'And now?' },
    ]);
  });

  test('a model without support for schemas gets the schema as text', async () => {
    await ask({ events: [chunk({ content: '{}' }), ...end('stop')] }, { more: { answer: { type: 'object', title: 'Verdict' } } });
    expect(server?.requests[0]?.body.response_format).toEqual({ type: 'json_object' });
    expect(server?.requests[0]?.body.messages[0].content).toContain('"title":"Verdict"');
  });

  test.each<[string, SseReply, string, string]>([
    [
      'a refused key',
      { status: 401, body: { error: { message: `Incorrect API key: ${key}`, code: 'invalid_api_key' } } },
      'auth',
      'acme.chat',
    ],
    [
      'a rate limit',
      { status: 429, body: { error: { message: 'slow down' } }, headers: { 'Retry-After': '7' } },
      'rate-limit',
      'slow down',
    ],
    ['an empty account', { status: 429, body: { error: { message: 'pay', code: 'insufficient_quota' } } }, 'quota', 'pay'],
    [
      'a long conversation',
      { status: 400, body: { error: { message: 'too much', code: 'context_length_exceeded' } } },
      'context-length',
      'too much',
    ],
    ['a plain refusal', { status: 400, body: 'no such field' }, 'bad-request', 'no such field'],
    ['a list of errors', { status: 400, body: [{ error: { message: 'API key not valid' } }] }, 'auth', 'not valid'],
    ['an unknown model', { status: 404, body: { error: 'model not found' } }, 'not-found', 'llama'],
    ['a broken server', { status: 500, body: '<html><title>Oops</title>' }, 'server', 'Oops'],
    ['an overloaded server', { status: 503, body: {} }, 'overloaded', '503'],
    [
      'an overload inside of the stream',
      { events: [{ error: { message: 'Overloaded', type: 'overloaded_error' } }] },
      'overloaded',
      'Overloaded',
    ],
    [
      'an error after the first words',
      { events: [chunk({ content: 'I' }), { error: { message: 'it broke', code: 500 } }] },
      'server',
      'it broke',
    ],
    ['a rate limit in mere words', { events: [{ error: { message: 'Rate limit reached for requests' } }] }, 'rate-limit', 'Rate limit'],
    ['a stream that is cut', { events: [chunk({ content: 'I' })], end: 'cut' }, 'truncated-stream', 'broke off'],
    ['a stream that ends early', { events: [chunk({ content: 'I' })] }, 'truncated-stream', 'finish reason'],
    ['an answer of nothing', { events: end('stop') }, 'empty', 'an empty answer'],
    ['a page in place of a stream', { status: 200, body: 'not a stream' }, 'truncated-stream', 'broke off'],
    ['an event that is no JSON', { events: ['{"a'] }, 'server', 'JSON'],
  ])('%s is reported by its kind', async (_what, reply, kind, words) => {
    const failure = await failureOf(ask(reply, { options: { secrets: [key] } }));
    expect(failure).toMatchObject({ name: 'ModelFailure', kind, message: expect.stringContaining(words) });
    expect(JSON.stringify({ ...failure, message: failure.message, stack: failure.stack })).not.toContain(key);
    expect(failure.cause).toBeUndefined();
    if (kind === 'rate-limit' && failure.details.status === 429) expect(failure.details.retryAfterMs).toBe(7_000);
  });

  test('an unreachable server is a failed connection', async () => {
    const acme = createOpenAICompatible({ name: 'acme', baseURL: 'http://127.0.0.1:9' });
    const failure = await failureOf(aiSdk(acme).call(request(), { signal: new AbortController().signal }));
    expect(failure).toMatchObject({ kind: 'connection', message: expect.stringContaining('acme.chat') });
  });

  test('the connection to a silent server is closed, before its answer and in the middle of it', async () => {
    const options = { firstByteTimeoutMs: 100, idleTimeoutMs: 150 };
    expect(await failureOf(ask({ events: [], end: 'hang' }, { options }))).toMatchObject({ kind: 'timeout' });
    await until('the client hangs up', () => server?.hungUp() === 1);
    expect(await failureOf(ask({ events: [chunk({ content: 'I' })], end: 'hang' }, { options }))).toMatchObject({
      kind: 'timeout',
      message: expect.stringContaining('stalled'),
    });
    await until('the client hangs up', () => server?.hungUp() === 1);
  });

  test('an aborted call closes its connection, and rejects with the reason', async () => {
    const controller = new AbortController();
    const deltas: ModelDelta[] = [];
    const asked = ask({ events: [chunk({ content: 'I' })], end: 'hang' }, { signal: controller.signal, deltas });
    asked.catch(() => {});
    await until('something came', () => deltas.length > 0);
    controller.abort(new Error('enough'));
    await expect(asked).rejects.toThrow('enough');
    await until('the client hangs up', () => server?.hungUp() === 1);
  });
});

test('an error that throws whatever is asked of it ends the call, and not the process', async () => {
  const trap = () => {
    throw 2;
  };
  const error = new Proxy({}, { get: trap, has: trap, getPrototypeOf: trap, ownKeys: trap, getOwnPropertyDescriptor: trap });
  const doStream = () => Promise.reject(error);
  const provider = aiSdk(() => ({ specificationVersion: 'v3', provider: 'odd', modelId: 'm', supportedUrls: {}, doStream }) as never);
  const failure = await failureOf(provider.call(request(), { signal: new AbortController().signal }));
  expect(failure).toMatchObject({ kind: 'server', message: expect.stringContaining("an error that can't be read") });
});
