import type { Content, FunctionCallingConfigMode, GenerateContentConfig, Part, ThinkingLevel } from '@google/genai';
import fc from 'fast-check';
import type { AnswerPart, Message } from '../../src/core/message';
import { google } from '../../src/models/google/client';
import { encodeRequest } from '../../src/models/google/request';
import type { ModelRequest } from '../../src/models/model';

/** The body of the request, which the SDK makes of its own arguments: these fields go as they are. */
interface Body extends Pick<GenerateContentConfig, 'tools' | 'toolConfig' | 'safetySettings'> {
  contents: Content[];
  systemInstruction?: { parts: Part[] };
  generationConfig?: Pick<
    GenerateContentConfig,
    'temperature' | 'maxOutputTokens' | 'responseMimeType' | 'responseJsonSchema' | 'thinkingConfig' | 'topK'
  >;
}

const model = 'gemini-3-flash-preview';
const older = 'gemini-2.5-flash';
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
const answer = (...content: AnswerPart[]): Message => ({ id: 'a', role: 'assistant', content, attempt: 1, model: `google/${model}` });
const call = (id: string, more: Partial<Extract<AnswerPart, { type: 'tool-call' }>> = {}): AnswerPart => ({
  type: 'tool-call',
  id,
  name: 'add',
  arguments: '{"a":1}',
  ...more,
});
const result = (toolCallId: string, content: Extract<Message, { role: 'tool' }>['content'], isError = false): Message => ({
  id: `r-${toolCallId}`,
  role: 'tool',
  toolCallId,
  name: 'add',
  content,
  isError,
});
const text = (messages: Message[], more: Partial<ModelRequest> = {}) => Buffer.from(encodeRequest(request(messages, more))).toString();
const build = (messages: Message[], more: Partial<ModelRequest> = {}): Body => JSON.parse(text(messages, more));
const image = { type: 'image' as const, url: 'data:image/png;base64,AA==' };

test('[A211] has the instructions, the tools with their JSON schemas and the settings, each in its field', () => {
  const settings = { temperature: 0.5, maxTokens: 7, toolChoice: 'required' as const };
  expect(build([user('hi')], { settings })).toEqual({
    contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
    systemInstruction: { parts: [{ text: 'Be brief.' }] },
    tools: [{ functionDeclarations: [{ name: 'add', description: 'Adds.', parametersJsonSchema: tool.parameters }] }],
    toolConfig: { functionCallingConfig: { mode: 'ANY' as FunctionCallingConfigMode } },
    generationConfig: { temperature: 0.5, maxOutputTokens: 7 },
  } satisfies Body);
  expect(build([user('hi')], { instructions: '', tools: [], settings: { toolChoice: 'required' } })).toEqual({
    contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
  });
});

test.each([
  ['auto', { mode: 'AUTO' }],
  ['none', { mode: 'NONE' }],
  ['required', { mode: 'ANY' }],
  [{ tool: 'add' }, { mode: 'ANY', allowedFunctionNames: ['add'] }],
] as const)('the choice %j of a tool is %j', (toolChoice, functionCallingConfig) => {
  expect(build([user('hi')], { settings: { toolChoice } }).toolConfig).toEqual({ functionCallingConfig });
});

test('[A212] all results of an answer follow it in one content, in the order of its calls, followed by new user text', () => {
  const { contents } = build([
    user('go'),
    answer(
      { type: 'text', text: 'so' },
      call('c1', { opaque: { signature: 's' } }),
      call('c2', { arguments: '' }),
      call('c3', { arguments: '{bad' }),
    ),
    result('c3', ''),
    result('c1', 'one'),
    result('c2', 'no', true),
    user('and?'),
    user(''),
    user('yes?'),
  ]);
  expect(contents).toEqual([
    { role: 'user', parts: [{ text: 'go' }] },
    {
      role: 'model',
      parts: [
        { text: 'so' },
        { functionCall: { name: 'add', args: { a: 1 } }, thoughtSignature: 's' },
        { functionCall: { name: 'add', args: {} } },
        { functionCall: { name: 'add', args: { malformed_arguments: '{bad' } } },
      ],
    },
    {
      role: 'user',
      parts: [
        { functionResponse: { name: 'add', response: { output: 'one' } } },
        { functionResponse: { name: 'add', response: { error: 'no' } } },
        { functionResponse: { name: 'add', response: { output: '(no output)' } } },
        { text: 'and?' },
        { text: 'yes?' },
      ],
    },
  ] satisfies Content[]);
});

