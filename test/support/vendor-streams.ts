import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { closeBeforeServers } from './temporal';

/** The wire formats of the vendors, by the names under which their providers are registered in the agents' file `switching`. */
export const vendors = ['openai', 'openai-responses', 'anthropic', 'google', 'compat'] as const;
export type Vendor = (typeof vendors)[number];

export interface VendorRequest {
  vendor: Vendor;
  turn: number;
  body: any;
}

/** The opaque data of an answer, which its vendor requires back and no other vendor may receive. `mark-anthropic-3-` is that of the third turn. */
export function mark(vendor: Vendor, turn: number): string {
  return `mark-${vendor}-${turn}-`;
}
export const thought = (turn: number) => `thinking of ${turn}.`;
export const said = (turn: number) => `I note ${turn}.`;

/** The events of an answer: reasoning, text, and a call of `note`; the last answer is only text. */
export const streams: Record<Vendor, (turn: number, isLast: boolean) => unknown[]> = {
  openai: (turn, isLast) => chatStream('openai', turn, isLast),
  compat: (turn, isLast) => chatStream('compat', turn, isLast),
  'openai-responses'(turn, isLast) {
    const reasoning = {
      type: 'reasoning',
      id: `rs_${turn}`,
      summary: [{ type: 'summary_text', text: thought(turn) }],
      encrypted_content: mark('openai-responses', turn),
    };
    const content = [{ type: 'output_text', text: said(turn), annotations: [] }];
    const message = { type: 'message', id: `msg_${turn}`, role: 'assistant', status: 'completed', content };
    const call = {
      type: 'function_call',
      id: `fc_${turn}`,
      call_id: `call_${turn}`,
      name: 'note',
      arguments: args(turn),
      status: 'completed',
    };
    const output = [reasoning, message, ...(isLast ? [] : [call])];
    return [
      { type: 'response.created', response: {} },
      ...output.map((item, output_index) => ({ type: 'response.output_item.done', output_index, item })),
      { type: 'response.completed', response: { status: 'completed', output, usage: { input_tokens: 10, output_tokens: 5 } } },
    ];
  },
  anthropic(turn, isLast) {
    const block = (index: number, content_block: object, ...deltas: object[]) => [
      { type: 'content_block_start', index, content_block },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ];
    return [
      {
        type: 'message_start',
        message: { id: 'm', type: 'message', role: 'assistant', content: [], usage: { input_tokens: 10, output_tokens: 1 } },
      },
      ...block(
        0,
        { type: 'thinking', thinking: '', signature: '' },
        { type: 'thinking_delta', thinking: thought(turn) },
        { type: 'signature_delta', signature: mark('anthropic', turn) },
      ),
      ...block(1, { type: 'text', text: '' }, { type: 'text_delta', text: said(turn) }),
      ...(isLast
        ? []
        : block(
            2,
            { type: 'tool_use', id: `toolu_${turn}`, name: 'note', input: {} },
            { type: 'input_json_delta', partial_json: args(turn) },
          )),
      { type: 'message_delta', delta: { stop_reason: isLast ? 'end_turn' : 'tool_use' }, usage: { output_tokens: 5 } },
      { type: 'message_stop' },
    ];
  },
  google(turn, isLast) {
    const parts = [
      { text: thought(turn), thought: true },
      { text: said(turn) },
      ...(isLast ? [] : [{ functionCall: { name: 'note', args: { turn } }, thoughtSignature: mark('google', turn) }]),
    ];
    const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 5 };
    return [{ candidates: [{ index: 0, content: { role: 'model', parts }, finishReason: 'STOP' }], usageMetadata }];
  },
};

function args(turn: number): string {
  return JSON.stringify({ turn });
}

function chatStream(vendor: Vendor, turn: number, isLast: boolean): unknown[] {
  const chunk = (delta: object, finish_reason: string | null = null) => ({ choices: [{ index: 0, delta, finish_reason }] });
  const call = { index: 0, id: `call_${vendor}_${turn}`, type: 'function', function: { name: 'note', arguments: args(turn) } };
  return [
    chunk({ role: 'assistant', reasoning_content: `${mark(vendor, turn)} ${thought(turn)}` }),
    chunk({ content: said(turn) }),
    ...(isLast ? [] : [chunk({ tool_calls: [call] })]),
    chunk({}, isLast ? 'stop' : 'tool_calls'),
    { choices: [], usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } },
    '[DONE]',
  ];
}

const paths: [RegExp, Vendor][] = [
  [/^\/compat\/chat\/completions$/, 'compat'],
  [/^\/v1\/chat\/completions$/, 'openai'],
  [/^\/v1\/responses$/, 'openai-responses'],
  [/^\/v1\/messages$/, 'anthropic'],
  [/^\/v1beta\/models\/[^/]+:streamGenerateContent\?alt=sse$/, 'google'],
];

/**
 * The servers of all vendors at one address. `hold` decides which requests get no answer for as long as their client waits. The instructions
 * contain the turn as `turn N`.
 */
export async function startVendors(
  lastTurn: number,
  hold: (request: VendorRequest) => boolean,
): Promise<{ url: string; requests: VendorRequest[] }> {
  const requests: VendorRequest[] = [];
  const answer = async (incoming: IncomingMessage, response: ServerResponse) => {
    const pieces: Buffer[] = [];
    for await (const piece of incoming) pieces.push(piece as Buffer);
    const text = Buffer.concat(pieces).toString();
    const vendor = paths.find(([path]) => path.test(incoming.url ?? ''))?.[1];
    const turn = Number(/It is turn (\d+)\./.exec(text)?.[1]);
    if (!vendor || !turn) {
      response.writeHead(404, { 'content-type': 'application/json' });
      return void response.end(JSON.stringify({ error: { message: `nothing is at ${incoming.url}` } }));
    }
    const request = { vendor, turn, body: JSON.parse(text) };
    requests.push(request);
    if (hold(request)) return;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of streams[vendor](turn, turn === lastTurn)) {
      const type = (event as { type?: string }).type;
      response.write(`${type ? `event: ${type}\n` : ''}data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`);
    }
    response.end();
  };
  const server = createServer((incoming, response) => void answer(incoming, response).catch(() => response.destroy()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closeBeforeServers(async () => void server.close().closeAllConnections());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}
