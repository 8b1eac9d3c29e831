import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Candidate, FinishReason, GenerateContentResponseUsageMetadata, Part } from '@google/genai';
import fc from 'fast-check';
import { bounds } from '../../src/core/bounds';
import type { Message } from '../../src/core/message';
import { type GoogleOptions, google } from '../../src/models/google/client';
import { encodeRequest } from '../../src/models/google/request';
import { foldStream } from '../../src/models/google/stream';
import type { ModelAnswer, ModelDelta, ModelFailure, ModelRequest } from '../../src/models/model';
import { soundAnswer } from '../../src/models/sound-answer';
import { until } from '../support/until';
import { type SseReply, type SseServer, startSseServer } from './sse-server';

let server: SseServer | undefined;
afterEach(() => server?.close());

const model = 'gemini-3-flash-preview';
const request = (more: Partial<ModelRequest> = {}): ModelRequest => ({
  model,
  instructions: 'Be brief.',
  messages: [{ id: 'u', role: 'user', content: 'hi' }],
  tools: [{ name: 'add', description: 'Adds.', parameters: { type: 'object' } }],
  settings: {},
  ...more,
});

interface Chunk {
  candidates?: Candidate[];
  usageMetadata?: Partial<GenerateContentResponseUsageMetadata>;
  responseId?: string;
}
const chunk = (parts: Part[], more: Partial<Candidate> = {}, whole: Chunk = {}): Chunk => ({
  candidates: [{ content: { role: 'model', parts }, index: 0, ...more }],
  responseId: 'r1',
  ...whole,
});
const stop = (reason = 'STOP', parts: Part[] = []): Chunk => chunk(parts, { finishReason: reason as FinishReason });
const said = (text: string): Chunk => chunk([{ text }]);

async function ask(replies: SseReply[], options: GoogleOptions = {}, more: Partial<ModelRequest> = {}, deltas: ModelDelta[] = []) {
  server?.close();
  server = await startSseServer(...replies);
  return google({ baseUrl: server.url, apiKey: 'AIza-secret-key', ...options }).call(request(more), {
    signal: new AbortController().signal,
    onDelta: (delta) => deltas.push(delta),
  });
}
const answerTo = (...events: unknown[]): Promise<ModelAnswer> => ask([{ events }]);
const failureOf = async (reply: SseReply, options: GoogleOptions = {}): Promise<ModelFailure> =>
  ask([reply], options).then(
    (answer) => Promise.reject(new Error(`answered: ${JSON.stringify(answer)}`)),
    (error) => error,
  );
/** What the next request has in the place of the answer. */
const back = ({ parts }: ModelAnswer): Part[] => {
  const message: Message = { id: 'a', role: 'assistant', content: parts, attempt: 1 };
  return JSON.parse(Buffer.from(encodeRequest(request({ messages: [message] }))).toString()).contents[0]?.parts;
};

