import type Anthropic from '@anthropic-ai/sdk';
import fc from 'fast-check';
import { z } from 'zod';
import { bounds } from '../../src/core/bounds';
import type { JsonObject } from '../../src/core/json';
import type { AnswerPart, Message } from '../../src/core/message';
import { type AnthropicOptions, anthropic } from '../../src/models/anthropic/client';
import { encodeRequest } from '../../src/models/anthropic/request';
import { foldStream } from '../../src/models/anthropic/stream';
import type { ModelDelta, ModelFailure, ModelRequest } from '../../src/models/model';
import { soundAnswer } from '../../src/models/sound-answer';
import { until } from '../support/until';
import { type SseReply, type SseServer, startSseServer } from './sse-server';

let server: SseServer | undefined;
afterEach(() => server?.close());

const model = 'claude-sonnet-5';
const tool = { name: 'add', description: 'Adds.', parameters: { type: 'object' as const, properties: { a: { type: 'number' } } } };
const request = (messages: Message[], more: Partial<ModelRequest> = {}): ModelRequest => ({
  model,
  instructions: 'Be brief.',
  messages,
  tools: [tool],
  settings: {},
  ...more,
});
const user = (content: Extract<Message, { role: 'user' }>['content']): Message => ({ id: 'u', role: 'user', content });
const answer = (...content: AnswerPart[]): Message => ({ id: 'a', role: 'assistant', content, attempt: 1, model: `anthropic/${model}` });
const result = (toolCallId: string, content: Extract<Message, { role: 'tool' }>['content'], isError = false): Message => ({
  id: `r-${toolCallId}`,
  role: 'tool',
  toolCallId,
  name: 'add',
  content,
  isError,
});
const build = (messages: Message[], more: Partial<ModelRequest> = {}, caching = false): Anthropic.MessageCreateParamsStreaming =>
  JSON.parse(Buffer.from(encodeRequest(request(messages, more), { caching })).toString());

const start = (usage: object = { input_tokens: 10, output_tokens: 1 }) => ({ type: 'message_start', message: { id: 'msg_1', usage } });
const stop = (stop_reason = 'end_turn', usage: object = { output_tokens: 7 }) => [
  { type: 'message_delta', delta: { stop_reason }, usage },
  { type: 'message_stop' },
];
const block = (index: number, content_block: object, ...deltas: object[]) => [
  { type: 'content_block_start', index, content_block },
  ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
  { type: 'content_block_stop', index },
];
const text = (index: number, ...pieces: string[]) =>
  block(index, { type: 'text', text: '' }, ...pieces.map((piece) => ({ type: 'text_delta', text: piece })));
const thinking = block(
  0,
  { type: 'thinking', thinking: '', signature: '' },
  { type: 'thinking_delta', thinking: 'Let me ' },
  { type: 'thinking_delta', thinking: 'see.' },
  { type: 'signature_delta', signature: 'sig==' },
);
const call = (index: number, id: string, ...json: string[]) =>
  block(
    index,
    { type: 'tool_use', id, name: 'add', input: {} },
    ...json.map((partial_json) => ({ type: 'input_json_delta', partial_json })),
  );

async function ask(replies: SseReply[], options: AnthropicOptions = {}, more: Partial<ModelRequest> = {}, deltas: ModelDelta[] = []) {
  server?.close();
  server = await startSseServer(...replies);
  return anthropic({ baseUrl: server.url, apiKey: 'sk-ant-secret-key', ...options }).call(request([user('hi')], more), {
    signal: new AbortController().signal,
    onDelta: (delta) => deltas.push(delta),
  });
}
const failureOf = async (reply: SseReply, options: AnthropicOptions = {}): Promise<ModelFailure> =>
  ask([reply], options).then(
    (said) => Promise.reject(new Error(`answered: ${JSON.stringify(said)}`)),
    (error) => error,
  );

