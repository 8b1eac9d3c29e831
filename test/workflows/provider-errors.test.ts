import { type Agent, defineAgent } from '../../src/agents';
import type { FailedAttempt, RetryPolicy } from '../../src/core/failure';
import { noUsage } from '../../src/core/message';
import type { ModelProvider } from '../../src/models/model';
import { openAi } from '../../src/models/openai/client';
import { createModels } from '../../src/models/registry';
import { cut, fail, type Reply, say } from '../../src/testing/model-server';
import { collect, type Rig, startRig, until } from '../support/rig';
import { ofType, requestsOf, roles, scenes, story, thrownBy, typesOf } from './scenes';

const { script, scene } = scenes();
const made = (name: string, retry: Partial<RetryPolicy> = {}, more: Partial<Parameters<typeof defineAgent>[0]> = {}) =>
  defineAgent({ name, model: 'test-model', instructions: 'Answer.', retry: { baseMs: 10, maxAttempts: 3, ...retry }, ...more });
const quick = made('quick');
const single = made('single', { maxAttempts: 1 });
const slow = made('slow', { baseMs: 2_000, jitter: false });
class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
}
const throws = (words: string) => () => {
  throw new ConfigurationError(words);
};
const wordless = made('wordless', {}, { instructions: throws('no words today') });
const cautious = made('cautious', { afterPartial: false });
const odd = made('odd', {}, { model: 'odd/model' });
const unreadable = made('unreadable', {}, { model: 'unreadable/model' });
const deaf = made('deaf', {}, { model: 'deaf/model' });
const absent = made('absent');

let calls = 0;
/** A provider that breaks the rules: what it throws is no `ModelFailure`. */
const breaking: ModelProvider = {
  async call() {
    calls += 1;
    if (calls === 2) return { parts: [{ type: 'text', text: 'better' }], finishReason: 'stop', usage: noUsage };
    throw new RangeError('the provider has a bug');
  },
};

let asked = 0;
/** A provider whose failure can't be read. */
const guarding: ModelProvider = {
  async call() {
    asked += 1;
    throw {
      name: 'ModelFailure',
      message: 'look away',
      get kind() {
        throw new Error('not to be read');
      },
    };
  },
};
/** A provider that ignores its signal. */
let ignored = 0;
const ignoring: ModelProvider = {
  call() {
    ignored += 1;
    return new Promise(() => {});
  },
};

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ script, agents: [quick, single, cautious, slow, wordless, odd, unreadable, deaf], bus: true, workers: 0 });
  const providers = { odd: breaking, unreadable: guarding, deaf: ignoring };
  await rig.addWorker({ models: createModels({ openai: openAi({ baseUrl: rig.model.url, apiKey: 'test' }), ...providers }) });
});

async function answered(replies: Reply[], agent: Agent = quick) {
  let next = 0;
  const input = scene(() => replies[Math.min(next++, replies.length - 1)] as Reply);
  const thread = await rig.client.start(agent, input);
  const told = await story(thread);
  return { thread, told, end: told.at(-1), requests: requestsOf(rig, input), messages: await thread.messages() };
}
const failedWith = (code: string, message: unknown) => ({ type: 'thread.run.failed', data: { code, message } });

test('[A89][A92] an error of the provider is recorded once, after its message is closed, with the status, the kind and its own message', async () => {
  const { thread, told, end, messages } = await answered([
    fail(400, { message: 'temperature is not supported', type: 'invalid_request_error' }),
  ]);
  expect(typesOf(told).slice(-3)).toEqual(['thread.message.created', 'thread.message.incomplete', 'thread.run.failed']);
  expect(end).toMatchObject(failedWith('bad-request', expect.stringContaining('temperature is not supported')));
  expect(end).toMatchObject({ data: { details: { status: 400, attempts: [{ kind: 'bad-request', status: 400 }], maxAttempts: 3 } } });
  expect(await thrownBy(thread.result())).toMatchObject({
    code: 'run-failed',
    runCode: 'bad-request',
    message: expect.stringContaining('temperature is not supported'),
  });
  expect(roles(messages)).toEqual(['user']);
});

test('[A93][A95] a rate limit that does not end fails the run, and each attempt has the requested wait', async () => {
  const { end, requests } = await answered([fail(429, { headers: { 'retry-after-ms': '60' }, message: 'slow down' })]);
  expect(end).toMatchObject(failedWith('rate-limit', expect.stringContaining('slow down')));
  const attempts = (end as { data: { details: { attempts: FailedAttempt[] } } }).data.details.attempts;
  expect(attempts.map(({ waitMs, waitSource }) => [waitMs, waitSource])).toEqual([
    [60, 'retry-after'],
    [60, 'retry-after'],
    [undefined, undefined],
  ]);
  expect(requests).toHaveLength(3);
});