test('[A214] the id of a call is sent back with its result only if Gemini assigned it, and in its form', () => {
  const own = { providerId: 'fc-1', opaque: { hasId: true, signature: 's' } };
  const { contents } = build([user('go'), answer(call('call_ours', own), call('call_x')), result('call_ours', 'a'), result('call_x', 'b')]);
  expect(contents.slice(1).flatMap(({ parts }) => parts)).toEqual([
    { functionCall: { id: 'fc-1', name: 'add', args: { a: 1 } }, thoughtSignature: 's' },
    { functionCall: { name: 'add', args: { a: 1 } } },
    { functionResponse: { id: 'fc-1', name: 'add', response: { output: 'a' } } },
    { functionResponse: { name: 'add', response: { output: 'b' } } },
  ] satisfies Part[]);
});

test('[A214] signatures are sent back with exactly their parts, also with empty text; thoughts without one, and blank text, are not', () => {
  const { contents } = build([
    user('go'),
    answer(
      { type: 'reasoning', text: 'hm', opaque: { signature: 's1' } },
      { type: 'reasoning', text: 'unsigned' },
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b', opaque: { signature: 's2' } },
      { type: 'text', text: '' },
      { type: 'text', text: '', opaque: { signature: 's3' } },
      { type: 'image', url: image.url, opaque: { signature: 's4' } },
      { type: 'source', url: 'https://a.example' },
    ),
  ]);
  expect(contents[1]?.parts).toEqual([
    { text: 'hm', thought: true, thoughtSignature: 's1' },
    { text: 'a' },
    { text: 'b', thoughtSignature: 's2' },
    { text: '', thoughtSignature: 's3' },
    { inlineData: { mimeType: 'image/png', data: 'AA==' }, thoughtSignature: 's4' },
  ] satisfies Part[]);
});

test('the first call of an answer by another model gets a placeholder for the signature, with Gemini 3 only', () => {
  const transcript = [user('go'), answer(call('c1', { name: '1 odd/name' }), call('c2')), result('c1', 'x'), result('c2', 'y')];
  const signatures = (name: string) =>
    build(transcript, { model: name }).contents[1]?.parts?.map(({ thoughtSignature }) => thoughtSignature);
  expect(signatures(model)).toEqual(['skip_thought_signature_validator', undefined]);
  expect(signatures(older)).toEqual([undefined, undefined]);
  expect(build(transcript).contents[1]?.parts?.[0]?.functionCall?.name).toBe('_1_odd_name');
});

test('images of a result are inside it for Gemini 3, and after all results of the answer for older models', () => {
  const pieces = [{ type: 'text' as const, text: 'see' }, image, { type: 'image' as const, url: 'https://a.example/b.webp' }];
  const transcript = [user('go'), answer(call('c1', { opaque: { signature: 's' } }), call('c2')), result('c1', pieces), result('c2', 'y')];
  const parts = (name: string) => build(transcript, { model: name }).contents[2]?.parts;
  const inlineData = { mimeType: 'image/png', data: 'AA==' };
  const fileData = { mimeType: 'image/webp', fileUri: 'https://a.example/b.webp' };
  const second = { functionResponse: { name: 'add', response: { output: 'y' } } };
  expect(parts(model)).toEqual([
    { functionResponse: { name: 'add', response: { output: 'see' }, parts: [{ inlineData }] } },
    second,
    { text: 'From the result of add:' },
    { fileData },
  ] satisfies Part[]);
  expect(parts(older)).toEqual([
    { functionResponse: { name: 'add', response: { output: 'see' } } },
    second,
    { text: 'From the result of add:' },
    { inlineData },
    { fileData },
  ] satisfies Part[]);
});

test('images and files are sent by data or address, and types that the API does not read are described in text', () => {
  const file = (url: string, mediaType: string, name?: string) => ({ type: 'file' as const, url, mediaType, name });
  const { contents } = build([
    user([
      image,
      { type: 'image', url: 'https://a.example/b.JPG?x=1' },
      { type: 'image', url: 'https://a.example/c' },
      file('gs://bucket/d.pdf', 'application/pdf'),
      file('data:application/pdf;base64,AA==', 'application/pdf'),
      file('data:audio/wav;base64,BB==', 'audio/wav'),
      file('data:text/csv;charset=utf-8,a%2Cb', 'text/csv'),
      file('data:application/json,%7B%7D', 'application/json', 'e.json'),
      file('data:application/zip;base64,AA==', 'application/zip', 'f.zip'),
    ]),
  ]);
  expect(contents[0]?.parts).toEqual([
    { inlineData: { mimeType: 'image/png', data: 'AA==' } },
    { fileData: { mimeType: 'image/jpeg', fileUri: 'https://a.example/b.JPG?x=1' } },
    { fileData: { fileUri: 'https://a.example/c' } },
    { fileData: { mimeType: 'application/pdf', fileUri: 'gs://bucket/d.pdf' } },
    { inlineData: { mimeType: 'application/pdf', data: 'AA==' } },
    { inlineData: { mimeType: 'audio/wav', data: 'BB==' } },
    { inlineData: { mimeType: 'text/csv', data: 'YSxi' } },
    { text: '[File e.json (application/json)]\n{}' },
    { text: '[File f.zip (application/zip)]' },
  ] satisfies Part[]);
});

