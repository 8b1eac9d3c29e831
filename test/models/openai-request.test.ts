import type { ModelSettings } from '../../src/core/agent';
import type { AnswerPart, Message } from '../../src/core/message';
import { encodeRequest } from '../../src/models/openai/request';
import { answerParts } from '../support/answer-parts';

const tool = { name: 'add', description: 'Adds.', parameters: { type: 'object', properties: { a: { default: 1 } } } };
const call = (id: string, args: string) => ({ id, name: 'add', arguments: args });
const image = { type: 'image' as const, url: 'data:image/png;base64,AA==' };

function build(messages: Message[], settings: ModelSettings = {}, tools = [tool], instructions = 'Be brief.') {
  return JSON.parse(Buffer.from(encodeRequest({ model: 'm', instructions, messages, tools, settings }, 'compatible')).toString());
}
const user = (content: Extract<Message, { role: 'user' }>['content']): Message => ({ id: 'u', role: 'user', content });
const answer = (content: AnswerPart[]): Message => ({ id: 'a', role: 'assistant', content, attempt: 1 });
const assistant = (text: string, args: string[] = []): Message =>
  answer(
    answerParts(
      text,
      args.map((one, n) => call(`c${n}`, one)),
    ),
  );
const result = (id: string, content: Extract<Message, { role: 'tool' }>['content'], isError = false): Message => ({
  id,
  role: 'tool',
  toolCallId: id,
  name: 'add',
  content,
  isError,
});

test('[A47] without tools the request has neither tools nor tool_choice, which the API treats as none and would otherwise refuse', () => {
  const body = build([user('hi')], { toolChoice: 'required' }, []);
  expect(body).not.toHaveProperty('tools');
  expect(body).not.toHaveProperty('tool_choice');
});

test('hosted tools, which this API does not have, are refused and not left out', () => {
  const request = { model: 'm', instructions: '', messages: [user('hi')], tools: [], settings: {}, hostedTools: [{ name: 'web-search' }] };
  expect(() => encodeRequest(request, 'compatible')).toThrow(
    "Chat Completions has no hosted tools, so not 'web-search' either. The providers openai-responses, anthropic and google have such tools.",
  );
});

test('[B132] the key of the prompt cache is sent to OpenAI, and not to servers that may reject it', () => {
  const request = { model: 'gpt-5', instructions: '', messages: [user('hi')], tools: [], settings: {}, cacheKey: 'thread_1' };
  const sent = (dialect: 'openai' | 'compatible', more: object = {}) =>
    JSON.parse(Buffer.from(encodeRequest({ ...request, ...more }, dialect)).toString()).prompt_cache_key;
  expect(sent('openai')).toBe('thread_1');
  expect(sent('compatible')).toBeUndefined();
  expect(sent('openai', { settings: { providerOptions: { prompt_cache_key: null } } })).toBeUndefined();
});

test('it always streams and requests the usage', () => {
  expect(build([user('hi')])).toMatchObject({ model: 'm', stream: true, stream_options: { include_usage: true } });
  expect(build([user('hi')], { providerOptions: { stream: false } }).stream).toBe(true);
});

test('[A211] the instructions are the first message, a system message; without instructions there is none', () => {
  expect(build([user('hi')]).messages).toEqual([
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'hi' },
  ]);
  expect(build([user('hi')], {}, [tool], '').messages).toEqual([{ role: 'user', content: 'hi' }]);
});

test.each([
  ['openai', 'gpt-5-mini', 'developer'],
  ['openai', 'o3', 'developer'],
  ['openai', 'gpt-4o', 'system'],
  ['compatible', 'openai/gpt-5-mini', 'system'],
] as const)('[A211] for a server that is %s, the instructions of %s have the role %s', (dialect, name, role) => {
  const request = { model: name, instructions: 'Be brief.', messages: [user('hi')], tools: [], settings: {} };
  expect(JSON.parse(Buffer.from(encodeRequest(request, dialect)).toString()).messages).toEqual([
    { role, content: 'Be brief.' },
    { role: 'user', content: 'hi' },
  ]);
});

