import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { built } from '../build';
import type { HostileOutcome, HostileTask } from '../hostile';
import { startProcess } from '../link';

/** The result of one input in one process. `peakMb`: memory above the size before. Times are in milliseconds. */
export interface Hostile {
  input: string;
  stallMs: number;
  /** Including the time that the thread waited for a core. */
  delayMs: number;
  peakMb: number;
  ms: number;
  ended: string;
}

/** After this time the process is killed. */
const patienceMs = 60_000;

const event = (delta: object) => `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`;
const head = { 'content-type': 'text/event-stream' };

function* repeat(piece: string, times: number): Generator<string> {
  for (let i = 0; i < times; i++) yield piece;
}

function* endlessLine(pieceLength: number, pieces: number): Generator<string> {
  yield 'data: {"choices":[{"index":0,"delta":{"content":"';
  yield* repeat('x'.repeat(pieceLength), pieces);
}

function* manyCalls(count: number): Generator<string> {
  for (let i = 0; i < count; i++) yield event({ tool_calls: [{ index: i, id: `call_${i}`, function: { name: 'f', arguments: '{}' } }] });
  yield 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}\n\ndata: [DONE]\n\n';
}

function* text(deltas: number, piece: string): Generator<string> {
  yield* repeat(event({ content: piece }), deltas);
  yield 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
}

const argumentPiece = (piece: string, more: object = {}) => event({ tool_calls: [{ function: { name: 'f', arguments: piece }, ...more }] });

/** Answers of the provider: status, and the pieces of the body. */
const answers: Record<string, { status?: number; body: () => Iterable<string> }> = {
  'a line of 64 MB': { body: () => endlessLine(65_536, 1_000) },
  'a line of 4 MB in pieces of 16 bytes': { body: () => endlessLine(16, 262_144) },
  'an error body of 300 MB': { status: 500, body: () => repeat('y'.repeat(65_536), 4_800) },
  'an error of 200 KB that looks like ids and keys': {
    status: 400,
    body: () => [JSON.stringify({ error: { message: 'requestid'.repeat(22_000) } })],
  },
  'an error 30,000 levels deep': { status: 400, body: () => [`{"error":{"message":${'['.repeat(30_000)}${']'.repeat(30_000)}}}`] },
  '40,000 deltas of text': { body: () => text(40_000, 'some words, ') },
  '40,000 pieces of arguments, each with the name': { body: () => repeat(argumentPiece('[1,2,3],'), 40_000) },
  'arguments of 64 MB in pieces of 1 KB': { body: () => repeat(argumentPiece('z'.repeat(1_000), { index: 0 }), 64_000) },
  '100 MB of reasoning': { body: () => repeat(event({ reasoning_content: 'thought '.repeat(500) }), 25_000) },
  '100 MB to be seen again': {
    body: () =>
      repeat(event({ tool_calls: [{ index: 0, id: 'c', function: { name: 'f' }, extra_content: { x: 'e'.repeat(100_000) } }] }), 1_000),
  },
  '100 MB of empty lines': { body: () => repeat(':\n\n'.repeat(20_000), 1_700) },
  'an event 900,000 levels deep': { body: () => [`data: {"choices":${'['.repeat(900_000)}${']'.repeat(900_000)}}\n\n`] },
  'arguments as an object 20,000 levels deep': {
    body: () => [
      `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}}}]}}]}\n\n`,
    ],
  },
  '10,000 calls': { body: () => manyCalls(10_000) },
};

/** Sends worst-case input of a provider, a tool or arguments to the real code, each in a process of its own. */
export async function measureHostileInput(say: (line: string) => void): Promise<Hostile[]> {
  const server = createServer((request, response) => {
    const { status = 200, body } = answers[decodeURIComponent(request.url?.split('/')[1] ?? '')] ?? { body: () => [] };
    request.resume();
    request.once('end', () => {
      response.writeHead(status, head);
      Readable.from(body()).pipe(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const found: Hostile[] = [];
  try {
    const ofModel = Object.keys(answers).map((input): [string, HostileTask] => [
      `provider: ${input}`,
      { task: 'model', url: `${url}/${encodeURIComponent(input)}` },
    ]);
    for (const [input, task] of [...ofModel, ...(await ofTools())]) {
      say(input);
      found.push({ input, ...(await inProcess(task)) });
    }
  } finally {
    server.close();
    server.closeAllConnections();
  }
  return found;
}

async function ofTools(): Promise<[string, HostileTask][]> {
  const link = await startProcess(built('hostile'), []);
  const names = await link.ask<Extract<HostileTask, { task: 'tool' }>['name'][]>('tools');
  await link.kill();
  return names.map((name) => [`tool: ${name}`, { task: 'tool', name }]);
}

async function inProcess(task: HostileTask): Promise<Omit<Hostile, 'input'>> {
  const link = await startProcess(built('hostile'), [], ['--expose-gc']);
  let timer: NodeJS.Timeout | undefined;
  try {
    const idleKb = await link.ask<number>('idle', task);
    const late: HostileOutcome = { ended: `not within ${patienceMs / 1_000} s`, ms: patienceMs, stallMs: Number.NaN, delayMs: Number.NaN };
    const patience = new Promise<HostileOutcome>((resolve) => {
      timer = setTimeout(resolve, patienceMs, late);
    });
    const outcome = await Promise.race([link.ask<HostileOutcome>('run', task).catch(died), patience]);
    return { ...outcome, peakMb: Math.round((peakKbOf(link.pid) - idleKb) / 1_024) };
  } finally {
    clearTimeout(timer);
    await link.kill();
  }
}

function died(error: Error): HostileOutcome {
  return { ended: `the process died: ${error.message.slice(0, 200)}`, ms: Number.NaN, stallMs: Number.NaN, delayMs: Number.NaN };
}

function peakKbOf(pid: number): number {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? Number.NaN);
  } catch {
    return Number.NaN;
  }
}
