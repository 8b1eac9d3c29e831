import fc from 'fast-check';
import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import type { Thread } from '../../src/client';
import { callTools, fail, finish, type Reply, type ScriptedCall, say } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { type Rig, startRig, until } from '../support/rig';
import { startServer } from '../support/temporal';
import { expectInvariants, scenes, story } from './scenes';

const { script, scene } = scenes();
const input = z.object({ ms: z.number() });
const work = async ({ ms }: { ms: number }, { signal }: { signal: AbortSignal }) => {
  await new Promise((resolve) => setTimeout(resolve, ms));
  signal.throwIfAborted();
  if (ms % 7 === 0) throw new Error('seven');
  return `${ms} ms`;
};
const tools = [
  defineTool({ name: 'pure', description: 'Looks.', input, effect: 'pure', execute: work }),
  defineTool({ name: 'keyed', description: 'Writes.', input, effect: 'keyed', execute: work }),
  defineTool({ name: 'once', description: 'Pays.', input, execute: work }),
  defineTool({ name: 'asked', description: 'Asks first.', input, approval: 'always', execute: work }),
  defineTool({ name: 'outside', description: 'Is answered outside.', input }),
];
const retry = { baseMs: 5, maxMs: 20, maxAttempts: 3 };
const agents = (['by-effect', 'sequential', 'parallel'] as const).map((strategy) =>
  defineAgent({ name: strategy, model: 'test-model', instructions: 'Work.', tools, strategy, retry, limits: { turns: 8, toolCalls: 12 } }),
);

let rig: Rig;
beforeAll(async () => {
  // Early, so that what happens also happens around a change of execution.
  const server = await startServer({ dynamicConfig: { 'limit.historyCount.suggestContinueAsNew': 70 } });
  rig = await startRig({ script, agents, address: server.address, bus: true });
});

const call: fc.Arbitrary<ScriptedCall> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      name: fc.constantFrom('pure', 'keyed', 'once', 'asked', 'outside', 'nowhere'),
      args: fc.record({ ms: fc.nat(60) }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ name: fc.constantFrom('pure', 'once'), rawArguments: fc.constantFrom('', '{', '[]', '{"ms":"x"}') }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ name: fc.constant('pure'), args: fc.record({ ms: fc.nat(60) }), id: fc.constantFrom('call_1', '') }),
  },
);
const reply: fc.Arbitrary<Reply> = fc.oneof(
  { weight: 6, arbitrary: fc.array(call, { minLength: 1, maxLength: 5 }).map((calls) => callTools(calls)) },
  { weight: 3, arbitrary: fc.constantFrom(say('done'), say('so be it')) },
  { weight: 1, arbitrary: fc.constantFrom(fail(500), fail(429), fail(401), finish('length', 'half')) },
);
/** Something that a person does, so long after what was done before. */
const deed = fc.record({
  afterMs: fc.nat(120),
  what: fc.constantFrom('answer', 'answer', 'answer', 'refuse', 'send', 'send', 'cancel', 'nonsense', 'stale'),
  signal: fc.boolean(),
});
const scenario = fc.record({
  replies: fc.array(reply, { minLength: 1, maxLength: 8 }),
  deeds: fc.array(deed, { maxLength: 8 }),
  agent: fc.constantFrom(...agents.map(({ name }) => name)),
  mode: fc.constantFrom('one-shot' as const, 'conversation' as const),
});

async function act(thread: Thread, what: string, bySignal: boolean): Promise<void> {
  const pending = await thread.pending();
  const handle = rig.client.temporal.workflow.getHandle(thread.id);
  const request = (name: string, payload: unknown): Promise<unknown> =>
    bySignal ? handle.signal(name, payload) : handle.executeUpdate(name, { args: [payload] as never });
  switch (what) {
    case 'answer':
    case 'refuse':
      for (const { kind, toolCallId } of pending) {
        if (kind === 'output') await request('submitToolOutputs', { outputs: [{ toolCallId, output: 'x', isError: what === 'refuse' }] });
        else await request('approve', { toolCallId, approved: what === 'answer', ...(what === 'answer' && { arguments: { ms: 1 } }) });
      }
      return;
    case 'send':
      return void (await request('sendMessage', { input: 'and then?' }));
    case 'cancel':
      return void (await request('cancel', {}));
    case 'nonsense':
      return void (await request('approve', { toolCallId: 7 }));
    default:
      return void (await request('submitToolOutputs', { outputs: [{ toolCallId: 'call_1', output: 1 }] }));
  }
}

async function play({ replies, deeds, agent, mode }: typeof scenario extends fc.Arbitrary<infer T> ? T : never): Promise<void> {
  let n = 0;
  const thread = await rig.client.start(
    agent,
    scene(() => replies[n++] ?? say('at last')),
    { mode },
  );
  const ended = async () => (await rig.client.temporal.workflow.getHandle(thread.id).describe()).status.name !== 'RUNNING';
  for (const { afterMs, what, signal } of deeds) {
    await new Promise((resolve) => setTimeout(resolve, afterMs));
    // Refused, or too late: that is what is tried here.
    await act(thread, what, signal).catch(() => undefined);
  }
  // Whatever is left open is answered, until there is nothing left.
  await until(
    async () => {
      if (await ended()) return true;
      await act(thread, 'answer', false).catch(() => undefined);
      const { status } = await thread.status();
      if (status === 'idle') await thread.close().catch(() => undefined);
      return false;
    },
    Boolean,
    30_000,
  );
  const told = await story(thread);
  expectInvariants(told, await thread.messages(), thread.id);
}

test('[B43][B46] whatever the model says and people do, at whatever moment: calls are paired, the log has no gaps, each run ends once', async () => {
  // Many at once: the interleavings are the point, and the machine is not to wait for any of them.
  await fc.assert(
    fc.asyncProperty(fc.array(scenario, { minLength: 8, maxLength: 8 }), async (scenarios) => {
      await Promise.all(scenarios.map(play));
    }),
    { numRuns: 5, endOnFailure: true },
  );
}, 150_000);
