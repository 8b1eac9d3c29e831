import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import type { RetryPolicy } from '../../src/core/failure';
import { openAi } from '../../src/models/openai/client';
import { createModels, defaultModels } from '../../src/models/registry';
import {
  after,
  callTools,
  cut,
  empty,
  errorInStream,
  fail,
  hang,
  notSse,
  type Reply,
  say,
  slowly,
  stall,
  unfinished,
} from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { collect, type Rig, startRig } from '../support/rig';
import { ofType, requestsOf, scenes, story, thrownBy } from './scenes';

const { script, scene } = scenes();
const big = defineTool({ name: 'big', description: 'Says much.', input: z.object({}), effect: 'pure', execute: () => 'x'.repeat(20_000) });
const made = (name: string, retry: Partial<RetryPolicy>) =>
  defineAgent({ name, model: 'openai/test-model', instructions: 'Answer.', tools: [big], retry });
/** Its provider is given up on after two seconds of silence. */
const hurried = defineAgent({ name: 'hurried', model: 'hurried/test-model', instructions: 'Answer.', retry: { baseMs: 20, maxMs: 100 } });
const quick = made('quick', { baseMs: 20, maxMs: 100, maxAttempts: 5 });
const linear = made('linear', { baseMs: 20, maxMs: 1_000, maxAttempts: 5, backoff: 'linear', jitter: false });
const narrow = made('narrow', { baseMs: 100, jitter: false, windowMs: 4_000 });
const strict = made('strict', { baseMs: 20, retryAfterCeilingMs: 5_000 });
const agents = [quick, linear, narrow, strict, hurried];

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ script, agents, bus: true, workers: 0 });
  const at = { baseUrl: rig.model.url, apiKey: 'sk-a-very-secret-key' };
  const models = createModels({ openai: openAi(at), hurried: openAi({ ...at, firstByteTimeoutMs: 2_000, idleTimeoutMs: 2_000 }) });
  await rig.addWorker({ models });
});

/** A run with these replies, one per request; returns its result. */
async function answered(replies: Reply[], agent = quick) {
  let next = 0;
  const input = scene(() => replies[Math.min(next++, replies.length - 1)] as Reply);
  const thread = await rig.client.start(agent, input);
  const told = await story(thread);
  const end = told.at(-1);
  return { thread, told, end, requests: requestsOf(rig, input), attempts: ofType(told, 'thread.message.completed')[0]?.data.attempts };
}
const failedWith = (code: string, message: unknown = expect.any(String)) => ({ type: 'thread.run.failed', data: { code, message } });

test('[B72][B76][B82][B86] a refused key ends the run immediately, after one request, without the key in any text', async () => {
  const { thread, end, requests } = await answered([
    fail(401, { code: 'invalid_api_key', message: 'Incorrect API key provided: sk-a-very-secret-key.' }),
  ]);
  expect(end).toMatchObject(failedWith('auth', expect.stringContaining('OPENAI_API_KEY')));
  expect(end).toMatchObject({ data: { details: { status: 401, attempts: [{ kind: 'auth', status: 401 }] } } });
  expect(JSON.stringify(end)).not.toContain('very-secret');
  expect(requests).toHaveLength(1);
  expect(await thrownBy(thread.result())).toMatchObject({
    code: 'run-failed',
    runCode: 'auth',
    message: expect.stringContaining('OPENAI_API_KEY'),
  });
});

test("[B76][B82] a failure that another attempt can't fix is never retried", async () => {
  const final: [Reply, string][] = [
    [fail(403), 'permission'],
    [fail(400), 'bad-request'],
    [fail(404, { code: 'model_not_found', message: 'The model does not exist' }), 'not-found'],
    [fail(429, { code: 'insufficient_quota' }), 'quota'],
    [fail(400, { code: 'content_filter' }), 'content-filter'],
  ];
  const runs = await Promise.all(final.map(([reply]) => answered([reply])));
  runs.forEach(({ end, requests }, i) => {
    expect(end).toMatchObject(failedWith(final[i]?.[1] as string));
    expect(requests).toHaveLength(1);
  });
  expect(runs[2]?.end).toMatchObject({ data: { message: expect.stringContaining("'test-model'") } });
});

