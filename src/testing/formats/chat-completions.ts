import { argumentsOf, type WireFormat, type WireMessage } from './wire-format';

/** OpenAI's Chat Completions, and the many servers that have the same API. */
export const chatCompletions: WireFormat = {
  path: '/chat/completions',
  named: false,
  end: ['[DONE]'],
  messages: ({ messages }) => messages as WireMessage[],
  answer(reply, { model, hash, usage, pieces, argumentPieces }) {
    const envelope = { id: `chatcmpl-${hash}`, object: 'chat.completion.chunk', created: 0, model };
    const deltas: object[] = [{ role: 'assistant', content: '' }];
    for (const text of pieces(reply.reasoning)) deltas.push({ reasoning_content: text });
    for (const text of pieces(reply.text)) deltas.push({ content: text });
    for (const text of pieces(reply.refusal)) deltas.push({ refusal: text });
    reply.calls?.forEach((call, index) => {
      const id = call.id ?? `call_${hash}_${index}`;
      deltas.push({ tool_calls: [{ index, id, type: 'function', function: { name: call.name, arguments: '' } }] });
      for (const text of argumentPieces(argumentsOf(call))) deltas.push({ tool_calls: [{ index, function: { arguments: text } }] });
    });
    const chunks: object[] = deltas.map((delta) => ({ ...envelope, choices: [{ index: 0, delta, finish_reason: null }] }));
    if (reply.error) return [...chunks, { error: reply.error }];
    if (reply.finish !== null) chunks.push({ ...envelope, choices: [{ index: 0, delta: {}, finish_reason: reply.finish }] });
    if (!usage) return chunks;
    const { prompt, cached, completion, reasoning } = usage;
    const told = {
      prompt_tokens: prompt,
      completion_tokens: completion,
      total_tokens: prompt + completion,
      prompt_tokens_details: { cached_tokens: cached },
      completion_tokens_details: { reasoning_tokens: reasoning },
    };
    return [...chunks, { ...envelope, choices: [], usage: told }];
  },
};