test('the reasoning setting is sent in the form of each generation, and reasoning is shown on request', () => {
  const thinking = (name: string, reasoningEffort: NonNullable<ModelRequest['settings']['reasoningEffort']>) =>
    build([user('hi')], { model: name, settings: { reasoningEffort } }).generationConfig?.thinkingConfig;
  const level = (thinkingLevel: string) => ({ includeThoughts: true, thinkingLevel: thinkingLevel as ThinkingLevel });
  expect(thinking(model, 'medium')).toEqual(level('MEDIUM'));
  expect(thinking(model, 'none')).toEqual({ thinkingLevel: 'MINIMAL' });
  expect(thinking('gemini-3-pro-preview', 'medium')).toEqual(level('HIGH'));
  expect(thinking('models/gemini-3.1-pro-preview', 'medium')).toEqual(level('MEDIUM'));
  expect(thinking('gemini-3.1-pro-preview', 'none')).toEqual({ thinkingLevel: 'LOW' });
  expect(thinking('gemini-flash-latest', 'none')).toEqual({ thinkingLevel: 'LOW' });
  expect(thinking(older, 'low')).toEqual({ includeThoughts: true, thinkingBudget: 1_024 });
  expect(thinking(older, 'none')).toEqual({ thinkingBudget: 0 });
  expect(thinking('gemini-2.5-pro', 'none')).toEqual({ thinkingBudget: 128 });
  for (const name of ['gemini-2.0-flash', 'gemini-2.5-flash-image', 'gemma-3-27b-it', 'tunedModels/mine']) {
    expect(thinking(name, 'high')).toBeUndefined();
  }
});

test('a schema is sent in its field, and in the instructions of an older model that has tools', () => {
  const schema = { type: 'object' as const, properties: { n: { type: 'integer' } }, required: ['n'] };
  const native = { responseMimeType: 'application/json', responseJsonSchema: schema };
  expect(build([user('hi')], { answer: schema }).generationConfig).toEqual(native);
  expect(build([user('hi')], { answer: schema, model: older, tools: [] }).generationConfig).toEqual(native);
  const told = build([user('hi')], { answer: schema, model: older });
  expect(told.generationConfig).toBeUndefined();
  expect(told.systemInstruction?.parts[0]?.text).toBe(
    `Be brief.\n\nYour final answer must be JSON that fits this JSON Schema, and nothing else:\n${JSON.stringify(schema)}`,
  );
});

test('Gemma, which has no system instructions, gets them at the beginning of the user message', () => {
  const body = build([answer({ type: 'text', text: 'a' }), user('hi')], { model: 'gemma-3-27b-it', tools: [] });
  expect(body).toEqual({
    contents: [
      { role: 'user', parts: [{ text: 'Be brief.' }] },
      { role: 'model', parts: [{ text: 'a' }] },
      { role: 'user', parts: [{ text: 'hi' }] },
    ],
  });
  expect(build([user('hi')], { model: 'gemma-3-27b-it', tools: [] }).contents).toEqual([
    { role: 'user', parts: [{ text: 'Be brief.' }, { text: 'hi' }] },
  ]);
});

test('[A215] [B161] hosted tools have neutral names and options, and an unsupported one is refused with a list of those that Google has', () => {
  const hostedTools = [
    { name: 'web-search' },
    { name: 'web-fetch' },
    { name: 'code-execution' },
    { name: 'file-search', options: { fileSearchStoreNames: ['s'] } },
    { name: 'maps' },
  ];
  const tools = [
    { googleSearch: {} },
    { urlContext: {} },
    { codeExecution: {} },
    { fileSearch: { fileSearchStoreNames: ['s'] } },
    { googleMaps: {} },
  ];
  expect(build([user('hi')], { hostedTools, tools: [] })).toMatchObject({ tools } satisfies Partial<Body>);
  expect(build([user('hi')], { hostedTools, tools: [] }).toolConfig).toBeUndefined();
  const combined = build([user('hi')], { hostedTools });
  expect(combined.tools).toHaveLength(6);
  expect(combined.toolConfig).toEqual({
    functionCallingConfig: { mode: 'VALIDATED' as FunctionCallingConfigMode },
    includeServerSideToolInvocations: true,
  } satisfies Body['toolConfig']);
  expect(() => build([user('hi')], { hostedTools: [{ name: 'constructor' }] })).toThrow(
    "Google has no hosted tool 'constructor'. It has: web-search, web-fetch, code-execution, file-search, maps.",
  );
});