test('[B73][B75][B88] a temporary failure is retried, with one request per attempt, and the event of the step has all attempts', async () => {
  const passing: [Reply, string][] = [
    [fail(429, { message: 'slow down, please' }), 'rate-limit'],
    [fail(500), 'server'],
    [fail(504), 'timeout'],
    [fail(503), 'overloaded'],
    [empty(), 'empty'],
    [cut('half an ans'), 'truncated-stream'],
    [unfinished('half an ans'), 'truncated-stream'],
    [errorInStream('half', { message: 'The server is overloaded', type: 'overloaded_error' }), 'overloaded'],
    [notSse('<html>gateway</html>'), 'server'],
  ];
  const runs = await Promise.all(passing.map(([reply]) => answered([reply, say('Here I am.')])));
  runs.forEach(({ end, requests, attempts, told }, i) => {
    expect({ i, end }).toMatchObject({ i, end: { type: 'thread.run.completed', data: { output: 'Here I am.' } } });
    expect(requests).toHaveLength(2);
    expect(attempts).toEqual([expect.objectContaining({ kind: passing[i]?.[1], waitMs: expect.any(Number), waitSource: 'backoff' })]);
    expect(ofType(told, 'thread.message.completed')[0]?.data.message.attempt).toBe(2);
  });
});

test('[B74] a provider that does not begin to answer, or stalls in the middle, is given up and called again', async () => {
  const runs = await Promise.all([answered([hang(), say('ok')], hurried), answered([stall('The answer is'), say('ok')], hurried)]);
  for (const { end, requests, attempts } of runs) {
    expect(end).toMatchObject({ type: 'thread.run.completed', data: { output: 'ok' } });
    expect(requests).toHaveLength(2);
    expect(await requests[0]?.closed).toBe('by-client');
    expect(attempts?.map(({ kind }) => kind)).toEqual(['timeout']);
  }
});

test('[B75][B79][B86] when all attempts failed the run ends with all of them in its error, even if the provider sends invalid data', async () => {
  const { end, requests } = await answered([notSse('{"hello":"world"}', 'application/json')], linear);
  expect(requests).toHaveLength(5);
  expect(end).toMatchObject(failedWith('server', expect.stringContaining('attempt 5 of 5')));
  const { attempts = [] } = (end as { data: { details: { attempts?: { kind: string; waitMs?: number }[] } } }).data.details;
  expect(attempts.map((attempt) => attempt.waitMs)).toEqual([20, 40, 60, 80, undefined]);
});

test('[B80] waits grow and are randomized between half and the full wait', async () => {
  const { attempts = [] } = await answered([fail(500), fail(500), fail(500), fail(500), say('ok')]);
  [20, 40, 80, 100].forEach((whole, i) => {
    expect(attempts[i]?.waitMs).toBeGreaterThanOrEqual(whole / 2);
    expect(attempts[i]?.waitMs).toBeLessThanOrEqual(whole);
  });
});

test('[B81] Retry-After is used in seconds, in milliseconds and as a date', async () => {
  const inTwoSeconds = new Date(Math.ceil(Date.now() / 1_000) * 1_000 + 2_000).toUTCString();
  const forms: Record<string, string>[] = [{ 'retry-after': '1' }, { 'retry-after-ms': '600' }, { 'retry-after': inTwoSeconds }];
  const runs = await Promise.all(forms.map((headers) => answered([fail(429, { headers }), say('ok')])));
  runs.forEach(({ end, requests, attempts }, i) => {
    expect(end).toMatchObject({ type: 'thread.run.completed' });
    const [attempt] = attempts ?? [];
    expect(attempt).toMatchObject({ kind: 'rate-limit', status: 429, waitSource: 'retry-after' });
    if (i < 2) expect(attempt?.waitMs).toBe(i === 0 ? 1_000 : 600);
    expect(requests).toHaveLength(2);
    const [first, second] = requests;
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual((attempt?.waitMs ?? 0) - 50);
    if (i === 2) expect(second?.at).toBeGreaterThanOrEqual(Date.parse(inTwoSeconds) - 50);
  });
});

