import { execFileSync } from 'node:child_process';
import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import type { Thread } from '../../src/client';
import { defineHooks } from '../../src/hooks';
import { callTools, type Reply, say, events as wire } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { type Rig, startRig, until } from '../support/rig';
import { ofType, requestsOf, roles, scenes, story, textOf } from './scenes';

const { script, scene } = scenes();
const add = defineTool({
  name: 'add',
  description: 'Adds.',
  input: z.object({ a: z.number(), b: z.number() }),
  effect: 'pure',
  execute: ({ a, b }) => a + b,
});
const big = defineTool({ name: 'big', description: 'Says much.', input: z.object({}), effect: 'pure', execute: () => 'x'.repeat(20_000) });
const tools = [add, big];
const base = { model: 'test-model', instructions: 'Be brief.', tools };
const clerk = defineAgent({ ...base, name: 'clerk', settings: { toolChoice: 'auto' } });

const cap = 500;
/** As BaseAgent before its first turn: shows the model the state of the folder. */
const lookAround = defineHooks({
  'before:execution': () => ({
    messages: [execFileSync('bash', ['-c', 'pwd && ls -la'], { cwd: __dirname, encoding: 'utf8' }).slice(0, cap)],
  }),
});
const baseAgent = defineAgent({ ...base, name: 'base-agent', hooks: lookAround });

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ script, agents: [clerk, baseAgent] });
});

async function conversation(replies: Reply[], options: object = {}) {
  const input = scene(replies);
  const thread = await rig.client.start(clerk, input, { mode: 'conversation', ...options });
  await idle(thread, 1);
  return { input, thread };
}
const idle = (thread: Thread, runs: number) =>
  until(
    async () => ({ ...(await thread.status()), ...(await thread.usage()) }),
    (both) => both.status === 'idle' && both.queued === 0 && both.runs === runs,
  );
/** By the update itself, as any client of Temporal can. */
const update = (thread: Thread, name: string, payload: object = {}) =>
  rig.client.temporal.workflow.getHandle(thread.id).executeUpdate(name, { args: [payload] });
const bodies = (input: string) => requestsOf(rig, input).map(({ body }) => body);
const toolNames = (input: string) => bodies(input).map(({ tools = [] }) => tools.map((tool) => tool.function.name));
const lookup = {
  name: 'lookup',
  description: 'Looks an order up.',
  parameters: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
};

test('[B34] tools that are sent with a message can be called in the run that it starts, and not in the next', async () => {
  const { input, thread } = await conversation([
    say('Hello.'),
    callTools([
      { name: 'lookup', args: {}, id: 'call_bad' },
      { name: 'lookup', args: { id: 'A1' }, id: 'call_lookup' },
    ]),
    say('It is on its way.'),
    callTools([{ name: 'lookup', args: { id: 'A2' } }]),
    say('I cannot look it up.'),
  ]);
  await update(thread, 'sendMessage', { input: 'Where is A1?', tools: [lookup] });
  await until(
    () => thread.pending(),
    (pending) => pending.length === 1,
  );
  expect(await thread.pending()).toMatchObject([{ kind: 'output', toolCallId: 'call_lookup', name: 'lookup', arguments: '{"id":"A1"}' }]);
  await thread.submitToolOutputs([{ toolCallId: 'call_lookup', output: 'sent' }]);
  await idle(thread, 2);
  await thread.send('And A2?');
  await idle(thread, 3);
  const own = ['add', 'big'];
  expect(toolNames(input)).toEqual([own, [...own, 'lookup'], [...own, 'lookup'], own, own]);
  const [, , answered, , refused] = bodies(input);
  expect(answered?.messages.slice(-2).map(textOf)).toEqual([expect.stringMatching(/^Error: [\s\S]*id/), 'sent']);
  expect(textOf(refused?.messages.at(-1))).toMatch(/Unknown tool 'lookup'/);
  await thread.close();
});

test('[B34] tools that are passed at the start of a thread are available in all its runs', async () => {
  const { input, thread } = await conversation([say('one'), say('two')], { tools: [lookup] });
  await thread.send('Again.');
  await idle(thread, 2);
  expect(toolNames(input)).toEqual([
    ['add', 'big', 'lookup'],
    ['add', 'big', 'lookup'],
  ]);
  await thread.close();
});

test('[B35] the tool choice of a run overrides that of the agent, in that run', async () => {
  const { input, thread } = await conversation([say('one'), say('two'), say('three')]);
  await update(thread, 'sendMessage', { input: 'Add.', settings: { toolChoice: { tool: 'add' } } });
  await idle(thread, 2);
  await thread.send('And?');
  await idle(thread, 3);
  expect(bodies(input).map((body) => body.tool_choice)).toEqual(['auto', { type: 'function', function: { name: 'add' } }, 'auto']);
  await thread.close();
});

