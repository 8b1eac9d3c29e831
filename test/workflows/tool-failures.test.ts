import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { type Agent, defineAgent } from '../../src/agents';
import { callTools, type ScriptedCall, say } from '../../src/testing/model-server';
import { createToolset, defineTool, type Tool } from '../../src/tools';
import { type Rig, startRig, until } from '../support/rig';
import { ofType, requestsOf, scenes, story, textOf, thrownBy } from './scenes';

const { script, scene } = scenes();
const ran: { threadId: string; what: string }[] = [];
const did = (threadId: string, what: string) => {
  ran.push({ threadId, what });
  return what;
};

const step = defineTool({
  name: 'step',
  description: 'Takes a step.',
  input: z.object({ n: z.number() }),
  execute: ({ n }, ctx) => did(ctx.threadId, `step ${n}`),
});
const breaks = defineTool({
  name: 'breaks',
  description: 'Breaks.',
  input: z.object({ body: z.boolean().optional() }),
  execute({ body }) {
    throw Object.assign(new Error('boom'), body && { response: { status: 422, data: { code: 'E42', field: 'orderId' } } });
  },
});
const endless = (name: string, timeoutMs?: number) =>
  defineTool({
    name,
    description: 'Never ends by itself.',
    input: z.object({}),
    ...(timeoutMs && { timeoutMs }),
    execute: (_, { signal, threadId }) =>
      new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => {
          did(threadId, `${name} was told to stop`);
          reject(signal.reason);
        }),
      ),
  });
const gives = defineTool({
  name: 'gives',
  description: 'Gives something.',
  input: z.object({ what: z.enum(['null', 'undefined', 'object']) }),
  execute: ({ what }) => ({ null: null, undefined: undefined, object: { deep: [{ a: [1, { b: null }] }] } })[what],
});

const base = {
  model: 'test-model',
  instructions: 'Work.',
  tools: [step, breaks, endless('slow'), endless('slower', 1_500), gives],
};
const lenient = defineAgent({ ...base, name: 'lenient' });
const strict = defineAgent({ ...base, name: 'strict', toolFailure: 'fail' });
const hurried = defineAgent({ ...base, name: 'hurried', toolTimeoutMs: 1_000 });
const hurriedStrict = defineAgent({ ...base, name: 'hurried-strict', toolTimeoutMs: 1_000, toolFailure: 'fail' });
const wide = defineAgent({ ...base, name: 'wide', toolFailure: 'fail', strategy: 'parallel' });

const toolset = createToolset([step]);
const changing = defineAgent({ ...base, name: 'changing', tools: toolset });
const offered = new Map<string, Tool[]>();
const asking = defineAgent({ ...base, name: 'asking', tools: ({ threadId }) => offered.get(threadId) ?? [] });
let unavailable = 0;
const shaky = defineAgent({
  ...base,
  name: 'shaky',
  tools() {
    if (unavailable === 0) return [step];
    unavailable -= 1;
    throw new Error('the registry is down');
  },
});
const referring = defineAgent({
  ...base,
  name: 'referring',
  tools: [
    defineTool({
      name: 'order',
      description: 'Orders.',
      input: { type: 'object', properties: { item: { $ref: '#/components/schemas/Item' }, to: { $ref: '#place' } }, required: ['item'] },
      definitions: {
        components: {
          schemas: {
            Item: {
              type: 'object',
              properties: { name: { type: 'string' }, parts: { type: 'array', items: { $ref: '#/components/schemas/Item' } } },
              required: ['name'],
            },
            Place: { $anchor: 'place', type: 'string', minLength: 2 },
          },
        },
      },
      execute: (args, ctx) => did(ctx.threadId, JSON.stringify(args)),
    }),
  ],
});

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ script, agents: [lenient, strict, hurried, hurriedStrict, wide, changing, asking, shaky, referring] });
});

const steps = (...numbers: number[]): ScriptedCall[] => numbers.map((n) => ({ name: 'step', args: { n }, id: `call_${n}` }));
const broken: ScriptedCall = { name: 'breaks', args: {}, id: 'call_broken' };

/** A run with one answer with these calls and a final answer; returns its result. */
async function afterCalls(calls: ScriptedCall[], agent: Agent = lenient, mode: 'one-shot' | 'conversation' = 'one-shot') {
  const input = scene([callTools(calls), say('done')]);
  const thread = await rig.client.start(agent, input, { mode });
  const told = await story(thread);
  const requests = requestsOf(rig, input);
  return {
    thread,
    told,
    end: told.at(-1),
    requests,
    results: requests[1]?.body.messages.filter((m) => m.role === 'tool') ?? [],
    outcomes: ofType(told, 'agent.tool.execution.completed').map(({ data }) => [data.toolCallId, data.status]),
    ran: ran.filter(({ threadId }) => threadId === thread.id).map(({ what }) => what),
  };
}

