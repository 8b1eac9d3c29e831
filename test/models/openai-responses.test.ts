import fc from 'fast-check';
import type OpenAI from 'openai';
import type { HostedTool } from '../../src/core/agent';
import { bounds } from '../../src/core/bounds';
import type { AnswerPart, Message } from '../../src/core/message';
import type { ModelDelta, ModelFailure, ModelRequest } from '../../src/models/model';
import { type OpenAiResponsesOptions, openAiResponses } from '../../src/models/openai-responses/client';
import { encodeRequest } from '../../src/models/openai-responses/request';
import { foldStream } from '../../src/models/openai-responses/stream';
import { soundAnswer } from '../../src/models/sound-answer';
import { until } from '../support/until';
import { type SseReply, type SseServer, startSseServer } from './sse-server';

type InputItem = OpenAI.Responses.ResponseInputItem;
type Body = OpenAI.Responses.ResponseCreateParamsStreaming & { input: InputItem[] };

let server: SseServer | undefined;
afterEach(() => server?.close());

const model = 'gpt-5.1';
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
const answer = (...content: AnswerPart[]): Message => ({
  id: 'a',
  role: 'assistant',
  content,
  attempt: 1,
  model: `openai-responses/${model}`,
});
const result = (toolCallId: string, content: Extract<Message, { role: 'tool' }>['content'], isError = false): Message => ({
  id: `r-${toolCallId}`,
  role: 'tool',
  toolCallId,
  name: 'add',
  content,
  isError,
});
const build = (messages: Message[], more: Partial<ModelRequest> = {}): Body =>
  JSON.parse(Buffer.from(encodeRequest(request(messages, more))).toString());
/** The items that an answer goes back as. */
const back = (...parts: AnswerPart[]): InputItem[] => build([answer(...parts)]).input;

const created = { type: 'response.created', response: { id: 'resp_1', status: 'in_progress', output: [] } };
const completed = (output: object[] = [], more: object = {}) => ({
  type: 'response.completed',
  response: { id: 'resp_1', status: 'completed', output, usage: { input_tokens: 10, output_tokens: 7 }, ...more },
});
const incomplete = (reason: string) => ({
  type: 'response.incomplete',
  response: { id: 'resp_1', status: 'incomplete', incomplete_details: { reason }, output: [] },
});
const added = (output_index: number, item: object) => ({ type: 'response.output_item.added', output_index, item });
const done = (output_index: number, item: object) => ({ type: 'response.output_item.done', output_index, item });
const message = (id: string, text: string, more: object = {}) => ({
  type: 'message',
  id,
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
  ...more,
});
const textDeltas = (output_index: number, item_id: string, ...pieces: string[]) =>
  pieces.map((delta) => ({ type: 'response.output_text.delta', item_id, output_index, content_index: 0, delta }));
