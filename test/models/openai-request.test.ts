import type { ModelSettings } from '../../src/core/agent';
import type { Message } from '../../src/core/message';
import { encodeRequest } from '../../src/models/openai/request';

const tool = { name: 'add', description: 'Adds.', parameters: { type: 'object', properties: { a: { default: 1 } } } };
const call = (id: string, args: string) => ({ id, name: 'add', arguments: args });
const image = { type: 'image' as const, url: 'data:image/png;base64,AA==' };

function build(messages: Message[], settings: ModelSettings = {}, tools = [tool], instructions = 'Be brief.') {
  return JSON.parse(Buffer.from(encodeRequest({ model: 'm', instructions, messages, tools, settings }, 'max_tokens')).toString());
}
const user = (content: Extract<Message, { role: 'user' }>['content']): Message => ({ id: 'u', role: 'user', content });
const assistant = (content: string, args: string[] = [], more: object = {}): Message => ({
  id: 'a',
  role: 'assistant',
  content,
  attempt: 1,
  toolCalls: args.map((text, n) => call(`c${n}`, text)),
  ...more,
});
const result = (id: string, content: Extract<Message, { role: 'tool' }>['content'], isError = false): Message => ({
  id,
  role: 'tool',
  toolCallId: id,
  name: 'add',
  content,
  isError,
});

test('[A47] without tools the request has neither tools nor tool_choice, which the API takes for none and refuses otherwise', () => {
  const body = build([user('hi')], { toolChoice: 'required' }, []);
  expect(body).not.toHaveProperty('tools');
  expect(body).not.toHaveProperty('tool_choice');
});

test('it always streams and asks for the usage', () => {
  expect(build([user('hi')])).toMatchObject({ model: 'm', stream: true, stream_options: { include_usage: true } });
  expect(build([user('hi')], { providerOptions: { stream: false } }).stream).toBe(true);
});

test('the instructions come first, as the system message; none where there are none', () => {
  expect(build([user('hi')]).messages).toEqual([
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'hi' },
  ]);
  expect(build([user('hi')], {}, [tool], '').messages).toEqual([{ role: 'user', content: 'hi' }]);
});

test('settings are mapped, and what is unset is not sent', () => {
  expect(Object.keys(build([])).sort()).toEqual(['messages', 'model', 'stream', 'stream_options', 'tools']);
  expect(build([], { temperature: 0, maxTokens: 9, toolChoice: 'required' })).toMatchObject({
    temperature: 0,
    max_tokens: 9,
    tool_choice: 'required',
  });
  expect(build([], { toolChoice: { tool: 'add' } }).tool_choice).toEqual({ type: 'function', function: { name: 'add' } });
  const bytes = encodeRequest(
    { model: 'm', instructions: '', messages: [], tools: [], settings: { maxTokens: 9 } },
    'max_completion_tokens',
  );
  const own = JSON.parse(Buffer.from(bytes).toString());
  expect(own).toMatchObject({ max_completion_tokens: 9 });
  expect(own).not.toHaveProperty('max_tokens');
});

test('provider options come last and win, and a null takes a field out', () => {
  const body = build([], { temperature: 1, providerOptions: { temperature: 0.5, reasoning_effort: 'low', stream_options: null } });
  expect(body).toMatchObject({ temperature: 0.5, reasoning_effort: 'low' });
  expect(body).not.toHaveProperty('stream_options');
});

test('the schema of a tool is sent as it is, with no vendor conversion in between', () => {
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
  expect(body.messages[2].content).toBe('');
});

test('[A30] an answer with text and calls replays both, with the arguments exactly as the model wrote them', () => {
  const { messages } = build([assistant('so', ['{ "a":1 }']), result('c0', '1')]);
  expect(messages[1]).toEqual({
    role: 'assistant',
    content: 'so',
    tool_calls: [{ id: 'c0', type: 'function', function: { name: 'add', arguments: '{ "a":1 }' } }],
  });
  expect(messages[2]).toEqual({ role: 'tool', tool_call_id: 'c0', content: '1' });
});

test('[A147] an answer of calls alone has null content, and an answer of nothing is left out', () => {
  expect(build([assistant('', ['{}'])]).messages[1].content).toBeNull();
  expect(build([user('a'), assistant(''), user('b')]).messages.map((message: any) => message.role)).toEqual(['system', 'user', 'user']);
});

test('a refusal is replayed as what the assistant said', () => {
  expect(build([assistant('', [], { refusal: 'No.' })]).messages[1]).toEqual({ role: 'assistant', content: 'No.' });
});

test('[A58] arguments that are no JSON object are replayed inside one, so that no server refuses the history', () => {
  const { messages } = build([assistant('', ['', ' ', '{"a":', '[1]'])]);
  expect(messages[1].tool_calls.map((sent: any) => JSON.parse(sent.function.arguments))).toEqual([
    {},
    {},
    { malformed_arguments: '{"a":' },
    { malformed_arguments: '[1]' },
  ]);
});

test('[A60] a failed tool result keeps its text, and an empty one says that it is', () => {
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
  expect(messages[4].content).toContain('2 images');
  const parts = messages[5].content;
  expect(parts.map((part: any) => part.type)).toEqual(['text', 'image_url', 'text', 'image_url', 'image_url']);
  expect(parts[0].text).toContain('c0');
  expect(parts[1].image_url.url).toBe(image.url);
  expect(messages[8].content).toHaveLength(2);
});

test('what a server hung on a call goes back with that call', () => {
  const extra = { google: { thought_signature: 's' } };
  const { messages } = build([assistant('', ['{}', '{}'], { opaque: { toolCallExtras: [null, extra] } })]);
  expect(messages[1].tool_calls.map((sent: any) => sent.extra_content)).toEqual([undefined, extra]);
});

test('a message is written once and sent the same with every turn, also beside others and beyond ASCII', () => {
  const messages = [user('größe 😀 "quoted"'), assistant('', ['{"a":1}']), result('c0', 'line\nline'), assistant('', []), user('again')];
  const first = build(messages.slice(0, 3));
  const later = build(messages);
  expect(later.messages.slice(0, first.messages.length)).toEqual(first.messages);
  expect(later.messages.map((m: { role: string }) => m.role)).toEqual(['system', 'user', 'assistant', 'tool', 'user']);
  expect(build(messages)).toEqual(later);
});

test('messages of the provider options take the place of the transcript', () => {
  const own = [{ role: 'user', content: 'mine' }];
  expect(build([user('hi')], { providerOptions: { messages: own } }).messages).toEqual(own);
});

test('a call and its result are sent under the id that the provider gave the call, also where the result brings an image', () => {
  const answer = assistant('', [], { toolCalls: [{ ...call('call_ours', '{}'), providerId: 'c7' }] });
  const shown = result('call_ours', [{ type: 'text', text: 'see' }, image]);
  const { messages } = build([user('hi'), answer, shown, user('and?')]);
  expect(messages[2].tool_calls).toMatchObject([{ id: 'c7' }]);
  expect(messages[3]).toMatchObject({ role: 'tool', tool_call_id: 'c7' });
  expect(messages[4].content[0].text).toBe('From the result of add (call c7):');
  expect(JSON.stringify(messages)).not.toContain('call_ours');
});
