import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import type { Thread } from '../../src/client';
import { replayFirst } from '../../src/contract/replay-first';
import { queries, signals, updates } from '../../src/contract/requests';
import { workflowType } from '../../src/contract/thread';
import { bytesOf } from '../../src/core/context/carry';
import { type HookName, hookNames } from '../../src/core/hooks';
import { defineHooks } from '../../src/hooks';
import { callTools, events, fail, type Reply, type ScriptRequest, say } from '../../src/testing/model-server';
import { defineTool, suspend } from '../../src/tools';
import { bytesOfHostile, hostileJson, hostileText, hostileValue, type Odd } from '../support/hostile-values';
import { type Rig, startRig, until } from '../support/rig';
import { rounds } from '../support/rounds';
import { textOf } from './scenes';

/**
 * Whatever a model, a tool, a hook, a provider, a person or a program supplies: no workflow task fails, no worker ends, and the server ends
 * no thread. Each case sends something hostile in by one way, and then asks the same thread to do something ordinary.
 * `LONGHAUL_POISON=2000` tries more cases, `LONGHAUL_POISON_SEED` repeats a run. The replay gate replays all of their histories.
 */
const cases = Number(process.env.LONGHAUL_POISON ?? rounds(20));
const seed = Number(process.env.LONGHAUL_POISON_SEED ?? Date.now() % 1_000_000);
const atOnce = 6;

interface Attack {
  way: keyof typeof ways;
  text: string;
  json: unknown;
  odd: Odd;
  pick: number;
}

/** What code of the user's does in one thread, once. */
const plans = new Map<string, { where: string; act: () => unknown }>();

function act(threadId: string, where: string): unknown {
  const plan = plans.get(threadId);
  if (plan?.where !== where) return undefined;
  plans.delete(threadId);
  return plan.act();
}

const replies = new Map<string, (request: ScriptRequest) => Reply>();
/** What the model says to the message that was said last. Where no plan is made for it, and after it, it is an ordinary answer. */
function script(request: ScriptRequest): Reply {
  const last = request.messages.at(-1);
  const said = textOf(request.messages.findLast(({ role }) => role === 'user'));
  return (last?.role === 'user' && replies.get(said)?.(request)) || say('fine');
}

const nothing = z.object({}).loose();
const tools = [
  defineTool({ name: 'ask', description: 'Asks.', input: nothing }),
  defineTool({ name: 'pay', description: 'Pays.', input: nothing, approval: 'always', execute: () => 'paid' }),
  defineTool({ name: 'odd', description: 'Is odd.', input: nothing, effect: 'pure', execute: (_, ctx) => act(ctx.threadId, 'odd') }),
  defineTool({
    name: 'judged',
    description: 'Is judged.',
    input: z.object({ thread: z.string() }),
    approval: ({ thread }) => act(thread, 'judged') as never,
    execute: () => 'done',
  }),
];
const victim = defineAgent({
  name: 'victim',
  model: 'test-model',
  instructions: async ({ threadId }) => (act(threadId, 'instructions') as string | undefined) ?? 'Try.',
  tools,
  retry: { maxAttempts: 2, baseMs: 1 },
});
const hooked = defineAgent({
  name: 'hooked',
  model: 'test-model',
  instructions: 'Try.',
  tools,
  hookErrors: 100,
  hooks: defineHooks(
    Object.fromEntries(hookNames.map((name) => [name, (_: unknown, ctx: { threadId: string }) => act(ctx.threadId, name)])),
  ),
});

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ script, agents: [victim, hooked] });
});

const handleOf = (id: string) => rig.client.temporal.workflow.getHandle(id);
const payloadsOf = (...values: unknown[]) => ({
  payloads: values.map((value) => ({ metadata: { encoding: Buffer.from('json/plain') }, data: bytesOfHostile(value) })),
});
const settle = (work: Promise<unknown>) => work.catch(() => undefined);
const own = <T>(list: readonly T[], pick: number): T => list[pick % list.length] as T;

/** A conversation that is idle, or waits for an output and an approval. */
async function conversation(agent = victim, first?: Reply): Promise<Thread> {
  const id = `poison-${randomUUID()}`;
  const opening = `attack ${id}`;
  if (first) replies.set(opening, () => first);
  const thread = await rig.client.start(agent, opening, { id, mode: 'conversation' });
  return thread;
}
const waitingOnes: Reply = callTools([
  { name: 'ask', args: {}, id: 'call_ask' },
  { name: 'pay', args: {}, id: 'call_pay' },
]);
const atRest = (thread: Thread) =>
  until(
    () => thread.status(),
    ({ status }) => status === 'idle' || status === 'requires_action',
  );

