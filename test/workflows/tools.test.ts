import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import { callTools, type ScriptedCall, say, type WireMessage, events as wire } from '../../src/testing/model-server';
import { defineTool, type ToolContext, ToolFailure } from '../../src/tools';
import { type Rig, startRig, until } from '../support/rig';
import { logOf } from './asking';
import { ofType, requestsOf, scenes, story, typesOf } from './scenes';

const { script, scene } = scenes();

/** What the tools did, in the order in which they did it, by thread. */
const trace = new Map<string, string[]>();
const seen: ToolContext[] = [];
function note(ctx: ToolContext, what: string): void {
  trace.set(ctx.threadId, [...(trace.get(ctx.threadId) ?? []), what]);
}
const of = z.object({ n: z.number(), behind: z.string().optional(), ms: z.number().optional() });
/** Ends `behind` what another call of the thread does, where that is wanted: an order that holds on any machine. */
async function work(kind: string, { n, behind }: z.output<typeof of>, ctx: ToolContext): Promise<string> {
  note(ctx, `${kind}${n} begins`);
  if (behind) {
    await until(
      () => outcomesOf(ctx.threadId),
      (outcomes) => [...(trace.get(ctx.threadId) ?? []), ...outcomes].includes(behind),
    );
  }
  note(ctx, `${kind}${n} ends`);
  return `${kind}${n}`;
}
/** The events of the thread's calls so far: `started call_1`, `completed call_1`. */
async function outcomesOf(threadId: string): Promise<string[]> {
  const log = await logOf(rig.client.attach(threadId));
  return log.flatMap((event) =>
    event.type === 'agent.tool.execution.started' || event.type === 'agent.tool.execution.completed'
      ? [`${event.type.split('.').at(-1)} ${event.data.toolCallId}`]
      : [],
  );
}

const pure = defineTool({ name: 'pure', description: 'Pure.', input: of, effect: 'pure', execute: (args, ctx) => work('pure', args, ctx) });
const keyed = defineTool({
  name: 'keyed',
  description: 'Keyed.',
  input: of,
  effect: 'keyed',
  execute: (args, ctx) => work('keyed', args, ctx),
});
const once = defineTool({ name: 'once', description: 'Once.', input: of, execute: (args, ctx) => work('once', args, ctx) });
const gives = defineTool({
  name: 'gives',
  description: 'Gives a value.',
  input: z.object({ what: z.enum(['text', 'object', 'nothing', 'null', 'parts']) }),
  effect: 'pure',
  execute: ({ what }) =>
    ({ text: 'as it is', object: { a: [1, null] }, nothing: undefined, null: null, parts: [{ type: 'text', text: 'a part' }] })[what],
});
const breaks = defineTool({
  name: 'breaks',
  description: 'Fails.',
  input: z.object({ how: z.enum(['throw', 'http', 'failure']) }),
  effect: 'pure',
  execute({ how }) {
    if (how === 'failure') throw new ToolFailure('exit code 2');
    const error = new Error('no such order');
    throw how === 'http' ? Object.assign(error, { response: { data: { code: 'E42', hint: 'orders begin with A' } } }) : error;
  },
});
const flaky = defineTool({
  name: 'flaky',
  description: 'Works at the third attempt.',
  input: z.object({}),
  effect: 'keyed',
  retry: { maxAttempts: 3, initialMs: 50 },
  execute(_, ctx) {
    seen.push(ctx);
    if (ctx.attempt < 3) throw new Error(`attempt ${ctx.attempt} failed`);
    return 'at last';
  },
});
const slow = defineTool({
  name: 'slow',
  description: 'Never ends.',
  input: z.object({}),
  timeoutMs: 200,
  execute: (_, ctx) => new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason))),
});
const context = defineTool({
  name: 'context',
  description: 'Shows what it is given.',
  input: z.object({}),
  effect: 'pure',
  async execute(_, ctx) {
    seen.push(ctx);
    const [first, second] = [await ctx.resolve('counter'), await ctx.resolve('counter')];
    return { same: first === second, first, workspace: ctx.workspace, attempt: ctx.attempt };
  },
});

const tools = [pure, keyed, once, gives, breaks, flaky, slow, context];
const base = { model: 'test-model', instructions: 'Use tools.', tools };
const byEffect = defineAgent({ ...base, name: 'by-effect' });
const sequential = defineAgent({ ...base, name: 'sequential', strategy: 'sequential' });
const parallel = defineAgent({ ...base, name: 'parallel', strategy: 'parallel' });
const toolless = defineAgent({ name: 'toolless', model: 'test-model', instructions: 'Talk.' });
const frugal = defineAgent({ ...base, name: 'frugal', limits: { toolCalls: 2 } });