test('[B36] a run that only compacts the transcript adds no message of a user, has no turn, and reports that it is complete', async () => {
  const { input, thread } = await conversation([...Array.from({ length: 4 }, () => callTools([{ name: 'big', args: {} }])), say('done')]);
  const before = await thread.messages();
  await thread.compact({ by: 'dana', reason: 'it is long' });
  await idle(thread, 2);
  // Again and again, until there is nothing left that may go.
  for (let run = 3; run <= 8; run++) {
    await thread.compact({ by: 'kim' });
    await idle(thread, run);
  }
  await thread.close();
  const told = await story(thread);
  expect(ofType(told, 'thread.run.completed')[1]?.data).toMatchObject({ output: 'Compaction run completed.', finalMessages: [], turns: 0 });
  expect(ofType(told, 'agent.run.created')[1]?.data.initialMessages).toEqual([]);
  expect(ofType(told, 'thread.context.compacted')[0]?.data).toMatchObject({
    reason: 'requested',
    requestedBy: 'dana',
    requestReason: 'it is long',
  });
  expect(ofType(told, 'thread.context.kept').at(-1)?.data).toEqual({ bytes: expect.any(Number), requestedBy: 'kim' });
  expect(requestsOf(rig, input)).toHaveLength(5);
  const after = await thread.messages();
  expect(after.length).toBeLessThanOrEqual(before.length);
  expect(JSON.stringify(after).length).toBeLessThan(JSON.stringify(before).length * 0.6);
  expect(after.filter((m) => m.role === 'user' && !m.summary)).toHaveLength(1);
});

test('[A148][B19][B37][B38] the second run has the messages of the first and accepts parts as well as text; the instructions are sent once, first, and not stored', async () => {
  const { input, thread } = await conversation([callTools([{ name: 'add', args: { a: 1, b: 2 } }]), say('3'), say('A cat.')]);
  const url = 'data:image/png;base64,iVBORw0KGgo=';
  await thread.send([
    { type: 'text', text: 'And what is this?' },
    { type: 'image', url },
  ]);
  await idle(thread, 2);
  for (const { messages } of bodies(input)) {
    expect(messages[0]).toEqual({ role: 'system', content: 'Be brief.' });
    expect(messages.filter((m) => m.role === 'system')).toHaveLength(1);
  }
  const [, second, third] = bodies(input);
  expect(third?.messages.slice(0, 4)).toEqual(second?.messages);
  expect(third?.messages.map((m) => m.role)).toEqual(['system', 'user', 'assistant', 'tool', 'assistant', 'user']);
  expect(third?.messages.at(-1)?.content).toEqual([
    { type: 'text', text: 'And what is this?' },
    { type: 'image_url', image_url: { url } },
  ]);
  expect(JSON.stringify(await thread.messages())).not.toContain('Be brief.');
  await thread.close();
});

test('[B20] messages of the model are sent back as it wrote them, in order, with the opaque data of its provider', async () => {
  const extra = { google: { thought_signature: 'c2lnbmVk' } };
  const delta = (content: object, finish: string | null = null) => ({ choices: [{ index: 0, delta: content, finish_reason: finish }] });
  const { input, thread } = await conversation([
    wire([
      delta({ reasoning_content: 'Adding is easy.' }),
      delta({ content: 'First  this,\n' }),
      delta({ tool_calls: [{ index: 0, id: 'call_s', extra_content: extra, function: { name: 'add', arguments: '{ "a": 1,' } }] }),
      delta({ tool_calls: [{ index: 0, function: { arguments: ' "b": 2 }' } }] }, 'tool_calls'),
    ]),
    callTools([{ name: 'add', args: { a: 3, b: 4 }, id: 'call_t' }], 'then that.'),
    say('7'),
  ]);
  expect(bodies(input)[2]?.messages.filter((m) => m.role === 'assistant')).toEqual([
    {
      role: 'assistant',
      content: 'First  this,\n',
      reasoning_content: 'Adding is easy.',
      tool_calls: [{ id: 'call_s', type: 'function', extra_content: extra, function: { name: 'add', arguments: '{ "a": 1, "b": 2 }' } }],
    },
    {
      role: 'assistant',
      content: 'then that.',
      tool_calls: [{ id: 'call_t', type: 'function', function: { name: 'add', arguments: '{"a":3,"b":4}' } }],
    },
  ]);
  await thread.close();
});

test('[B1] with a hook that lists the folder, a run begins with system prompt, instruction and the state of the folder, cut to its length', async () => {
  const input = scene([callTools([{ name: 'add', args: { a: 1, b: 2 } }]), say('done')]);
  const thread = await rig.client.start(baseAgent, input);
  await story(thread);
  const [first, second] = bodies(input);
  expect(first?.messages.map((m) => m.role)).toEqual(['system', 'user', 'user']);
  expect(first?.messages.slice(0, 2).map(textOf)).toEqual(['Be brief.', input]);
  const state = textOf(first?.messages[2]);
  expect(state.startsWith(`${__dirname}\ntotal `)).toBe(true);
  expect(state).toHaveLength(cap);
  // Once a run, not once a turn.
  expect(second?.messages.slice(0, 3)).toEqual(first?.messages);
  expect(roles(await thread.messages())).toEqual(['user', 'user', 'assistant', 'tool', 'assistant']);
});