describe('a request', () => {
  test('[A211] has the instructions as the system prompt, a maximum, the tools, and is always streamed', () => {
    expect(build([user('hi')], { settings: { temperature: 0.5, toolChoice: 'required' } })).toEqual({
      model,
      max_tokens: 64_000,
      system: [{ type: 'text', text: 'Be brief.' }],
      messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
      tools: [{ name: 'add', description: 'Adds.', input_schema: tool.parameters }],
      tool_choice: { type: 'any' },
      temperature: 0.5,
      stream: true,
    } satisfies Anthropic.MessageCreateParamsStreaming);
    expect(build([user('hi')], { instructions: '', tools: [], settings: { toolChoice: 'required', maxTokens: 5 } })).toEqual({
      model,
      max_tokens: 5,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
      stream: true,
    });
  });

  test('[A212] the results of an answer follow it in one user message, in order, followed by new user text', () => {
    const { messages } = build([
      user('go'),
      answer(
        { type: 'text', text: 'so' },
        { type: 'tool-call', id: 'call_ours', providerId: 'toolu_1', name: 'add', arguments: '{"a":1}' },
        { type: 'tool-call', id: 'c2', name: 'add', arguments: '{bad' },
        { type: 'tool-call', id: 'functions.add:0', name: 'add', arguments: '' },
      ),
      result('call_ours', 'one'),
      result('c2', '', true),
      result('functions.add:0', [
        { type: 'text', text: 'see' },
        { type: 'image', url: 'data:image/png;base64,AA==' },
      ]),
      user('and?'),
    ]);
    expect(messages.slice(1)).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'so' },
          { type: 'tool_use', id: 'toolu_1', name: 'add', input: { a: 1 } },
          { type: 'tool_use', id: 'c2', name: 'add', input: { malformed_arguments: '{bad' } },
          { type: 'tool_use', id: 'functions_add_0', name: 'add', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'toolu_1', content: 'one' },
          { type: 'tool_result', tool_use_id: 'c2', content: '(no output)', is_error: true },
          {
            type: 'tool_result',
            tool_use_id: 'functions_add_0',
            content: [
              { type: 'text', text: 'see' },
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } },
            ],
          },
          { type: 'text', text: 'and?' },
        ],
      },
    ] satisfies Anthropic.MessageParam[]);
  });

  test('thoughts are sent back exactly, in their place, including hidden ones; those without a signature and blank text are not', () => {
    const { messages } = build([
      user('go'),
      answer(
        { type: 'reasoning', text: 'hm', opaque: { signature: 's1' } },
        { type: 'reasoning', text: '', opaque: { redacted: 'r1' } },
        { type: 'reasoning', text: 'unsigned' },
        { type: 'text', text: ' \n' },
        { type: 'tool-call', id: 'c1', name: 'add', arguments: '{}' },
        { type: 'reasoning', text: 'between', opaque: { signature: 's2' } },
      ),
      result('c1', 'ok'),
    ]);
    expect(messages[1]?.content).toEqual([
      { type: 'thinking', thinking: 'hm', signature: 's1' },
      { type: 'redacted_thinking', data: 'r1' },
      { type: 'tool_use', id: 'c1', name: 'add', input: {} },
      { type: 'thinking', thinking: 'between', signature: 's2' },
    ]);
  });

  test('images and files are sent by their address or their data', () => {
    const { messages } = build([
      user([
        { type: 'image', url: 'https://a.example/b.png' },
        { type: 'file', url: 'https://a.example/c.pdf', mediaType: 'application/pdf', name: 'c.pdf' },
        { type: 'file', url: 'data:application/pdf;base64,AA==', mediaType: 'application/pdf' },
        { type: 'file', url: 'data:text/csv;charset=utf-8,a%2Cb', mediaType: 'text/csv', name: 'd.csv' },
        { type: 'file', url: 'https://a.example/e.zip', mediaType: 'application/zip', name: 'e.zip' },
        { type: 'text', text: '' },
      ]),
    ]);
    expect(messages[0]?.content).toEqual([
      { type: 'image', source: { type: 'url', url: 'https://a.example/b.png' } },
      { type: 'document', source: { type: 'url', url: 'https://a.example/c.pdf' }, title: 'c.pdf' },
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'AA==' } },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a,b' }, title: 'd.csv' },
      { type: 'text', text: '[File e.zip (application/zip): https://a.example/e.zip]' },
    ]);
  });

  test('[B104] [B105] cache breakpoints are set at the instructions and the last two user turns, and can be disabled', () => {
    const transcript = [user('one'), answer({ type: 'text', text: 'a' }), user('two'), answer({ type: 'text', text: 'b' }), user('three')];
    const before = JSON.stringify(transcript);
    const marks = (body: object) => JSON.stringify(body).match(/cache_control/g)?.length ?? 0;
    const body = build(transcript, {}, true);
    expect(marks(body)).toBe(3);
    expect(body.system).toEqual([{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }]);
    expect(body.messages.map(({ content }) => marks({ content }))).toEqual([0, 0, 1, 0, 1]);
    // Again: a mark more on the same message would be refused, and so would one that stays behind.
    expect(build(transcript, {}, true)).toEqual(body);
    const grown = build([...transcript, answer({ type: 'text', text: 'c' }), user('four')], {}, true);
    expect(grown.messages.map(({ content }) => marks({ content }))).toEqual([0, 0, 0, 0, 1, 0, 1]);
    expect(marks(build(transcript))).toBe(0);
    expect(JSON.stringify(transcript)).toBe(before);
  });

  test('the reasoning setting is sent in the form of the generation of the model', () => {
    const effort = (name: string, settings: ModelRequest['settings']) => {
      const { thinking, output_config, max_tokens, temperature } = build([user('hi')], { model: name, settings });
      return { thinking, output_config, max_tokens, temperature };
    };
    expect(effort('claude-opus-5', { reasoningEffort: 'high', temperature: 1 })).toEqual({
      thinking: { type: 'adaptive', display: 'summarized' },
      output_config: { effort: 'high' },
      max_tokens: 64_000,
    });
    expect(effort('claude-sonnet-4-5-20250929', { reasoningEffort: 'low', maxTokens: 1_000 })).toEqual({
      thinking: { type: 'enabled', budget_tokens: 4_000 },
      max_tokens: 5_000,
    });
    expect(effort('claude-opus-4-20250514', { reasoningEffort: 'high' })).toMatchObject({ max_tokens: 32_000 });
    expect(effort(model, { reasoningEffort: 'none' })).toMatchObject({ thinking: { type: 'disabled' } });
    expect(effort('claude-3-5-haiku-20241022', { reasoningEffort: 'high' })).toEqual({ max_tokens: 8_192 });
    // Thinking and a forced tool exclude each other.
    expect(effort(model, { reasoningEffort: 'high', toolChoice: { tool: 'add' } })).toEqual({ max_tokens: 64_000 });
  });

  test('never asks for more than the model is known to write, with its thinking', () => {
    const most = (name: string, settings: ModelRequest['settings'], maxOutputTokens: number) =>
      build([user('hi')], { model: name, settings, maxOutputTokens }).max_tokens;
    expect(most(model, {}, 10_000)).toBe(10_000);
    expect(most(model, {}, 128_000)).toBe(64_000);
    expect(most('claude-opus-4-20250514', { maxTokens: 5_000, reasoningEffort: 'low' }, 8_000)).toBe(8_000);
    const high = (maxOutputTokens: number) =>
      build([user('hi')], { model: 'claude-opus-4-20250514', settings: { reasoningEffort: 'high' }, maxOutputTokens });
    expect(high(8_000)).toMatchObject({ max_tokens: 8_000, thinking: { budget_tokens: 4_000 } });
    expect(high(1_000).thinking).toBeUndefined();
    const { answerTokens } = anthropic({ apiKey: 'test' });
    expect(answerTokens?.(model, {}, 10_000)).toBe(10_000);
  });

  test('a schema is enforced by the API, and described to models without support for it', () => {
    const schema = { type: 'object', properties: { n: { type: 'integer', minimum: 1 } }, required: ['n'], additionalProperties: false };
    const format = build([user('hi')], { answer: schema }).output_config?.format;
    expect(format).toMatchObject({ type: 'json_schema', schema: { properties: { n: { type: 'integer' } }, required: ['n'] } });
    expect(JSON.stringify(build([user('hi')], { answer: schema, model: 'claude-3-7-sonnet-latest' }).system)).toContain('JSON Schema');
  });

  test('choices stay in the schema of the answer, and a schema that the API can not express is told', () => {
    const sent = (schema: z.ZodType) => {
      const { system, output_config } = build([user('hi')], { answer: z.toJSONSchema(schema, { io: 'input' }) as JsonObject });
      return { told: JSON.stringify(system).includes('JSON Schema'), schema: output_config?.format?.schema };
    };
    const kind = z.enum(['a', 'b']);
    expect(sent(z.object({ kind, list: z.array(z.object({ one: z.literal(1) })) })).schema).toMatchObject({
      properties: { kind: { type: 'string', enum: ['a', 'b'] }, list: { items: { properties: { one: { const: 1 } } } } },
    });
    const shared = kind.meta({ id: 'Kind' });
    expect(sent(z.object({ x: shared, y: z.union([shared, z.null()]) }))).toMatchObject({
      told: false,
      schema: { $defs: { Kind: { enum: ['a', 'b'] } } },
    });

    interface Tree {
      children: Tree[];
    }
    const tree: z.ZodType<Tree> = z.lazy(() => z.object({ children: z.array(tree) }));
    for (const schema of [z.object({ map: z.record(z.string(), z.number()) }), z.object({ any: z.any() }), tree]) {
      expect(sent(schema)).toEqual({ told: true, schema: undefined });
    }
  });

  test('[B161] [A215] hosted tools are sent with the other tools, and an unsupported one is refused with a list of those that Anthropic has', () => {
    const hostedTools = [{ name: 'web-search', options: { max_uses: 2 } }, { name: 'code-execution' }];
    expect(build([user('hi')], { hostedTools }).tools?.slice(1)).toEqual([
      { type: 'web_search_20250305', name: 'web_search', max_uses: 2 },
      { type: 'code_execution_20250825', name: 'code_execution' },
    ] satisfies Anthropic.ToolUnion[]);
    expect(() => build([user('hi')], { hostedTools: [{ name: 'image-generation' }] })).toThrow(
      "Anthropic has no hosted tool 'image-generation'. It has: web-search, web-fetch, code-execution.",
    );
  });

  test('provider options override fields, null removes a field, and the request is always streamed', () => {
    const providerOptions = { max_tokens: 1, system: null, top_k: 3, stream: false };
    expect(build([user('hi')], { tools: [], settings: { providerOptions } })).toEqual({
      model,
      max_tokens: 1,
      top_k: 3,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
      stream: true,
    });
  });

  test('the same messages are the same bytes in each turn', () => {
    const transcript = [user('größe 😀'), answer({ type: 'text', text: 'a' }), user('b')];
    const bytes = (messages: Message[]) => Buffer.from(encodeRequest(request(messages), { caching: false })).toString();
    const first = bytes(transcript);
    const prefix = first.slice(0, first.indexOf(']}],'));
    expect(bytes([...transcript, answer({ type: 'text', text: 'c' })]).startsWith(prefix)).toBe(true);
  });
});