let rig: Rig;
let made = 0;
beforeAll(async () => {
  rig = await startRig({
    script,
    agents: [byEffect, sequential, parallel, toolless, frugal],
    bus: true,
    worker: { dependencies: { counter: () => ++made }, workspace: '/tmp' },
  });
});

/** A run with one answer with these calls and a final answer; returns its result. */
async function afterCalls(calls: ScriptedCall[], agent = byEffect) {
  const input = scene([callTools(calls), say('done')]);
  const thread = await rig.client.start(agent, input);
  const told = await story(thread);
  const results = (requestsOf(rig, input)[1]?.body.messages ?? []).filter((m: WireMessage) => m.role === 'tool');
  return { thread, input, told, results, completed: ofType(told, 'agent.tool.execution.completed'), end: told.at(-1) };
}

test('[A27][A28] fragments of several calls, interleaved on the wire, become whole calls and all run', async () => {
  const piece = (list: object[], finish: string | null = null) => ({
    choices: [{ index: 0, delta: { tool_calls: list }, finish_reason: finish }],
  });
  const input = scene([
    wire([
      piece([{ index: 0, id: 'call_a', function: { name: 'pure', arguments: '' } }]),
      piece([{ index: 1, id: 'call_b', function: { name: 'pu', arguments: '' } }]),
      piece([{ index: 1, function: { name: 're', arguments: '' } }]),
      piece([
        { index: 0, function: { arguments: '{"n"' } },
        { index: 1, function: { arguments: '{"n":' } },
      ]),
      piece(
        [
          { index: 1, function: { arguments: '2}' } },
          { index: 0, function: { arguments: ':1}' } },
        ],
        'tool_calls',
      ),
    ]),
    say('done'),
  ]);
  const thread = await rig.client.start(byEffect, input);
  const told = await story(thread);
  expect(
    ofType(told, 'agent.tool.execution.completed')
      .map(({ data }) => [data.toolCallId, data.output])
      .sort(),
  ).toEqual([
    ['call_a', 'pure1'],
    ['call_b', 'pure2'],
  ]);
});

test('[A31] each call is reported as started before it starts, and as completed when it is, not after the batch', async () => {
  const { told, end, thread } = await afterCalls([
    // Each ends only once the log tells what comes before.
    { name: 'pure', args: { n: 1, behind: 'completed soon' }, id: 'late' },
    { name: 'pure', args: { n: 2, behind: 'started soon' }, id: 'soon' },
  ]);
  expect(end).toMatchObject({ type: 'thread.run.completed' });
  expect(await outcomesOf(thread.id)).toEqual(['started late', 'started soon', 'completed soon', 'completed late']);
  expect(ofType(told, 'agent.tool.execution.completed').map(({ data }) => data.status)).toEqual(['success', 'success']);
});

test('[A32][A35] the text of a tool is sent unchanged, everything else as JSON, undefined as null', async () => {
  const kinds = ['text', 'object', 'nothing', 'null'];
  const { results, thread } = await afterCalls(kinds.map((what) => ({ name: 'gives', args: { what }, id: `call_${what}` })));
  expect(results.map((m) => [m.tool_call_id, m.content])).toEqual([
    ['call_text', 'as it is'],
    ['call_object', '{"a":[1,null]}'],
    ['call_nothing', 'null'],
    ['call_null', 'null'],
  ]);
  expect((await thread.messages()).filter((m) => m.role === 'tool').map((m) => m.role === 'tool' && m.name)).toEqual(
    kinds.map(() => 'gives'),
  );
});

test('[A33][A34][B12][B14][B29] a tool that throws becomes a failed result with its message and its data, and the run continues', async () => {
  const { results, completed, end } = await afterCalls([
    { name: 'breaks', args: { how: 'throw' } },
    { name: 'breaks', args: { how: 'http' } },
    { name: 'breaks', args: { how: 'failure' } },
  ]);
  expect(results.map((m) => m.content)).toEqual([
    'Error: no such order',
    expect.stringMatching(/^Error: no such order\n.*E42.*orders begin with A/),
    'exit code 2',
  ]);
  for (const { data } of completed) expect(data).toMatchObject({ status: 'failed', isError: true, error: { message: expect.any(String) } });
  expect(end).toMatchObject({ type: 'thread.run.completed', data: { output: 'done' } });
});

test('[A36][A37] sequentially, calls run strictly one after another in call order, also after one that fails', async () => {
  const { thread, completed } = await afterCalls(
    [
      { name: 'pure', args: { n: 1 } },
      { name: 'breaks', args: { how: 'throw' } },
      { name: 'once', args: { n: 3 } },
      { name: 'pure', args: { n: 4 } },
    ],
    sequential,
  );
  expect(trace.get(thread.id)).toEqual(['pure1 begins', 'pure1 ends', 'once3 begins', 'once3 ends', 'pure4 begins', 'pure4 ends']);
  expect(completed.map(({ data }) => data.status)).toEqual(['success', 'failed', 'success', 'success']);
});