/** A request of the right shape with something hostile in one of its fields. */
function requestOf({ json, text, pick }: Attack): unknown {
  return own<() => unknown>(
    [
      () => json,
      () => ({ input: text, id: text }),
      () => ({ input: json }),
      () => ({ input: 'x', delivery: 'after-run', model: text || 'm' }),
      () => ({ input: 'x', delivery: 'after-run', settings: { providerOptions: { o: json } } }),
      () => ({ input: 'x', delivery: 'after-run', tools: [{ name: text, description: text, parameters: json }] }),
      () => ({ input: 'x', correlationId: text }),
      () => ({ input: 'x', [text]: json }),
      () => ({ reason: text, by: text }),
      () => ({ toolCallId: 'call_pay', by: text, groups: [text], reason: text }),
      () => ({ toolCallId: 'call_pay', arguments: json, remember: 'thread' }),
      () => ({ toolCallId: text, approved: json }),
      () => ({ outputs: [{ toolCallId: 'call_ask', output: json }], by: text }),
      () => ({ outputs: [{ toolCallId: 'call_ask', output: text }] }),
      () => ({ outputs: json }),
      () => ({ cancel: json, reason: text }),
    ],
    pick,
  )();
}

const ways = {
  async start({ json, text, pick }: Attack): Promise<Thread> {
    const id = `poison-${randomUUID()}`;
    const input = own<() => unknown>(
      [
        () => json,
        () => ({ agent: 'victim', input: json, mode: 'conversation' }),
        () => ({ agent: 'victim', input: text, mode: 'conversation' }),
        () => ({ agent: text, input: 'x', agentWaitMs: 0 }),
        () => ({ agent: 'victim', input: 'x', mode: 'conversation', model: text }),
        () => ({ agent: 'victim', input: 'x', mode: 'conversation', settings: { providerOptions: { o: json } } }),
        () => ({
          agent: 'victim',
          input: 'x',
          mode: 'conversation',
          tools: [{ name: 'more', description: text, parameters: { type: 'object', o: json } }],
        }),
        () => ({ agent: 'victim', input: 'x', mode: 'conversation', limits: { costUsd: json, turns: json } }),
        () => ({ agent: 'victim', input: 'x', mode: 'conversation', idleTimeoutMs: json }),
        () => ({ agent: 'victim', input: [{ type: 'image', url: `data:image/png;base64,${text}` }], mode: 'conversation' }),
        () => ({ agent: 'victim', input: 'x', mode: 'conversation', [text]: json }),
      ],
      pick,
    )();
    await rig.client.temporal.connection.workflowService.startWorkflowExecution({
      namespace: 'default',
      workflowId: id,
      requestId: randomUUID(),
      workflowType: { name: workflowType },
      taskQueue: { name: rig.taskQueue },
      input: pick % 7 === 0 ? payloadsOf(input, json) : payloadsOf(input),
    });
    return rig.client.attach(id);
  },

  async signal(attack: Attack): Promise<Thread> {
    const thread = await conversation(victim, waitingOnes);
    if (attack.pick % 3 > 0) await atRest(thread);
    const request = requestOf(attack);
    await settle(
      rig.client.temporal.connection.workflowService.signalWorkflowExecution({
        namespace: 'default',
        workflowExecution: { workflowId: thread.id },
        signalName: own([...Object.keys(signals), 'no such signal', '__proto__'], attack.pick),
        input: own([payloadsOf(request), payloadsOf(), payloadsOf(request, attack.json)], attack.pick >> 2),
      }),
    );
    return thread;
  },

  async update(attack: Attack): Promise<Thread> {
    const thread = await conversation(victim, waitingOnes);
    await atRest(thread);
    const name = own([...Object.keys(updates), 'no such update'], attack.pick);
    const request = requestOf(attack);
    // What the server does not let through as a signal ends the thread as an update, accepted or refused: no worker can help it.
    if (bytesOf(request) < 2_000_000) await settle(handleOf(thread.id).executeUpdate(name, { args: [request] as never }));
    return thread;
  },

  async query({ json, pick, text }: Attack): Promise<Thread> {
    const thread = await conversation(victim, waitingOnes);
    await atRest(thread);
    const argument = own([json, { from: json }, { id: text }, { epoch: json, from: 0, length: json }, { [text]: 1 }], pick >> 3);
    await settle(handleOf(thread.id).query(own([...Object.keys(queries), 'toString'], pick), argument as never));
    return thread;
  },

  async model({ json, text, pick }: Attack): Promise<Thread> {
    const call = (change: object) => ({
      delta: { tool_calls: [{ index: 0, id: 'call_1', function: { name: 'odd', arguments: '{}' }, ...change }] },
    });
    const chunk = own<() => object>(
      [
        () => ({ delta: { content: text } }),
        () => ({ delta: { content: json } }),
        () => call({ id: text }),
        () => call({ function: { name: text, arguments: '{}' } }),
        () => call({ function: { name: 'odd', arguments: text } }),
        () => call({ function: { name: 'pay', arguments: JSON.stringify({ o: json }) } }),
        () => call({ extra_content: json }),
        () => ({ delta: { tool_calls: json } }),
        () => ({
          delta: {
            tool_calls: Array.from({ length: 300 }, (_, index) => ({ index, id: `c${index}`, function: { name: 'ask', arguments: '{}' } })),
          },
        }),
        () => ({
          delta: {
            tool_calls: Array.from({ length: 120 }, (_, index) => ({ index, id: `c${index}`, function: { name: 'pay', arguments: '{}' } })),
          },
        }),
        () => ({ delta: { refusal: text } }),
        () => ({ delta: { content: 'x' }, finish_reason: text }),
        () => ({ delta: { content: 'x' }, finish_reason: json }),
      ],
      pick,
    )();
    const usage = own<unknown>(
      [json, { prompt_tokens: json, completion_tokens: -5 }, { prompt_tokens: 1e308, completion_tokens: '7' }],
      pick >> 4,
    );
    return conversation(
      victim,
      events([{ choices: [{ index: 0, ...chunk }], usage }, { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }]),
    );
  },

  async provider({ json, text, pick }: Attack): Promise<Thread> {
    const status = own([200, 400, 401, 404, 429, 500, 529], pick);
    const headers = { 'retry-after': own(['1e400', '-1', '0', 'soon', 'Fri, 31 Dec 9999 23:59:59 GMT'], pick >> 3) };
    const body = bytesOfHostile(json).toString();
    const reply: Reply = pick % 2 ? fail(status, { message: text, code: text, headers }) : { kind: 'body', status, headers, body };
    return conversation(victim, reply);
  },

  async tool({ odd, text, pick }: Attack): Promise<Thread> {
    const thread = await planned(victim, 'odd', callTools([{ name: 'odd', args: {} }]), () =>
      own<() => unknown>(
        [
          odd.value,
          odd.value,
          () => raise(odd.value()),
          () => suspend({ result: odd.value(), correlationId: text || undefined }),
          () => suspend({ result: 'x', metadata: odd.value() as never, ttlMs: odd.value() as never }),
        ],
        pick,
      )(),
    );
    return thread;
  },

  async approval({ odd, pick }: Attack): Promise<Thread> {
    return planned(victim, 'judged', undefined, pick % 4 === 0 ? () => raise(odd.value()) : odd.value);
  },

  async instructions({ odd, pick }: Attack): Promise<Thread> {
    return planned(victim, 'instructions', undefined, pick % 3 === 0 ? () => raise(odd.value()) : odd.value);
  },

  async hook({ odd, json, text, pick }: Attack): Promise<Thread> {
    const name = own<HookName>(hookNames, pick);
    const field = own(
      ['model', 'settings', 'instructions', 'text', 'args', 'mockResult', 'content', 'ask', 'reason', 'messages', 'prompt', 'block'],
      pick,
    );
    const value = own<() => unknown>(
      [
        odd.value,
        () => raise(odd.value()),
        () => ({ [field]: odd.value() }),
        () => ({ [field]: json }),
        () => ({ [field]: text, approved: true, skip: true }),
      ],
      pick >> 4,
    );
    return planned(
      hooked,
      name,
      callTools([
        { name: 'odd', args: {} },
        { name: 'pay', args: {} },
      ]),
      value,
    );
  },
};