describe('an answer', () => {
  test('has its parts in order, with signatures, its usage with cache reads and writes, and is sent back as it was received', async () => {
    const deltas: ModelDelta[] = [];
    const usage = { input_tokens: 10, cache_read_input_tokens: 100, cache_creation_input_tokens: 20, output_tokens: 1 };
    const events = [
      start(usage),
      { type: 'ping' },
      ...thinking,
      ...block(1, { type: 'redacted_thinking', data: 'r==' }),
      ...text(2, 'Hello', ', 世界'),
      ...call(3, 'toolu_1', '', '{"a"', ':1}'),
      ...call(4, 'toolu_2'),
      ...stop('tool_use', { output_tokens: 50, output_tokens_details: { thinking_tokens: 30 } }),
    ];
    const said = await ask([{ events }], {}, {}, deltas);
    expect(said).toEqual({
      parts: [
        { type: 'reasoning', text: 'Let me see.', opaque: { signature: 'sig==' } },
        { type: 'reasoning', text: '', opaque: { redacted: 'r==' } },
        { type: 'text', text: 'Hello, 世界' },
        { type: 'tool-call', id: 'toolu_1', name: 'add', arguments: '{"a":1}' },
        { type: 'tool-call', id: 'toolu_2', name: 'add', arguments: '{}' },
      ],
      finishReason: 'tool_calls',
      usage: { inputTokens: 130, cachedInputTokens: 100, cacheWriteTokens: 20, outputTokens: 50, reasoningTokens: 30 },
    });
    expect(soundAnswer(said)).toEqual(said);
    expect(deltas.map((delta) => (delta.type === 'tool-call' ? (delta.arguments ?? delta.id) : delta.text))).toEqual([
      'Let me ',
      'see.',
      'Hello',
      ', 世界',
      'toolu_1',
      '{"a"',
      ':1}',
      'toolu_2',
    ]);
    expect(server?.requests).toHaveLength(1);
    expect(server?.requests[0]).toMatchObject({
      path: '/v1/messages',
      headers: { 'x-api-key': 'sk-ant-secret-key', 'anthropic-version': '2023-06-01' },
    });
    const back = build([user('hi'), answer(...said.parts), result('toolu_1', 'x'), result('toolu_2', 'y')]).messages[1]?.content;
    expect(back).toEqual([
      { type: 'thinking', thinking: 'Let me see.', signature: 'sig==' },
      { type: 'redacted_thinking', data: 'r==' },
      { type: 'text', text: 'Hello, 世界' },
      { type: 'tool_use', id: 'toolu_1', name: 'add', input: { a: 1 } },
      { type: 'tool_use', id: 'toolu_2', name: 'add', input: {} },
    ]);
  });

  test('results of a hosted tool are readable, its citations are sources, and all of it is sent back exactly', async () => {
    const found = { type: 'web_search_result', url: 'https://a.example', title: 'A', encrypted_content: 'enc', page_age: null };
    const use = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} };
    const outcome = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [found] };
    const citation = {
      type: 'web_search_result_location',
      url: 'https://a.example',
      title: 'A',
      encrypted_index: 'i',
      cited_text: 'words',
    };
    const failed = {
      type: 'web_search_tool_result',
      tool_use_id: 'srvtoolu_2',
      content: { type: 'web_search_tool_result_error', error_code: 'max_uses_exceeded' },
    };
    const events = [
      start(),
      ...block(0, use, { type: 'input_json_delta', partial_json: '{"query":' }, { type: 'input_json_delta', partial_json: '"q"}' }),
      ...block(1, outcome),
      ...block(
        2,
        { type: 'text', text: '' },
        { type: 'citations_delta', citation: { ...citation, file_id: null } },
        { type: 'text_delta', text: 'It is so.' },
      ),
      ...block(3, { ...use, id: 'srvtoolu_2' }),
      ...block(4, failed),
      ...stop(),
    ];
    const { parts } = await ask([{ events }]);
    expect(parts).toMatchObject([
      {
        type: 'hosted-tool',
        id: 'srvtoolu_1',
        name: 'web-search',
        input: { query: 'q' },
        output: [{ type: 'web_search_result', url: 'https://a.example', title: 'A', page_age: null }],
      },
      { type: 'text', text: 'It is so.' },
      { type: 'source', url: 'https://a.example', title: 'A', quote: 'words' },
      { type: 'hosted-tool', id: 'srvtoolu_2', isError: true, output: { error_code: 'max_uses_exceeded' } },
    ]);
    expect(build([user('hi'), answer(...parts), user('and?')]).messages[1]?.content).toEqual([
      { ...use, input: { query: 'q' } },
      outcome,
      { type: 'text', text: 'It is so.', citations: [citation] },
      { ...use, id: 'srvtoolu_2', input: {} },
      failed,
    ]);
  });

  test('a pause is reported as one, and the next request ends with the answer so far', async () => {
    const events = [
      start(),
      ...block(0, { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'q' } }),
      ...stop('pause_turn'),
    ];
    const { parts, finishReason } = await ask([{ events }]);
    expect(finishReason).toBe('pause');
    expect(build([user('hi'), answer(...parts)]).messages.at(-1)).toMatchObject({
      role: 'assistant',
      content: [{ type: 'server_tool_use', id: 's' }],
    });
  });

  test('a second message in the middle of the first breaks the answer off, and the same one told twice does not', async () => {
    const another = { type: 'message_start', message: { id: 'msg_2' } };
    const failure = await failureOf({ events: [start(), ...thinking, another, ...text(0, 'x'), ...stop()] });
    expect(failure.kind).toBe('truncated-stream');
    expect((await ask([{ events: [start(), start(), ...text(0, 'x'), ...stop()] }])).parts).toEqual([{ type: 'text', text: 'x' }]);
  });

  test('a message that has its calls when it begins is one, and tells why it stopped', async () => {
    const deltas: ModelDelta[] = [];
    const content = ['t', 'u'].map((id) => ({ type: 'tool_use', id, name: 'add', input: { a: 1 } }));
    const message = { id: 'msg_1', content, stop_reason: 'tool_use', usage: { input_tokens: 3, output_tokens: 2 } };
    const begun = { type: 'message_start', message };
    expect(await ask([{ events: [begun, begun, { type: 'message_stop' }] }], {}, {}, deltas)).toMatchObject({
      parts: ['t', 'u'].map((id) => ({ type: 'tool-call', id, name: 'add', arguments: '{"a":1}' })),
      finishReason: 'tool_calls',
      usage: { inputTokens: 3, outputTokens: 2 },
    });
    expect(deltas).toHaveLength(4);
  });

  test('arguments that are there when a call begins are shown, too', async () => {
    const deltas: ModelDelta[] = [];
    const events = [start(), ...block(0, { type: 'tool_use', id: 't', name: 'add', input: { a: 1 } }), ...stop('tool_use')];
    await ask([{ events }], {}, {}, deltas);
    expect(deltas).toEqual([
      { type: 'tool-call', index: 0, id: 't', name: 'add' },
      { type: 'tool-call', index: 0, arguments: '{"a":1}' },
    ]);
  });

  test.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['tool_use', 'tool_calls'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['refusal', 'content_filter'],
    ['pause_turn', 'pause'],
    ['a_new_reason', 'unknown'],
  ])('it stopped because of %s: %s', async (reason, finishReason) => {
    expect(await ask([{ events: [start(), ...text(0, 'x'), ...stop(reason)] }])).toMatchObject({ finishReason });
  });

  test('unknown events, blocks and deltas are ignored', async () => {
    const events = [
      start(),
      { type: 'a_new_event', x: 1 },
      ...block(0, { type: 'a_new_block', x: 1 }, { type: 'a_new_delta' }),
      ...text(1, 'x'),
      { type: 'content_block_delta', index: 1, delta: { type: 'a_new_delta', text: 'no' } },
      { type: 'content_block_delta', index: 99, delta: { type: 'text_delta', text: 'no' } },
      ...stop(),
    ];
    expect((await ask([{ events }])).parts).toEqual([{ type: 'text', text: 'x' }]);
  });

  test('it is the same in pieces of any size', async () => {
    const events = [start(), ...thinking, ...text(1, 'é😀'), ...call(2, 't', '{"a":', '"世"}'), ...stop('tool_use')];
    const whole = await ask([{ events }]);
    for (const chunk of [1, 3, 7]) expect(await ask([{ events, chunk }])).toEqual(whole);
  });

  test('whatever the events are, the fold returns an answer or throws a described failure', () => {
    const event = fc.record({
      type: fc.constantFrom('message_start', 'content_block_start', 'content_block_delta', 'message_delta', 'message_stop', 'x'),
      index: fc.oneof(fc.nat(2), fc.anything()),
      message: fc.oneof(fc.record({ usage: fc.anything() }), fc.anything()),
      content_block: fc.oneof(
        fc.record({
          type: fc.constantFrom('text', 'thinking', 'tool_use', 'server_tool_use', 'web_search_tool_result', 'redacted_thinking'),
          id: fc.anything(),
          tool_use_id: fc.anything(),
          input: fc.anything(),
          text: fc.anything(),
          citations: fc.anything(),
          content: fc.anything(),
        }),
        fc.anything(),
      ),
      delta: fc.oneof(
        fc.record({
          type: fc.constantFrom('text_delta', 'thinking_delta', 'input_json_delta', 'signature_delta', 'citations_delta'),
          text: fc.anything(),
          thinking: fc.anything(),
          partial_json: fc.anything(),
          signature: fc.anything(),
          citation: fc.anything(),
          stop_reason: fc.anything(),
        }),
        fc.anything(),
      ),
      usage: fc.anything(),
    });
    fc.assert(
      fc.property(fc.array(event, { maxLength: 8 }), (events) => {
        const fold = foldStream();
        try {
          for (const one of events) fold.event(JSON.stringify(one, (_, value) => (typeof value === 'bigint' ? String(value) : value)));
          soundAnswer(fold.answer());
        } catch (error) {
          expect(['Trouble', 'LimitExceeded', 'ModelFailure']).toContain((error as Error).constructor.name);
        }
      }),
    );
  });
});