test('[A38] in parallel, calls overlap, results are sent in call order, and a failure affects only its own call', async () => {
  const { thread, results } = await afterCalls(
    [
      { name: 'once', args: { n: 1, behind: 'once2 ends' } },
      { name: 'breaks', args: { how: 'throw' } },
      { name: 'once', args: { n: 2 } },
    ],
    parallel,
  );
  expect(trace.get(thread.id)?.filter((what) => what.endsWith('ends'))).toEqual(['once2 ends', 'once1 ends']);
  expect(results.map((m) => m.content)).toEqual(['once1', 'Error: no such order', 'once2']);
});

test('[B8] by effect, pure calls run concurrently and the others one after another in the order of the model', async () => {
  const { thread, results } = await afterCalls([
    { name: 'once', args: { n: 1, behind: 'pure4 ends' } },
    { name: 'pure', args: { n: 2, behind: 'keyed3 ends' } },
    { name: 'keyed', args: { n: 3 } },
    { name: 'pure', args: { n: 4 } },
  ]);
  const order = trace.get(thread.id) ?? [];
  expect(order.filter((what) => what.endsWith('ends'))).toEqual(['pure4 ends', 'once1 ends', 'keyed3 ends', 'pure2 ends']);
  expect(order.indexOf('once1 ends')).toBeLessThan(order.indexOf('keyed3 begins'));
  expect(results.map((m) => m.content)).toEqual(['once1', 'pure2', 'keyed3', 'pure4']);
});

test('[A40][B13][B26] an unknown tool becomes a failed result that names the tool, and the run continues', async () => {
  const { results, completed, told, end } = await afterCalls([
    { name: 'teleport', args: {} },
    { name: 'pure', args: { n: 1 } },
  ]);
  expect(results[0]?.content).toMatch(/^Error: Unknown tool 'teleport'.*pure/);
  expect(results[1]?.content).toBe('pure1');
  expect(completed.find(({ data }) => data.name === 'teleport')?.data).toMatchObject({
    status: 'rejected',
    isError: true,
    error: { name: 'ToolNotFoundError' },
  });
  expect(ofType(told, 'agent.tool.execution.started').map(({ data }) => data.name)).toEqual(['pure']);
  expect(end).toMatchObject({ type: 'thread.run.completed' });
});

test('[A41][B28] arguments that do not match the schema are refused with every problem, before the tool runs', async () => {
  const { thread, results, completed, end } = await afterCalls([
    { name: 'once', args: { n: 'one', ms: 'long' } },
    { name: 'once', args: {} },
  ]);
  expect(results[0]?.content).toMatch(/^Error: [\s\S]*n: [\s\S]*ms: /);
  expect(results[1]?.content).toMatch(/^Error: [\s\S]*n: /);
  expect(completed.map(({ data }) => [data.status, data.error?.name])).toEqual(Array(2).fill(['rejected', 'InvalidToolArgumentsError']));
  expect(trace.get(thread.id)).toBeUndefined();
  expect(end).toMatchObject({ type: 'thread.run.completed' });
});

test('[A43][B11][B27] malformed JSON arguments become a tool error that the model can correct, and are kept as it wrote them', async () => {
  const rawArguments = '{"n": 1,';
  const input = scene([
    callTools([{ name: 'once', rawArguments, id: 'bad' }]),
    callTools([{ name: 'once', args: { n: 1 }, id: 'good' }]),
    say('repaired'),
  ]);
  const thread = await rig.client.start(byEffect, input);
  const told = await story(thread);
  expect(ofType(told, 'agent.tool.execution.completed').map(({ data }) => [data.toolCallId, data.status, data.error?.name])).toEqual([
    ['bad', 'rejected', 'InvalidToolArgumentsError'],
    ['good', 'success', undefined],
  ]);
  expect(ofType(told, 'thread.run.step.tool_call.completed_by_llm')[0]?.data.toolCall.arguments).toBe(rawArguments);
  expect(requestsOf(rig, input)[1]?.body.messages.at(-1)?.content).toMatch(/^Error: .*not valid JSON/);
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'repaired' } });
});

test('[A44] empty arguments are an empty object', async () => {
  const { results } = await afterCalls([{ name: 'flaky', rawArguments: '' }]);
  expect(results[0]?.content).toBe('at last');
});

test('[A45] calls that come with finish reason "stop" run, and none is left unanswered', async () => {
  const input = scene([{ ...callTools([{ name: 'pure', args: { n: 1 } }]), finish: 'stop' }, say('done')]);
  const thread = await rig.client.start(byEffect, input);
  const told = await story(thread);
  expect(ofType(told, 'agent.tool.execution.completed')[0]?.data).toMatchObject({ status: 'success', output: 'pure1' });
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'done' } });
});