test('[A95] the kind of an error is the code of the failed run', async () => {
  const kinds: [Reply, string][] = [
    [fail(401), 'auth'],
    [fail(429), 'rate-limit'],
    [fail(400, { code: 'context_length_exceeded' }), 'context-length'],
    [fail(500), 'server'],
  ];
  for (const [reply, code] of kinds) expect((await answered([reply], single)).end).toMatchObject(failedWith(code, expect.any(String)));
});

test.each([
  ['no such agent', absent.name, 'UnknownAgent', /absent/],
  ['instructions that throw', wordless.name, 'ConfigurationError', /instructions of agent 'wordless' could not be made: no words today/],
])(
  '[A91] an error before the model is called (%s) fails the run under the name of the error, and readers end normally',
  async (_, agent, code, words) => {
    const input = scene([say('never')]);
    const told = await story(await rig.client.start(agent, input, { agentWaitMs: 0 }));
    expect(told.at(-1)).toMatchObject(failedWith(code, expect.stringMatching(words)));
    expect(told[0]?.type).toBe('agent.run.created');
    expect(requestsOf(rig, input)).toEqual([]);
  },
);

test('[A96] the wait before another attempt, and the number of attempts, survive the worker', async () => {
  const lone = await startRig({ script, agents: [slow] });
  let n = 0;
  const input = scene(() => (n++ === 0 ? fail(503) : n === 2 ? say('Here I am.') : fail(400)));
  const thread = await lone.client.start(slow, input);
  await until(
    () => requestsOf(lone, input),
    (requests) => requests.length === 1,
  );
  await lone.workers[0]?.stop();
  await lone.addWorker();
  const told = await story(thread);
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'Here I am.' } });
  const [first, second] = requestsOf(lone, input);
  expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(1_900);
  expect(ofType(told, 'thread.message.completed')[0]?.data.attempts).toMatchObject([{ kind: 'overloaded', waitMs: 2_000 }]);
});

test('[B85] an error of an unknown kind ends the run immediately, under its own name and with its own message', async () => {
  const { end, thread } = await answered([say('never')], odd);
  expect(end).toMatchObject(failedWith('RangeError', 'the provider has a bug'));
  expect(calls).toBe(1);
  expect(await thrownBy(thread.result())).toMatchObject({ code: 'run-failed', runCode: 'RangeError' });
});

test('[B85] a failure whose fields throw when they are read ends the run immediately too', async () => {
  const { end } = await answered([say('never')], unreadable);
  expect(end).toMatchObject(failedWith('ModelFailure', 'look away'));
  expect(asked).toBe(1);
});

test('a run is cancelled although its provider ignores the signal', async () => {
  const thread = await rig.client.start(deaf, 'Hello?');
  await until(
    () => ignored,
    (times) => times === 1,
  );
  await thread.cancel({ reason: 'enough' });
  await until(
    () => thread.status(),
    ({ status }) => status === 'cancelled',
  );
});

test('[B87] after part of the answer was shown there is no further attempt if the agent disables it; if nothing was shown, there is', async () => {
  const broken = await answered([cut('The first half'), say('The whole.')], cautious);
  expect(broken.end).toMatchObject(failedWith('truncated-stream', expect.stringMatching(/part of the answer was shown/)));
  expect(broken.requests).toHaveLength(1);
  expect(roles(broken.messages)).toEqual(['user']);
  const silent = await answered([fail(503), say('The whole.')], cautious);
  expect(silent.end).toMatchObject({ type: 'thread.run.completed', data: { output: 'The whole.' } });
  expect(silent.requests).toHaveLength(2);
});

test('[B87] if another attempt follows, the text of the broken one is in no message, and readers are told to discard it', async () => {
  let n = 0;
  const input = scene(() => (n++ === 0 ? cut('The first half') : say('The whole.')));
  const thread = await rig.client.start(quick, input);
  const events = await collect(thread.events());
  const deltas = events.flatMap((event) => (event.type === 'thread.message.delta' ? [event.data] : []));
  expect(deltas.filter(({ attempt }) => attempt === 2)[0]).toMatchObject({ restart: true, index: 0, contentChunk: 'The whole.' });
  expect(await thread.messages()).toMatchObject([
    { role: 'user' },
    { role: 'assistant', content: [{ type: 'text', text: 'The whole.' }], attempt: 2 },
  ]);
  expect(JSON.stringify(events.filter((event) => 'seq' in event))).not.toContain('The first half');
});
