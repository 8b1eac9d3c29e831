import type {
  LanguageModelV2CallOptions,
  LanguageModelV2StreamPart,
  LanguageModelV3CallOptions,
  LanguageModelV3StreamPart,
} from '@ai-sdk/provider';
import fc from 'fast-check';
import { bounds } from '../../src/core/bounds';
import type { AnswerPart, Message } from '../../src/core/message';
import { type AiSdkOptions, aiSdk } from '../../src/models/ai-sdk/client';
import { promptWriter } from '../../src/models/ai-sdk/prompt';
import type { AiSdkModel } from '../../src/models/ai-sdk/spec';
import { foldParts } from '../../src/models/ai-sdk/stream';
import type { ModelAnswer, ModelDelta, ModelFailure, ModelRequest } from '../../src/models/model';
import { soundAnswer } from '../../src/models/sound-answer';
import { until } from '../support/until';

type Version = 'v2' | 'v3' | 'v4';

const user = (content: Extract<Message, { role: 'user' }>['content']): Message => ({ id: 'u', role: 'user', content });
const answer = (content: AnswerPart[]): Message => ({ id: 'a', role: 'assistant', content, attempt: 1 });
const tool = { name: 'add', description: '', parameters: { type: 'object' as const } };
const request = (more: Partial<ModelRequest> = {}): ModelRequest => ({
  model: 'm',
  instructions: '',
  messages: [user('hi')],
  tools: [],
  settings: {},
  ...more,
});
const usage = { inputTokens: { total: 5, noCache: 1, cacheRead: 3, cacheWrite: 1 }, outputTokens: { total: 2, text: 1, reasoning: 1 } };
const finish: LanguageModelV3StreamPart = { type: 'finish', usage, finishReason: { unified: 'stop', raw: 'stop' } };
const hello: LanguageModelV3StreamPart[] = [
  { type: 'stream-start', warnings: [] },
  { type: 'text-start', id: '0' },
  { type: 'text-delta', id: '0', delta: 'Hello.' },
  { type: 'text-end', id: '0' },
];

interface Made extends AiSdkModel {
  asked: any[];
}

/** A model by hand: it answers with these parts, again and again. */
function model(parts: readonly unknown[], { version = 'v3', provider = 'acme.chat' }: { version?: string; provider?: string } = {}): Made {
  const asked: any[] = [];
  return {
    specificationVersion: version,
    provider,
    modelId: 'm',
    asked,
    async doStream(options) {
      asked.push(options);
      return { stream: ReadableStream.from(parts) as ReadableStream<unknown> };
    },
    doGenerate: () => Promise.reject(new Error('it was to be streamed')),
  };
}

const call = (made: AiSdkModel, more: Partial<ModelRequest> = {}, options: AiSdkOptions = {}, onDelta?: (delta: ModelDelta) => void) =>
  aiSdk(() => made, options).call(request(more), { signal: new AbortController().signal, onDelta });
const answerOf = async (parts: readonly unknown[], more: Partial<ModelRequest> = {}) => soundAnswer(await call(model(parts), more));
const failureOf = (asked: Promise<ModelAnswer>): Promise<ModelFailure> =>
  asked.then(
    (said) => Promise.reject(new Error(`answered: ${JSON.stringify(said)}`)),
    (error) => error,
  );
/** What is asked of a model with this transcript. */
async function promptOf(messages: Message[], version: Version, options: AiSdkOptions = {}) {
  const made = model([...hello, finish], { version });
  await call(made, { messages }, options);
  return made.asked[0].prompt;
}