describe('an answer', () => {
  test('has its parts in order, with signatures and usage, and is sent back as it was received', async () => {
    const deltas: ModelDelta[] = [];
    const usageMetadata = {
      promptTokenCount: 100,
      toolUsePromptTokenCount: 5,
      cachedContentTokenCount: 60,
      candidatesTokenCount: 7,
      thoughtsTokenCount: 30,
    };
    const events = [
      chunk([{ text: 'Let me ', thought: true }], {}, { usageMetadata: { promptTokenCount: 100, thoughtsTokenCount: 1 } }),
      chunk([{ text: 'see.', thought: true }]),
      chunk([{ text: 'Why', thought: true, thoughtSignature: 's0' }]),
      said('Hello'),
      chunk([{ text: ', 世界' }, { text: '!', thoughtSignature: 's1' }, { text: ' So' }, { text: '' }]),
      chunk([{ functionCall: { id: 'f1', name: 'add', args: { a: 1 } }, thoughtSignature: 's2' }, { functionCall: { name: 'add' } }]),
      chunk([{ text: '', thoughtSignature: 's3' }], { finishReason: 'STOP' as FinishReason }, { usageMetadata }),
    ];
    const answer = await ask([{ events }], {}, {}, deltas);
    expect(answer).toEqual({
      parts: [
        { type: 'reasoning', text: 'Let me see.' },
        { type: 'reasoning', text: 'Why', opaque: { signature: 's0' } },
        { type: 'text', text: 'Hello, 世界' },
        { type: 'text', text: '!', opaque: { signature: 's1' } },
        { type: 'text', text: ' So' },
        { type: 'tool-call', id: 'f1', name: 'add', arguments: '{"a":1}', opaque: { signature: 's2', hasId: true } },
        { type: 'tool-call', id: '', name: 'add', arguments: '{}' },
        { type: 'text', text: '', opaque: { signature: 's3' } },
      ],
      finishReason: 'tool_calls',
      usage: { inputTokens: 105, cachedInputTokens: 60, cacheWriteTokens: 0, outputTokens: 37, reasoningTokens: 30 },
    });
    expect(soundAnswer(answer)).toEqual(answer);
    expect(deltas.map((delta) => (delta.type === 'tool-call' ? (delta.arguments ?? `${delta.index}${delta.id}`) : delta.text))).toEqual([
      'Let me ',
      'see.',
      'Why',
      'Hello',
      ', 世界',
      '!',
      ' So',
      '0f1',
      '{"a":1}',
      '1',
      '{}',
    ]);
    expect(back(answer)).toEqual([
      { text: 'Why', thought: true, thoughtSignature: 's0' },
      { text: 'Hello, 世界' },
      { text: '!', thoughtSignature: 's1' },
      { text: ' So' },
      { functionCall: { id: 'f1', name: 'add', args: { a: 1 } }, thoughtSignature: 's2' },
      { functionCall: { name: 'add', args: {} } },
      { text: '', thoughtSignature: 's3' },
    ]);
  });

  test('arguments that arrive value by value are assembled, including nested ones and lists, and a call may lack its end', async () => {
    const piece = (jsonPath: string, value: object) =>
      chunk([{ functionCall: { partialArgs: [{ jsonPath, ...value }], willContinue: true } }]);
    const { parts } = await answerTo(
      chunk([{ functionCall: { name: 'add', willContinue: true }, thoughtSignature: 's' }]),
      piece('$.items[0].name', { stringValue: 'Bos', willContinue: true }),
      piece('$.items[0].name', { stringValue: 'ton' }),
      piece("$.items[1]['a b']", { numberValue: 0.5 }),
      piece('$.__proto__.x', { boolValue: false }),
      piece('$.none', { nullValue: 'NULL_VALUE' }),
      piece('$.items[4000000000]', { stringValue: 'far away' }),
      chunk([{ functionCall: {} }]),
      chunk([{ functionCall: { name: 'empty', willContinue: true } }]),
      chunk([{ functionCall: { name: 'open', willContinue: true } }]),
      piece('$.a', { stringValue: 'x' }),
      stop(),
    );
    expect(parts).toMatchObject([
      {
        name: 'add',
        arguments: '{"items":[{"name":"Boston"},{"a b":0.5}],"__proto__":{"x":false},"none":null}',
        opaque: { signature: 's' },
      },
      { name: 'empty', arguments: '{}' },
      { name: 'open', arguments: '{"a":"x"}' },
    ]);
  });

  test('results of hosted tools are readable, their references are sources, and their parts are sent back exactly', async () => {
    const code = { executableCode: { language: 'PYTHON', code: 'print(1)' }, thoughtSignature: 's1' } as Part;
    const ran = { codeExecutionResult: { outcome: 'OUTCOME_FAILED', output: 'no' } } as Part;
    const search = { toolCall: { id: 't1', toolType: 'GOOGLE_SEARCH_WEB', args: { queries: ['q'] } }, thoughtSignature: 's2' } as Part;
    const found = { toolResponse: { id: 't1', toolType: 'GOOGLE_SEARCH_WEB', response: { html: 'x' } } } as Part;
    const groundingMetadata = {
      webSearchQueries: ['q'],
      groundingChunks: [
        { web: { uri: 'https://a.example', title: 'A' } },
        { retrievedContext: { title: 'doc', text: 'words' } },
        { maps: { uri: 'https://m.example', title: 'M' } },
      ],
    };
    const answer = await answerTo(
      chunk([{ text: 'x' }, code, { text: 'y' }]),
      chunk([ran, search, found, { text: 'It is so.' }], { groundingMetadata }),
      chunk([], { groundingMetadata, finishReason: 'STOP' as FinishReason }),
    );
    expect(answer.parts).toMatchObject([
      { type: 'text', text: 'x' },
      { type: 'hosted-tool', id: 'r1-1', name: 'code-execution', input: { code: 'print(1)' }, output: 'no', isError: true },
      { type: 'text', text: 'y' },
      { type: 'hosted-tool', id: 't1', name: 'web-search', input: { queries: ['q'] }, output: { html: 'x' } },
      { type: 'text', text: 'It is so.' },
      { type: 'source', url: 'https://a.example', title: 'A' },
      { type: 'source', title: 'doc', quote: 'words' },
      { type: 'source', url: 'https://m.example', title: 'M' },
    ]);
    expect(soundAnswer(answer)).toEqual(answer);
    expect(back(answer)).toEqual([{ text: 'x' }, code, { text: 'y' }, ran, search, found, { text: 'It is so.' }]);
  });

  test('searches and fetches without parts are shown as hosted tools, and are not sent back', async () => {
    const answer = await answerTo(
      chunk([{ text: 'x' }], {
        groundingMetadata: { webSearchQueries: ['q'], groundingChunks: [{ web: { uri: 'https://a.example', title: 'A' } }] },
        urlContextMetadata: {
          urlMetadata: [{ retrievedUrl: 'https://b.example', urlRetrievalStatus: 'URL_RETRIEVAL_STATUS_SUCCESS' as any }],
        },
        citationMetadata: { citations: [{ uri: 'https://c.example' }] },
      }),
      stop(),
    );
    expect(answer.parts.slice(1)).toMatchObject([
      { type: 'hosted-tool', name: 'web-search', input: { queries: ['q'] }, output: [{ url: 'https://a.example', title: 'A' }] },
      { type: 'hosted-tool', name: 'web-fetch', input: { urls: ['https://b.example'] } },
      { type: 'source', url: 'https://a.example', title: 'A' },
      { type: 'source', url: 'https://c.example' },
    ]);
    expect(back(answer)).toEqual([{ text: 'x' }]);
  });

  test('images and sound in the answer are parts of it, and images of the reasoning are not', async () => {
    const picture = { inlineData: { mimeType: 'image/png', data: 'AA==' } };
    const answer = await answerTo(
      chunk([
        { ...picture, thought: true },
        { ...picture, thoughtSignature: 's' },
        { inlineData: { mimeType: 'audio/wav', data: 'BB==' } },
      ]),
      stop(),
    );
    expect(answer.parts).toEqual([
      { type: 'image', url: 'data:image/png;base64,AA==', opaque: { signature: 's' } },
      { type: 'file', url: 'data:audio/wav;base64,BB==', mediaType: 'audio/wav' },
    ]);
    expect(back(answer)).toEqual([{ ...picture, thoughtSignature: 's' }, { inlineData: { mimeType: 'audio/wav', data: 'BB==' } }]);
  });

  test.each([
    ['STOP', 'stop'],
    ['MAX_TOKENS', 'length'],
    ['SAFETY', 'content_filter'],
    ['RECITATION', 'content_filter'],
    ['BLOCKLIST', 'content_filter'],
    ['PROHIBITED_CONTENT', 'content_filter'],
    ['SPII', 'content_filter'],
    ['IMAGE_SAFETY', 'content_filter'],
    ['MODEL_ARMOR', 'content_filter'],
    ['LANGUAGE', 'unknown'],
    ['OTHER', 'unknown'],
    ['UNEXPECTED_TOOL_CALL', 'unknown'],
    ['A_NEW_REASON', 'unknown'],
  ])('it stopped because of %s: %s', async (reason, finishReason) => {
    expect(await answerTo(said('x'), stop(reason))).toMatchObject({ finishReason });
  });

  test('unknown chunks, candidates and parts are ignored', async () => {
    const { parts } = await answerTo(
      { aNewThing: 1 },
      { candidates: [] },
      { candidates: [{ index: 1, content: { parts: [{ text: 'another' }] } }] },
      { candidates: [{ content: null }] },
      { candidates: [{ content: { parts: [{ aNewPart: {} }, null, 7, { functionCall: { partialArgs: [{}] } }, { text: 'x' }] } }] },
      stop(),
    );
    expect(parts).toEqual([{ type: 'text', text: 'x' }]);
  });

  test('it is the same in pieces of any size', async () => {
    const events = [
      chunk([{ text: 'hm', thought: true, thoughtSignature: 's' }]),
      said('é😀'),
      chunk([{ functionCall: { name: 'add', args: { a: '世' } } }]),
      stop(),
    ];
    const whole = await ask([{ events }]);
    for (const size of [1, 3, 7]) expect(await ask([{ events, chunk: size }])).toEqual(whole);
  });

  test('whatever the chunks are, the fold returns an answer or throws a described failure', () => {
    const maybe = <T>(value: fc.Arbitrary<T>) => fc.oneof(value, fc.anything());
    const part = fc.record(
      {
        text: maybe(fc.string()),
        thought: fc.anything(),
        thoughtSignature: maybe(fc.string()),
        functionCall: maybe(
          fc.record({
            name: maybe(fc.string()),
            id: fc.anything(),
            args: fc.anything(),
            willContinue: fc.anything(),
            partialArgs: maybe(
              fc.array(fc.record({ jsonPath: maybe(fc.constantFrom('$.a', '$.a[0].b', '$[0]', '$.a.b', '')), stringValue: fc.anything() })),
            ),
          }),
        ),
        executableCode: fc.anything(),
        codeExecutionResult: fc.anything(),
        toolCall: fc.anything(),
        toolResponse: fc.anything(),
        inlineData: fc.anything(),
        fileData: fc.anything(),
      },
      { requiredKeys: [] },
    );
    const candidate = fc.record({
      content: maybe(fc.record({ parts: maybe(fc.array(maybe(part), { maxLength: 4 })) })),
      finishReason: maybe(fc.constantFrom('STOP', 'SAFETY', 'MALFORMED_FUNCTION_CALL')),
      groundingMetadata: maybe(
        fc.record({ webSearchQueries: fc.anything(), groundingChunks: maybe(fc.array(fc.record({ web: fc.anything() }))) }),
      ),
      urlContextMetadata: fc.anything(),
      citationMetadata: fc.anything(),
    });
    const event = fc.record({
      candidates: maybe(fc.array(maybe(candidate), { maxLength: 2 })),
      usageMetadata: fc.anything(),
      promptFeedback: fc.anything(),
    });
    fc.assert(
      fc.property(fc.array(event, { maxLength: 6 }), (events) => {
        const fold = foldStream();
        try {
          for (const one of events) fold.event(JSON.stringify(one, (_, value) => (typeof value === 'bigint' ? String(value) : value)));
          const answer = soundAnswer(fold.answer());
          encodeRequest(request({ messages: [{ id: 'a', role: 'assistant', content: answer.parts, attempt: 1 }] }));
        } catch (error) {
          expect(['Trouble', 'LimitExceeded', 'ModelFailure']).toContain((error as Error).constructor.name);
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('a call', () => {
  test.each([
    ['gemini-2.5-pro', '/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse'],
    ['models/gemini-2.5-pro', '/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse'],
    ['tunedModels/mine', '/v1beta/tunedModels/mine:streamGenerateContent?alt=sse'],
    ['../../v1/x?key=1#', '/v1beta/models/..%2F..%2Fv1%2Fx%3Fkey%3D1%23:streamGenerateContent?alt=sse'],
    ['models/..', '/v1beta/models/..:streamGenerateContent?alt=sse'],
    ['%2e%2e/x:delete', '/v1beta/models/%252e%252e%2Fx%3Adelete:streamGenerateContent?alt=sse'],
    ['a\\b\n\ud800', '/v1beta/models/a%5Cb%0A%EF%BF%BD:streamGenerateContent?alt=sse'],
  ])('of the model %j goes to %s, once', async (name, path) => {
    await ask([{ events: [said('x'), stop()] }], { headers: { 'X-Mine': 'y' } }, { model: name });
    expect(server?.requests).toHaveLength(1);
    expect(server?.requests[0]).toMatchObject({
      path,
      headers: { 'x-goog-api-key': 'AIza-secret-key', 'x-mine': 'y', 'content-type': 'application/json' },
      body: { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
    });
  });

  test('goes to the version that the address names', async () => {
    server = await startSseServer({ events: [said('x'), stop()] });
    await google({ baseUrl: `${server.url}/proxy/v1alpha/?tenant=a` }).call(request(), { signal: new AbortController().signal });
    expect(server.requests[0]?.path).toBe(`/proxy/v1alpha/models/${model}:streamGenerateContent?tenant=a&alt=sse`);
  });

  test('without a key for Google itself, or with an invalid address, fails and names the variable', async () => {
    const failure = (options: GoogleOptions) =>
      google(options)
        .call(request(), { signal: new AbortController().signal })
        .catch((error) => error);
    expect(await failure({})).toMatchObject({ kind: 'auth', message: expect.stringContaining('GEMINI_API_KEY') });
    expect(await failure({ baseUrl: 'nowhere', apiKey: 'k' })).toMatchObject({
      kind: 'bad-request',
      message: expect.stringContaining('GOOGLE_GEMINI_BASE_URL'),
    });
  });

  test('without a server is a failed connection, and an invalid key is not shown', async () => {
    const gone = await startSseServer({ events: [] });
    gone.close();
    expect(
      await google({ baseUrl: gone.url })
        .call(request(), { signal: new AbortController().signal })
        .catch((error) => error),
    ).toMatchObject({
      kind: 'connection',
      message: expect.stringContaining('ECONNREFUSED'),
    });
    const failure = await failureOf({ events: [] }, { apiKey: 'secret\nof two lines' });
    expect(failure.kind).toBe('bad-request');
    expect(failure.message).not.toContain('secret');
  });

  test('that is aborted closes its connection, and rejects with the reason', async () => {
    server = await startSseServer({ events: [said('x')], end: 'hang' });
    const controller = new AbortController();
    const asked = google({ baseUrl: server.url }).call(request(), {
      signal: controller.signal,
      onDelta: () => controller.abort(new Error('enough')),
    });
    await expect(asked).rejects.toThrow('enough');
    await until('the client hangs up', () => server?.hungUp() === 1);
  });
});

describe('a failure', () => {
  const errorOf = (code: number, status: string, message: string, ...details: object[]) => ({ error: { code, message, status, details } });
  const rpc = (type: string, fields: object) => ({ '@type': `type.googleapis.com/google.rpc.${type}`, ...fields });
  const quota = (quotaId: string, quotaValue = '10') => rpc('QuotaFailure', { violations: [{ quotaId, quotaValue }] });
  const used = 'You exceeded your current quota, please check your plan and billing details.';

  test.each([
    [
      400,
      errorOf(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', rpc('ErrorInfo', { reason: 'API_KEY_INVALID' })),
      'auth',
    ],
    [400, errorOf(400, 'INVALID_ARGUMENT', 'API key expired. Please renew the API key.'), 'auth'],
    [403, errorOf(403, 'PERMISSION_DENIED', 'Your API key was reported as leaked.'), 'auth'],
    [403, errorOf(403, 'PERMISSION_DENIED', 'You do not have permission.'), 'permission'],
    [400, errorOf(400, 'FAILED_PRECONDITION', 'User location is not supported for the API use.'), 'permission'],
    [404, errorOf(404, 'NOT_FOUND', 'models/gemini-9 is not found for API version v1beta'), 'not-found'],
    [429, errorOf(429, 'RESOURCE_EXHAUSTED', used, quota('GenerateRequestsPerMinutePerProjectPerModel-FreeTier')), 'rate-limit'],
    [429, errorOf(429, 'RESOURCE_EXHAUSTED', used, quota('GenerateRequestsPerDayPerProjectPerModel-FreeTier')), 'quota'],
    [429, errorOf(429, 'RESOURCE_EXHAUSTED', used, quota('GenerateContentInputTokensPerModelPerMinute-FreeTier', '0')), 'quota'],
    [429, errorOf(429, 'RESOURCE_EXHAUSTED', 'Resource has been exhausted (e.g. check quota).'), 'rate-limit'],
    [429, errorOf(429, 'RESOURCE_EXHAUSTED', 'Your prepayment credits are depleted.'), 'quota'],
    [
      400,
      errorOf(400, 'INVALID_ARGUMENT', 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).'),
      'context-length',
    ],
    [
      400,
      errorOf(400, 'INVALID_ARGUMENT', 'Unable to submit request because the input token count is 2 but model only supports up to 1.'),
      'context-length',
    ],
    [400, errorOf(400, 'INVALID_ARGUMENT', 'Function call is missing a thought_signature in functionCall parts.'), 'bad-request'],
    [500, errorOf(500, 'INTERNAL', 'An internal error has occurred.'), 'server'],
    [503, errorOf(503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.'), 'overloaded'],
    [503, [errorOf(503, 'UNAVAILABLE', 'This model is currently experiencing high demand.')], 'overloaded'],
    [504, errorOf(504, 'DEADLINE_EXCEEDED', 'Deadline expired before operation could complete.'), 'timeout'],
    [499, errorOf(499, 'CANCELLED', 'The operation was cancelled.'), 'server'],
    [502, '<html><title>Bad Gateway</title></html>', 'server'],
    [401, '', 'auth'],
  ])('a status of %i with %j is of the kind %s', async (status, body, kind) => {
    const failure = await failureOf({ status, body });
    expect(failure).toMatchObject({ name: 'ModelFailure', kind, details: { status } });
    const [first] = [body].flat();
    if (typeof first === 'object') expect(failure.message).toContain(first.error.message.slice(0, 40));
    expect(failure.message).not.toContain('AIza');
  });

  test('with an incomplete body is classified by its status', async () => {
    const plain = createServer((_, response) => {
      response.writeHead(503, { 'content-length': 1_000 });
      response.write('{"error":', () => response.destroy());
    });
    await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve));
    const baseUrl = `http://127.0.0.1:${(plain.address() as AddressInfo).port}`;
    const failure = await google({ baseUrl })
      .call(request(), { signal: new AbortController().signal })
      .catch((caught) => caught);
    plain.close().closeAllConnections();
    expect(failure).toMatchObject({ kind: 'overloaded', details: { status: 503 } });
  });

  test('has the wait that the provider requests', async () => {
    const body = errorOf(429, 'RESOURCE_EXHAUSTED', used, quota('PerMinute'), rpc('RetryInfo', { retryDelay: '34.4s' }));
    expect((await failureOf({ status: 429, body })).details).toMatchObject({ code: 'RESOURCE_EXHAUSTED', retryAfterMs: 34_400 });
    const plain = { status: 503, body: errorOf(503, 'UNAVAILABLE', 'x'), headers: { 'retry-after': '7' } };
    expect((await failureOf(plain)).details).toMatchObject({ retryAfterMs: 7_000 });
  });

  test.each([
    [errorOf(503, 'UNAVAILABLE', 'This model is currently experiencing high demand.'), 'overloaded'],
    [errorOf(429, 'RESOURCE_EXHAUSTED', used), 'rate-limit'],
    [errorOf(500, 'INTERNAL', 'x'), 'server'],
    [errorOf(400, 'INVALID_ARGUMENT', 'x'), 'bad-request'],
    [{ error: { message: 'x', status: 'UNAVAILABLE' } }, 'overloaded'],
  ])('sent in the middle of a stream as %j it is of the kind %s', async (error, kind) => {
    expect(await failureOf({ events: [said('Half'), error] })).toMatchObject({ kind });
  });

  test.each([
    ['on lines of their own', `data: ${JSON.stringify(said('Half'))}\n\n`, ''],
    ['in a list', '', 'list'],
    ['and nothing else', '', ''],
  ])('an error that is sent unframed between events, %s, is detected', async (_, before, list) => {
    const error = JSON.stringify(errorOf(503, 'UNAVAILABLE', 'high demand'), undefined, 2);
    const plain = createServer((incoming, response) => {
      incoming.resume().once('end', () => response.writeHead(200).end(`${before}${list ? `[${error}]` : error}`));
    });
    await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve));
    const baseUrl = `http://127.0.0.1:${(plain.address() as AddressInfo).port}`;
    const failure = await google({ baseUrl })
      .call(request(), { signal: new AbortController().signal })
      .catch((caught) => caught);
    plain.close().closeAllConnections();
    expect(failure).toMatchObject({ kind: 'overloaded', message: expect.stringContaining('high demand') });
  });

  test('a prompt that a filter blocks is refused content', async () => {
    const failure = await failureOf({
      events: [{ promptFeedback: { blockReason: 'PROHIBITED_CONTENT' }, usageMetadata: { promptTokenCount: 3 } }],
    });
    expect(failure).toMatchObject({ kind: 'content-filter', details: { code: 'PROHIBITED_CONTENT' } });
  });

  test('a malformed call by the model is retried, whatever text preceded it, unless there are other calls', async () => {
    const malformed = chunk([], {
      finishReason: 'MALFORMED_FUNCTION_CALL' as FinishReason,
      finishMessage: 'Malformed function call: add(',
    });
    for (const events of [[malformed], [said('I will add.'), malformed]]) {
      expect(await failureOf({ events })).toMatchObject({ kind: 'empty', message: expect.stringContaining('Malformed function call') });
    }
    const { finishReason } = await answerTo(chunk([{ functionCall: { name: 'add', args: {} } }]), malformed);
    expect(finishReason).toBe('tool_calls');
    expect(await failureOf({ events: [stop('UNEXPECTED_TOOL_CALL')] })).toMatchObject({ kind: 'empty' });
  });

  test('a stream that ends, or is cut, before the model has stopped is not an answer', async () => {
    for (const end of ['close', 'cut'] as const) {
      expect(await failureOf({ events: [said('Half')], end })).toMatchObject({ kind: 'truncated-stream' });
    }
    const cutEvent = JSON.stringify(said('Half')).slice(0, -5);
    expect(await failureOf({ events: [said('Half'), cutEvent] })).toMatchObject({ kind: 'server' });
  });

  test('a connection that breaks after the model has stopped has no effect', async () => {
    expect(await ask([{ events: [said('Whole'), stop()], end: 'cut' }])).toMatchObject({
      parts: [{ text: 'Whole' }],
      finishReason: 'stop',
    });
  });

  test('a silent server is given up, before its first byte and in the middle', async () => {
    expect(await failureOf({ events: [], end: 'hang' }, { firstByteTimeoutMs: 60 })).toMatchObject({ kind: 'timeout' });
    const stalled = await failureOf({ events: [said('x')], end: 'hang' }, { idleTimeoutMs: 60 });
    expect(stalled).toMatchObject({ kind: 'timeout', message: expect.stringContaining('stalled') });
    await until('the client hangs up', () => server?.hungUp() === 1);
  });

  test('an answer without content is empty, unless a limit or a filter is the reason', async () => {
    expect(await failureOf({ events: [stop('STOP', [{ text: '' }])] })).toMatchObject({ kind: 'empty' });
    expect(
      await failureOf({ events: [chunk([{ text: 'hm', thought: true }]), stop('STOP', [{ text: '', thoughtSignature: 's' }])] }),
    ).toMatchObject({
      kind: 'empty',
    });
    expect(await answerTo(stop('SAFETY'))).toMatchObject({ parts: [], finishReason: 'content_filter' });
    expect(await answerTo(stop('MAX_TOKENS'))).toMatchObject({ parts: [], finishReason: 'length' });
  });

  test.each<[string, () => unknown[], string]>([
    ['text', () => Array.from({ length: 20 }, () => said('x'.repeat(50_000))), 'its answer has more than 800000 bytes'],
    [
      'images',
      () => [chunk([{ inlineData: { mimeType: 'image/png', data: 'A'.repeat(bounds.answerBytes) } }])],
      'its answer has more than 800000 bytes',
    ],
    ['reasoning', () => Array.from({ length: 90 }, () => chunk([{ text: 'x'.repeat(50_000), thought: true }])), 'its reasoning'],
    ['signatures', () => [chunk([{ text: '', thoughtSignature: 'x'.repeat(bounds.opaqueChars + 1) }])], 'its opaque data'],
    ['data of hosted tools', () => [chunk([{ codeExecutionResult: { output: 'x'.repeat(bounds.opaqueChars) } }])], 'its opaque data'],
    ['calls', () => Array.from({ length: 129 }, () => chunk([{ functionCall: { name: 'f' } }])), 'tool calls'],
    [
      'parts',
      () => Array.from({ length: 3 }, () => chunk(Array.from({ length: 900 }, () => ({ text: '', thoughtSignature: 's' })))),
      'parts',
    ],
    ['items', () => [chunk(Array.from({ length: 1_001 }, () => ({ text: 'x' })))], 'a list in an event of its stream'],
    [
      'sources',
      () =>
        Array.from({ length: 2 }, (_, n) =>
          chunk([], { groundingMetadata: { groundingChunks: Array.from({ length: 900 }, (_, i) => ({ web: { uri: `${n} ${i}` } })) } }),
        ),
      'sources',
    ],
    ['nesting', () => [`${'['.repeat(200)}${']'.repeat(200)}`], 'levels of nesting'],
    [
      'nesting of arguments that come in pieces',
      () => [
        chunk([{ functionCall: { name: 'f', willContinue: true } }]),
        chunk([{ functionCall: { partialArgs: [{ jsonPath: `$${'.a'.repeat(100_000)}`, stringValue: 'x' }] } }]),
      ],
      'levels of nesting',
    ],
    [
      'arguments in pieces',
      () => [
        chunk([{ functionCall: { name: 'f', willContinue: true } }]),
        ...Array.from({ length: 20 }, () =>
          chunk([{ functionCall: { partialArgs: [{ jsonPath: '$.a', stringValue: 'x'.repeat(50_000) }], willContinue: true } }]),
        ),
      ],
      'its answer has more than 800000 bytes',
    ],
  ])('more %s than a call takes is too large', async (_what, events, words) => {
    expect(await failureOf({ events: [said('x'), ...events(), stop()] })).toMatchObject({
      kind: 'too-large',
      message: expect.stringContaining(words),
    });
  });
});