test('the room that is kept free for an answer is the maximum that the request states', () => {
  const { answerTokens } = anthropic();
  expect(answerTokens?.('claude-sonnet-4-5', {})).toBe(64_000);
  expect(answerTokens?.('claude-sonnet-4-5', { maxTokens: 1_000 })).toBe(1_000);
  expect(answerTokens?.('claude-sonnet-4-5', { maxTokens: 1_000, reasoningEffort: 'low' })).toBe(5_000);
});

describe('a failure', () => {
  const errorOf = (type: string, message = 'words') => ({ type: 'error', error: { type, message } });

  test.each([
    [401, errorOf('authentication_error', 'invalid x-api-key'), 'auth'],
    [403, errorOf('permission_error'), 'permission'],
    [404, errorOf('not_found_error', 'model: claude-nope'), 'not-found'],
    [413, errorOf('request_too_large'), 'context-length'],
    [429, errorOf('rate_limit_error'), 'rate-limit'],
    [500, errorOf('api_error'), 'server'],
    [529, errorOf('overloaded_error', 'Overloaded'), 'overloaded'],
    [400, errorOf('invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum'), 'context-length'],
    [
      400,
      errorOf('invalid_request_error', 'input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000'),
      'context-length',
    ],
    [400, errorOf('invalid_request_error', 'Your credit balance is too low to access the Anthropic API.'), 'quota'],
    [400, errorOf('invalid_request_error', 'messages.1: bad'), 'bad-request'],
  ])('a status of %i with %j is of the kind %s', async (status, body, kind) => {
    const failure = await failureOf({ status, body });
    expect(failure).toMatchObject({ name: 'ModelFailure', kind, details: { status } });
    expect(failure.message).toContain((body as { error: { message: string } }).error.message);
    expect(failure.message).not.toContain('sk-ant');
  });

  test('has the wait that the provider requests', async () => {
    const failure = await failureOf({ status: 429, body: errorOf('rate_limit_error'), headers: { 'retry-after': '7' } });
    expect(failure.details).toMatchObject({ retryAfterMs: 7_000 });
  });

  test.each([
    ['overloaded_error', 'overloaded'],
    ['rate_limit_error', 'rate-limit'],
    ['api_error', 'server'],
    ['invalid_request_error', 'bad-request'],
  ])('sent in the middle of a stream as %s it is of the kind %s', async (type, kind) => {
    expect(await failureOf({ events: [start(), ...text(0, 'Half'), errorOf(type)] })).toMatchObject({ kind });
  });

  test('a stream that ends, or is cut, before the model has stopped is not an answer', async () => {
    for (const end of ['close', 'cut'] as const) {
      expect(await failureOf({ events: [start(), ...text(0, 'Half')], end })).toMatchObject({ kind: 'truncated-stream' });
    }
  });

  test('a connection that breaks after the model has stopped has no effect', async () => {
    const events = [start(), ...text(0, 'Whole'), stop()[0]];
    expect(await ask([{ events, end: 'cut' }])).toMatchObject({ parts: [{ text: 'Whole' }], finishReason: 'stop' });
  });

  test('a silent server is given up, before its first byte and in the middle', async () => {
    expect(await failureOf({ events: [], end: 'hang' }, { firstByteTimeoutMs: 60 })).toMatchObject({ kind: 'timeout' });
    const stalled = await failureOf({ events: [start(), ...text(0, 'x')], end: 'hang' }, { idleTimeoutMs: 60 });
    expect(stalled).toMatchObject({ kind: 'timeout', message: expect.stringContaining('stalled') });
    await until('the client hangs up', () => server?.hungUp() === 1);
  });

  test('an answer without content is empty, unless a limit or a filter is the reason', async () => {
    expect(await failureOf({ events: [start(), ...stop()] })).toMatchObject({ kind: 'empty' });
    expect(await failureOf({ events: [start(), ...thinking, ...stop()] })).toMatchObject({ kind: 'empty' });
    expect(await ask([{ events: [start(), ...stop('refusal')] }])).toMatchObject({ parts: [], finishReason: 'content_filter' });
  });

  test('a missing key for Anthropic itself, and an invalid address, fail the call and name the variable', async () => {
    const call = (options: AnthropicOptions) =>
      anthropic(options)
        .call(request([user('hi')]), { signal: new AbortController().signal })
        .catch((error) => error);
    expect(await call({})).toMatchObject({ kind: 'auth', message: expect.stringContaining('ANTHROPIC_API_KEY') });
    expect(await call({ baseUrl: 'nowhere', apiKey: 'k' })).toMatchObject({
      kind: 'bad-request',
      message: expect.stringContaining('ANTHROPIC_BASE_URL'),
    });
  });

  test('an aborted call closes its connection, and rejects with the reason', async () => {
    server = await startSseServer({ events: [start(), ...text(0, 'x')], end: 'hang' });
    const controller = new AbortController();
    const asked = anthropic({ baseUrl: server.url }).call(request([user('hi')]), {
      signal: controller.signal,
      onDelta: () => controller.abort(new Error('enough')),
    });
    await expect(asked).rejects.toThrow('enough');
    await until('the client hangs up', () => server?.hungUp() === 1);
  });

  test.each([
    [
      'text',
      () =>
        Array.from({ length: 20 }, () => ({
          type: 'content_block_delta',
          index: 0,
          delta: { type: 'text_delta', text: 'x'.repeat(50_000) },
        })),
      'its answer',
    ],
    ['data to see again', () => [...block(1, { type: 'redacted_thinking', data: 'x'.repeat(bounds.opaqueChars + 1) })], 'its opaque data'],
    [
      'calls',
      () => Array.from({ length: 129 }, (_, i) => block(i + 1, { type: 'tool_use', id: `t${i}`, name: 'f', input: {} })).flat(),
      'tool calls',
    ],
    ['nesting', () => [`${'['.repeat(200)}${']'.repeat(200)}`], 'levels of nesting'],
  ])('more %s than a call takes is too large', async (_what, events, words) => {
    const failure = await failureOf({ events: [start(), ...block(0, { type: 'text', text: '' }), ...events(), ...stop()] });
    expect(failure).toMatchObject({ kind: 'too-large', message: expect.stringContaining(words) });
  });
});

