import type { StreamReply } from '../model-replies';
import { type AnswerRequest, argumentsOf, textIn, type WireFormat, type WireMessage } from './wire-format';

type Block = Record<string, unknown> & { type: string };

const stopReasons: Readonly<Record<string, string>> = {
  stop: 'end_turn',
  tool_calls: 'tool_use',
  length: 'max_tokens',
  content_filter: 'refusal',
};

/** Anthropic's Messages. */
export const messages: WireFormat = {
  path: '/messages',
  named: true,
  end: [],
  messages({ system, messages: turns }) {
    const told: WireMessage[] = system === undefined ? [] : [{ role: 'system', content: textIn(system) }];
    return [...told, ...(turns as { role: string; content: string | Block[] }[]).flatMap(toMessages)];
  },
  answer(reply, request) {
    const { model, hash, usage } = request;
    const input = usage && { input_tokens: usage.prompt - usage.cached, cache_read_input_tokens: usage.cached };
    const begun = { id: `msg_${hash}`, type: 'message', role: 'assistant', model, content: [], stop_reason: null };
    const events: object[] = [{ type: 'message_start', message: { ...begun, ...(input && { usage: { ...input, output_tokens: 1 } }) } }];
    for (const [index, [block, ...deltas]] of blocksOf(reply, request).entries()) {
      events.push({ type: 'content_block_start', index, content_block: block });
      for (const delta of deltas) events.push({ type: 'content_block_delta', index, delta });
      if (reply.finish !== null) events.push({ type: 'content_block_stop', index });
    }
    if (reply.error) return [...events, { type: 'error', error: { type: 'api_error', ...reply.error } }];
    if (reply.finish === null) return events;
    const stop_reason = reply.refusal === undefined ? (stopReasons[reply.finish] ?? reply.finish) : 'refusal';
    const output = usage && { usage: { ...input, output_tokens: usage.completion } };
    return [...events, { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, ...output }, { type: 'message_stop' }];
  },
};

/** Results of tools are blocks of a user message, before its text. */
function toMessages({ role, content }: { role: string; content: string | Block[] }): WireMessage[] {
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content } as Block] : content;
  const said = textIn(blocks.filter(({ type }) => type === 'text'));
  if (role === 'assistant') {
    const calls = blocks
      .filter(({ type }) => type === 'tool_use')
      .map(({ id, name, input }) => ({
        id: String(id),
        type: 'function',
        function: { name: String(name), arguments: JSON.stringify(input) },
      }));
    return [{ role, content: said, ...(calls.length > 0 && { tool_calls: calls }) }];
  }
  const results = blocks
    .filter(({ type }) => type === 'tool_result')
    .map(({ tool_use_id, content: output }) => ({ role: 'tool', tool_call_id: String(tool_use_id), content: textIn(output) }));
  const hasMore = blocks.length > results.length;
  return [...results, ...(hasMore ? [{ role, content: said }] : [])];
}

/** Each block, empty, and the deltas that fill it. */
function blocksOf(
  { reasoning, text, refusal, calls = [] }: StreamReply,
  { hash, pieces, argumentPieces }: AnswerRequest,
): [object, ...object[]][] {
  const thought = pieces(reasoning).map((thinking) => ({ type: 'thinking_delta', thinking }));
  const texts = [text, refusal].filter((one) => one !== undefined);
  return [
    ...(reasoning === undefined
      ? []
      : [
          [{ type: 'thinking', thinking: '', signature: '' }, ...thought, { type: 'signature_delta', signature: `sealed-${hash}` }] as [
            object,
            ...object[],
          ],
        ]),
    ...texts.map((one): [object, ...object[]] => [
      { type: 'text', text: '' },
      ...pieces(one).map((piece) => ({ type: 'text_delta', text: piece })),
    ]),
    ...calls.map((call, n): [object, ...object[]] => [
      { type: 'tool_use', id: call.id ?? `toolu_${hash}_${n}`, name: call.name, input: {} },
      ...argumentPieces(argumentsOf(call)).map((partial_json) => ({ type: 'input_json_delta', partial_json })),
    ]),
  ];
}