async function planned(agent: typeof victim, where: string, first: Reply | undefined, value: () => unknown): Promise<Thread> {
  const id = `poison-${randomUUID()}`;
  const opening = `attack ${id}`;
  plans.set(id, { where, act: value });
  const reply = first ?? callTools([{ name: 'judged', args: { thread: id } }]);
  replies.set(opening, () => reply);
  return rig.client.start(agent, opening, { id, mode: 'conversation' });
}

function raise(error: unknown): never {
  throw error;
}

async function goOn(thread: Thread): Promise<void> {
  const { status, paused } = await thread.status();
  if (paused) await thread.resume();
  if (['requires_action', 'suspended'].includes(status)) await thread.cancel();
}

/** After any input, a thread that is still open becomes idle, and handles an ordinary request. */
async function ordinary(thread: Thread): Promise<void> {
  const isOpen = async () => {
    const { status } = await handleOf(thread.id).describe();
    if (!['RUNNING', 'COMPLETED', 'FAILED', 'CANCELLED'].includes(status.name)) throw new Error(`the server ended it: ${status.name}`);
    return status.name === 'RUNNING';
  };
  const isIdle = async () => {
    if (!(await isOpen())) return true;
    try {
      return (await thread.status()).status === 'idle';
    } catch (error) {
      // A start that is refused ends before there is anything to ask.
      if (!(await isOpen())) return true;
      // Behind others that are busy with much; the deadline counts it.
      if ((error as { code?: string }).code === 'no-worker') return false;
      throw error;
    }
  };
  await until(
    async () => {
      if (await isIdle()) return true;
      await settle(goOn(thread));
      return isIdle();
    },
    (idle) => idle,
  );
  if (!(await isOpen())) return;
  try {
    await thread.send('something ordinary');
  } catch (error) {
    // It was asked to close, and did.
    if ((error as { code?: string }).code === 'thread-closed') return;
    throw error;
  }
  await until(isIdle, (idle) => idle, 60_000);
  if (!(await isOpen())) return;
  const { messages } = await handleOf(thread.id).query(queries.messages, { from: (await thread.status()).messages - 1 });
  expect(messages.at(-1)).toMatchObject({ role: 'assistant', content: [{ type: 'text', text: 'fine' }] });
  // Each page of its log can be read.
  for (let from = 1, more = true; more; ) ({ next: from, more } = await handleOf(thread.id).query(queries.events, { from }));
}