test('the result of a tool that used another is sent back after that of the other', () => {
  const use = (id: string) => ({ type: 'server_tool_use', id, name: 'code_execution', input: {} });
  const outcome = (tool_use_id: string) => ({ type: 'code_execution_tool_result', tool_use_id, content: {} });
  const blocks = [use('outer'), use('inner'), outcome('inner'), outcome('outer'), { type: 'text', text: 'So.' }];
  const fold = foldStream();
  blocks.forEach((content_block, index) => {
    fold.event(JSON.stringify({ type: 'content_block_start', index, content_block }));
  });
  for (const event of stop()) fold.event(JSON.stringify(event));
  expect(build([user('hi'), answer(...fold.answer().parts), user('and?')]).messages[1]?.content).toEqual(blocks);
});

describe('a hosted tool whose result is not in the answer that called it', () => {
  const use = { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'q' } };
  const outcome = { type: 'web_search_tool_result', tool_use_id: 's', content: [{ type: 'web_search_result', title: 'A' }] };
  const made = async (...blocks: object[]) => {
    const { parts } = await ask([{ events: [start(), ...blocks.flatMap((one, i) => block(i, one)), ...stop()] }]);
    return answer(...parts);
  };
  const sent = (messages: Message[]) => build(messages).messages.flatMap(({ content }): unknown[] => [...content]);
  const add = { type: 'tool_use', id: 't', name: 'add', input: {} };

  test('has it in the next one, which shows it and gives it back', async () => {
    const next = await made(outcome, { type: 'text', text: 'So.' });
    expect(next.content).toMatchObject([
      { type: 'hosted-tool', id: 's', name: 'web-search', input: {}, output: [{ title: 'A' }] },
      { type: 'text', text: 'So.' },
    ]);
    const paused = [user('hi'), await made(use), next, user('and?')];
    expect(sent(paused).slice(1, -1)).toEqual([use, outcome, { type: 'text', text: 'So.' }]);
    const called = [user('hi'), await made(use, add), result('t', 'ok'), next, user('and?')];
    expect(sent(called).slice(1, 5)).toEqual([use, add, expect.objectContaining({ tool_use_id: 't' }), outcome]);
  });

  test('goes back while it is waited for, and not once something else followed', async () => {
    const both = [user('hi'), await made(use, add), result('t', 'ok')];
    expect(sent(both)).toContainEqual(use);
    expect(sent([...both, user('and?')])).not.toContainEqual(use);
    expect(sent([...both, user('and?')])).toContainEqual(add);
    const paused = [user('hi'), await made(use)];
    expect(sent(paused)).toContainEqual(use);
    const others = [...paused, answer({ type: 'text', text: 'So.' })];
    expect(sent(others).slice(1)).toEqual([{ type: 'text', text: 'So.' }]);
  });

  test('does not go back once its call was dropped to shorten the transcript', async () => {
    const next = await made(outcome, { type: 'text', text: 'So.' });
    expect(sent([user('hi'), next, user('and?')]).slice(1, -1)).toEqual([{ type: 'text', text: 'So.' }]);
  });
});

test('a data URL that is not percent-encoded is used as is, and does not make every later request of the thread fail', () => {
  const svg = '<svg width="100%"/>';
  const [message] = build([user([{ type: 'image', url: `data:image/svg+xml,${svg}` }])]).messages;
  expect(message?.content).toMatchObject([{ type: 'image', source: { type: 'base64', data: Buffer.from(svg).toString('base64') } }]);
});