test('Mistral gets ids of nine letters and digits, and no message of a user directly after results', async () => {
  const calls = ['call_1', 'abcDEF123'].map((id) => ({ type: 'tool-call' as const, id, name: 'add', arguments: '{}' }));
  const results = calls.map(({ id }): Message => ({ id, role: 'tool', toolCallId: id, name: 'add', content: 'x', isError: false }));
  const messages = [user('hi'), answer(calls), ...results, user('and?')];
  const promptFor = async (provider: string) => {
    const made = model([...hello, finish], { provider });
    await call(made, { messages });
    return made.asked[0].prompt as { role: string; content: { toolCallId?: string }[] }[];
  };
  const prompt = await promptFor('mistral.chat');
  expect(prompt.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user']);
  const [first, second] = [1, 2].map((i) => prompt[i]?.content.map(({ toolCallId }) => toolCallId));
  expect(first).toEqual([expect.stringMatching(/^[a-z0-9]{9}$/), 'abcDEF123']);
  expect(second).toEqual(first);
  expect((await promptFor('acme.chat')).map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user']);
});

describe('a request to a model', () => {
  const png = { type: 'image' as const, url: 'data:image/png;base64,AAAA' };
  const pdf = { type: 'file' as const, url: 'https://example.com/a.pdf', mediaType: 'application/pdf', name: 'a.pdf' };
  const text = { type: 'file' as const, url: 'data:text/plain,a%20b', mediaType: 'text/plain' };

  test('files are data or addresses, in the form of each version', async () => {
    const content = [png, pdf, text, { type: 'image' as const, url: 'https://example.com/b', detail: 'low' as const }];
    const plain: LanguageModelV3CallOptions['prompt'] & LanguageModelV2CallOptions['prompt'] = [
      {
        role: 'user',
        content: [
          { type: 'file', data: 'AAAA', mediaType: 'image/png' },
          { type: 'file', data: new URL(pdf.url), mediaType: 'application/pdf', filename: 'a.pdf' },
          { type: 'file', data: 'YSBi', mediaType: 'text/plain' },
          { type: 'file', data: new URL('https://example.com/b'), mediaType: 'image/*', providerOptions: { acme: { imageDetail: 'low' } } },
        ],
      },
    ];
    expect(await promptOf([user(content)], 'v2')).toEqual(plain);
    expect(await promptOf([user(content)], 'v3')).toEqual(plain);
    expect((await promptOf([user(content)], 'v4'))[0].content.map(({ data }: any) => data)).toEqual([
      { type: 'data', data: 'AAAA' },
      { type: 'url', url: new URL(pdf.url) },
      { type: 'data', data: 'YSBi' },
      { type: 'url', url: new URL('https://example.com/b') },
    ]);
  });

  test('files of results are sent with them if configured, in the form of each version', async () => {
    const messages: Message[] = [
      answer([{ type: 'tool-call', id: 'c', name: 'add', arguments: '{}' }]),
      { id: 'r', role: 'tool', toolCallId: 'c', name: 'add', content: [{ type: 'text', text: 'Here.' }, png, pdf], isError: false },
    ];
    const outputOf = async (version: Version) => (await promptOf(messages, version, { filesInResults: true }))[1].content[0].output.value;
    const here = { type: 'text', text: 'Here.' };
    expect(await outputOf('v2')).toEqual([
      here,
      { type: 'media', data: 'AAAA', mediaType: 'image/png' },
      { type: 'text', text: '[File a.pdf (application/pdf): https://example.com/a.pdf]' },
    ]);
    expect(await outputOf('v3')).toEqual([
      here,
      { type: 'image-data', data: 'AAAA', mediaType: 'image/png' },
      { type: 'file-url', url: pdf.url },
    ]);
    expect(await outputOf('v4')).toEqual([
      here,
      { type: 'file', data: { type: 'data', data: 'AAAA' }, mediaType: 'image/png' },
      { type: 'file', data: { type: 'url', url: new URL(pdf.url) }, mediaType: 'application/pdf', filename: 'a.pdf' },
    ]);
  });

  test('a failed tool is sent as a failure, and an empty result as empty', async () => {
    const result = (id: string, content: string, isError: boolean): Message => ({
      id,
      role: 'tool',
      toolCallId: id,
      name: 'add',
      content,
      isError,
    });
    const messages = [
      answer(['a', 'b'].map((id) => ({ type: 'tool-call', id, name: 'add', arguments: '' }))),
      result('a', 'no', true),
      result('b', '', false),
    ];
    const prompt = await promptOf(messages, 'v3');
    expect(prompt).toEqual([
      { role: 'assistant', content: ['a', 'b'].map((id) => ({ type: 'tool-call', toolCallId: id, toolName: 'add', input: {} })) },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: 'a', toolName: 'add', output: { type: 'error-text', value: 'no' } },
          { type: 'tool-result', toolCallId: 'b', toolName: 'add', output: { type: 'text', value: '(no output)' } },
        ],
      },
    ] satisfies LanguageModelV3CallOptions['prompt']);
  });

  test('each message is written once, not in each turn', () => {
    const write = promptWriter({ version: 'v3', provider: 'acme.chat', filesInResults: false });
    const messages = [user('a'), answer([{ type: 'text', text: 'b' }]), user('c')];
    const first = write(messages);
    const second = write([...messages, answer([{ type: 'text', text: 'd' }])]);
    expect(first).toHaveLength(3);
    for (const [i, message] of first.entries()) expect(second[i]).toBe(message);
  });

  test.each<[Version, string]>([
    ['v2', 'provider-defined'],
    ['v3', 'provider'],
    ['v4', 'provider'],
  ])('a hosted tool of version %s is named by its id', async (version, type) => {
    const made = model([...hello, finish], { version });
    const options = { id: 'anthropic.web_search_20250305', args: { maxUses: 2 } };
    await call(made, { hostedTools: [{ name: 'web-search', options }], tools: [tool] });
    expect(made.asked[0].tools).toEqual([
      { type: 'function', name: 'add', inputSchema: tool.parameters },
      { type, id: options.id, name: 'web_search', args: { maxUses: 2 } },
    ]);
  });

  test('a hosted tool without an id, and options without a provider, are refused with the words to write', async () => {
    const made = model([...hello, finish]);
    const hosted = await failureOf(call(made, { hostedTools: [{ name: 'web-search' }] }));
    expect(hosted).toMatchObject({ kind: 'bad-request', message: expect.stringContaining("{ id: 'openai.web_search'") });
    const options = await failureOf(call(made, { settings: { providerOptions: { user: 'u1' } } }));
    expect(options).toMatchObject({ kind: 'bad-request', message: expect.stringContaining('{ acme: { user: … } }') });
    expect(made.asked).toEqual([]);
  });

  test('the effort of reasoning is sent in the form of each version, or in the form of the registered provider', async () => {
    const asked = async (version: Version, options: AiSdkOptions = {}, providerOptions = {}) => {
      const made = model([...hello, finish], { version });
      await call(made, { settings: { reasoningEffort: 'high', providerOptions } }, options);
      return { reasoning: made.asked[0].reasoning, providerOptions: made.asked[0].providerOptions };
    };
    expect(await asked('v2')).toEqual({ providerOptions: { acme: { reasoningEffort: 'high' } } });
    expect(await asked('v3', {}, { acme: { reasoningEffort: null, a: 1 } })).toEqual({ providerOptions: { acme: { a: 1 } } });
    expect(await asked('v4')).toEqual({ reasoning: 'high' });
    const reasoning = (effort: string, name: string) => ({ bedrock: { reasoningConfig: { effort, name } } });
    expect(await asked('v4', { reasoning })).toEqual({ providerOptions: { bedrock: { reasoningConfig: { effort: 'high', name: 'm' } } } });
  });

  test('a schema is sent, and described in text for a model that has ignored it', async () => {
    const warnings = [{ type: 'unsupported', feature: 'responseFormat' }];
    const made = model([{ type: 'stream-start', warnings }, ...hello.slice(1), finish]);
    const provider = aiSdk(() => made);
    const answer = { type: 'object', title: 'Verdict' };
    for (let i = 0; i < 2; i++) await provider.call(request({ answer }), { signal: new AbortController().signal });
    expect(made.asked.map(({ responseFormat }) => responseFormat)).toEqual(Array(2).fill({ type: 'json', schema: answer, name: 'answer' }));
    expect(made.asked.map(({ prompt }) => JSON.stringify(prompt).includes('Verdict'))).toEqual([false, true]);
  });

  test('only supported versions are called', async () => {
    for (const made of [model([], { version: 'v1' }), {} as AiSdkModel, undefined as unknown as AiSdkModel]) {
      expect(await failureOf(call(made))).toMatchObject({ kind: 'bad-request', message: expect.stringContaining('Versions 2 to 4') });
    }
  });
});

