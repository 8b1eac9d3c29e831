import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { closeBeforeServers } from './temporal';

/** The wire formats of the server, by the names of their providers. */
export type CompactingVendor = 'anthropic' | 'openai-responses' | 'openai';

export interface CompactingRequest {
  vendor: CompactingVendor;
  body: any;
  beta: string | undefined;
  /** How many requests the server had before this one. */
  n: number;
}

/** What is answered: what the answer has, in this order of parts; an error; or nothing, as long as the client waits. */
export type CompactingReply =
  | { compacts?: string; says?: string; calls?: { name: string; args: object }; inputTokens?: number; whole?: boolean }
  | { status: number; message: string; code?: string }
  | 'hold';

const paths: [RegExp, CompactingVendor][] = [
  [/^\/v1\/messages/, 'anthropic'],
  [/^\/v1\/responses$/, 'openai-responses'],
  [/^\/v1\/chat\/completions$/, 'openai'],
];

/** What a compaction costs at a server that counts it separately. */
export const compactionTokens = { input: 40_000, output: 500 };
/** What an answer takes after a compaction. */
const tokensAfter = 600;

type Answer = Exclude<CompactingReply, string | { status: number }>;

/** The readable and the unreadable half of a compaction. */
export const sealed = (text: string) => `sealed<${text}>`;

const events: Record<CompactingVendor, (answer: Answer, n: number) => unknown[]> = {
  anthropic({ compacts, says, calls, inputTokens = 1_000, whole }, n) {
    const content = [
      ...(compacts === undefined ? [] : [{ type: 'compaction', content: compacts, encrypted_content: sealed(compacts) }]),
      ...(says === undefined ? [] : [{ type: 'text', text: says }]),
      ...(calls === undefined ? [] : [{ type: 'tool_use', id: `toolu_${n}`, name: calls.name, input: calls.args }]),
    ];
    const own = { input_tokens: compacts === undefined ? inputTokens : tokensAfter, output_tokens: 20 };
    const compaction = { type: 'compaction', input_tokens: compactionTokens.input, output_tokens: compactionTokens.output };
    const usage = { ...own, ...(compacts !== undefined && { iterations: [compaction, { type: 'message', ...own }] }) };
    const stop_reason = calls === undefined ? 'end_turn' : 'tool_use';
    const start = { id: `msg_${n}`, type: 'message', role: 'assistant' };
    if (whole) return [{ type: 'message_start', message: { ...start, content, stop_reason, usage } }, { type: 'message_stop' }];
    return [
      { type: 'message_start', message: { ...start, content: [], usage: { input_tokens: inputTokens, output_tokens: 1 } } },
      ...content.flatMap((block, index) => blockEvents(block, index)),
      { type: 'message_delta', delta: { stop_reason }, usage },
      { type: 'message_stop' },
    ];
  },
  'openai-responses'({ compacts, says, calls, inputTokens = 1_000, whole }, n) {
    const content = [{ type: 'output_text', text: says, annotations: [] }];
    const output = [
      ...(says === undefined ? [] : [{ type: 'message', id: `msg_${n}`, role: 'assistant', status: 'completed', content }]),
      ...(compacts === undefined ? [] : [{ type: 'compaction', id: `cmp_${n}`, encrypted_content: sealed(compacts) }]),
      ...(calls === undefined
        ? []
        : [{ type: 'function_call', id: `fc_${n}`, call_id: `call_${n}`, name: calls.name, arguments: JSON.stringify(calls.args) }]),
    ];
    const added = output.map((item, output_index) => ({ type: 'response.output_item.done', output_index, item }));
    const usage = { input_tokens: inputTokens, output_tokens: 20 };
    return [...(whole ? [] : added), { type: 'response.completed', response: { status: 'completed', output, usage } }];
  },
  openai({ says, calls, inputTokens = 1_000 }, n) {
    const call = calls && {
      index: 0,
      id: `call_${n}`,
      type: 'function',
      function: { name: calls.name, arguments: JSON.stringify(calls.args) },
    };
    const delta = { role: 'assistant', content: says ?? '', ...(call && { tool_calls: [call] }) };
    return [
      { choices: [{ index: 0, delta, finish_reason: null }] },
      { choices: [{ index: 0, delta: {}, finish_reason: call ? 'tool_calls' : 'stop' }] },
      { choices: [], usage: { prompt_tokens: inputTokens, completion_tokens: 20, total_tokens: inputTokens + 20 } },
      '[DONE]',
    ];
  },
};

function blockEvents(block: any, index: number): object[] {
  const { content, encrypted_content, text, input, ...empty } = block;
  const bare = { ...empty, ...(block.type === 'compaction' && { content: null }), ...(block.type === 'text' && { text: '' }) };
  const half = Math.ceil((content ?? '').length / 2);
  const deltas: Record<string, object[]> = {
    compaction: [
      { type: 'compaction_delta', content: content?.slice(0, half), encrypted_content: null },
      { type: 'compaction_delta', content: content?.slice(half), encrypted_content },
    ],
    text: [{ type: 'text_delta', text }],
    tool_use: [{ type: 'input_json_delta', partial_json: JSON.stringify(input) }],
  };
  return [
    { type: 'content_block_start', index, content_block: bare },
    ...(deltas[block.type] ?? []).map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ];
}

export interface CompactingServer {
  url: string;
  requests: CompactingRequest[];
}

/**
 * A server of three vendors, of which two compact conversations. `reply` decides what each request gets; `sent` is called when the whole answer is on
 * its way.
 */
export async function startCompactingServer(
  reply: (request: CompactingRequest) => CompactingReply,
  sent: (request: CompactingRequest) => void = () => {},
): Promise<CompactingServer> {
  const requests: CompactingRequest[] = [];
  const answer = async (incoming: IncomingMessage, response: ServerResponse) => {
    const pieces: Buffer[] = [];
    for await (const piece of incoming) pieces.push(piece as Buffer);
    const vendor = paths.find(([path]) => path.test(incoming.url ?? ''))?.[1];
    if (!vendor) throw new Error(`nothing is at ${incoming.url}`);
    const body = JSON.parse(Buffer.concat(pieces).toString());
    const request = { vendor, body, beta: [incoming.headers['anthropic-beta']].flat()[0], n: requests.length };
    requests.push(request);
    const made = reply(request);
    if (made === 'hold') return;
    if ('status' in made) {
      response.writeHead(made.status, { 'content-type': 'application/json' });
      return void response.end(
        JSON.stringify({ error: { type: 'invalid_request_error', message: made.message, code: made.code ?? null } }),
      );
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const list = events[vendor](made, request.n);
    response.end(list.map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`).join(''), () =>
      sent(request),
    );
  };
  const server = createServer((incoming, response) => void answer(incoming, response).catch(() => response.destroy()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closeBeforeServers(async () => void server.close().closeAllConnections());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}