test('[A50][A51][A52] after a tool that fails the others run, each once; results are sent together, each with the id of its call', async () => {
  const { ran, results, requests, end } = await afterCalls([...steps(1), broken, ...steps(2)]);
  expect(ran).toEqual(['step 1', 'step 2']);
  expect(results.map((m) => [m.tool_call_id, m.content])).toEqual([
    ['call_1', 'step 1'],
    ['call_broken', 'Error: boom'],
    ['call_2', 'step 2'],
  ]);
  expect(requests).toHaveLength(2);
  expect(end).toMatchObject({ type: 'thread.run.completed', data: { output: 'done' } });
});

test('[A53][A54] if the agent sets it, the first tool that throws ends the run with its error, and the tools after it never run', async () => {
  for (const mode of ['one-shot', 'conversation'] as const) {
    const { thread, ran, end, outcomes, requests } = await afterCalls([...steps(1), broken, ...steps(2)], strict, mode);
    expect(ran).toEqual(['step 1']);
    expect(end).toMatchObject({ type: 'thread.run.failed', data: { code: 'tool_failed', message: "Tool 'breaks' failed: boom" } });
    expect(outcomes).toEqual([
      ['call_1', 'success'],
      ['call_broken', 'failed'],
      ['call_2', 'skipped'],
    ]);
    expect(requests).toHaveLength(1);
    if (mode === 'one-shot') {
      expect(await thrownBy(thread.result())).toMatchObject({
        code: 'run-failed',
        runCode: 'tool_failed',
        message: expect.stringContaining('boom'),
      });
    }
  }
});

test('[A53] concurrent calls end before the failure of one ends the run', async () => {
  const { ran, end, outcomes } = await afterCalls([broken, ...steps(1, 2)], wide);
  expect(ran.sort()).toEqual(['step 1', 'step 2']);
  expect(end).toMatchObject({ type: 'thread.run.failed', data: { code: 'tool_failed' } });
  expect(outcomes).toHaveLength(3);
});

test('[A55][A56][A57] unknown tools and malformed arguments are failed results of their calls; or they end the run, if the agent sets it', async () => {
  const odd: [ScriptedCall, RegExp][] = [
    [{ name: 'nosuch', args: {}, id: 'call_odd' }, /Unknown tool 'nosuch'/],
    [{ name: 'step', rawArguments: '{"n": 1,', id: 'call_odd' }, /not valid JSON/],
  ];
  for (const [call, words] of odd) {
    const [{ results, end, ran }, fails] = await Promise.all([afterCalls([call, ...steps(2)]), afterCalls([call, ...steps(2)], strict)]);
    expect(results.map((m) => m.tool_call_id)).toEqual(['call_odd', 'call_2']);
    expect(textOf(results[0])).toMatch(words);
    expect(ran).toEqual(['step 2']);
    expect(end).toMatchObject({ type: 'thread.run.completed' });

    expect(fails.ran).toEqual([]);
    expect(fails.end).toMatchObject({ type: 'thread.run.failed', data: { code: 'tool_failed', message: expect.stringMatching(words) } });
    expect(fails.outcomes).toEqual([
      ['call_odd', 'rejected'],
      ['call_2', 'skipped'],
    ]);
  }
});

test('[A58] malformed arguments in the history are sent as JSON that every server can read, in this run and in the next', async () => {
  const input = scene([callTools([{ name: 'step', rawArguments: '{"n": oops', id: 'call_bad' }]), say('Sorry.'), say('Hello.')]);
  const thread = await rig.client.start(lenient, input, { mode: 'conversation' });
  await story(thread);
  await thread.send('Hello?');
  await until(
    () => thread.status(),
    ({ status, messages }) => status === 'idle' && messages === 6,
  );
  for (const { body } of requestsOf(rig, input).slice(1)) {
    const sent = body.messages.find((m) => m.tool_calls)?.tool_calls?.[0]?.function.arguments ?? '';
    expect(JSON.parse(sent)).toEqual({ malformed_arguments: '{"n": oops' });
  }
  expect(requestsOf(rig, input)).toHaveLength(3);
  expect((await thread.messages())[1]).toMatchObject({ content: [{ type: 'tool-call', arguments: '{"n": oops' }] });
  await thread.close();
});

test('[A78] if all tools of an answer fail, the run continues with their errors', async () => {
  const { results, end } = await afterCalls([broken, { ...broken, id: 'call_broken2' }]);
  expect(results.map(textOf)).toEqual(['Error: boom', 'Error: boom']);
  expect(end).toMatchObject({ type: 'thread.run.completed', data: { output: 'done' } });
});

test('[A34][A60] the message of a failed tool, followed by the body of the HTTP error, reaches the model and is never empty', async () => {
  const { results } = await afterCalls([{ ...broken, args: { body: true } }]);
  expect(textOf(results[0])).toBe('Error: boom\n{"code":"E42","field":"orderId"}');
});

test('[A66] null, undefined and nested objects are results like any other', async () => {
  const { results } = await afterCalls(['null', 'undefined', 'object'].map((what) => ({ name: 'gives', args: { what } })));
  expect(results.map(textOf)).toEqual(['null', 'null', '{"deep":[{"a":[1,{"b":null}]}]}']);
});