describe('a warning that a model ignored part of a request', () => {
  const start = (warning: object) => [{ type: 'stream-start', warnings: [warning] }, ...hello.slice(1), finish];
  const hostedTools = [{ name: 'web-search', options: { id: 'openai.web_search' } }];
  test.each<[string, object, Partial<ModelRequest>]>([
    [
      'a hosted tool, in version 2',
      { type: 'unsupported-tool', tool: { type: 'provider-defined', id: 'openai.web_search' } },
      { hostedTools },
    ],
    ['a hosted tool', { type: 'unsupported', feature: 'provider-defined tool openai.web_search' }, { hostedTools }],
    ['all tools', { type: 'unsupported', feature: 'tools' }, { tools: [tool] }],
    ['one kind of tools', { type: 'unsupported', feature: 'combination of function and provider-defined tools' }, { tools: [tool] }],
    ['the choice of a tool', { type: 'unsupported', feature: 'toolChoice' }, { tools: [tool], settings: { toolChoice: 'required' } }],
    [
      'the choice, in version 2',
      { type: 'unsupported-setting', setting: 'toolChoice' },
      { tools: [tool], settings: { toolChoice: { tool: 'add' } } },
    ],
  ])('%s: the call fails', async (_what, warning, more) => {
    expect(await failureOf(call(model(start(warning)), more))).toMatchObject({
      kind: 'bad-request',
      message: expect.stringContaining('does not support'),
    });
  });

  test.each<[string, object]>([
    ['a temperature', { type: 'unsupported', feature: 'temperature' }],
    ['a setting, in version 2', { type: 'unsupported-setting', setting: 'topP' }],
    ['a choice that is the default', { type: 'unsupported', feature: 'toolChoice' }],
    ['what is done in another way', { type: 'compatibility', feature: 'tools' }],
    ['words', { type: 'other', message: 'tools' }],
  ])('%s: the call goes on', async (_what, warning) => {
    expect(await answerOf(start(warning), { tools: [tool] })).toMatchObject({ parts: [{ text: 'Hello.' }] });
  });
});