test('settings are mapped, and unset ones are not sent', () => {
  expect(Object.keys(build([])).sort()).toEqual(['messages', 'model', 'stream', 'stream_options', 'tools']);
  expect(build([], { temperature: 0, maxTokens: 9, toolChoice: 'required' })).toMatchObject({
    temperature: 0,
    max_tokens: 9,
    tool_choice: 'required',
  });
  expect(build([], { toolChoice: { tool: 'add' } }).tool_choice).toEqual({ type: 'function', function: { name: 'add' } });
  const bytes = encodeRequest({ model: 'm', instructions: '', messages: [], tools: [], settings: { maxTokens: 9 } }, 'openai');
  const own = JSON.parse(Buffer.from(bytes).toString());
  expect(own).toMatchObject({ max_completion_tokens: 9 });
  expect(own).not.toHaveProperty('max_tokens');
});

test('provider options override fields, and null removes a field', () => {
  const body = build([], { temperature: 1, providerOptions: { temperature: 0.5, reasoning_effort: 'low', stream_options: null } });
  expect(body).toMatchObject({ temperature: 0.5, reasoning_effort: 'low' });
  expect(body).not.toHaveProperty('stream_options');
});

test('the schema of a tool is sent unchanged, without a vendor conversion', () => {
  expect(build([]).tools).toEqual([{ type: 'function', function: tool }]);
});

test('parts of a user message become text and image parts; empty ones are dropped', () => {
  const body = build([
    user([{ type: 'text', text: 'see' }, { type: 'text', text: '' }, image, { ...image, detail: 'low' }]),
    user([{ type: 'text', text: '' }]),
  ]);
  expect(body.messages[1].content).toEqual([
    { type: 'text', text: 'see' },
    { type: 'image_url', image_url: { url: image.url } },
    { type: 'image_url', image_url: { url: image.url, detail: 'low' } },
  ]);
  expect(body.messages).toHaveLength(2);
});

test('[A30] an answer with text and calls is sent back with both, with the arguments exactly as the model wrote them', () => {
  const { messages } = build([assistant('so', ['{ "a":1 }']), result('c0', '1')]);
  expect(messages[1]).toEqual({
    role: 'assistant',
    content: 'so',
    tool_calls: [{ id: 'c0', type: 'function', function: { name: 'add', arguments: '{ "a":1 }' } }],
  });
  expect(messages[2]).toEqual({ role: 'tool', tool_call_id: 'c0', content: '1' });
});

test('[A147] an answer with only calls has null content, and an empty answer is left out', () => {
  expect(build([assistant('', ['{}'])]).messages[1].content).toBeNull();
  expect(build([user('a'), assistant(''), user('b')]).messages.map((message: any) => message.role)).toEqual(['system', 'user', 'user']);
});

test('[A213] several calls without text are followed by their results and nothing else, with no empty user message', () => {
  const { messages } = build([user('a'), assistant('', ['{}', '{}']), result('c0', '1'), result('c1', '2'), user('')]);
  expect(messages.map((message: any) => message.role)).toEqual(['system', 'user', 'assistant', 'tool', 'tool']);
  expect(messages[2].tool_calls).toHaveLength(2);
});

test('a refusal is sent back as the text of the assistant', () => {
  expect(build([answer([{ type: 'refusal', text: 'No.' }])]).messages[1]).toEqual({ role: 'assistant', content: 'No.' });
});

test('[A58] arguments that are not a JSON object are wrapped in one, so that no server refuses the history', () => {
  const { messages } = build([assistant('', ['', ' ', '{"a":', '[1]'])]);
  expect(messages[1].tool_calls.map((sent: any) => JSON.parse(sent.function.arguments))).toEqual([
    {},
    {},
    { malformed_arguments: '{"a":' },
    { malformed_arguments: '[1]' },
  ]);
});

