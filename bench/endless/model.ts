import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { now } from '../numbers';
import { answerOf, factOf, objective, windowTokens } from './task';

/** One request for a turn, as it arrived. */
export interface Turn {
  turn: number;
  at: number;
  /** Characters of tools and messages, in the order in which providers cache them, and with how many of them the request before began, too. */
  chars: number;
  sameChars: number;
}

export interface EndlessModel {
  url: string;
  turns: Turn[];
  summaries: number;
  /** What was wrong with requests, in words. */
  faults: string[];
  stop(): Promise<void>;
}

interface Request {
  tools?: unknown;
  messages: { role: string; content?: unknown; tool_calls?: { id: string }[]; tool_call_id?: string }[];
}

/**
 * A model that works step by step, and that summarizes by keeping what its prompt tells it to keep: the facts. It checks each request: it fits into
 * the window, begins with the objective, pairs calls with results, and has the facts that were stated so far.
 */
export async function startEndlessModel(lastTurn: number): Promise<EndlessModel> {
  const model: EndlessModel = { url: '', turns: [], summaries: 0, faults: [], stop: async () => undefined };
  let before = '';
  const server = createServer((req, res) => {
    void serve(req, res).catch((error: Error) => {
      model.faults.push(error.stack ?? error.message);
      res.destroy();
    });
  });

  async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const at = now();
    const pieces: Buffer[] = [];
    for await (const piece of req) pieces.push(piece as Buffer);
    const body = Buffer.concat(pieces).toString();
    const { tools, messages } = JSON.parse(body) as Request;
    const texts = messages.map(({ content }) => (typeof content === 'string' ? content : JSON.stringify(content ?? '')));
    if (tokensOf(body) > windowTokens) model.faults.push(`a request has about ${tokensOf(body)} tokens; the window has ${windowTokens}`);
    const asked = texts.at(-1) ?? '';
    if (asked.includes('<transcript>')) {
      model.summaries += 1;
      return speak(res, body, { content: summaryOf(asked) });
    }
    const turn = turnOf(texts);
    for (const fault of faultsOf(messages, texts, turn)) model.faults.push(`turn ${turn}: ${fault}`);
    const cached = JSON.stringify([tools, messages]);
    model.turns.push({ turn, at, chars: cached.length, sameChars: sameStart(before, cached) });
    before = cached;
    if (turn > lastTurn) return speak(res, body, { content: 'All steps are done.' });
    const call = { index: 0, id: `call_${turn}`, type: 'function', function: { name: 'work', arguments: JSON.stringify({ step: turn }) } };
    return speak(res, body, { content: answerOf(turn), tool_calls: [call] });
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  model.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  model.stop = () =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return model;
}

/** As most providers count English text, which is also what the thread has to find out from the usage. */
function tokensOf(text: string): number {
  return Math.ceil(text.length / 4);
}

/** The turn that a request asks for: one more than the newest result. */
function turnOf(texts: readonly string[]): number {
  const done = texts.flatMap((text) => [...text.matchAll(/Step (\d+) is done/g)].map(([, step]) => Number(step)));
  return Math.max(0, ...done) + 1;
}

function faultsOf(messages: Request['messages'], texts: readonly string[], turn: number): string[] {
  const faults: string[] = [];
  const first = messages.findIndex(({ role }) => role === 'user');
  if (texts[first] !== objective) faults.push('the first message of the user is not the objective');
  const open = new Set<string>();
  for (const { role, tool_calls: calls = [], tool_call_id: id = '' } of messages) {
    if (role === 'tool' ? !open.delete(id) : open.size > 0) faults.push(`calls and results do not match at ${id || [...open].join()}`);
    for (const call of calls) open.add(call.id);
  }
  if (open.size > 0) faults.push(`calls without a result: ${[...open].join()}`);
  const all = texts.join('\n');
  for (let stated = 1; stated < turn; stated++) {
    const fact = factOf(stated);
    if (fact && !all.includes(fact)) faults.push(`the fact of turn ${stated} is missing`);
  }
  return faults;
}

/** Keeps every fact that the transcript states or has kept. */
function summaryOf(prompt: string): string {
  const facts = new Set([...prompt.matchAll(/Fact \d+: [^.\n]+\./g)].map(([fact]) => fact));
  const steps = [...prompt.matchAll(/Step (\d+) is done/g)].map(([, step]) => Number(step));
  const retained = [...facts].map((fact) => `- ${fact}`).join('\n');
  return `<retain>\n${retained}\n</retain>\n<summary>\nSteps up to number ${Math.max(0, ...steps)} were carried out.\n</summary>`;
}

function sameStart(one: string, other: string): number {
  let same = 0;
  while (same < one.length && one[same] === other[same]) same += 1;
  return same;
}

function speak(res: ServerResponse, body: string, delta: { content: string; tool_calls?: object[] }): void {
  const envelope = { id: 'chatcmpl-endless', object: 'chat.completion.chunk', created: 0, model: 'endless' };
  const prompt = tokensOf(body);
  const completion = tokensOf(JSON.stringify(delta));
  const events = [
    { ...envelope, choices: [{ index: 0, delta: { role: 'assistant', ...delta }, finish_reason: null }] },
    { ...envelope, choices: [{ index: 0, delta: {}, finish_reason: delta.tool_calls ? 'tool_calls' : 'stop' }] },
    { ...envelope, choices: [], usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion } },
  ];
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  res.end(`${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')}data: [DONE]\n\n`);
}