describe('an answer', () => {
  test('usage and finish of version 2 are numbers and a text', async () => {
    const parts: LanguageModelV2StreamPart[] = [
      { type: 'text-delta', id: '0', delta: 'Hi.' },
      {
        type: 'finish',
        finishReason: 'length',
        usage: { inputTokens: 4, outputTokens: 6, totalTokens: 10, reasoningTokens: 5, cachedInputTokens: 3 },
      },
    ];
    expect(await call(model(parts, { version: 'v2' }))).toEqual({
      parts: [{ type: 'text', text: 'Hi.' }],
      finishReason: 'length',
      usage: { inputTokens: 4, cachedInputTokens: 3, cacheWriteTokens: 0, outputTokens: 6, reasoningTokens: 5 },
    });
  });

  test.each([
    [{ unified: 'content-filter', raw: 'x' }, 'content_filter'],
    [{ unified: 'tool-calls', raw: 'x' }, 'tool_calls'],
    [{ unified: 'stop', raw: 'pause_turn' }, 'pause'],
    [{ unified: 'other', raw: 'x' }, 'unknown'],
    ['tool-calls', 'tool_calls'],
  ])('the finish reason %j is %s', async (finishReason, expected) => {
    expect(await answerOf([...hello, { ...finish, finishReason }])).toMatchObject({
      finishReason: expected,
      usage: { inputTokens: 5, cachedInputTokens: 3, cacheWriteTokens: 1, outputTokens: 2, reasoningTokens: 1 },
    });
  });

  test('a missing total of usage is the sum of its parts', async () => {
    const pieces = { inputTokens: { noCache: 1, cacheRead: 3, cacheWrite: 1 }, outputTokens: { text: 4, reasoning: 2 } };
    const { usage } = await answerOf([...hello, { ...finish, usage: pieces }]);
    expect(usage).toEqual({ inputTokens: 5, cachedInputTokens: 3, cacheWriteTokens: 1, outputTokens: 6, reasoningTokens: 2 });
  });

  test('an answer without a finish, or without a reason for it, was cut; unless its vendor sends none', async () => {
    expect(await failureOf(call(model(hello)))).toMatchObject({ kind: 'truncated-stream' });
    const reasonless = model([...hello, { ...finish, finishReason: { unified: 'other', raw: undefined } }]);
    expect(await failureOf(call(reasonless))).toMatchObject({ kind: 'truncated-stream' });
    expect(await call(reasonless, {}, { needsFinishReason: false })).toMatchObject({ finishReason: 'unknown' });
    expect(await failureOf(call(model([...hello, { ...finish, finishReason: { unified: 'error', raw: 'x' } }])))).toMatchObject({
      kind: 'server',
    });
  });

  const searched = (id: string, more: object = {}) => [
    { type: 'tool-input-start', id, toolName: 'web_search', providerExecuted: true },
    {
      type: 'tool-call',
      toolCallId: id,
      toolName: 'web_search',
      input: '{"query":"x"}',
      providerExecuted: true,
      providerMetadata: { acme: { item: id } },
      ...more,
    },
  ];
  const found = (id: string, result: unknown = [{ url: 'https://example.com' }]) => ({
    type: 'tool-result',
    toolCallId: id,
    toolName: 'web_search',
    result,
    providerMetadata: { acme: { found: id } },
  });
  const everything = [
    { type: 'stream-start', warnings: [] },
    { type: 'response-metadata', id: 'r', timestamp: new Date() },
    { type: 'raw', rawValue: 1 },
    { type: 'of-a-later-version', text: 'x' },
    { type: 'reasoning-start', id: 'r', providerMetadata: { acme: { item: 'rs' } } },
    { type: 'reasoning-delta', id: 'r', delta: 'Hm.' },
    { type: 'reasoning-end', id: 'r', providerMetadata: { acme: { item: 'rs', signature: 's==' } } },
    { type: 'reasoning-start', id: 'r', providerMetadata: { acme: { redacted: 'x' } } },
    { type: 'reasoning-end', id: 'r' },
    ...searched('s1'),
    ...searched('s2'),
    { ...found('s2', 'early'), preliminary: true },
    found('s2'),
    found('s1'),
    found('s0'),
    { type: 'custom', kind: 'acme.compaction', providerMetadata: { acme: { all: 'x' } } },
    { type: 'reasoning-file', mediaType: 'image/png', data: { type: 'data', data: 'CCCC' } },
    { type: 'text-delta', id: 't', delta: 'So: ', providerMetadata: { acme: { item: 'msg' } } },
    { type: 'text-delta', id: 't', delta: 'yes.' },
    { type: 'source', sourceType: 'url', id: '1', url: 'https://example.com', title: 'Example' },
    { type: 'source', sourceType: 'document', id: '2', mediaType: 'text/plain', title: '', filename: 'a.txt' },
    { type: 'file', mediaType: 'image/png', data: new Uint8Array([0, 0, 0]) },
    { type: 'file', mediaType: 'text/csv', data: { type: 'url', url: new URL('https://example.com/a.csv') } },
    { type: 'tool-call', toolCallId: 'c', toolName: 'add', input: '{}', providerMetadata: { acme: { thought: 't' } } },
    finish,
  ];

  test('the late result of a hosted tool is left out once a shortened transcript has lost its call', async () => {
    const opaque = { provider: 'acme.chat', tool: 'web_search' };
    const part = { type: 'hosted-tool' as const, id: 's0', name: 'search', input: {} };
    const call = answer([{ ...part, opaque }]);
    const result = answer([
      { ...part, output: [], opaque: { ...opaque, isLate: true } },
      { type: 'text', text: 'Found.' },
    ]);
    const typesOf = async (messages: Message[]) =>
      (await promptOf(messages, 'v3')).map(({ content }: { content: { type: string }[] }) => content.map(({ type }) => type));
    expect(await typesOf([call, result])).toEqual([['tool-call'], ['tool-result', 'text']]);
    expect(await typesOf([result])).toEqual([['text']]);
  });

  test('each part is converted, and is sent back as it was received', async () => {
    const hostedTools = [{ name: 'search', options: { id: 'acme.web_search' } }];
    const { parts } = await answerOf(everything, { hostedTools });
    const own = (more: object) => ({ provider: 'acme.chat', ...more });
    const metadata = (acme: object) => own({ metadata: { acme } });
    const hosted = (id: string, behind?: string) => ({
      type: 'hosted-tool',
      id,
      name: 'search',
      input: { query: 'x' },
      output: [{ url: 'https://example.com' }],
      opaque: own({ tool: 'web_search', metadata: { acme: { item: id } }, result: { acme: { found: id } }, ...(behind && { behind }) }),
    });
    const late = { type: 'hosted-tool', id: 's0', name: 'search', input: {}, output: [{ url: 'https://example.com' }] };
    expect(parts).toEqual([
      { type: 'reasoning', text: 'Hm.', opaque: metadata({ item: 'rs', signature: 's==' }) },
      { type: 'reasoning', text: '', opaque: metadata({ redacted: 'x' }) },
      hosted('s1', 's2'),
      hosted('s2'),
      { ...late, opaque: own({ tool: 'web_search', isLate: true, result: { acme: { found: 's0' } } }) },
      { type: 'reasoning', text: '', opaque: { ...metadata({ all: 'x' }), custom: 'acme.compaction' } },
      { type: 'reasoning', text: '', opaque: own({ file: { mediaType: 'image/png', data: 'CCCC' } }) },
      { type: 'text', text: 'So: yes.', opaque: metadata({ item: 'msg' }) },
      { type: 'source', url: 'https://example.com', title: 'Example' },
      { type: 'source', title: 'a.txt' },
      { type: 'image', url: 'data:image/png;base64,AAAA', opaque: own({}) },
      { type: 'file', url: 'https://example.com/a.csv', mediaType: 'text/csv', opaque: own({}) },
      { type: 'tool-call', id: 'c', name: 'add', arguments: '{}', opaque: metadata({ thought: 't' }) },
    ]);
    const { output: _, ...begun } = { ...late, opaque: own({ tool: 'web_search' }) };
    const earlier = answer([begun as AnswerPart]);
    const [, { content }] = await promptOf([earlier, answer(parts)], 'v4');
    const options = (acme: object) => ({ providerOptions: { acme } });
    const called = (id: string) => ({
      type: 'tool-call',
      toolCallId: id,
      toolName: 'web_search',
      input: { query: 'x' },
      providerExecuted: true,
      ...options({ item: id }),
    });
    const outcome = (id: string) => ({
      type: 'tool-result',
      toolCallId: id,
      toolName: 'web_search',
      output: { type: 'json', value: [{ url: 'https://example.com' }] },
      ...options({ found: id }),
    });
    expect(content).toEqual([
      { type: 'reasoning', text: 'Hm.', ...options({ item: 'rs', signature: 's==' }) },
      { type: 'reasoning', text: '', ...options({ redacted: 'x' }) },
      called('s1'),
      called('s2'),
      outcome('s2'),
      outcome('s1'),
      outcome('s0'),
      { type: 'custom', kind: 'acme.compaction', ...options({ all: 'x' }) },
      { type: 'reasoning-file', mediaType: 'image/png', data: { type: 'data', data: 'CCCC' } },
      { type: 'text', text: 'So: yes.', ...options({ item: 'msg' }) },
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AAAA' } },
      { type: 'file', mediaType: 'text/csv', data: { type: 'url', url: new URL('https://example.com/a.csv') } },
      { type: 'tool-call', toolCallId: 'c', toolName: 'add', input: {}, ...options({ thought: 't' }) },
    ]);
  });

  test('data of another AI SDK provider under the same name is not sent back', async () => {
    const { parts } = await answerOf(everything);
    const made = model([...hello, finish], { provider: 'other.chat' });
    await call(made, { messages: [answer(parts)] });
    expect(made.asked[0].prompt).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'So: yes.' },
          { type: 'text', text: '[Image]' },
          { type: 'text', text: '[[File (text/csv): https://example.com/a.csv]]' },
          { type: 'tool-call', toolCallId: 'c', toolName: 'add', input: {} },
        ],
      },
    ]);
  });

  test('calls that share an id are two calls, and each is shown separately', async () => {
    const deltas: ModelDelta[] = [];
    const one = (input: string) => ({ type: 'tool-call', toolCallId: 'c', toolName: 'add', input });
    const { parts } = await call(model([one('{"a":1}'), one('{"a":2}'), finish]), {}, {}, (delta) => deltas.push(delta));
    expect(parts).toMatchObject([{ arguments: '{"a":1}' }, { arguments: '{"a":2}' }]);
    expect(deltas).toMatchObject([
      { index: 0, name: 'add' },
      { index: 0, arguments: '{"a":1}' },
      { index: 1, name: 'add' },
      { index: 1, arguments: '{"a":2}' },
    ]);
  });

  test('a request for approval ends the call, because nobody can give it', async () => {
    const asks = [...searched('s1'), { type: 'tool-approval-request', approvalId: 'a', toolCallId: 's1' }];
    expect(await failureOf(call(model(asks)))).toMatchObject({ kind: 'bad-request', message: expect.stringContaining('approval') });
  });

  test('a model that cannot stream is called for the complete answer', async () => {
    const made = {
      ...model([]),
      doGenerate: async () => ({
        content: [
          { type: 'reasoning', text: 'Hm.' },
          { type: 'text', text: 'Hi.', providerMetadata: { acme: { a: 1 } } },
          everything.at(-2),
        ],
        finishReason: { unified: 'tool-calls', raw: 'tool_calls' },
        usage,
        warnings: [],
      }),
    };
    expect(await call(made, {}, { streaming: false })).toMatchObject({
      parts: [
        { type: 'reasoning', text: 'Hm.' },
        { type: 'text', text: 'Hi.', opaque: { metadata: { acme: { a: 1 } } } },
        { type: 'tool-call', id: 'c' },
      ],
      finishReason: 'tool_calls',
      usage: { inputTokens: 5 },
    });
  });
});

