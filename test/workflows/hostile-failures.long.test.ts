import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import type { Thread } from '../../src/client';
import type { DurableEvent } from '../../src/core/event';
import { isWellFormed } from '../../src/core/text';
import { defineHooks } from '../../src/hooks';
import { ModelFailure, type ModelProvider } from '../../src/models/model';
import { openAi } from '../../src/models/openai/client';
import { createModels } from '../../src/models/registry';
import { callTools, say } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { type Rig, startRig } from '../support/rig';
import { requestsOf, scenes, story, thrownBy } from './scenes';

/** Under 40 characters, with half of a surrogate pair: protobufjs writes it as bytes that are no UTF-8. */
const half = `cannot read: ${'the 😀'.slice(0, 5)}`;
const circle = new Error('round and round');
circle.cause = circle;
const deep = Array.from({ length: 5_000 }).reduce<Error>((cause, _, i) => new Error(`level ${i}`, { cause }), new Error('the bottom'));

/** What code may throw, by what is odd about it. */
const odd: Record<string, () => unknown> = {
  'half a character': () => new Error(half),
  'a name with half a character': () => Object.assign(new Error('plain'), { name: '\uD800' }),
  'a cause with half a character': () => new Error('plain', { cause: new Error(half) }),
  'a stack with half a character': () => Object.assign(new Error('plain'), { stack: `at ${half}` }),
  'a message of 5 MB': () => new Error('é'.repeat(2_500_000)),
  'a name of 5 MB': () => Object.assign(new Error('plain'), { name: 'N'.repeat(5_000_000) }),
  null: () => null,
  undefined: () => undefined,
  'a number': () => 0,
  'a bigint': () => 10n,
  'a symbol': () => Symbol('odd'),
  'a function': () => () => undefined,
  'half a character as a text': () => '\uDC00',
  'an object without a prototype': () => Object.create(null),
  'a message that is a getter that throws': () => Object.defineProperty(new Error(), 'message', { get: () => raise(half) }),
  'a proxy that refuses everything': () => new Proxy({}, handlerOfRefusals),
  'a circle of causes': () => circle,
  '5,000 causes': () => deep,
  'a message that is no text': () => ({ name: 7, message: { a: 1 }, stack: [], cause: 5 }),
};

const handlerOfRefusals: ProxyHandler<object> = Object.fromEntries(
  ['get', 'has', 'ownKeys', 'getPrototypeOf', 'getOwnPropertyDescriptor'].map((trap) => [trap, () => raise('refused')]),
);

function raise(message: string): never {
  throw new Error(message);
}

const { script, scene } = scenes();
const which = z.object({ what: z.string() });
const thrower = (name: string, effect: 'pure' | 'once') =>
  defineTool({
    name,
    description: 'Throws.',
    input: which,
    effect,
    ...(effect === 'pure' && { retry: { maxAttempts: 2, initialMs: 1 } }),
    execute: ({ what }) => {
      throw odd[what]?.();
    },
  });
const tools = [thrower('again', 'pure'), thrower('only', 'once')];
const agent = defineAgent({ name: 'plain', model: 'test-model', instructions: 'Try.', tools });
const instructed = defineAgent({
  name: 'instructed',
  model: 'test-model',
  instructions: ({ threadId }) => {
    throw odd[threadId.replace(/^.*: /, '')]?.();
  },
});
const guarded = defineAgent({
  name: 'guarded',
  model: 'test-model',
  instructions: 'Try.',
  hooks: defineHooks({
    'before:llm': {
      failure: 'fail',
      run: (_, { threadId }) => {
        throw odd[threadId.replace(/^.*: /, '')]?.();
      },
    },
  }),
});
const broken = defineAgent({ name: 'broken', model: 'odd/any', instructions: 'Try.', retry: { maxAttempts: 2, baseMs: 1 } });
const throwing: ModelProvider = {
  async call({ messages }) {
    throw odd[String(messages[0]?.content)]?.();
  },
};
const failing: ModelProvider = {
  async call() {
    throw Object.assign(new ModelFailure('overloaded', half, { code: '\uD83D', retryAfterMs: Number.NaN }), { cause: circle });
  },
};

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ script, agents: [agent, instructed, guarded, broken], workers: 0 });
  const openai = openAi({ baseUrl: rig.model.url, apiKey: 'test' });
  // Attempts are counted here: on a busy machine none is to be taken for lost.
  await rig.addWorker({ models: createModels({ openai, odd: throwing, failing }), takeoverMs: 60_000 });
});