test('[A13] an answer that is cut in the middle of its calls fails the run, and its calls are answered as not executed', async () => {
  const input = scene([{ ...callTools([{ name: 'once', args: { n: 1 } }]), finish: 'length' }]);
  const thread = await rig.client.start(byEffect, input);
  const told = await story(thread);
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.failed', data: { code: 'llm_finish_reason_error' } });
  expect(trace.get(thread.id)).toBeUndefined();
  expect(await thread.messages()).toMatchObject([{ role: 'user' }, { role: 'assistant' }, { role: 'tool', isError: true }]);
});

test('[A47] without tools the request has neither tools nor an empty list', async () => {
  const input = scene([say('hi')]);
  await story(await rig.client.start(toolless, input));
  const body = requestsOf(rig, input)[0]?.body ?? {};
  expect(body).not.toHaveProperty('tools');
  expect(['none', undefined]).toContain((body as { tool_choice?: string }).tool_choice);
});

test('[A39] an answer without calls runs no tool', async () => {
  const told = await story(await rig.client.start(byEffect, scene([say('nothing to do')])));
  expect(typesOf(told).filter((type) => type.startsWith('agent.tool') || type.includes('tool_call'))).toEqual([]);
});

test('[A48][B149] a tool gets the thread and run that it works for, and the dependencies of the worker, created once per call', async () => {
  seen.length = 0;
  const { thread, results, told } = await afterCalls([{ name: 'context', args: {}, id: 'call_ctx' }]);
  const [ctx] = seen;
  expect(ctx).toMatchObject({ threadId: thread.id, runId: told[0]?.runId, toolCallId: 'call_ctx', attempt: 1, workspace: '/tmp' });
  expect(ctx?.idempotencyKey).toBe(`${thread.id}/${told[0]?.runId}/call_ctx`);
  expect(ctx?.signal.aborted).toBe(false);
  expect(ctx?.now().getTime()).toBeGreaterThan(0);
  expect(JSON.parse(String(results[0]?.content))).toMatchObject({ same: true, workspace: '/tmp', attempt: 1 });
});

test('a keyed tool that throws is retried with the same key, as often as the tool allows', async () => {
  seen.length = 0;
  const { completed } = await afterCalls([{ name: 'flaky', args: {} }]);
  expect(seen.map((ctx) => ctx.attempt)).toEqual([1, 2, 3]);
  expect(new Set(seen.map((ctx) => ctx.idempotencyKey)).size).toBe(1);
  expect(completed[0]?.data).toMatchObject({ status: 'success', attempts: 3, output: 'at last' });
});

test('a tool that exceeds its timeout is aborted, and the model is informed', async () => {
  const { completed, results } = await afterCalls([{ name: 'slow', args: {} }]);
  expect(completed[0]?.data).toMatchObject({ status: 'timed-out', error: { name: 'ToolTimeoutError' } });
  expect(results[0]?.content).toMatch(/timed out after 200 ms/);
});

test('calls without an id, or with one that was used before, get new ids', async () => {
  const input = scene([
    callTools([
      { name: 'pure', args: { n: 1 }, id: 'call_1' },
      { name: 'pure', args: { n: 2 }, id: '' },
    ]),
    callTools([{ name: 'pure', args: { n: 3 }, id: 'call_1' }]),
    say('done'),
  ]);
  const thread = await rig.client.start(byEffect, input);
  const told = await story(thread);
  const ids = ofType(told, 'agent.tool.execution.completed').map(({ data }) => data.toolCallId);
  expect(new Set(ids).size).toBe(3);
  expect(ids).not.toContain('');
  expect(
    requestsOf(rig, input)[2]
      ?.body.messages.filter((m) => m.role === 'tool')
      .map((m) => m.content),
  ).toEqual(['pure1', 'pure2', 'pure3']);
});

test('calls that exceed the limit of tool calls are not executed, and the run names the limit that ended it', async () => {
  const { thread, completed, end } = await afterCalls(
    [1, 2, 3].map((n) => ({ name: 'once', args: { n } })),
    frugal,
  );
  expect(trace.get(thread.id)).toEqual(['once1 begins', 'once1 ends', 'once2 begins', 'once2 ends']);
  expect(completed.map(({ data }) => data.status).sort()).toEqual(['skipped', 'success', 'success']);
  expect(end).toMatchObject({
    type: 'thread.run.incomplete',
    data: { limit: 'toolCalls', max: 2, message: expect.stringContaining('2 tool calls') },
  });
});

test('[B146] a repeated call is executed again', async () => {
  const again = () => callTools([{ name: 'once', args: { n: 7 } }]);
  const thread = await rig.client.start(byEffect, scene([again(), again(), say('done')]));
  await story(thread);
  expect(trace.get(thread.id)).toEqual(['once7 begins', 'once7 ends', 'once7 begins', 'once7 ends']);
});