describe('a faulty package', () => {
  const never = new Promise<never>(() => {});

  test.each<[string, () => Partial<AiSdkModel>]>([
    ['in doStream', () => ({ doStream: () => never })],
    ['in its stream', () => ({ doStream: async () => ({ stream: new ReadableStream() }) })],
    ['in a stream whose cancel hangs, too', () => ({ doStream: async () => ({ stream: new ReadableStream({ cancel: () => never }) }) })],
    [
      'after the parts that it makes up itself',
      () => ({ doStream: async () => ({ stream: new ReadableStream({ start: (it) => it.enqueue(hello[0]) }) }) }),
    ],
  ])('it hangs %s and ignores its signal: the call ends', async (_where, part) => {
    const made = { ...model([]), ...part() };
    const patience = { firstByteTimeoutMs: 50, idleTimeoutMs: 50 };
    expect(await failureOf(call(made, {}, patience))).toMatchObject({
      kind: 'timeout',
      message: expect.stringContaining('begin to answer'),
    });
    const controller = new AbortController();
    const reason = new Error('enough');
    setTimeout(() => controller.abort(reason), 50);
    await expect(aiSdk(() => made).call(request(), { signal: controller.signal })).rejects.toBe(reason);
  });

  test('it hangs while it creates the model: the call ends', async () => {
    const provider = aiSdk(() => never, { firstByteTimeoutMs: 50 });
    expect(await failureOf(provider.call(request(), { signal: new AbortController().signal }))).toMatchObject({ kind: 'timeout' });
  });

  test('a stream that arrives after the call has ended is ignored', async () => {
    let cancelled = false;
    const stream = new ReadableStream({
      cancel: () => {
        cancelled = true;
      },
    });
    const made = {
      ...model([]),
      doStream: () => new Promise<{ stream: ReadableStream }>((resolve) => setTimeout(resolve, 100, { stream })),
    };
    await failureOf(call(made, {}, { firstByteTimeoutMs: 20 }));
    await until('the stream is left', () => cancelled);
  });

  test('a stream that does not end after its finish is abandoned', async () => {
    let cancelled = false;
    const stream = new ReadableStream({
      start: (it) => {
        for (const part of [...hello, finish]) it.enqueue(part);
      },
      cancel: () => {
        cancelled = true;
      },
    });
    expect(await call({ ...model([]), doStream: async () => ({ stream }) })).toMatchObject({ finishReason: 'stop' });
    await until('the stream is left', () => cancelled);
  });

  const named = (name: string, more: object = {}) => Object.assign(new Error('words'), { name, ...more });
  const marked = (name: string) => Object.assign(new Error('words'), { [Symbol.for(`vercel.ai.error.${name}`)]: true });
  test.each<[string, unknown, string]>([
    ['a missing key', named('AI_LoadAPIKeyError'), 'auth'],
    ['a missing key, by its marker', marked('AI_LoadAPIKeyError'), 'auth'],
    ['an unknown model', named('AI_NoSuchModelError'), 'not-found'],
    ['what is not supported', named('AI_UnsupportedFunctionalityError'), 'bad-request'],
    ['a prompt that is refused', named('AI_InvalidPromptError'), 'bad-request'],
    ['an empty body', named('AI_EmptyResponseBodyError'), 'truncated-stream'],
    ['an answer of nothing', named('AI_NoContentGeneratedError'), 'empty'],
    ['a chunk that is not understood', named('AI_TypeValidationError', { message: 'incomplete' }), 'server'],
    [
      'a chunk that is an error',
      named('AI_TypeValidationError', { value: { error: { message: 'x', type: 'overloaded_error' } } }),
      'overloaded',
    ],
    ['a cause that says it', new Error('wrapped', { cause: named('AI_LoadAPIKeyError') }), 'auth'],
    ['a response', named('AI_APICallError', { statusCode: 403, responseBody: '{"error":{"message":"no"}}' }), 'permission'],
    ['a response of a gateway', named('GatewayRateLimitError', { statusCode: 429 }), 'rate-limit'],
    ['a body that is nested deeply', named('AI_APICallError', { statusCode: 400, responseBody: '['.repeat(9_000) }), 'bad-request'],
    ['a failed connection', named('AI_APICallError', { isRetryable: true }), 'connection'],
    ['a connection that timed out', new TypeError('fetch failed', { cause: { code: 'UND_ERR_HEADERS_TIMEOUT' } }), 'timeout'],
    ['a refused connection', new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } }), 'connection'],
    ['any error', new Error('odd'), 'bad-request'],
    ['nothing', undefined, 'bad-request'],
    [
      'an object whose fields fail',
      new Proxy(
        {},
        {
          get: () => {
            throw new Error('no');
          },
        },
      ),
      'server',
    ],
  ])('it throws %s, which is reported by its kind', async (_what, error, kind) => {
    const made = { ...model([]), doStream: () => Promise.reject(error) };
    expect(await failureOf(call(made))).toMatchObject({ name: 'ModelFailure', kind });
    expect(
      await failureOf(
        aiSdk(() => {
          throw error;
        }).call(request(), { signal: new AbortController().signal }),
      ),
    ).toMatchObject({ kind });
  });

  test('its errors contain requests, headers and addresses, none of which are shown', async () => {
    const error = named('AI_APICallError', {
      statusCode: 500,
      url: 'https://api.example.com/?key=secret-1',
      requestBodyValues: { prompt: 'secret-2' },
      responseHeaders: { 'set-cookie': 'secret-3' },
      responseBody: '{"error":{"message":"the key secret-4-of-the-vendor is odd"}}',
      cause: new Error('secret-5'),
    });
    const failure = await failureOf(
      call({ ...model([]), doStream: () => Promise.reject(error) }, {}, { secrets: ['secret-4-of-the-vendor'] }),
    );
    expect(failure.message).toContain('the key [key] is odd');
    expect(JSON.stringify({ ...failure, message: failure.message, stack: failure.stack, cause: failure.cause })).not.toContain('secret-');
  });

  test.each<[string, () => Iterable<unknown>, string]>([
    ['text', () => forever({ type: 'text-delta', id: '0', delta: 'x'.repeat(1_000) }), 'its answer has more than 800000 bytes'],
    ['reasoning', () => forever({ type: 'reasoning-delta', id: '0', delta: 'x'.repeat(50_000) }), 'its reasoning has more than'],
    ['arguments', () => [{ type: 'tool-call', toolCallId: 'c', toolName: 'f', input: 'x'.repeat(900_000) }], 'its answer has more than'],
    ['arguments in pieces', () => forever({ type: 'tool-input-delta', id: '0', delta: 'x'.repeat(1_000) }), 'its answer has more than'],
    [
      'calls',
      () => Array.from({ length: 200 }, (_, i) => ({ type: 'tool-call', toolCallId: `${i}`, toolName: 'f', input: '' })),
      'tool calls',
    ],
    ['calls of one id', () => forever({ type: 'tool-call', toolCallId: 'c', toolName: 'f', input: '' }), 'tool calls'],
    ['parts', () => forever({ type: 'text-start', id: '0' }), 'its answer has more than 2000 parts'],
    ['warnings', () => [{ type: 'stream-start', warnings: Array(2_000).fill({}) }], 'a list in an event'],
    ['data to be seen again', () => [{ type: 'custom', providerMetadata: { a: { b: 'x'.repeat(500_000) } } }], 'its opaque data has'],
    ['data in bytes', () => [{ type: 'custom', providerMetadata: { a: { b: new Uint8Array(400_000) } } }], 'its opaque data has'],
    [
      'data of blocks that do not end',
      () => [{ type: 'text-start', id: '0', providerMetadata: { a: { b: Array(2 ** 31) } } }, finish],
      'its opaque',
    ],
    ['a result', () => [{ type: 'tool-result', toolCallId: 'c', toolName: 'f', result: 'x'.repeat(900_000) }], 'its answer has more than'],
    ['a file', () => [{ type: 'file', mediaType: 'image/png', data: new Uint8Array(700_000) }], 'its answer has more than'],
    ['nesting', () => [{ type: 'custom', providerMetadata: JSON.parse(`${'{"a":'.repeat(200)}1${'}'.repeat(200)}`) }], 'levels of nesting'],
    [
      'nesting of an input',
      () => [{ type: 'tool-call', providerExecuted: true, toolCallId: 'c', toolName: 'f', input: `${'['.repeat(200)}${']'.repeat(200)}` }],
      'levels of nesting',
    ],
  ])('it sends more %s than a call takes', async (_what, parts, words) => {
    const failure = await failureOf(
      call({ ...model([]), doStream: async () => ({ stream: ReadableStream.from(parts()) as ReadableStream }) }),
    );
    expect(failure).toMatchObject({ kind: 'too-large', message: expect.stringContaining(words) });
  });

  test('it sends more events than a call takes', () => {
    const fold = foldParts({ request: request(), provider: 'acme.chat', needsFinishReason: true, onSchemaLeftOut: () => {} });
    expect(() => {
      for (const part of forever({ type: 'raw' })) fold.part(part);
    }).toThrow('its stream has more than 500000 events');
  });

  test('metadata that is not JSON is converted to JSON, or refused', async () => {
    const date = new Date(0);
    const metadata = {
      a: {
        date,
        bytes: new Uint8Array([1, 2]),
        big: 3n,
        none: undefined,
        nan: Number.NaN,
        call: () => 1,
        holes: [undefined, 1],
        url: new URL('https://a.b/'),
      },
    };
    Object.defineProperty(metadata, '__proto__', { value: { isAdmin: true }, enumerable: true });
    const { parts } = await answerOf([{ type: 'text-delta', id: '0', delta: 'x', providerMetadata: metadata }, finish]);
    expect(parts[0]?.opaque).toEqual({
      provider: 'acme.chat',
      metadata: { a: { date: date.toISOString(), bytes: 'AQI=', big: '3', nan: null, holes: [null, 1], url: 'https://a.b/' } },
    });
    const cyclic: Record<string, unknown> = {};
    cyclic.itself = cyclic;
    expect(await failureOf(call(model([{ type: 'custom', providerMetadata: cyclic }])))).toMatchObject({ kind: 'too-large' });
    const failing = {
      get a() {
        throw new Error('no');
      },
    };
    expect(await failureOf(call(model([...hello, { type: 'text-delta', id: '1', providerMetadata: failing }, finish])))).toMatchObject({
      kind: 'server',
    });
  });

  test('whatever parts it sends, the result is an answer of plain JSON, or a failure', async () => {
    const types = [
      ...['stream-start', 'error', 'text-start', 'text-delta', 'text-end', 'reasoning-start', 'reasoning-delta', 'reasoning-end', 'custom'],
      ...['tool-input-start', 'tool-input-delta', 'tool-call', 'tool-result', 'file', 'reasoning-file', 'source', 'finish'],
    ];
    const fields = {
      id: fc.anything(),
      toolCallId: fc.anything(),
      toolName: fc.anything(),
      input: fc.anything(),
      delta: fc.anything(),
      data: fc.anything(),
      result: fc.anything(),
    };
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withTypedArray: true,
      withMap: true,
      withNullPrototype: true,
      withSparseArray: true,
    });
    const part = fc.record(
      { type: fc.constantFrom(...types), ...fields, providerMetadata: anything, mediaType: anything, warnings: anything, usage: anything },
      { requiredKeys: ['type'] },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(part, anything), { maxLength: 12 }), async (parts) => {
        try {
          const sound = soundAnswer(await call(model([...hello, ...parts, finish])));
          expect(JSON.parse(JSON.stringify(sound))).toEqual(sound);
          await promptOf([answer(sound.parts)], 'v3');
        } catch (error) {
          expect(error).toMatchObject({ name: 'ModelFailure' });
        }
      }),
    );
  });

  test('long streams do not block others', async () => {
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    const many = Array(100_000).fill({ type: 'text-delta', id: '0', delta: 'x' });
    await call(model([...many, finish]));
    clearInterval(timer);
    expect(turns).toBeGreaterThan(3);
  });
});

function* forever(part: object): Generator<object> {
  for (let i = 0; i <= bounds.streamEvents; i++) yield part;
}

test('a package that changes its input changes neither the messages nor the schemas of later calls', async () => {
  const answering = model([...hello, finish]);
  const prompts: string[] = [];
  const careless: AiSdkModel = {
    ...answering,
    doStream(given: never) {
      const { prompt, tools } = given as { prompt: any[]; tools: any[] };
      prompts.push(JSON.stringify([prompt, tools]));
      for (const message of prompt) {
        for (const part of message.content) if (typeof part === 'object') part.text = 'changed';
        message.role = 'changed';
      }
      for (const { inputSchema } of tools) inputSchema.properties = { changed: {} };
      return answering.doStream(given);
    },
  };
  const provider = aiSdk(() => careless);
  const asked = request({ messages: [user([{ type: 'text', text: 'hi' }])], tools: [tool] });
  for (let i = 0; i < 2; i++) await provider.call(asked, { signal: new AbortController().signal });
  expect(prompts[1]).toBe(prompts[0]);
  expect(tool.parameters).toEqual({ type: 'object' });
});
