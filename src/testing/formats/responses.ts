import type { StreamReply } from '../model-replies';
import { type AnswerRequest, argumentsOf, textIn, type WireFormat, type WireMessage } from './wire-format';

type Item = Record<string, unknown> & { type: string };

/** OpenAI's Responses. */
export const responses: WireFormat = {
  path: '/responses',
  named: true,
  end: [],
  messages({ instructions, input }) {
    const system: WireMessage[] = typeof instructions === 'string' ? [{ role: 'system', content: instructions }] : [];
    if (typeof input === 'string') return [...system, { role: 'user', content: input }];
    return [...system, ...(input as Item[]).reduce(withItem, [])];
  },
  answer(reply, request) {
    const begun = { id: `resp_${request.hash}`, object: 'response', status: 'in_progress', model: request.model, output: [] };
    const output = itemsOf(reply, request);
    const events: object[] = [{ type: 'response.created', response: begun }];
    for (const [output_index, item] of output.entries()) events.push(...itemEvents(item, output_index, reply, request));
    if (reply.error) return [...events, { type: 'error', ...reply.error }];
    if (reply.finish === null) return events;
    const reason = { length: 'max_output_tokens', content_filter: 'content_filter' }[reply.finish];
    const status = reason === undefined ? 'completed' : 'incomplete';
    const { usage } = request;
    const told = usage && {
      input_tokens: usage.prompt,
      input_tokens_details: { cached_tokens: usage.cached },
      output_tokens: usage.completion,
      output_tokens_details: { reasoning_tokens: usage.reasoning },
      total_tokens: usage.prompt + usage.completion,
    };
    const response = { ...begun, status, output, ...(reason && { incomplete_details: { reason } }), ...(told && { usage: told }) };
    return [...events, { type: `response.${status}`, response }];
  },
};

/** The items of an answer, which may be reasoning, a text and calls, become one message. */
function withItem(messages: WireMessage[], item: Item): WireMessage[] {
  if (item.type === 'function_call_output') {
    return [...messages, { role: 'tool', tool_call_id: String(item.call_id), content: textIn(item.output) }];
  }
  if (item.role !== undefined && item.role !== 'assistant') {
    return [...messages, { role: String(item.role), content: textIn(item.content) }];
  }
  const last = messages.at(-1);
  const answer: WireMessage = last?.role === 'assistant' ? last : { role: 'assistant', content: '' };
  const before = last === answer ? messages.slice(0, -1) : messages;
  if (item.type !== 'function_call')
    return [...before, { ...answer, content: `${answer.content}${item.type === 'reasoning' ? '' : textIn(item.content)}` }];
  const call = { id: String(item.call_id), type: 'function', function: { name: String(item.name), arguments: String(item.arguments) } };
  return [...before, { ...answer, tool_calls: [...(answer.tool_calls ?? []), call] }];
}

function itemsOf({ reasoning, text, refusal, calls = [] }: StreamReply, { hash }: AnswerRequest): Item[] {
  const content = [
    ...(text === undefined ? [] : [{ type: 'output_text', text, annotations: [] }]),
    ...(refusal === undefined ? [] : [{ type: 'refusal', refusal }]),
  ];
  const thought = { summary: [{ type: 'summary_text', text: reasoning }], encrypted_content: `sealed-${hash}` };
  return [
    ...(reasoning === undefined ? [] : [{ type: 'reasoning', id: `rs_${hash}`, ...thought }]),
    ...(content.length === 0 ? [] : [{ type: 'message', id: `msg_${hash}`, role: 'assistant', status: 'completed', content }]),
    ...calls.map((call, n) => ({
      type: 'function_call',
      id: `fc_${hash}_${n}`,
      call_id: call.id ?? `call_${hash}_${n}`,
      name: call.name,
      arguments: argumentsOf(call),
      status: 'completed',
    })),
  ];
}

/** The item grows piece by piece. In an answer that breaks off, it is never done. */
function itemEvents(item: Item, output_index: number, reply: StreamReply, { pieces, argumentPieces }: AnswerRequest): object[] {
  const at = { item_id: item.id, output_index };
  const growing = (type: string, texts: string[], place: object = {}) => texts.map((delta) => ({ type, ...at, ...place, delta }));
  const empty = { function_call: { arguments: '' }, reasoning: { summary: [] }, message: { content: [] } }[item.type];
  return [
    {
      type: 'response.output_item.added',
      output_index,
      item: { ...item, ...empty, ...(item.status !== undefined && { status: 'in_progress' }) },
    },
    ...(item.type === 'reasoning' ? growing('response.reasoning_summary_text.delta', pieces(reply.reasoning), { summary_index: 0 }) : []),
    ...(item.type === 'function_call' ? growing('response.function_call_arguments.delta', argumentPieces(String(item.arguments))) : []),
    ...(item.type === 'message' ? growing('response.output_text.delta', pieces(reply.text), { content_index: 0 }) : []),
    ...(item.type === 'message'
      ? growing('response.refusal.delta', pieces(reply.refusal), { content_index: reply.text === undefined ? 0 : 1 })
      : []),
    ...(reply.finish === null ? [] : [{ type: 'response.output_item.done', output_index, item }]),
  ];
}