test('[B81] a Retry-After above the ceiling ends the run immediately with the reason', async () => {
  const { end, requests } = await answered([fail(429, { headers: { 'retry-after': '3600' } }), say('ok')], strict);
  expect(requests).toHaveLength(1);
  expect(end).toMatchObject(failedWith('rate-limit', expect.stringMatching(/wait of 3600 s, above the ceiling of 5 s/)));
});

test('[B83] no attempt begins after the window, and the window interrupts none', async () => {
  const [late, long] = await Promise.all([
    answered([after(2_500, fail(500)), after(2_500, fail(500)), say('too late')], narrow),
    answered([fail(500), slowly(say('in time'), { chunkMs: 700, chunkSize: 1 })], narrow),
  ]);
  expect(late.end).toMatchObject(failedWith('server', expect.stringMatching(/no attempt begins later than 4 s after the first/)));
  expect(late.requests).toHaveLength(2);
  expect(long.end).toMatchObject({ type: 'thread.run.completed', data: { output: 'in time' } });
});

test('[B63] before each wait readers get the number of the next attempt, its time and the reason', async () => {
  let n = 0;
  const input = scene(() => (n++ === 0 ? fail(503) : say('ok')));
  const thread = await rig.client.start(quick, input);
  const events = await collect(thread.events());
  const [retry] = events.filter((event) => event.type === 'agent.llm.retry');
  expect(retry?.data).toMatchObject({
    nextAttempt: 2,
    maxAttempts: 5,
    delayMs: expect.any(Number),
    delaySource: 'backoff',
    failureKind: 'overloaded',
  });
});

test('the second attempt reports that the answer begins again, so that no reader joins the two', async () => {
  let n = 0;
  const input = scene(() => (n++ === 0 ? cut('The first half') : say('The whole.')));
  const events = await collect((await rig.client.start(quick, input)).events());
  const deltas = events.flatMap((event) => (event.type === 'thread.message.delta' ? [event.data] : []));
  expect(deltas.find((delta) => delta.attempt === 2)).toMatchObject({ restart: true, index: 0 });
  expect(
    deltas
      .filter((delta) => delta.attempt === 2)
      .map((delta) => delta.contentChunk)
      .join(''),
  ).toBe('The whole.');
});

test("[B78] a missing key for the provider's own address fails the run immediately with what to set, and nothing is sent", async () => {
  const lone = await startRig({ script: [], agents, worker: { models: defaultModels({ openai: {} }) } });
  const thread = await lone.client.start(quick, 'Hello');
  expect((await story(thread)).at(-1)).toMatchObject(
    failedWith('auth', expect.stringMatching(/no API key for api\.openai\.com.*OPENAI_API_KEY/)),
  );
  expect(lone.model.requests).toHaveLength(0);
});

test('a conversation that is too long for its model is shortened once and sent again', async () => {
  const tooLong = fail(400, { code: 'context_length_exceeded', message: 'maximum context length' });
  const input = scene(({ body, turn }) =>
    turn < 3 ? callTools([{ name: 'big', args: {} }]) : JSON.stringify(body).length > 50_000 ? tooLong : say('short enough'),
  );
  const thread = await rig.client.start(quick, input);
  const told = await story(thread);
  expect(ofType(told, 'thread.context.compacted')[0]?.data).toMatchObject({ reason: 'context-length', prunedOutputs: expect.any(Number) });
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'short enough' } });

  const hopeless = await answered([tooLong]);
  expect(hopeless.end).toMatchObject(failedWith('context-length'));
});
