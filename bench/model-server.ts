import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answer } from './link';
import { answerText, callArguments, calledTool, sessionOf } from './workload';

/**
 * The model server of the bench. It is a process of its own, so that its CPU time does not count for a contender. To be cheap, it searches the
 * bytes of a request (up to 1 MB) and does not parse them. It reads the turn from the id of the newest tool result.
 */

/** One request, times in epoch milliseconds with fractions. */
export interface ModelRequest {
  turn: number;
  at: number;
  bytes: number;
  /** When the client closed the connection of a held answer. */
  closedAt?: number;
}

const sessions = new Map<string, ModelRequest[]>();
const watchers = new Set<() => void>();
const changed = () => {
  for (const look of watchers) look();
};
const now = () => performance.timeOrigin + performance.now();

function turnOf(body: Buffer): number {
  const mark = '"tool_call_id":"call_';
  const at = body.lastIndexOf(mark);
  return at < 0 ? 1 : Number.parseInt(body.toString('latin1', at + mark.length, at + mark.length + 8), 10) + 1;
}

async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const at = now();
  const pieces: Buffer[] = [];
  for await (const piece of req) pieces.push(piece as Buffer);
  const body = Buffer.concat(pieces);
  const session = sessionOf(body.toString('latin1', 0, 8_000));
  if (!session) return void res.writeHead(400).end();
  const turn = turnOf(body);
  const requests = sessions.get(session.key) ?? [];
  const held = turn === session.hold && !requests.some((request) => request.turn === turn);
  const request: ModelRequest = { turn, at, bytes: body.length };
  sessions.set(session.key, [...requests, request]);
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  if (held) {
    res.once('close', () => {
      request.closedAt = now();
      changed();
    });
    res.write(chunks([{ role: 'assistant', content: answerText.slice(0, 20) }]));
  } else if (turn > session.turns && session.lastMs > 0) {
    await speak(res, session.lastMs);
  } else {
    res.end(turn > session.turns ? last : turnAnswer(turn, body.length));
  }
  changed();
}

/** Streams the last answer, one word each tenth of a second. */
async function speak(res: ServerResponse, forMs: number): Promise<void> {
  const until = now() + forMs;
  while (now() < until && !res.destroyed) {
    res.write(chunks([{ content: 'word ' }]));
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  res.end(last);
}

function chunks(deltas: object[], finish?: string): string {
  const envelope = { id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 0, model: 'bench-model' };
  const all = deltas.map((delta) => ({ ...envelope, choices: [{ index: 0, delta, finish_reason: null as string | null }] }));
  if (finish) all.push({ ...envelope, choices: [{ index: 0, delta: {}, finish_reason: finish }] });
  return all.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('');
}

const texts = Array.from({ length: 12 }, (_, i) => ({ content: answerText.slice(i * 20, i * 20 + 20) }));
const [beforeId = '', afterId = ''] = (() => {
  const call = { index: 0, id: 'call_TURN', type: 'function', function: { name: calledTool, arguments: '' } };
  const parts = [callArguments.slice(0, 50), callArguments.slice(50)].map((text) => ({
    tool_calls: [{ index: 0, function: { arguments: text } }],
  }));
  return chunks([{ role: 'assistant', content: '' }, ...texts, { tool_calls: [call] }, ...parts], 'tool_calls').split('call_TURN');
})();
const last = `${chunks([{ role: 'assistant', content: 'It is done.' }], 'stop')}${usage(1_000)}data: [DONE]\n\n`;

function usage(bytes: number): string {
  const prompt = Math.ceil(bytes / 4);
  return `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: prompt, completion_tokens: 90, total_tokens: prompt + 90 } })}\n\n`;
}

function turnAnswer(turn: number, bytes: number): string {
  return `${beforeId}call_${turn}${afterId}${usage(bytes)}data: [DONE]\n\n`;
}

const server = createServer((req, res) => void serve(req, res).catch(() => res.destroy()));
// Never close a client's pooled connection between two requests.
server.keepAliveTimeout = 0;
const listening = new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

async function until<T>(look: () => T | undefined): Promise<T> {
  for (;;) {
    const found = look();
    if (found !== undefined) return found;
    await new Promise<void>((resolve) => {
      const woken = () => {
        watchers.delete(woken);
        resolve();
      };
      watchers.add(woken);
    });
  }
}

answer({
  ready: () => listening,
  url: () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
  requests: (key: string) => sessions.get(key) ?? [],
  /** The first request of the turn, or of a later one, that arrived after `since`. */
  arrived: ({ key, turn, since = 0 }: { key: string; turn: number; since?: number }) =>
    until(() => sessions.get(key)?.find((request) => request.turn >= turn && request.at > since)),
  closed: (key: string) => until(() => sessions.get(key)?.find((request) => request.closedAt)?.closedAt),
});