const text = (index: number, id: string, ...pieces: string[]) => [
  added(index, message(id, '', { content: [], status: 'in_progress' })),
  ...textDeltas(index, id, ...pieces),
  done(index, message(id, pieces.join(''))),
];
const reasoning = { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Let me see.' }], encrypted_content: 'enc==' };
const summary = (index: number, ...pieces: string[]) =>
  pieces.map((delta) => ({ type: 'response.reasoning_summary_text.delta', item_id: 'rs_1', output_index: index, summary_index: 0, delta }));
const call = (id: string, args: string, more: object = {}) => ({
  type: 'function_call',
  id: `fc_${id}`,
  call_id: id,
  name: 'add',
  arguments: args,
  status: 'completed',
  ...more,
});
const callEvents = (index: number, id: string, ...pieces: string[]) => [
  added(index, call(id, '', { status: 'in_progress' })),
  ...pieces.map((delta) => ({ type: 'response.function_call_arguments.delta', item_id: `fc_${id}`, output_index: index, delta })),
  { type: 'response.function_call_arguments.done', item_id: `fc_${id}`, output_index: index, arguments: pieces.join('') },
  done(index, call(id, pieces.join(''))),
];

async function ask(replies: SseReply[], options: OpenAiResponsesOptions = {}, more: Partial<ModelRequest> = {}, deltas: ModelDelta[] = []) {
  server?.close();
  server = await startSseServer(...replies);
  return openAiResponses({ baseUrl: server.url, apiKey: 'sk-secret-key', ...options }).call(request([user('hi')], more), {
    signal: new AbortController().signal,
    onDelta: (delta) => deltas.push(delta),
  });
}
const failureOf = async (reply: SseReply, options: OpenAiResponsesOptions = {}): Promise<ModelFailure> =>
  ask([reply], options).then(
    (said) => Promise.reject(new Error(`answered: ${JSON.stringify(said)}`)),
    (error) => error,
  );
const textOfParts = (parts: AnswerPart[]) => parts.map((part) => ('text' in part ? part.text : part.type));

describe('a request', () => {
  test('[A211][B168] has instructions, input and tools that are not strict, is streamed, and asks the server to store nothing', () => {
    expect(build([user('hi')], { model: 'gpt-4.1', settings: { temperature: 0.5, toolChoice: 'required', maxTokens: 50 } })).toEqual({
      model: 'gpt-4.1',
      instructions: 'Be brief.',
      input: [{ type: 'message', role: 'user', content: 'hi' }],
      tools: [{ type: 'function', name: 'add', description: 'Adds.', parameters: tool.parameters, strict: false }],
      tool_choice: 'required',
      temperature: 0.5,
      max_output_tokens: 50,
      store: false,
      stream: true,
    } satisfies Body);
    expect(build([user('hi')], { model: 'gpt-4.1', instructions: '', tools: [], settings: { toolChoice: 'required' } })).toEqual({
      model: 'gpt-4.1',
      input: [{ type: 'message', role: 'user', content: 'hi' }],
      store: false,
      stream: true,
    });
    expect(build([user('hi')], { settings: { toolChoice: { tool: 'add' } } }).tool_choice).toEqual({ type: 'function', name: 'add' });
  });

  test.each([
    ['gpt-5.1', {}, { reasoning: { summary: 'auto' }, include: ['reasoning.encrypted_content'] }],
    [
      'openai/o3-mini',
      { reasoningEffort: 'high' },
      { reasoning: { effort: 'high', summary: 'auto' }, include: ['reasoning.encrypted_content'] },
    ],
    [
      'gpt-5.1',
      { reasoningEffort: 'none' },
      { reasoning: { effort: 'none', summary: 'auto' }, include: ['reasoning.encrypted_content'], temperature: 1 },
    ],
    [
      'some-model',
      { reasoningEffort: 'low' },
      { reasoning: { effort: 'low', summary: 'auto' }, include: ['reasoning.encrypted_content'], temperature: 1 },
    ],
    ['grok-4', {}, { reasoning: { summary: 'auto' }, include: ['reasoning.encrypted_content'], temperature: 1 }],
    ['gpt-4o', {}, { temperature: 1 }],
    ['gpt-5-chat-latest', {}, { temperature: 1 }],
  ] as const)('%s with %j is told how to reason, and has a temperature where it takes one', (name, settings, expected) => {
    const body = build([user('hi')], { model: name, settings: { ...settings, temperature: 1 } });
    expect({ reasoning: body.reasoning, include: body.include, temperature: body.temperature }).toEqual({
      reasoning: undefined,
      include: undefined,
      temperature: undefined,
      ...expected,
    });
  });

  test('a schema is sent as the format of the text', () => {
    const schema = { type: 'object', properties: { n: { type: 'integer' } } };
    expect(build([user('hi')], { answer: schema }).text).toEqual({
      format: { type: 'json_schema', name: 'answer', schema, strict: false },
    } satisfies Body['text']);
  });

  test('images and files are sent by their address or their data', () => {
    const { input } = build([
      user([
        { type: 'image', url: 'https://a.example/b.png', detail: 'low' },
        { type: 'image', url: 'data:image/png;base64,AA==' },
        { type: 'file', url: 'https://a.example/c.pdf', mediaType: 'application/pdf', name: 'c.pdf' },
        { type: 'file', url: 'data:application/pdf;base64,AA==', mediaType: 'application/pdf' },
        { type: 'text', text: '' },
        { type: 'text', text: 'see' },
      ]),
      user(''),
      user([{ type: 'text', text: '' }]),
    ]);
    expect(input).toEqual([
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_image', image_url: 'https://a.example/b.png', detail: 'low' },
          { type: 'input_image', image_url: 'data:image/png;base64,AA==', detail: 'auto' },
          { type: 'input_file', file_url: 'https://a.example/c.pdf' },
          { type: 'input_file', filename: 'file.pdf', file_data: 'data:application/pdf;base64,AA==' },
          { type: 'input_text', text: 'see' },
        ],
      },
    ] satisfies InputItem[]);
  });

  test('answers of other providers are sent as plain messages and calls, with ids and names that the API accepts', () => {
    const long = `call_${'x'.repeat(100)}`;
    const { input } = build([
      user('go'),
      answer(
        { type: 'text', text: 'so' },
        { type: 'text', text: ' \n' },
        { type: 'refusal', text: 'no' },
        { type: 'tool-call', id: 'call_ours', providerId: 'toolu_1', name: 'add', arguments: '{"a":1}' },
        { type: 'tool-call', id: long, name: 'functions.add', arguments: '{bad' },
        { type: 'tool-call', id: 'c3', name: 'add', arguments: '' },
        { type: 'file', url: 'https://a.example/f.csv', mediaType: 'text/csv', name: 'f.csv' },
      ),
      result('call_ours', 'one'),
      result(long, '', true),
      result('c3', [
        { type: 'text', text: 'see' },
        { type: 'image', url: 'data:image/png;base64,AA==' },
      ]),
      result('gone', [{ type: 'text', text: 'only' }]),
    ]);
    const shortId = (input[4] as OpenAI.Responses.ResponseFunctionToolCall).call_id;
    expect(shortId).toMatch(/^call_[0-9a-f]{32}$/);
    expect(input.slice(1)).toEqual([
      { type: 'message', role: 'assistant', content: 'so' },
      { type: 'message', role: 'assistant', content: 'no' },
      { type: 'function_call', call_id: 'toolu_1', name: 'add', arguments: '{"a":1}' },
      { type: 'function_call', call_id: shortId, name: 'functions_add', arguments: '{"malformed_arguments":"{bad"}' },
      { type: 'function_call', call_id: 'c3', name: 'add', arguments: '{}' },
      { type: 'message', role: 'assistant', content: '[File f.csv (text/csv): https://a.example/f.csv]' },
      { type: 'function_call_output', call_id: 'toolu_1', output: 'one' },
      { type: 'function_call_output', call_id: shortId, output: '(no output)' },
      {
        type: 'function_call_output',
        call_id: 'c3',
        output: [
          { type: 'input_text', text: 'see' },
          { type: 'input_image', image_url: 'data:image/png;base64,AA==', detail: 'auto' },
        ],
      },
      { type: 'function_call_output', call_id: 'gone', output: 'only' },
    ] satisfies InputItem[]);
  });

  test('[B161] hosted tools are sent with the other tools, their results are requested, and an unsupported one is refused with a list of those that OpenAI has', () => {
    const hostedTools: HostedTool[] = [
      { name: 'web-search', options: { search_context_size: 'low' } },
      { name: 'code-execution' },
      { name: 'file-search', options: { vector_store_ids: ['vs_1'] } },
      { name: 'image-generation' },
      { name: 'mcp', options: { server_label: 's', server_url: 'https://a.example' } },
    ];
    const body = build([user('hi')], { hostedTools, tools: [], settings: { toolChoice: 'required' } });
    expect(body.tools).toEqual([
      { type: 'web_search', search_context_size: 'low' },
      { type: 'code_interpreter', container: { type: 'auto' } },
      { type: 'file_search', vector_store_ids: ['vs_1'] },
      { type: 'image_generation', output_format: 'webp', output_compression: 75 },
      { type: 'mcp', require_approval: 'never', server_label: 's', server_url: 'https://a.example' },
    ] satisfies OpenAI.Responses.Tool[]);
    expect(body.tool_choice).toBe('required');
    expect(body.include).toEqual([
      'reasoning.encrypted_content',
      'web_search_call.action.sources',
      'code_interpreter_call.outputs',
      'file_search_call.results',
    ] satisfies OpenAI.Responses.ResponseIncludable[]);
    expect(() => build([user('hi')], { hostedTools: [{ name: 'web-fetch' }] })).toThrow(
      "OpenAI has no hosted tool 'web-fetch'. It has: web-search, code-execution, file-search, image-generation, mcp.",
    );
  });

  test('provider options override fields, null removes a field, and the request is always streamed', () => {
    const providerOptions = {
      max_output_tokens: 1,
      instructions: null,
      reasoning: null,
      include: null,
      service_tier: 'flex',
      stream: false,
    };
    expect(build([user('hi')], { tools: [], settings: { providerOptions, maxTokens: 9 } })).toEqual({
      model,
      max_output_tokens: 1,
      service_tier: 'flex',
      input: [{ type: 'message', role: 'user', content: 'hi' }],
      store: false,
      stream: true,
    });
    expect(build([user('hi')], { settings: { providerOptions: { input: 'mine' } } }).input).toBe('mine');
  });

  test('the same messages are the same bytes in each turn', () => {
    const transcript = [user('größe 😀'), answer({ type: 'text', text: 'a' }), user('b')];
    const bytes = (messages: Message[]) => Buffer.from(encodeRequest(request(messages))).toString();
    const first = bytes(transcript);
    const prefix = first.slice(0, first.indexOf('],"model"'));
    expect(bytes([...transcript, answer({ type: 'text', text: 'c' })]).startsWith(prefix)).toBe(true);
  });
});