describe('a tool that exceeds its timeout', () => {
  test('[A49][A61][A62][A63][A65] is aborted after the timeout of the agent or its own, and the run continues with the failure', async () => {
    const { ran, results, end, outcomes } = await afterCalls(
      [{ name: 'slow', args: {}, id: 'call_slow' }, { name: 'slower', args: {}, id: 'call_slower' }, ...steps(1)],
      hurried,
    );
    expect(ran).toEqual(['slow was told to stop', 'slower was told to stop', 'step 1']);
    expect(textOf(results[0])).toMatch(/'slow' timed out after 1000 ms/);
    expect(textOf(results[1])).toMatch(/'slower' timed out after 1500 ms/);
    expect(outcomes.map(([, status]) => status)).toEqual(['timed-out', 'timed-out', 'success']);
    expect(end).toMatchObject({ type: 'thread.run.completed' });
  });

  test('[A64] is recorded as a timeout and counted under its own name, even if it ends the run', async () => {
    for (const agent of [hurried, hurriedStrict]) {
      const { thread, told, end } = await afterCalls([{ name: 'slow', args: {} }], agent);
      expect(ofType(told, 'agent.tool.execution.completed')[0]?.data).toMatchObject({
        name: 'slow',
        status: 'timed-out',
        isError: true,
        error: { name: 'ToolTimeoutError', message: expect.stringContaining("'slow'") },
      });
      expect((await thread.usage()).metrics.tools).toEqual({ slow: { calls: 1, failed: 1, timedOut: 1, durationMs: expect.any(Number) } });
      expect(end?.type).toBe(agent === hurriedStrict ? 'thread.run.failed' : 'thread.run.completed');
    }
  });
});

test('[A42] references of a JSON Schema, by path, by anchor and circular, apply to the arguments and to the schema that the model gets', async () => {
  const { requests, results, ran } = await afterCalls(
    [
      { name: 'order', args: { item: { name: 'bike', parts: [{ name: 'wheel', parts: [{ nam: 'spoke' }] }] } } },
      { name: 'order', args: { item: { name: 'bike' }, to: 'X' } },
      { name: 'order', args: { item: { name: 'bike', parts: [{ name: 'wheel' }] }, to: 'Oslo' } },
    ],
    referring,
  );
  expect(textOf(results[0])).toMatch(/^Error: [\s\S]*name/);
  expect(textOf(results[1])).toMatch(/^Error: [\s\S]*to/);
  expect(ran).toEqual(['{"item":{"name":"bike","parts":[{"name":"wheel"}]},"to":"Oslo"}']);
  const shown = JSON.stringify(requests[0]?.body.tools);
  expect(shown).not.toContain('#/components');
  expect(shown).toContain('$ref');
});

describe('tools that change', () => {
  const names = (request: { body: { tools?: { function: { name: string } }[] } } | undefined) =>
    request?.body.tools?.map((tool) => tool.function.name) ?? [];

  test('[A46] a function that provides them is called at every turn: its current tools are those that the model gets and that run', async () => {
    const second = defineTool({ name: 'second', description: 'Is there later.', input: z.object({}), execute: () => 'second ran' });
    const first = defineTool({
      name: 'first',
      description: 'Makes place.',
      input: z.object({}),
      execute: (_, { threadId }) => void offered.set(threadId, [second]),
    });
    const id = `thread_${randomUUID()}`;
    offered.set(id, [first]);
    const input = scene([
      callTools([{ name: 'first', args: {} }]),
      callTools(['second', 'first'].map((name) => ({ name, args: {} }))),
      say('done'),
    ]);
    await story(await rig.client.start(asking, input, { id }));
    const requests = requestsOf(rig, input);
    expect(requests.map(names)).toEqual([['first'], ['second'], ['second']]);
    expect(requests[2]?.body.messages.slice(-2).map(textOf)).toEqual(['second ran', expect.stringMatching(/Unknown tool 'first'/)]);
  });

  test('that are temporarily unavailable are requested again', async () => {
    const input = scene([say('done')]);
    unavailable = 2;
    expect((await story(await rig.client.start(shaky, input))).at(-1)).toMatchObject({ type: 'thread.run.completed' });
    expect(unavailable).toBe(0);
    expect(requestsOf(rig, input).map(names)).toEqual([['step']]);
  });

  test('[A68] tools that are added to a set, removed and replaced apply from the next run on', async () => {
    const input = scene([say('one'), callTools([{ name: 'extra', args: {} }, ...steps(1)]), say('two')]);
    const thread = await rig.client.start(changing, input, { mode: 'conversation' });
    await story(thread);
    toolset.add(defineTool({ name: 'extra', description: 'More.', input: z.object({}), execute: () => 'more' }));
    toolset.remove('step');
    await thread.send('Again.');
    await until(
      () => thread.status(),
      ({ status, messages }) => status === 'idle' && messages === 7,
    );
    const [first, second, third] = requestsOf(rig, input);
    expect([first, second].map(names)).toEqual([['step'], ['extra']]);
    expect(third?.body.messages.slice(-2).map(textOf)).toEqual(['more', expect.stringMatching(/Unknown tool 'step'/)]);
    await thread.close();
  });
});