/** The events of a history that must not be there, in words. */
async function troubles(id: string): Promise<string[]> {
  const { events: history } = await handleOf(id).fetchHistory();
  // A task that begins with a thread that a query has read ahead fails on purpose, and is done again: nothing hostile made it.
  return (history ?? []).flatMap(({ workflowTaskFailedEventAttributes: failed }) =>
    failed && !failed.failure?.message?.includes(replayFirst) ? [`a workflow task failed: ${failed.failure?.message ?? failed.cause}`] : [],
  );
}

async function attempt(attack: Attack): Promise<string[]> {
  const about = `${attack.way}, pick ${attack.pick}, text ${JSON.stringify(attack.text).slice(0, 80)}, json ${JSON.stringify(attack.json)?.slice(0, 80)}, odd ${attack.odd.what}`;
  let thread: Thread | undefined;
  const found: string[] = [];
  try {
    thread = await ways[attack.way](attack);
    await ordinary(thread);
  } catch (error) {
    found.push((error as Error).message.slice(0, 600));
  }
  if (thread) found.push(...(await troubles(thread.id)));
  return found.map((trouble) => `${about}: ${trouble}`);
}

test(
  `${cases} cases of hostile input leave every thread and the worker able to do something ordinary (seed ${seed})`,
  async () => {
    const arbitrary = fc.record<Attack>({
      way: fc.constantFrom(...(Object.keys(ways) as Attack['way'][])),
      text: hostileText,
      json: hostileJson,
      odd: hostileValue,
      pick: fc.nat(1_000),
    });
    const attacks = fc.sample(arbitrary, { seed, numRuns: cases });
    const found: string[] = [];
    const next = attacks.values();
    const work = async () => {
      for (const attack of next) {
        found.push(...(await attempt(attack)));
        // One that waits for the end of all others would hide which of them was too much.
        if (found.length >= 20) return;
      }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
    expect(found).toEqual([]);
    const fresh = await rig.client.start(victim, 'something ordinary');
    expect(await fresh.result()).toMatchObject({ output: 'fine' });
  },
  30_000 + cases * 3_000,
);