test('data of a hosted tool is sent back as it was received, its result after as many parts as before', () => {
  const use = { executableCode: { id: 'x', language: 'PYTHON', code: '1' }, thoughtSignature: 's' };
  const outcome = { codeExecutionResult: { id: 'x', outcome: 'OUTCOME_OK', output: '1' } };
  const hosted = (opaque: object) => ({ type: 'hosted-tool' as const, id: 'x', name: 'code-execution', input: {}, opaque: opaque as any });
  const said = { type: 'text' as const, text: 'then' };
  const parts = (...content: AnswerPart[]) => build([user('hi'), answer(...content)]).contents[1]?.parts;
  expect(parts(hosted({ use, result: outcome }), said)).toEqual([use, outcome, { text: 'then' }]);
  expect(parts(hosted({ use, result: outcome, behind: 1 }), said)).toEqual([use, { text: 'then' }, outcome]);
  // A hook may have taken out what stood between.
  expect(parts(hosted({ use, result: outcome, behind: 3 }), said)).toEqual([use, { text: 'then' }, outcome]);
  expect(parts({ ...hosted({}), opaque: undefined }, said)).toEqual([{ text: 'then' }]);
});

test('provider options override fields, including those of the generation configuration, and null removes a field', () => {
  const providerOptions = { generationConfig: { topK: 3, temperature: null }, systemInstruction: null, safetySettings: [] };
  expect(build([user('hi')], { tools: [], settings: { temperature: 1, maxTokens: 5, providerOptions } })).toEqual({
    contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
    generationConfig: { maxOutputTokens: 5, topK: 3 },
    safetySettings: [],
  } satisfies Body);
  const contents = [{ role: 'user', parts: [{ text: 'mine' }] }];
  expect(build([user('hi')], { settings: { providerOptions: { contents } } }).contents).toEqual(contents);
});

test('the same messages are the same bytes in each turn, whichever model they were encoded for before', () => {
  const transcript = [user('größe 😀'), answer(call('c', { opaque: { signature: 's' } })), result('c', [image]), user('b')];
  const first = text(transcript);
  text(transcript, { model: older });
  expect(text(transcript)).toBe(first);
  const prefix = first.slice(0, first.indexOf(']}],'));
  expect(text([...transcript, answer({ type: 'text', text: 'c' })]).startsWith(prefix)).toBe(true);
});

test('generations are families', () => {
  const { family } = google();
  expect(family?.('gemini-3-pro-preview')).toBe(family?.('models/gemini-3.1-flash-lite'));
  expect(family?.(older)).not.toBe(family?.(model));
  expect(family?.('gemma-3-27b-it')).not.toBe(family?.('tunedModels/mine'));
});

test('whatever a transcript contains, contents alternate, none is empty, and there are as many results as calls', () => {
  const part = fc.oneof(
    fc.record({ type: fc.constant('text' as const), text: fc.string() }),
    fc.record({ type: fc.constant('reasoning' as const), text: fc.string() }),
    fc.record({ type: fc.constant('source' as const) }),
  );
  const turn = fc.tuple(fc.array(fc.string(), { maxLength: 3 }), fc.array(part, { maxLength: 3 }), fc.nat(3), fc.string());
  fc.assert(
    fc.property(fc.array(turn, { maxLength: 5 }), fc.constantFrom(model, older), (turns, name) => {
      const messages = turns.flatMap(([said, parts, calls, args], i) => {
        const ids = Array.from({ length: calls }, (_, n) => `c${i}-${n}`);
        const asked = ids.map((id) => call(id, { arguments: args }));
        return [...said.map(user), answer(...parts, ...asked), ...ids.reverse().map((id) => result(id, args))];
      });
      const { contents } = build(messages, { model: name });
      contents.forEach(({ role, parts = [] }, i) => {
        expect(parts.length).toBeGreaterThan(0);
        expect(role).not.toBe(contents[i + 1]?.role);
        const asked = parts.filter(({ functionCall }) => functionCall).length;
        const answered = contents[i + 1]?.parts?.filter(({ functionResponse }) => functionResponse).length;
        if (asked > 0) expect(answered).toBe(asked);
      });
    }),
  );
});
