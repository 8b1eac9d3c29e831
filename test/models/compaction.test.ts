import type { AnswerPart, Message } from '../../src/core/message';
import { type AnthropicOptions, anthropic } from '../../src/models/anthropic/client';
import type { ModelAnswer, ModelDelta, ModelProvider, ModelRequest } from '../../src/models/model';
import { openAiResponses } from '../../src/models/openai-responses/client';
import { soundAnswer } from '../../src/models/sound-answer';
import { type SseReply, type SseServer, startSseServer } from './sse-server';

let server: SseServer | undefined;
afterEach(() => server?.close());

const user = (content: string): Message => ({ id: 'u', role: 'user', content });
const answer = (...content: AnswerPart[]): Message => ({ id: 'a', role: 'assistant', content, attempt: 1 });

/** Makes one call, and returns what was answered, heard and sent. */
async function ask(
  make: (baseUrl: string) => ModelProvider,
  { events, chunk }: { events: unknown[]; chunk?: number },
  more: Partial<ModelRequest> = {},
) {
  server?.close();
  server = await startSseServer({ events, ...(chunk && { chunk }) } satisfies SseReply);
  const deltas: ModelDelta[] = [];
  const request = { model: 'claude-opus-4-6', instructions: 'Be brief.', messages: [user('hi')], tools: [], settings: {}, ...more };
  const answered = await make(server.url).call(request, {
    signal: new AbortController().signal,
    onDelta: (delta) => deltas.push(delta),
  });
  return { answered: soundAnswer(answered), deltas, sent: server.requests[0] as (typeof server.requests)[number] };
}

describe('Anthropic', () => {
  const withOptions = (options: AnthropicOptions) => (baseUrl: string) => anthropic({ baseUrl, apiKey: 'sk-ant-secret-key', ...options });
  const claude = withOptions({});
  const compaction = { atTokens: 60_000 };
  const usage = {
    input_tokens: 612,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 2_819,
    iterations: [
      { type: 'compaction', input_tokens: 385, cache_read_input_tokens: 60_000, cache_creation_input_tokens: 0, output_tokens: 522 },
      { type: 'message', input_tokens: 612, cache_read_input_tokens: 0, cache_creation_input_tokens: 0, output_tokens: 2_819 },
    ],
  };
  const start = { type: 'message_start', message: { id: 'msg_1', content: [], usage: { input_tokens: 60_385, output_tokens: 5 } } };
  const end = (told: object = usage, stop_reason = 'end_turn') => [
    { type: 'message_delta', delta: { stop_reason }, usage: told },
    { type: 'message_stop' },
  ];
  const block = (index: number, content_block: object, ...deltas: object[]) => [
    { type: 'content_block_start', index, content_block },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ];
  const compacting = block(
    0,
    { type: 'compaction', content: null },
    { type: 'compaction_delta', content: '## Summary ', encrypted_content: null },
    { type: 'compaction_delta', content: 'of it.', encrypted_content: 'sealed' },
  );
  const saying = block(1, { type: 'text', text: '' }, { type: 'text_delta', text: 'Here.' });
  const streamed = [start, ...compacting, { type: 'ping' }, ...saying, ...end()];

  test.each([undefined, 1])('a compaction block that is streamed becomes a part, in pieces of %s bytes', async (chunk) => {
    const { answered, deltas } = await ask(claude, { events: streamed, ...(chunk && { chunk }) }, { compaction });
    expect(answered.parts).toEqual([
      { type: 'compaction', text: '## Summary of it.', opaque: { encrypted_content: 'sealed' } },
      { type: 'text', text: 'Here.' },
    ]);
    expect(deltas).toEqual([
      { type: 'compaction', text: '## Summary ' },
      { type: 'compaction', text: 'of it.' },
      { type: 'text', text: 'Here.' },
    ]);
  });

  test('a compaction block that arrives whole becomes the same part', async () => {
    const content = [
      { type: 'compaction', content: '## Summary of it.', encrypted_content: 'sealed', signature: 'sig==', tool_changes: null },
      { type: 'text', text: 'Here.' },
    ];
    const whole = { type: 'message_start', message: { id: 'msg_1', content, stop_reason: 'end_turn', usage } };
    const { answered } = await ask(claude, { events: [whole, { type: 'message_stop' }] }, { compaction });
    expect(answered.parts).toEqual([
      { type: 'compaction', text: '## Summary of it.', opaque: { encrypted_content: 'sealed', signature: 'sig==' } },
      { type: 'text', text: 'Here.' },
    ]);
  });

  test('the usage includes the iterations of the compaction, and tells what the answer alone took', async () => {
    const { answered } = await ask(claude, { events: streamed }, { compaction });
    expect(answered.usage).toMatchObject({ inputTokens: 60_385 + 612, cachedInputTokens: 60_000, outputTokens: 522 + 2_819 });
    expect(answered.usageAfterCompaction).toMatchObject({ inputTokens: 612, cachedInputTokens: 0, outputTokens: 2_819 });
  });

  test('iterations without a compaction change no count', async () => {
    const told = { ...usage, iterations: usage.iterations.slice(1) };
    const { answered } = await ask(claude, { events: [start, ...block(0, { type: 'text', text: 'Here.' }), ...end(told)] });
    expect(answered).toMatchObject({ usage: { inputTokens: 612, outputTokens: 2_819 } });
    expect(answered).not.toHaveProperty('usageAfterCompaction');
  });

  test('a compaction that failed is no part of the answer', async () => {
    const failed = block(0, { type: 'compaction', content: null }, { type: 'compaction_delta', content: null, encrypted_content: null });
    const { answered } = await ask(claude, { events: [start, ...failed, ...saying, ...end()] }, { compaction });
    expect(answered.parts).toEqual([{ type: 'text', text: 'Here.' }]);
  });

  test('an answer that pauses after its compaction is continued, and one that ends with it is empty', async () => {
    const { answered } = await ask(claude, { events: [start, ...compacting, ...end(usage, 'compaction')] }, { compaction });
    expect(answered).toMatchObject({ finishReason: 'pause', parts: [{ type: 'compaction' }] });
    await expect(ask(claude, { events: [start, ...compacting, ...end()] }, { compaction })).rejects.toMatchObject({ kind: 'empty' });
  });

  test('the request asks for it with its beta header, besides those of the options', async () => {
    const { sent } = await ask(
      withOptions({ headers: { 'Anthropic-Beta': 'context-1m-2025-08-07' } }),
      { events: streamed },
      { compaction },
    );
    expect(sent.headers['anthropic-beta']).toBe('context-1m-2025-08-07,compact-2026-01-12');
    expect(sent.body.context_management).toEqual({
      edits: [{ type: 'compact_20260112', trigger: { type: 'input_tokens', value: 60_000 } }],
    });
    const prompted = await ask(claude, { events: streamed }, { compaction: { ...compaction, prompt: 'Only the numbers.' } });
    expect(prompted.sent.body.context_management.edits[0].instructions).toMatch(/^Only the numbers\.\n.*<summary><\/summary>/);
  });

  test('a request without it has neither, unless it sends a compaction back: unchanged, with the header', async () => {
    const { sent } = await ask(claude, { events: streamed });
    expect(sent.headers).not.toHaveProperty('anthropic-beta');
    expect(sent.body).not.toHaveProperty('context_management');
    const { answered } = await ask(claude, { events: streamed }, { compaction });
    const again = await ask(claude, { events: streamed }, { messages: [answer(...answered.parts), user('go on')] });
    expect(again.sent.headers['anthropic-beta']).toBe('compact-2026-01-12');
    expect(again.sent.body.messages[0]).toEqual({
      role: 'assistant',
      content: [
        { encrypted_content: 'sealed', type: 'compaction', content: '## Summary of it.' },
        { type: 'text', text: 'Here.' },
      ],
    });
  });

  test('models from Claude 4.6 on compact, above at least 50,000 tokens', () => {
    const from = (model: string) => anthropic().compactsFrom?.(model);
    for (const model of ['claude-opus-4-6', 'claude-sonnet-4-6', 'claude-opus-4-7', 'claude-sonnet-5']) expect(from(model)).toBe(50_000);
    for (const model of ['claude-sonnet-4-5', 'claude-haiku-4-5', 'claude-opus-4-1', 'claude-3-7-sonnet-latest'])
      expect(from(model)).toBe(undefined);
  });
});

