import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import type { Thread } from '../../src/client';
import { callTools, fail, hang, type Reply, type ScriptRequest, say } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { until } from '../support/rig';

const input = z.object({ n: z.number() });
const pure = defineTool({ name: 'pure', description: 'Looks.', input, effect: 'pure', execute: ({ n }) => `looked at ${n}` });
const once = defineTool({ name: 'once', description: 'Pays.', input, execute: ({ n }) => `paid ${n}` });
const asked = defineTool({
  name: 'asked',
  description: 'Asks first.',
  input,
  effect: 'keyed',
  approval: 'always',
  execute: ({ n }) => `did ${n}`,
});
const outside = defineTool({ name: 'outside', description: 'Is answered outside.', input });

export const agent = defineAgent({
  name: 'representative',
  model: 'test-model',
  instructions: 'Work.',
  tools: [pure, once, asked, outside],
  retry: { baseMs: 20 },
});

interface RepresentativeRun {
  replies(request: ScriptRequest): Reply;
  /** What people do in it. */
  act?(thread: Thread): Promise<unknown>;
  mode?: 'conversation';
  /** On a server that suggests continue-as-new early. */
  short?: true;
}

const waiting = (thread: Thread, count = 1) =>
  until(
    () => thread.pending(),
    (pending) => pending.length === count,
    30_000,
  );
const idle = (thread: Thread) =>
  until(
    () => thread.status(),
    (status) => status.status === 'idle',
    30_000,
  );

/** Runs that between them go through every command that the workflow gives the server. By name; told apart by what the user says. */
export const representativeRuns: Record<string, RepresentativeRun> = {
  words: { replies: () => say('Hello.') },
  tools: {
    replies: ({ turn }) =>
      turn === 0
        ? callTools([
            { name: 'once', args: { n: 1 } },
            { name: 'pure', args: { n: 2 } },
            { name: 'nowhere', args: {} },
            { name: 'pure', rawArguments: '{' },
            { name: 'once', args: { n: 3 } },
          ])
        : say('done'),
  },
  retries: { replies: ({ n }) => (n % 2 === 0 ? fail(503) : say('at last')) },
  failure: { replies: () => fail(401) },
  approvals: {
    replies: ({ turn }) => (turn === 0 ? callTools([1, 2, 3].map((n) => ({ name: 'asked', args: { n }, id: `call_${n}` }))) : say('done')),
    async act(thread) {
      await waiting(thread, 3);
      await thread.approve('call_1', { arguments: { n: 'one' } }).catch(() => undefined);
      await thread.approve('call_1', { by: 'dana', arguments: { n: 10 } });
      await thread.reject('call_2', { by: 'dana', reason: 'not that one' });
      await thread.approve('call_3');
    },
  },
  'outputs-by-signal': {
    replies: ({ turn }) => (turn === 0 ? callTools([{ name: 'outside', args: { n: 1 }, id: 'call_1' }]) : say('done')),
    async act(thread) {
      await waiting(thread);
      const handle = thread.client.temporal.workflow.getHandle(thread.id);
      await handle.signal('approve', 'nonsense');
      await handle.signal('submitToolOutputs', { outputs: [{ toolCallId: 'call_1', output: { x: 1 } }] });
    },
  },
  'cancelled-in-the-answer': {
    replies: () => hang(),
    async act(thread) {
      await until(
        () => thread.status(),
        (status) => status.turn === 1,
      );
      await thread.cancel({ reason: 'changed my mind' });
    },
  },
  'cancelled-at-rest': {
    replies: () =>
      callTools([
        { name: 'outside', args: { n: 1 } },
        { name: 'once', args: { n: 2 } },
      ]),
    async act(thread) {
      await waiting(thread);
      await thread.cancel();
    },
  },
  conversation: {
    mode: 'conversation',
    replies: ({ messages }) => say(`heard ${messages.length}`),
    async act(thread) {
      await idle(thread);
      await thread.send('again', { id: 'm-1' });
      await until(
        () => thread.usage(),
        (usage) => usage.runs === 2,
      );
      await idle(thread);
      await thread.close();
    },
  },
  chain: { short: true, replies: ({ turn }) => (turn < 8 ? callTools([{ name: 'pure', args: { n: turn } }]) : say('done')) },
};