/** All concurrently; a failure names the one that failed. */
async function each(work: (what: string) => Promise<void>): Promise<void> {
  await Promise.all(
    Object.keys(odd).map((what) =>
      work(what).catch((error) => {
        throw new Error(`where it throws ${what}: ${error.message}`);
      }),
    ),
  );
}
const named = (what: string) => `hostile-${randomUUID()}: ${what}`;

/** The worker that took the blow takes more work. */
afterEach(async () => {
  const thread = await rig.client.start(agent, scene([say('fine')]));
  expect(await thread.result()).toMatchObject({ output: 'fine' });
});

async function failureOf(thread: Thread) {
  const end = (await story(thread)).at(-1) as DurableEvent;
  expect(end.type).toBe('thread.run.failed');
  const { message, code } = end.data as { message: string; code: string };
  expect(isWellFormed(message)).toBe(true);
  expect(isWellFormed(code)).toBe(true);
  expect(message.length).toBeLessThanOrEqual(4_000);
  expect(code.length).toBeLessThanOrEqual(200);
  return { message, code };
}

test('any value that a tool throws is reported to the model, with and without further attempts', () =>
  each(async (what) => {
    const calls = ['again', 'only'].map((name) => ({ name, args: { what } }));
    const thread = await rig.client.start(agent, scene([callTools(calls), say('went on')]));
    const told = await story(thread);
    expect(told.at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'went on' } });
    const outcomes = told.flatMap((event) => (event.type === 'agent.tool.execution.completed' ? [event.data] : []));
    expect(outcomes.map(({ status }) => status)).toEqual(['failed', 'failed']);
    expect(outcomes.map(({ name, attempts = 1 }) => `${name} ${attempts}`).sort()).toEqual(['again 2', 'only 1']);
    for (const { output } of outcomes) expect(isWellFormed(String(output))).toBe(true);
  }));

test('any value that instructions throw fails the run, with a message', () =>
  each(async (what) => {
    const thread = await rig.client.start(instructed, 'Hello', { id: named(what) });
    expect(await failureOf(thread)).toMatchObject({
      code: expect.any(String),
      message: expect.stringMatching(/^The instructions of agent/),
    });
  }));

test('any value that a hook throws whose failure ends the run ends it with a message', () =>
  each(async (what) => {
    const thread = await rig.client.start(guarded, 'Hello', { id: named(what) });
    expect(await failureOf(thread)).toMatchObject({ code: 'HookFailed', message: expect.stringMatching(/^Hook 'before:llm#1'/) });
  }));

test('any value that a provider throws fails the run immediately', () =>
  each(async (what) => {
    const thread = await rig.client.start(broken, what);
    await failureOf(thread);
    expect(await thrownBy(thread.result())).toMatchObject({ code: 'run-failed' });
  }));

test('a failure of a provider with an incomplete character is retried by its policy, and then ends the run', async () => {
  const thread = await rig.client.start(broken, 'Hello', { model: 'failing/any' });
  const { message, code } = await failureOf(thread);
  expect(code).toBe('overloaded');
  expect(message).toMatch(/^cannot read: the \uFFFD \(attempt 2 of 2, none left\)$/);
});

/** The second in characters that JSON writes as six each: only the whole tells how many bytes it has. */
test.each([
  [
    '5 MB',
    'a'.repeat(5_000_000),
    /^The model's answer has more than 800000 bytes of JSON.* It was stopped: bound it with settings.maxTokens/,
  ],
  [
    '150,000 control characters',
    '\u0001'.repeat(150_000),
    /^The model's answer has \d+ bytes of JSON; at most 800000 fit into a thread: bound it/,
  ],
])('an answer of %s fails the run without a retry, with its size and what to do', async (_, text, words) => {
  // In few pieces: cut into words, they would keep this process, which is the worker's too, from its heartbeats.
  const events = [...(text.match(/[\s\S]{1,500000}/g) ?? [])].map((content) => ({ choices: [{ index: 0, delta: { content } }] }));
  const last = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
  const input = scene(() => ({ ...say(''), events: [...events, last] }));
  const thread = await rig.client.start(agent, input);
  expect(await failureOf(thread)).toMatchObject({ code: 'too-large', message: expect.stringMatching(words) });
  expect(requestsOf(rig, input)).toHaveLength(1);
});