describe('OpenAI Responses', () => {
  const gpt = (baseUrl: string) => openAiResponses({ baseUrl, apiKey: 'sk-secret-key' });
  const more = { model: 'gpt-5.2', compaction: { atTokens: 50_000 } };
  const said = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'Here.' }] };
  const item = { id: 'cmp_1', type: 'compaction', encrypted_content: 'sealed', created_by: null };
  const usage = { input_tokens: 51_097, output_tokens: 2_056 };
  const completed = (output: object[]) => ({ type: 'response.completed', response: { status: 'completed', output, usage } });
  const streamed = (...output: object[]) => [
    ...output.flatMap((one, output_index) => [
      { type: 'response.output_item.added', output_index, item: { ...one, encrypted_content: '' } },
      { type: 'response.output_item.done', output_index, item: one },
    ]),
    completed(output),
  ];
  const parts = ({ answered }: { answered: ModelAnswer }) => answered.parts;

  test.each([
    ['streamed', streamed(said, item), undefined],
    ['streamed in pieces of one byte', streamed(said, item), 1],
    ['only in the last event', [completed([said, item])], undefined],
  ])('a compaction item becomes a part that only the provider can read: %s', async (_how, events, chunk) => {
    const asked = await ask(gpt, { events, ...(chunk && { chunk }) }, more);
    expect(parts(asked)).toEqual([
      expect.objectContaining({ type: 'text', text: 'Here.' }),
      { type: 'compaction', text: '', opaque: { item: { id: 'cmp_1', type: 'compaction', encrypted_content: 'sealed' } } },
    ]);
    expect(asked.answered).toMatchObject({ finishReason: 'stop', usage: { inputTokens: 51_097, outputTokens: 2_056 } });
  });

  test('the request asks for it, and sends the item back unchanged and without asking', async () => {
    const asked = await ask(gpt, { events: streamed(said, item) }, more);
    expect(asked.sent.body.context_management).toEqual([{ type: 'compaction', compact_threshold: 50_000 }]);
    const again = await ask(gpt, { events: streamed(said) }, { model: 'gpt-5.2', messages: [answer(...parts(asked)), user('go on')] });
    expect(again.sent.body).not.toHaveProperty('context_management');
    expect(again.sent.body.input[1]).toEqual({ id: 'cmp_1', type: 'compaction', encrypted_content: 'sealed' });
  });

  test('a compaction that is too large to be kept is dropped, and the answer is not lost', async () => {
    const large = { ...item, encrypted_content: 'x'.repeat(450_000) };
    expect(parts(await ask(gpt, { events: streamed(said, large) }, more))).toEqual([expect.objectContaining({ text: 'Here.' })]);
  });

  test('an answer that is only a compaction is continued', async () => {
    const { answered } = await ask(gpt, { events: streamed(item) }, more);
    expect(answered).toMatchObject({ finishReason: 'pause', parts: [{ type: 'compaction' }] });
  });
});