test('[A60] a failed tool result keeps its text, and an empty one says that it is empty', () => {
  const { messages } = build([assistant('', ['{}', '{}']), result('c0', 'ENOENT', true), result('c1', '')]);
  expect(messages.slice(2).map((message: any) => message.content)).toEqual(['ENOENT', '(no output)']);
});

test('[B144] images of tool results follow in one user message after all results of the answer', () => {
  const { messages } = build([
    assistant('', ['{}', '{}', '{}']),
    result('c0', [{ type: 'text', text: 'shot' }, image]),
    result('c1', 'plain'),
    result('c2', [image, image]),
    assistant('', ['{}']),
    result('c0', [image]),
  ]);
  expect(messages.map((message: any) => message.role)).toEqual([
    'system',
    'assistant',
    'tool',
    'tool',
    'tool',
    'user',
    'assistant',
    'tool',
    'user',
  ]);
  expect(messages[2].content).toMatch(/^shot\n.*next message/);
  expect(messages[4].content).toContain('2 images or files');
  const parts = messages[5].content;
  expect(parts.map((part: any) => part.type)).toEqual(['text', 'image_url', 'text', 'image_url', 'image_url']);
  expect(parts[0].text).toContain('c0');
  expect(parts[1].image_url.url).toBe(image.url);
  expect(messages[8].content).toHaveLength(2);
});

test('data that a server attached to a call is sent back with that call', () => {
  const extra = { google: { thought_signature: 's' } };
  const { messages } = build([
    answer([
      { type: 'tool-call', ...call('c0', '{}') },
      { type: 'tool-call', ...call('c1', '{}'), opaque: { extra_content: extra } },
    ]),
  ]);
  expect(messages[1].tool_calls.map((sent: any) => sent.extra_content)).toEqual([undefined, extra]);
});

test('data that this API never gives, of a provider that had the model before, does not get into a request', () => {
  const { messages } = build([
    answer([
      { type: 'reasoning', text: 'hidden', opaque: { field: 'tool_calls' } },
      { type: 'tool-call', ...call('c0', '{}'), opaque: { id: 'other', secret: 's' } },
    ]),
  ]);
  expect(messages[1]).toEqual({
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'c0', type: 'function', function: { name: expect.any(String), arguments: '{}' } }],
  });
});

test('a message is encoded once and sent the same with every turn, also with others and beyond ASCII', () => {
  const messages = [user('größe 😀 "quoted"'), assistant('', ['{"a":1}']), result('c0', 'line\nline'), assistant('', []), user('again')];
  const first = build(messages.slice(0, 3));
  const later = build(messages);
  expect(later.messages.slice(0, first.messages.length)).toEqual(first.messages);
  expect(later.messages.map((m: { role: string }) => m.role)).toEqual(['system', 'user', 'assistant', 'tool', 'user']);
  expect(build(messages)).toEqual(later);
});

test('messages in the provider options replace the transcript', () => {
  const own = [{ role: 'user', content: 'mine' }];
  expect(build([user('hi')], { providerOptions: { messages: own } }).messages).toEqual(own);
});

test('a call and its result are sent under the id that the provider assigned, also if the result contains an image', () => {
  const asked = answer(answerParts('', [{ ...call('call_ours', '{}'), providerId: 'c7' }]));
  const shown = result('call_ours', [{ type: 'text', text: 'see' }, image]);
  const { messages } = build([user('hi'), asked, shown, user('and?')]);
  expect(messages[2].tool_calls).toMatchObject([{ id: 'c7' }]);
  expect(messages[3]).toMatchObject({ role: 'tool', tool_call_id: 'c7' });
  expect(messages[4].content[0].text).toBe('From the result of add (call c7):');
  expect(JSON.stringify(messages)).not.toContain('call_ours');
});
