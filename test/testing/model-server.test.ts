import { request as httpRequest } from 'node:http';
import {
  after,
  byTurn,
  callTools,
  cut,
  empty,
  errorInStream,
  events,
  fail,
  finish,
  hang,
  type ModelServer,
  notSse,
  refuse,
  type Script,
  say,
  slowly,
  stall,
  startModelServer,
  thinking,
  unfinished,
  withUsage,
} from '../../src/testing/model-server';

let server: ModelServer;
const serve = async (script: Script) => (server = await startModelServer(script));
afterEach(() => server.stop());

const user = { role: 'user', content: 'hi' };
const assistant = { role: 'assistant', content: 'hello' };

function ask(messages: object[] = [user], extra: object = {}, signal?: AbortSignal): Promise<Response> {
  return fetch(`${server.url}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', stream: true, messages, ...extra }),
    signal,
  });
}

/** The parsed `data:` lines, with `[DONE]` as a string. */
async function lines(response: Response): Promise<any[]> {
  const text = await response.text();
  return text
    .split('\n\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => (line === 'data: [DONE]' ? '[DONE]' : JSON.parse(line.slice(6))));
}

const textOf = (chunks: any[]) => chunks.map((chunk) => chunk.choices?.[0]?.delta?.content ?? '').join('');
const finishOf = (chunks: any[]) => chunks.map((chunk) => chunk.choices?.[0]?.finish_reason).find(Boolean);

test('a list of steps answers in order of arrival, and a surplus request gets a clear 400', async () => {
  await serve([say('one'), fail(503, { message: 'busy', headers: { 'retry-after': '2' } })]);
  expect(textOf(await lines(await ask()))).toBe('one');
  expect(server.unused()).toBe(1);
  const busy = await ask();
  expect([busy.status, busy.headers.get('retry-after')]).toEqual([503, '2']);
  const third = await ask();
  expect(third.status).toBe(400);
  expect(((await third.json()) as any).error.message).toContain('2 steps, and this is request 3');
});

test('a script by turn gives a repeated request the same answer, byte for byte', async () => {
  await serve(
    byTurn([
      callTools(
        [
          { name: 'add', args: { a: 1 } },
          { name: 'add', args: { a: 2 } },
        ],
        'so:',
      ),
      say('done'),
    ]),
  );
  const first = await (await ask()).text();
  expect(await (await ask()).text()).toBe(first);
  expect(textOf(await lines(await ask([user, assistant])))).toBe('done');
  expect((await ask([user, assistant, user, assistant])).status).toBe(400);
  expect(server.requests.map((request) => request.turn)).toEqual([0, 0, 1, 2]);
});

test('a function may be async, and gets the conversation', async () => {
  await serve(async ({ input, n }) => say(`${n}:${input}`));
  expect(textOf(await lines(await ask([{ role: 'user', content: [{ type: 'text', text: 'parts' }] }])))).toBe('0:parts');
  expect(textOf(await lines(await ask()))).toBe('1:hi');
});

test('a script that throws is a clear 400', async () => {
  await serve(() => {
    throw new Error('oops');
  });
  const response = await ask();
  expect([response.status, ((await response.json()) as any).error.message]).toEqual([400, 'scripted model server: the script threw: oops']);
});

test('every well-formed reply ends with a finish reason, usage and [DONE]', async () => {
  await serve([say('a longer text than one chunk holds'), refuse('no'), thinking('hm', say('yes')), finish('length', 'par'), empty()]);
  const said = await lines(await ask());
  expect([textOf(said), finishOf(said), said.at(-1)]).toEqual(['a longer text than one chunk holds', 'stop', '[DONE]']);
  expect(said.at(-2).usage.completion_tokens).toBe(9);
  expect((await lines(await ask())).map((chunk) => chunk.choices?.[0]?.delta.refusal ?? '').join('')).toBe('no');
  expect(JSON.stringify(await lines(await ask()))).toContain('"reasoning_content":"hm"');
  expect(finishOf(await lines(await ask()))).toBe('length');
  expect(textOf(await lines(await ask()))).toBe('');
});

test('usage can be given, or left out', async () => {
  await serve([
    withUsage(say('x'), { promptTokens: 7, cachedTokens: 3, completionTokens: 2, reasoningTokens: 1 }),
    withUsage(say('x'), null),
  ]);
  expect((await lines(await ask())).at(-2).usage).toEqual({
    prompt_tokens: 7,
    completion_tokens: 2,
    total_tokens: 9,
    prompt_tokens_details: { cached_tokens: 3 },
    completion_tokens_details: { reasoning_tokens: 1 },
  });
  expect(JSON.stringify(await lines(await ask()))).not.toContain('"usage"');
});

test('the wire can break in these ways', async () => {
  await serve([
    cut('par'),
    unfinished('par'),
    errorInStream('par', { message: 'overloaded' }),
    notSse('<html>'),
    events(['{bad'], 'close'),
  ]);
  const broken = await ask();
  expect(broken.status).toBe(200);
  await expect(broken.text()).rejects.toThrow('terminated');
  await expect(server.requests[0]?.closed).resolves.toBe('by-server');
  const open = await lines(await ask());
  expect([textOf(open), finishOf(open), open.includes('[DONE]')]).toEqual(['par', undefined, false]);
  expect((await lines(await ask())).at(-1)).toEqual({ error: { message: 'overloaded' } });
  expect((await ask()).headers.get('content-type')).toBe('text/html');
  expect(await (await ask()).text()).toBe('data: {bad\n\n');
});

test('a stalled stream and a hanging request stay open until the client closes the connection, and the server records when', async () => {
  await serve([stall('par'), hang(), slowly(say('x'.repeat(500)), { chunkMs: 20, chunkSize: 1 })]);
  for (const n of [0, 1, 2]) {
    const controller = new AbortController();
    const response = ask([user], {}, controller.signal);
    if (n !== 1) await (await response).body?.getReader().read();
    while (server.requests.length <= n) await new Promise((resolve) => setImmediate(resolve));
    const before = Date.now();
    controller.abort();
    await response.catch(() => undefined);
    await expect(server.requests[n]?.closed).resolves.toBe('by-client');
    expect(server.requests[n]?.closedEarlyAt).toBeGreaterThanOrEqual(before);
  }
});

test('a delayed reply arrives late, a slow one in pieces', async () => {
  await serve([after(50, say('late')), slowly(say('abcdef'), { chunkMs: 5, chunkSize: 2 })]);
  const start = Date.now();
  expect(textOf(await lines(await ask()))).toBe('late');
  expect(Date.now() - start).toBeGreaterThanOrEqual(49);
  const slow = await lines(await ask());
  expect(slow.filter((chunk) => chunk.choices?.[0]?.delta.content).length).toBe(3);
  await expect(server.requests[1]?.closed).resolves.toBe('complete');
});

test('an unsupported request is a clear 4xx', async () => {
  await serve([say('never')]);
  expect((await ask([user], { stream: false })).status).toBe(400);
  expect((await fetch(`${server.url}/models`)).status).toBe(404);
});

test('stop closes open connections, may be called twice, and does not count them as closed by the client', async () => {
  await serve([hang()]);
  const response = ask().catch(() => 'dropped');
  while (server.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
  await server.stop();
  await server.stop();
  await expect(response).resolves.toBe('dropped');
  await expect(server.requests[0]?.closed).resolves.toBe('by-server');
  await new Promise((resolve) => httpRequest(server.url).once('error', resolve).end());
});