describe('an answer', () => {
  test('has its parts in order, its usage, and is sent back as it was received', async () => {
    const deltas: ModelDelta[] = [];
    const usage = {
      input_tokens: 130,
      input_tokens_details: { cached_tokens: 100 },
      output_tokens: 50,
      output_tokens_details: { reasoning_tokens: 30 },
    };
    const items = [reasoning, message('msg_1', 'Hello, 世界', { phase: 'commentary' }), call('call_1', '{"a":1}'), call('call_2', '')];
    const events = [
      created,
      { type: 'response.in_progress', response: {} },
      added(0, { type: 'reasoning', id: 'rs_1', summary: [] }),
      ...summary(0, 'Let me ', 'see.'),
      done(0, { ...reasoning, content: null }),
      { type: 'keepalive' },
      added(1, message('msg_1', '', { content: [] })),
      ...textDeltas(1, 'msg_1', 'Hello', ', 世界'),
      done(1, items[1] as object),
      ...callEvents(2, 'call_1', '{"a"', ':1}'),
      ...callEvents(3, 'call_2'),
      completed(items, { usage }),
    ];
    const said = await ask([{ events }], {}, {}, deltas);
    expect(said).toMatchObject({
      parts: [
        { type: 'reasoning', text: 'Let me see.' },
        { type: 'text', text: 'Hello, 世界' },
        { type: 'tool-call', id: 'call_1', name: 'add', arguments: '{"a":1}' },
        { type: 'tool-call', id: 'call_2', name: 'add', arguments: '' },
      ],
      finishReason: 'tool_calls',
      usage: { inputTokens: 130, cachedInputTokens: 100, cacheWriteTokens: 0, outputTokens: 50, reasoningTokens: 30 },
    });
    expect(soundAnswer(said)).toEqual(said);
    expect(deltas.map((delta) => (delta.type === 'tool-call' ? (delta.arguments ?? delta.id) : delta.text))).toEqual([
      'Let me ',
      'see.',
      'Hello',
      ', 世界',
      'call_1',
      '{"a"',
      ':1}',
      'call_2',
      '',
    ]);
    expect(server?.requests).toHaveLength(1);
    expect(server?.requests[0]).toMatchObject({ path: '/responses', headers: { authorization: 'Bearer sk-secret-key' } });
    const { logprobs: _, ...content } = { type: 'output_text', text: 'Hello, 世界', annotations: [], logprobs: [] };
    expect(back(...said.parts)).toEqual([reasoning, { ...items[1], content: [content] }, call('call_1', '{"a":1}'), call('call_2', '{}')]);
  });

  test('is the same in pieces of any size', async () => {
    const events = [created, ...text(0, 'msg_1', 'é😀'), ...callEvents(1, 'c', '{"a":', '"世"}'), completed()];
    const whole = await ask([{ events }]);
    for (const chunk of [1, 3, 7]) expect(await ask([{ events, chunk }])).toEqual(whole);
  });

  test.each([
    ['from its items, where the last event lists none', [...text(0, 'm', 'Whole'), completed([])]],
    ['from the last event, where it is all that comes', [completed([message('m', 'Whole')])]],
    ['from the last event, where it lists more than was done', [added(0, message('m', '')), completed([message('m', 'Whole')])]],
    [
      'from pieces, where no item is done',
      [added(0, message('m', '', { content: [] })), ...textDeltas(0, 'm', 'Wh', 'ole'), completed([])],
    ],
    ['from pieces, where no item is announced', [...textDeltas(0, 'm', 'Wh', 'ole'), completed([])]],
    [
      'from pieces, where the item is bare once it is done',
      [...textDeltas(0, 'm', 'Wh', 'ole'), done(0, message('m', '', { content: [] })), completed([])],
    ],
    [
      'from whole pieces',
      [{ type: 'response.output_text.done', item_id: 'm', output_index: 0, content_index: 0, text: 'Whole' }, completed([])],
    ],
    [
      'with other words than its pieces, which are not authoritative',
      [...textDeltas(0, 'm', 'Half'), done(0, message('m', 'Whole')), completed()],
    ],
    [
      'with the words of the whole piece, where no item is done',
      [
        ...textDeltas(0, 'm', 'Half'),
        { type: 'response.output_text.done', item_id: 'm', output_index: 0, content_index: 0, text: 'Whole' },
        completed(),
      ],
    ],
    ['whatever comes behind its end', [...text(0, 'm', 'Whole'), completed(), { type: 'error', error: { message: 'late' } }]],
    [
      'with ids that change with each event',
      [added(0, message('m1', '', { content: [] })), ...textDeltas(0, 'm2', 'Whole'), done(0, message('m3', 'Whole')), completed()],
    ],
  ])('is read %s', async (_how, events) => {
    expect(textOfParts((await ask([{ events: [created, ...events] }])).parts)).toEqual(['Whole']);
  });

  test('items at the same index are kept apart', async () => {
    const events = [
      added(0, { type: 'reasoning', id: 'r', summary: [] }),
      { type: 'response.reasoning_text.delta', item_id: 'r', output_index: 0, content_index: 0, delta: 'hm' },
      ...textDeltas(0, 'm', 'Hello'),
      ...callEvents(0, 'c1', '{"a":1}'),
      ...callEvents(0, 'c2', '{"a":2}'),
      completed(),
    ];
    expect((await ask([{ events }])).parts).toMatchObject([
      { type: 'reasoning', text: 'hm', opaque: { item: { content: [{ type: 'reasoning_text', text: 'hm' }] } } },
      { type: 'text', text: 'Hello' },
      { type: 'tool-call', id: 'c1', arguments: '{"a":1}' },
      { type: 'tool-call', id: 'c2', arguments: '{"a":2}' },
    ]);
  });

  test('a piece belongs to the item that it names, even if its index is that of another', async () => {
    const events = [
      added(0, message('m1', '', { content: [] })),
      added(1, message('m2', '', { content: [] })),
      ...textDeltas(1, 'm1', 'one'),
      ...textDeltas(1, 'm2', 'two'),
      completed(),
    ];
    expect(textOfParts((await ask([{ events }])).parts)).toEqual(['one', 'two']);
  });

  test('summaries are paragraphs, and long reasoning that is not encrypted is cut', async () => {
    const deltas: ModelDelta[] = [];
    const second = { type: 'response.reasoning_summary_text.delta', item_id: 'rs_1', output_index: 0, summary_index: 1, delta: 'Then.' };
    const usage = { output_tokens: 5, output_tokens_details: { reasoning_tokens: 8 } };
    const said = await ask([{ events: [...summary(0, 'First.'), second, ...text(1, 'm', 'x'), completed([], { usage })] }], {}, {}, deltas);
    expect(said.parts[0]).toEqual({ type: 'reasoning', text: 'First.\n\nThen.' });
    expect(deltas.slice(0, 2).map((delta) => 'text' in delta && delta.text)).toEqual(['First.', '\n\nThen.']);
    // Tokens that are reported separately from the answer are added to it.
    expect(said.usage).toMatchObject({ outputTokens: 13, reasoningTokens: 8 });
    const long = { type: 'reasoning', id: 'r', summary: [], content: [{ type: 'reasoning_text', text: 'x'.repeat(60_000) }] };
    const [cut] = (await ask([{ events: [completed([long, message('m', 'x')])] }])).parts;
    expect(cut).toEqual({ type: 'reasoning', text: expect.stringMatching(/^x{49999}…$/) });
  });

  test('the answer of a server that sends only complete items is streamed, too', async () => {
    const deltas: ModelDelta[] = [];
    await ask([{ events: [completed([reasoning, message('m', 'Hi'), call('c', '{}')])] }], {}, {}, deltas);
    expect(deltas).toEqual([
      { type: 'reasoning', text: 'Let me see.' },
      { type: 'text', text: 'Hi' },
      { type: 'tool-call', index: 0, id: 'c', name: 'add' },
      { type: 'tool-call', index: 0, arguments: '{}' },
    ]);
  });

  test('its annotations are sources, and several pieces of one message are sent back as one', async () => {
    const annotation = { type: 'url_citation', url: 'https://a.example', title: 'A', start_index: 0, end_index: 2 };
    const file = { type: 'file_citation', file_id: 'f', filename: 'b.pdf', index: 1 };
    const content = [
      { type: 'output_text', text: 'It is.', annotations: [annotation, file] },
      { type: 'refusal', refusal: 'No more.' },
    ];
    const { parts } = await ask([{ events: [done(0, message('m', '', { content })), completed()] }]);
    expect(parts).toMatchObject([
      { type: 'text', text: 'It is.' },
      { type: 'source', url: 'https://a.example', title: 'A' },
      { type: 'source', title: 'b.pdf' },
      { type: 'refusal', text: 'No more.' },
    ]);
    expect(back(...parts)).toEqual([message('m', '', { content })]);
    const events = [
      ...textDeltas(0, 'm', 'It is.'),
      { type: 'response.output_text.annotation.added', item_id: 'm', output_index: 0, content_index: 0, annotation_index: 0, annotation },
      completed(),
    ];
    expect((await ask([{ events }])).parts).toMatchObject([{ text: 'It is.' }, { type: 'source', url: 'https://a.example' }]);
  });

  test('results of hosted tools are readable, and all of them are sent back exactly', async () => {
    const search = {
      type: 'web_search_call',
      id: 'ws_1',
      status: 'completed',
      action: { type: 'search', query: 'q', sources: [{ type: 'url', url: 'https://a.example' }] },
    };
    const code = {
      type: 'code_interpreter_call',
      id: 'ci_1',
      status: 'completed',
      code: 'print(1)',
      container_id: 'cntr_1',
      outputs: [{ type: 'logs', logs: '1' }],
    };
    const files = {
      type: 'file_search_call',
      id: 'fs_1',
      status: 'completed',
      queries: ['q'],
      results: [{ filename: 'a.txt', text: 'x' }],
    };
    const listed = { type: 'mcp_list_tools', id: 'mcpl_1', server_label: 's', tools: [] };
    const mcp = { type: 'mcp_call', id: 'mcp_1', server_label: 's', name: 'look', arguments: '{"a":1}', output: null, error: 'broken' };
    const shell = { type: 'shell_call', id: 'sh_1', call_id: 'call_s', status: 'completed', action: { commands: ['ls'] } };
    const shellOutput = { type: 'shell_call_output', id: 'sho_1', call_id: 'call_s', output: [{ stdout: 'a', stderr: '' }] };
    const items = [listed, reasoning, search, { ...reasoning, id: 'rs_2' }, code, files, mcp, shell, shellOutput, message('m', 'So.')];
    const { parts, finishReason } = await ask([{ events: [...items.map((item, i) => done(i, item)), completed()] }]);
    expect(finishReason).toBe('stop');
    expect(parts.filter(({ type }) => type === 'hosted-tool')).toMatchObject([
      { id: 'ws_1', name: 'web-search', input: { type: 'search', query: 'q' }, output: [{ url: 'https://a.example' }] },
      { id: 'ci_1', name: 'code-execution', input: { code: 'print(1)' }, output: [{ type: 'logs', logs: '1' }] },
      { id: 'fs_1', name: 'file-search', input: { queries: ['q'] }, output: [{ filename: 'a.txt' }] },
      { id: 'mcp_1', name: 'mcp', input: { server: 's', tool: 'look', arguments: { a: 1 } }, output: 'broken', isError: true },
      { id: 'sh_1', name: 'shell', input: { commands: ['ls'] }, output: [{ stdout: 'a', stderr: '' }] },
    ]);
    const { logprobs: _, ...content } = { type: 'output_text', text: 'So.', annotations: [], logprobs: [] };
    expect(back(...parts)).toEqual([...items.slice(0, -1), message('m', '', { content: [content] })]);
  });

  test('a picture is a part of the answer, is kept once, and is sent back without fields that the API refuses', async () => {
    const picture = { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'UklGRgAA' };
    const events = [
      added(0, { ...picture, result: null }),
      { type: 'response.image_generation_call.partial_image', output_index: 0, partial_image_b64: 'AAAA' },
      done(0, { ...picture, revised_prompt: 'a fox', output_format: 'webp', size: '1x1' }),
      completed(),
    ];
    const { parts } = await ask([{ events }]);
    expect(parts).toMatchObject([
      { type: 'hosted-tool', name: 'image-generation', input: { prompt: 'a fox' } },
      { type: 'image', url: 'data:image/webp;base64,UklGRgAA' },
    ]);
    expect(JSON.stringify(parts).match(/UklGRgAA/g)).toHaveLength(1);
    expect(back(...parts)).toEqual([picture]);
  });

  test('reasoning is sent back only before the item that it led to', async () => {
    const read = async (...items: object[]) => (await ask([{ events: [completed(items)] }])).parts;
    const parts = await read(reasoning, message('m', 'Hi'), { ...reasoning, id: 'rs_2' }, call('c', '{}'));
    const types = (...kept: AnswerPart[]) => back(...kept).map((item) => [item.type, 'id' in item ? item.id : undefined]);
    expect(types(...parts)).toEqual([
      ['reasoning', 'rs_1'],
      ['message', 'm'],
      ['reasoning', 'rs_2'],
      ['function_call', 'fc_c'],
    ]);
    // The text was replaced, or dropped; the call was dropped.
    expect(types(parts[0] as AnswerPart, { type: 'text', text: 'Other' }, ...parts.slice(2))[0]).toEqual(['message', undefined]);
    expect(types(parts[0] as AnswerPart, ...parts.slice(2))).toEqual([
      ['reasoning', 'rs_2'],
      ['function_call', 'fc_c'],
    ]);
    expect(types(...parts.slice(0, 3))).toEqual([
      ['reasoning', 'rs_1'],
      ['message', 'm'],
    ]);
  });

  test('reasoning that is neither stored nor encrypted is only shown to people, and its item is sent back without its id', async () => {
    const stored = { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm.' }], encrypted_content: null };
    const { parts } = await ask([{ events: [completed([stored, message('m', 'Hi'), message('m2', 'Ho')])] }]);
    expect(parts[0]).toEqual({ type: 'reasoning', text: 'Hm.' });
    expect(back(...parts)).toMatchObject([
      { type: 'message', content: [{ text: 'Hi' }] },
      { type: 'message', id: 'm2' },
    ]);
    expect(back(...parts)[0]).not.toHaveProperty('id');
  });

  test.each([
    ['max_output_tokens', 'length'],
    ['content_filter', 'content_filter'],
    ['a_new_reason', 'unknown'],
  ])('it is incomplete because of %s: %s', async (reason, finishReason) => {
    expect(await ask([{ events: [...text(0, 'm', 'x'), incomplete(reason)] }])).toMatchObject({ finishReason });
  });

  test('unknown events, items and pieces are ignored', async () => {
    const events = [
      { type: 'response.a_new_event', x: 1 },
      { type: 'a_new_thing.delta', output_index: 0, delta: 'no' },
      done(0, { type: 'a_new_item', id: 'x' }),
      done(1, { type: 'a_new_call', id: 'y', arguments: '{"a":1}' }),
      ...text(2, 'm', 'x'),
      done(3, message('m2', '', { content: [{ type: 'a_new_content', x: 1 }] })),
      { type: 'keepalive', sequence_number: 1 },
      completed(),
    ];
    const { parts } = await ask([{ events }]);
    expect(parts).toMatchObject([
      { type: 'hosted-tool', id: 'y', name: 'a-new', input: { a: 1 } },
      { type: 'text', text: 'x' },
    ]);
    expect(back(...parts).map(({ type }) => type)).toEqual(['message']);
  });

  test('whatever the events are, the fold returns an answer that can be sent back, or throws a described failure', () => {
    const any = fc.anything();
    const item = fc.record({
      type: fc.constantFrom(
        'message',
        'reasoning',
        'function_call',
        'web_search_call',
        'image_generation_call',
        'shell_call',
        'mcp_call',
        'x_output',
        'y_call',
      ),
      id: fc.oneof(fc.constantFrom('a', 'b'), any),
      call_id: fc.oneof(fc.constantFrom('a', 'b'), any),
      name: any,
      arguments: any,
      action: any,
      result: any,
      content: fc.oneof(
        fc.array(fc.oneof(fc.record({ type: fc.constantFrom('output_text', 'refusal'), text: any, refusal: any, annotations: any }), any)),
        any,
      ),
      summary: any,
      encrypted_content: any,
      queries: any,
    });
    const event = fc.record({
      type: fc.constantFrom(
        'response.output_item.added',
        'response.output_item.done',
        'response.output_text.delta',
        'response.output_text.done',
        'response.refusal.delta',
        'response.reasoning_summary_text.delta',
        'response.function_call_arguments.delta',
        'response.custom_tool_call_input.delta',
        'response.output_text.annotation.added',
        'response.completed',
        'x',
      ),
      output_index: fc.oneof(fc.nat(2), any),
      item_id: fc.oneof(fc.constantFrom('a', 'b'), any),
      content_index: fc.oneof(fc.nat(1), any),
      delta: fc.oneof(fc.string(), any),
      text: fc.oneof(fc.string(), any),
      annotation: any,
      item: fc.oneof(item, any),
      response: fc.oneof(fc.record({ output: fc.oneof(fc.array(item), any), usage: any, status: any, incomplete_details: any }), any),
    });
    fc.assert(
      fc.property(fc.array(event, { maxLength: 8 }), (events) => {
        const fold = foldStream(['add', 'shell']);
        try {
          for (const one of events) fold.event(JSON.stringify(one, (_, value) => (typeof value === 'bigint' ? String(value) : value)));
          build([answer(...soundAnswer(fold.answer()).parts)]);
        } catch (error) {
          expect(['Trouble', 'LimitExceeded', 'ModelFailure']).toContain((error as Error).constructor.name);
        }
      }),
    );
  });

  test('whatever the pieces are, their text is that of the answer', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(2), fc.string({ minLength: 1 })), { minLength: 1 }), (pieces) => {
        const fold = foldStream([]);
        for (const [index, delta] of pieces) {
          fold.event(
            JSON.stringify({ type: 'response.output_text.delta', item_id: `m${index}`, output_index: index, content_index: 0, delta }),
          );
        }
        fold.event(JSON.stringify(completed()));
        const expected = [0, 1, 2].map((index) => pieces.flatMap(([at, delta]) => (at === index ? delta : [])).join(''));
        expect(textOfParts(fold.answer().parts)).toEqual(expected.filter((one) => one !== ''));
      }),
    );
  });
});

describe('a call of a tool that OpenAI defines', () => {
  const tools = ['shell', 'local_shell', 'apply_patch', 'computer', 'sql'].map((name) => ({ ...tool, name }));
  const items = [
    { type: 'shell_call', id: 'sh_1', call_id: 'c1', status: 'completed', action: { commands: ['ls'], max_output_length: 100 } },
    { type: 'local_shell_call', id: 'lsh_1', call_id: 'c2', status: 'completed', action: { type: 'exec', command: ['ls'], env: {} } },
    { type: 'apply_patch_call', id: 'apc_1', call_id: 'c3', status: 'completed', operation: { type: 'delete_file', path: 'a' } },
    { type: 'computer_call', id: 'cu_1', call_id: 'c4', status: 'completed', action: { type: 'screenshot' }, pending_safety_checks: [] },
    { type: 'custom_tool_call', id: 'ctc_1', call_id: 'c5', status: 'completed', name: 'sql', input: 'SELECT 1' },
    call('c6', '{}', { caller: { type: 'program', caller_id: 'p' } }),
  ];

  test('is a call of the tool of the agent with that name, and its result is sent back in the required type', async () => {
    const { parts, finishReason } = await ask([{ events: [completed(items)] }], {}, { tools });
    expect(finishReason).toBe('tool_calls');
    expect(parts).toMatchObject([
      { type: 'tool-call', id: 'c1', name: 'shell', arguments: '{"commands":["ls"],"max_output_length":100}' },
      { type: 'tool-call', id: 'c2', name: 'local_shell', arguments: '{"type":"exec","command":["ls"],"env":{}}' },
      { type: 'tool-call', id: 'c3', name: 'apply_patch', arguments: '{"type":"delete_file","path":"a"}' },
      { type: 'tool-call', id: 'c4', name: 'computer', arguments: '{"type":"screenshot"}' },
      { type: 'tool-call', id: 'c5', name: 'sql', arguments: '{"input":"SELECT 1"}' },
      { type: 'tool-call', id: 'c6', name: 'add' },
    ]);
    const image = { type: 'image' as const, url: 'data:image/png;base64,AA==' };
    const results = [
      result('c1', 'a'),
      result('c2', 'b'),
      result('c3', 'bad', true),
      result('c4', [image]),
      result('c5', 'd'),
      result('c6', 'e'),
    ];
    expect(build([answer(...parts), ...results]).input).toEqual([
      ...items,
      {
        type: 'shell_call_output',
        call_id: 'c1',
        output: [{ stdout: 'a', stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
        max_output_length: 100,
      },
      { type: 'local_shell_call_output', call_id: 'c2', output: 'b' },
      { type: 'apply_patch_call_output', call_id: 'c3', status: 'failed', output: 'bad' },
      { type: 'computer_call_output', call_id: 'c4', output: { type: 'computer_screenshot', image_url: image.url } },
      { type: 'custom_tool_call_output', call_id: 'c5', output: 'd' },
      { type: 'function_call_output', call_id: 'c6', output: 'e', caller: { type: 'program', caller_id: 'p' } },
    ]);
  });

  test('is a plain call for a model of another family, and so is its result, whichever model was asked before', async () => {
    const { parts } = await ask([{ events: [completed([...items.slice(4)])] }], {}, { tools });
    // The same results, as in a thread that falls back to another model and returns to the first.
    const results = [result('c5', 'd'), result('c6', 'e')];
    const plain = answer(...parts.map(({ opaque: _, ...part }) => part));
    const own = answer(...parts);
    const types = (message: Message) => build([message, ...results]).input.map(({ type, caller }: any) => [type, caller?.type]);
    const asOwn = [
      ['custom_tool_call', undefined],
      ['function_call', 'program'],
      ['custom_tool_call_output', undefined],
      ['function_call_output', 'program'],
    ];
    const asPlain = ['function_call', 'function_call', 'function_call_output', 'function_call_output'].map((type) => [type, undefined]);
    expect(types(own)).toEqual(asOwn);
    expect(types(plain)).toEqual(asPlain);
    expect(types(own)).toEqual(asOwn);
  });

  test('is run by the server if the agent has no such tool, and is not sent back without a result', async () => {
    const { parts, finishReason } = await ask([{ events: [completed([reasoning, ...items.slice(0, 5), message('m', 'Hi')])] }]);
    expect(finishReason).toBe('stop');
    expect(parts.map(({ type }) => type)).toEqual(['reasoning', ...Array(5).fill('hosted-tool'), 'text']);
    expect(back(...parts).map(({ type }) => type)).toEqual(['message']);
  });
});

describe('a failure', () => {
  const errorOf = (code: string | null, type = 'invalid_request_error', words = 'words') => ({
    error: { message: words, type, code, param: null },
  });

  test.each([
    [401, errorOf('invalid_api_key'), 'auth'],
    [403, errorOf('unsupported_country_region_territory'), 'permission'],
    [404, errorOf('model_not_found'), 'not-found'],
    [429, errorOf('rate_limit_exceeded', 'tokens'), 'rate-limit'],
    [429, errorOf('insufficient_quota', 'insufficient_quota'), 'quota'],
    [400, errorOf('context_length_exceeded'), 'context-length'],
    [400, errorOf('invalid_prompt'), 'content-filter'],
    [400, errorOf('bio_policy'), 'content-filter'],
    [400, errorOf(null), 'bad-request'],
    [500, errorOf('server_error', 'server_error'), 'server'],
    [503, errorOf(null, 'service_unavailable_error', 'overloaded'), 'overloaded'],
  ])('a status of %i with %j is of the kind %s', async (status, body, kind) => {
    const failure = await failureOf({ status, body });
    expect(failure).toMatchObject({ name: 'ModelFailure', kind, details: { status } });
    expect(failure.message).toContain(body.error.message);
    expect(failure.message).not.toContain('sk-secret');
  });

  test.each([
    ['rate_limit_exceeded', 'rate-limit'],
    ['insufficient_quota', 'quota'],
    ['server_error', 'server'],
    ['server_is_overloaded', 'overloaded'],
    ['context_length_exceeded', 'context-length'],
    ['invalid_prompt', 'content-filter'],
    ['image_content_policy_violation', 'content-filter'],
    ['model_not_found', 'not-found'],
    ['invalid_api_key', 'auth'],
    ['invalid_image_url', 'bad-request'],
    ['image_too_large', 'bad-request'],
    ['vector_store_timeout', 'timeout'],
  ])('sent in a stream as %s it is of the kind %s, in any event', async (code, kind) => {
    const error = { code, message: 'words' };
    const half = [created, ...text(0, 'm', 'Half')];
    for (const last of [
      { type: 'response.failed', response: { status: 'failed', error } },
      completed([], { status: 'failed', error }),
      { type: 'error', error: { ...error, type: 'some_error' } },
      { type: 'error', ...error, sequence_number: 3 },
      { error },
    ]) {
      expect(await failureOf({ events: [...half, last] })).toMatchObject({ kind, details: { code } });
    }
  });

  test('has the wait that a header or the message of an event requests', async () => {
    const header = await failureOf({ status: 429, body: errorOf('rate_limit_exceeded'), headers: { 'retry-after-ms': '7000' } });
    expect(header.details).toMatchObject({ retryAfterMs: 7_000 });
    const waits = { 'in 1.5s.': 1_500, 'in 300ms.': 300, 'in 1m2s.': 62_000, later: undefined };
    for (const [words, ms] of Object.entries(waits)) {
      const error = { code: 'rate_limit_exceeded', message: `Limit reached. Please try again ${words}` };
      const { details } = await failureOf({ events: [{ type: 'response.failed', response: { error } }] });
      expect(details.retryAfterMs).toBe(ms);
    }
  });

  test('a failed response without a message is a failure of the server', async () => {
    expect(await failureOf({ events: [{ type: 'response.failed', response: { error: null } }] })).toMatchObject({ kind: 'server' });
  });

  test('a stream that ends, is cut, or is marked as complete before the response has ended is not an answer', async () => {
    const half = [created, ...text(0, 'm', 'Half')];
    for (const reply of [{ events: half }, { events: half, end: 'cut' as const }, { events: [...half, '[DONE]'], end: 'hang' as const }]) {
      expect(await failureOf(reply)).toMatchObject({ kind: 'truncated-stream' });
    }
  });

  test('a connection that breaks or hangs after the response has ended has no effect', async () => {
    for (const end of ['cut', 'hang'] as const) {
      expect(await ask([{ events: [...text(0, 'm', 'Whole'), completed()], end }])).toMatchObject({ finishReason: 'stop' });
    }
  });

  test('a silent server is given up, before its first byte and in the middle', async () => {
    expect(await failureOf({ events: [], end: 'hang' }, { firstByteTimeoutMs: 60 })).toMatchObject({ kind: 'timeout' });
    const stalled = await failureOf({ events: textDeltas(0, 'm', 'x'), end: 'hang' }, { idleTimeoutMs: 60 });
    expect(stalled).toMatchObject({ kind: 'timeout', message: expect.stringContaining('stalled') });
    await until('the client hangs up', () => server?.hungUp() === 1);
  });

  test('an answer without content is empty, unless a limit or a filter is the reason', async () => {
    expect(await failureOf({ events: [created, completed()] })).toMatchObject({ kind: 'empty' });
    expect(await failureOf({ events: [completed([reasoning])] })).toMatchObject({ kind: 'empty' });
    expect(await ask([{ events: [incomplete('content_filter')] }])).toMatchObject({ parts: [], finishReason: 'content_filter' });
  });

  test('a missing key for OpenAI itself, and an invalid address, fail the call and name the variable', async () => {
    const failed = (options: OpenAiResponsesOptions) =>
      openAiResponses(options)
        .call(request([user('hi')]), { signal: new AbortController().signal })
        .catch((error) => error);
    expect(await failed({})).toMatchObject({ kind: 'auth', message: expect.stringContaining('OPENAI_API_KEY') });
    expect(await failed({ baseUrl: 'nowhere' })).toMatchObject({
      kind: 'bad-request',
      message: expect.stringContaining('OPENAI_BASE_URL'),
    });
  });

  test('an aborted call closes its connection, and rejects with the reason', async () => {
    server = await startSseServer({ events: textDeltas(0, 'm', 'x'), end: 'hang' });
    const controller = new AbortController();
    const asked = openAiResponses({ baseUrl: server.url }).call(request([user('hi')]), {
      signal: controller.signal,
      onDelta: () => controller.abort(new Error('enough')),
    });
    await expect(asked).rejects.toThrow('enough');
    await until('the client hangs up', () => server?.hungUp() === 1);
  });

  test.each<[string, () => unknown[], string]>([
    ['text', () => Array.from({ length: 20 }, () => textDeltas(0, 'm', 'x'.repeat(50_000))).flat(), 'its answer'],
    ['text in whole items', () => [done(0, message('a', 'x'.repeat(500_000))), done(1, message('b', 'x'.repeat(500_000)))], 'its answer'],
    ['arguments', () => callEvents(0, 'c', ...Array(20).fill('x'.repeat(50_000))), 'its answer'],
    ['data to see again', () => [done(0, { ...reasoning, encrypted_content: 'x'.repeat(bounds.opaqueChars + 1) })], 'its opaque data'],
    [
      'data to see again at the end',
      () => [completed([{ ...reasoning, encrypted_content: 'x'.repeat(bounds.opaqueChars + 1) }])],
      'its opaque data',
    ],
    ['reasoning', () => Array.from({ length: 50 }, () => summary(0, 'x'.repeat(100_000))).flat(), 'its reasoning'],
    ['calls', () => Array.from({ length: bounds.callsPerAnswer + 1 }, (_, i) => added(i, call(`c${i}`, ''))), 'tool calls'],
    ['items', () => Array.from({ length: bounds.answerParts + 1 }, (_, i) => added(i, message(`m${i}`, ''))), 'parts'],
    ['nesting', () => [`${'['.repeat(200)}${']'.repeat(200)}`], 'levels of nesting'],
    ['listed', () => [completed(Array(bounds.eventItems + 1).fill({ type: 'x' }))], 'items'],
  ])('more %s than a call takes is too large', async (_what, events, words) => {
    const failure = await failureOf({ events: [...events(), ...text(9_999, 'last', 'x'), completed()] });
    expect(failure).toMatchObject({ kind: 'too-large', message: expect.stringContaining(words) });
  });
});

test('[B132] the key of the prompt cache is part of the request', () => {
  expect(build([user('hi')], { cacheKey: 'thread_1' })).toMatchObject({ prompt_cache_key: 'thread_1' });
  expect(build([user('hi')])).not.toHaveProperty('prompt_cache_key');
});

test('complete items, and pieces of one, are counted while they arrive', () => {
  const fold = foldStream([]);
  fold.event(JSON.stringify(done(0, message('a', 'x'.repeat(500_000)))));
  expect(() => fold.event(JSON.stringify(done(1, message('b', 'x'.repeat(500_000)))))).toThrow('its answer');
  const pieces = foldStream([]);
  const piece = (content_index: number) => ({ type: 'response.output_text.delta', output_index: 0, content_index, delta: 'x' });
  for (let i = 0; i < bounds.answerParts; i++) pieces.event(JSON.stringify(piece(i)));
  expect(() => pieces.event(JSON.stringify(piece(bounds.answerParts)))).toThrow('parts');
});

test('a snapshot and its alias are one family, and other models are others', () => {
  const { family } = openAiResponses();
  expect(family?.('gpt-5-2025-08-07')).toBe('gpt-5');
  expect(family?.('gpt-5')).toBe('gpt-5');
  expect(family?.('gpt-5-mini')).toBe('gpt-5-mini');
});

test('an index that is no number and throws when it is converted to one is 0', async () => {
  const odd = { content_index: { toString: [] }, output_index: 0 };
  const delta = { type: 'response.output_text.delta', delta: 'Hi', ...odd };
  const annotation = { type: 'response.output_text.annotation.added', annotation: {}, ...odd };
  const { parts } = await ask([{ events: [delta, annotation, completed()] }]);
  expect(parts[0]).toMatchObject({ type: 'text', text: 'Hi' });
});
