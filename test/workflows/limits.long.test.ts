import { z } from 'zod';
import { type Agent, defineAgent } from '../../src/agents';
import type { StartOptions, Thread } from '../../src/client';
import type { LimitName } from '../../src/core/agent';
import { isDurable, isTerminal } from '../../src/core/event';
import { createModelCatalog } from '../../src/models/catalog/model-catalog';
import { callTools, fail, hang, type Reply, type StreamReply, say, withUsage } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { type Rig, startRig, until } from '../support/rig';
import { ofType, requestsOf, roles, scenes, story, textOf, thrownBy, typesOf } from './scenes';

const { script, scene } = scenes();
const ran: { threadId: string; n: number }[] = [];
const work = defineTool({
  name: 'work',
  description: 'Works.',
  input: z.object({ n: z.number(), ms: z.number().optional() }),
  effect: 'keyed',
  async execute({ n, ms = 0 }, { threadId }) {
    await new Promise((resolve) => setTimeout(resolve, ms));
    ran.push({ threadId, n });
    return `worked ${n}`;
  },
});
const base = { model: 'test-model', instructions: 'Work.', tools: [work], retry: { baseMs: 10 } };
const worker = defineAgent({ ...base, name: 'worker' });
const forced = defineAgent({ ...base, name: 'forced', settings: { toolChoice: 'required' }, limits: { turns: 1 }, atLimit: 'summarize' });

/** A thousandth of a dollar a token. */
const catalog = createModelCatalog({ overrides: { 'openai/test-model': { inputPerMillion: 1_000, outputPerMillion: 1_000 } } });

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ script, agents: [worker, forced], worker: { catalog } });
});

const doing = (...numbers: number[]): StreamReply => callTools(numbers.map((n) => ({ name: 'work', args: { n }, id: `call_${n}` })));
/** 120 tokens, 12 cents. */
const priced = (reply: StreamReply) => withUsage(reply, { promptTokens: 100, completionTokens: 20 });
const ranIn = (thread: Thread) => ran.filter(({ threadId }) => threadId === thread.id).map(({ n }) => n);

async function begun(replies: Reply[], options: StartOptions = {}, agent: Agent = worker) {
  const input = scene(replies);
  return { input, thread: await rig.client.start(agent, input, options) };
}

async function ended(replies: Reply[], options: StartOptions = {}, agent: Agent = worker) {
  const { input, thread } = await begun(replies, options, agent);
  const told = await story(thread);
  return { input, thread, told, end: told.at(-1), requests: requestsOf(rig, input), messages: await thread.messages() };
}

function incomplete(limit: LimitName, max: number, more: object = {}) {
  return { type: 'thread.run.incomplete', data: { limit, max, ...more } };
}

async function pendingLimit(thread: Thread) {
  const [pending] = await until(
    () => thread.pending(),
    (list) => list.length === 1,
  );
  expect(pending).toMatchObject({ kind: 'limit', reason: expect.stringContaining('reached its limit') });
  return pending as NonNullable<typeof pending>;
}
const decide = (thread: Thread, decision: object) =>
  rig.client.temporal.workflow.getHandle(thread.id).executeUpdate('approve', { args: [decision] });

test('[A72] a limit of N tool rounds allows N rounds, and 0 none', async () => {
  const runs = await Promise.all(
    [0, 1, 2].map((toolRounds) => ended([doing(1, 2), doing(3), doing(4), say('done')], { limits: { toolRounds } })),
  );
  expect(runs.map(({ thread }) => ranIn(thread).sort())).toEqual([[], [1, 2], [1, 2, 3]]);
  runs.forEach(({ end, requests, told }, toolRounds) => {
    expect(end).toMatchObject(incomplete('toolRounds', toolRounds));
    expect(requests).toHaveLength(toolRounds + 1);
    expect(ofType(told, 'agent.tool.execution.completed').at(-1)?.data).toMatchObject({ status: 'skipped' });
  });
});

test('[A71][A73] at a limit of rounds the calls can be handed out: none of them runs, the run waits, and continues with their outputs', async () => {
  const { input, thread } = await begun([doing(1), doing(2, 3), say('done')], { limits: { toolRounds: 1 }, atLimit: 'hand-out' });
  await until(
    () => thread.status(),
    ({ status }) => status === 'requires_action',
  );
  expect(await thread.pending()).toMatchObject([
    { kind: 'output', toolCallId: 'call_2', name: 'work', arguments: '{"n":2}' },
    { kind: 'output', toolCallId: 'call_3' },
  ]);
  expect(ranIn(thread)).toEqual([1]);
  await thread.submitToolOutputs([
    { toolCallId: 'call_2', output: 'two' },
    { toolCallId: 'call_3', output: 'three' },
  ]);
  const told = await story(thread);
  expect(ofType(told, 'agent.limit.handed_out')[0]?.data).toEqual({
    limit: 'toolRounds',
    max: 1,
    scope: 'run',
    toolCallIds: ['call_2', 'call_3'],
  });
  // The only pause is the real one: the calls that ran here before it needed no approval.
  expect(ofType(told, 'thread.run.requires_action')).toHaveLength(1);
  expect(told.filter(isTerminal)).toHaveLength(1);
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'done' } });
  expect(requestsOf(rig, input)[2]?.body.messages.slice(-2).map(textOf)).toEqual(['two', 'three']);
  expect(ranIn(thread)).toEqual([1]);
});

test('a run that is cancelled while its calls are handed out does not report again that it waits for their outputs', async () => {
  const { thread } = await begun([doing(1), say('done')], { limits: { toolRounds: 0 }, atLimit: 'hand-out' });
  await until(
    () => thread.status(),
    ({ status }) => status === 'requires_action',
  );
  await thread.cancel({ reason: 'enough' });
  const told = await story(thread);
  expect(ofType(told, 'agent.run.status.changed').map(({ data }) => data.status)).toEqual(['in_progress', 'requires_action', 'cancelling']);
  expect(ofType(told, 'thread.run.requires_action')).toHaveLength(1);
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.cancelled' });
});

test('[A71] a limit of 0 rounds hands out every call', async () => {
  const { thread } = await begun([doing(1), doing(2), say('done')], { limits: { toolRounds: 0 }, atLimit: 'hand-out' });
  for (const toolCallId of ['call_1', 'call_2']) {
    await until(
      () => thread.pending(),
      (pending) => pending.some((call) => call.toolCallId === toolCallId),
    );
    await thread.submitToolOutputs([{ toolCallId, output: 'by hand' }]);
  }
  expect((await story(thread)).at(-1)).toMatchObject({ type: 'thread.run.completed' });
  expect(ranIn(thread)).toEqual([]);
});

test('a limit of tool calls in the middle of a batch hands out the calls that exceed it, and the others run', async () => {
  const { thread, input } = await begun([doing(1, 2), say('done')], { limits: { toolCalls: 1 }, atLimit: 'hand-out' });
  const [pending] = await until(
    () => thread.pending(),
    (list) => list.length > 0,
  );
  expect(pending).toMatchObject({ kind: 'output', toolCallId: 'call_2' });
  await thread.submitToolOutputs([{ toolCallId: 'call_2', output: 'by hand' }]);
  expect((await story(thread)).at(-1)).toMatchObject({ type: 'thread.run.completed' });
  expect(requestsOf(rig, input)[1]?.body.messages.slice(-2).map(textOf)).toEqual(['worked 1', 'by hand']);
});

test('[A86] a limit of tool calls applies before the call that exceeds it, and the message names the limit', async () => {
  const { thread, end, told } = await ended([doing(1), doing(2, 3), say('done')], { limits: { toolCalls: 2 }, atLimit: 'fail' });
  expect(ranIn(thread)).not.toContain(3);
  expect(end).toMatchObject({
    type: 'thread.run.failed',
    data: { code: 'limit_exceeded', message: 'The run reached its limit of 2 tool calls.' },
  });
  expect(ofType(told, 'agent.tool.execution.completed').find(({ data }) => data.toolCallId === 'call_3')?.data.status).toBe('skipped');
  expect((await ended([doing(1, 2), say('done')], { limits: { toolCalls: 2 } })).end).toMatchObject({ type: 'thread.run.completed' });
});

test('[A80][B6] at the limit of turns a run fails if that is set, and its message names the limit', async () => {
  const { thread, end, requests } = await ended([doing(1), doing(2)], { limits: { turns: 2 }, atLimit: 'fail' });
  expect(end).toMatchObject({
    type: 'thread.run.failed',
    data: { code: 'limit_exceeded', message: 'The run reached its limit of 2 turns.' },
  });
  expect(requests).toHaveLength(2);
  expect(await thrownBy(thread.result())).toMatchObject({ code: 'run-failed', runCode: 'limit_exceeded' });
});

test('[A81][A82][B7] a run that ends exactly at its limit is completed without a further call; one that does not is incomplete, and says so', async () => {
  const limits = { turns: 2, toolRounds: 1, toolCalls: 1 };
  const ways = ['stop', 'summarize', 'fail', 'ask', 'hand-out'] as const;
  for (const { end, requests, thread } of await Promise.all(ways.map((atLimit) => ended([doing(1), say('done')], { limits, atLimit })))) {
    expect(end).toMatchObject({ type: 'thread.run.completed', data: { output: 'done', turns: 2 } });
    expect(requests).toHaveLength(2);
    expect(await thread.result()).toMatchObject({ status: 'completed' });
  }
  const beyond = await ended([doing(1), doing(2), say('done')], { limits: { turns: 2 } });
  expect(beyond.end).toMatchObject(incomplete('turns', 2));
  expect(beyond.requests).toHaveLength(2);
  expect(await beyond.thread.result()).toMatchObject({ status: 'incomplete', reason: 'The run reached its limit of 2 turns.' });
});

describe('a summary at the limit', () => {
  const wanted: StartOptions = { limits: { turns: 1 }, atLimit: 'summarize' };

  test('[A80][B30][B33] is one more call without tools, after the calls of the last turn ran, and changes nothing in the history', async () => {
    const { thread, end, told, requests, messages } = await ended([doing(1), priced(say('Worked once.'))], {}, forced);
    expect(ranIn(thread)).toEqual([1]);
    expect(end).toMatchObject(incomplete('turns', 1, { output: '[Max Iterations Reached] Worked once.' }));
    expect(await thread.result()).toMatchObject({ status: 'incomplete', output: '[Max Iterations Reached] Worked once.' });
    expect(requests).toHaveLength(2);
    expect(requests[0]?.body).toMatchObject({ tool_choice: 'required', tools: [{}] });
    expect(requests[1]?.body).not.toHaveProperty('tools');
    expect(['none', undefined]).toContain(requests[1]?.body.tool_choice);
    expect(requests[1]?.body.messages.map((m) => m.role)).toEqual(['system', 'user', 'assistant', 'tool', 'user']);
    expect(roles(messages)).toEqual(['user', 'assistant', 'tool']);
    expect(ofType(told, 'agent.run.summarized')[0]?.data).toMatchObject({
      output: 'Worked once.',
      usage: { inputTokens: 100 },
      costUsd: 0.12,
    });
    expect(await thread.usage()).toMatchObject({ turns: 1, metrics: { models: { 'test-model': { calls: 2 } } } });
  });

  test('[B31] that fails is replaced by a fixed text, and the run is incomplete nevertheless', async () => {
    const { end, told } = await ended([doing(1), fail(401)], wanted);
    expect(end).toMatchObject(
      incomplete('turns', 1, { output: '[Max Iterations Reached] The run reached its limit of 1 turns. A summary could not be made.' }),
    );
    expect(ofType(told, 'agent.run.summarized')[0]?.data.failed).toMatch(/401/);
  });

  test('[B89] is retried by the same policy as any call', async () => {
    let n = 0;
    const input = scene(({ turn }) => (turn === 0 ? doing(1) : n++ < 2 ? fail(503) : say('At last.')));
    const told = await story(await rig.client.start(worker, input, wanted));
    expect(told.at(-1)).toMatchObject(incomplete('turns', 1, { output: '[Max Iterations Reached] At last.' }));
    expect(ofType(told, 'agent.run.summarized')[0]?.data.attempts).toMatchObject([{ kind: 'overloaded' }, { kind: 'overloaded' }]);
    expect(requestsOf(rig, input)).toHaveLength(4);
  });

  test('[B32] can be cancelled, which cancels the run', async () => {
    const { input, thread } = await begun([doing(1), hang()], wanted);
    await until(
      () => requestsOf(rig, input).length,
      (count) => count === 2,
    );
    await thread.cancel();
    expect((await story(thread)).at(-1)).toMatchObject({ type: 'thread.run.cancelled' });
    expect(await thrownBy(thread.result())).toMatchObject({ code: 'run-cancelled' });
    expect(await requestsOf(rig, input)[1]?.closed).toBe('by-client');
  });

  test('names any other limit, and contains the question even if the limit forbade the first turn', async () => {
    const { end, requests, input, messages } = await ended([say('Nothing done.')], {
      limits: { toolCalls: 9, tokens: 0 },
      atLimit: 'summarize',
    });
    expect(end).toMatchObject(incomplete('tokens', 0, { output: '[Limit Reached: tokens] Nothing done.' }));
    expect(requests[0]?.body.messages.map(textOf)).toEqual(['Work.', input, expect.stringMatching(/sum up/)]);
    expect(roles(messages)).toEqual(['user']);
  });
});

describe('a person', () => {
  test('who is asked can grant a number of further turns', async () => {
    const { thread, input } = await begun([doing(1), doing(2), doing(3), say('done')], { limits: { turns: 1 }, atLimit: 'ask' });
    const { toolCallId, name } = await pendingLimit(thread);
    expect(name).toBe('turns');
    expect(requestsOf(rig, input)).toHaveLength(1);
    expect((await thread.status()).remaining.run).toEqual({ turns: 0 });
    await decide(thread, { toolCallId, by: 'dana', more: 2 });
    const next = await until(
      () => thread.pending(),
      (list) => list.length === 1 && list[0]?.toolCallId !== toolCallId,
    );
    expect(ranIn(thread)).toEqual([1, 2, 3]);
    await decide(thread, { toolCallId: next[0]?.toolCallId, by: 'dana', more: 5 });
    const told = await story(thread);
    expect(told.at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'done', turns: 4 } });
    expect(ofType(told, 'agent.limit.extended').map(({ data }) => [data.limit, data.max, data.by])).toEqual([
      ['turns', 3, 'dana'],
      ['turns', 8, 'dana'],
    ]);
    expect(await thread.usage()).toMatchObject({ remaining: { run: { turns: 4 } } });
  });

  test('who refuses ends the run as incomplete', async () => {
    const { thread, input } = await begun([doing(1), say('done')], { limits: { turns: 1 }, atLimit: 'ask' });
    const { toolCallId } = await pendingLimit(thread);
    expect(await thrownBy(decide(thread, { toolCallId, more: -1 }))).toBeDefined();
    await decide(thread, { toolCallId, approved: false, by: 'dana', reason: 'enough' });
    const told = await story(thread);
    expect(told.at(-1)).toMatchObject(incomplete('turns', 1));
    expect(ofType(told, 'agent.approval.decided')[0]?.data).toMatchObject({ approved: false, by: 'dana', reason: 'enough' });
    expect(requestsOf(rig, input)).toHaveLength(1);
  });

  test('is asked before the calls of a turn if there are too many; after an extension all of them run', async () => {
    const { thread } = await begun([doing(1, 2), say('done')], { limits: { toolCalls: 1 }, atLimit: 'ask' });
    const { toolCallId } = await pendingLimit(thread);
    expect(ranIn(thread)).toEqual([]);
    await decide(thread, { toolCallId, more: 1 });
    expect((await story(thread)).at(-1)).toMatchObject({ type: 'thread.run.completed' });
    expect(ranIn(thread)).toEqual([1, 2]);
  });

  test('who refuses more calls lets those run that the limit allows', async () => {
    const { thread } = await begun([doing(1, 2), say('done')], { limits: { toolCalls: 1 }, atLimit: 'ask' });
    await decide(thread, { toolCallId: (await pendingLimit(thread)).toolCallId, approved: false });
    expect((await story(thread)).at(-1)).toMatchObject(incomplete('toolCalls', 1));
    expect(ranIn(thread)).toEqual([1]);
  });

  test('who grants too little is asked again', async () => {
    const { thread } = await begun([priced(doing(1)), say('done')], { limits: { tokens: 100 }, atLimit: 'ask' });
    const { toolCallId } = await pendingLimit(thread);
    await decide(thread, { toolCallId, more: 5 });
    const [next] = await until(
      () => thread.pending(),
      (list) => list.length === 1 && list[0]?.toolCallId !== toolCallId,
    );
    expect(next).toMatchObject({ name: 'tokens', reason: expect.stringContaining('105 tokens') });
    await decide(thread, { toolCallId: next?.toolCallId });
    expect((await story(thread)).at(-1)).toMatchObject({ type: 'thread.run.completed' });
  });

  test('can be asked to extend the limit of a whole thread', async () => {
    const { thread } = await begun([say('one'), say('two'), say('three')], {
      mode: 'conversation',
      threadLimits: { turns: 1 },
      atLimit: 'ask',
    });
    await story(thread);
    await thread.send('And?');
    await decide(thread, { toolCallId: (await pendingLimit(thread)).toolCallId, more: 1 });
    const { remaining } = await until(
      () => thread.status(),
      ({ status, runId, turn }) => status === 'idle' && runId !== null && turn === 1,
    );
    expect(remaining.thread).toEqual({ turns: 0 });
    await thread.close();
    expect(await thread.result()).toMatchObject({ output: 'two' });
  });
});

describe('a reached limit', () => {
  test('of tokens ends the run before the next call', async () => {
    const { end, requests } = await ended([priced(doing(1)), priced(doing(2)), say('done')], { limits: { tokens: 150 } });
    expect(requests).toHaveLength(2);
    expect(end).toMatchObject(incomplete('tokens', 150, { message: 'The run reached its limit of 150 tokens.' }));
  });

  test('[B70] a cost limit fails the turn before the next call, which is neither made nor retried', async () => {
    const { end, requests, thread } = await ended([priced(doing(1)), priced(doing(2)), say('done')], {
      limits: { costUsd: 0.2 },
      atLimit: 'fail',
    });
    expect(requests).toHaveLength(2);
    expect(end).toMatchObject({
      type: 'thread.run.failed',
      data: { code: 'limit_exceeded', message: 'The run reached its limit of 0.2 USD.' },
    });
    const { costUsd, remaining } = await thread.status();
    expect(costUsd).toBeCloseTo(0.24);
    expect(remaining.run.costUsd).toBe(0);
  });

  test('[B71] a cost limit comes from the environment, where 0 allows no spending, and a run can override it', async () => {
    process.env.LLM_COST_LIMIT = '0';
    const poor = await startRig({ script, agents: [worker], worker: { catalog } }).finally(() => delete process.env.LLM_COST_LIMIT);
    const [input, rich] = [scene([say('done')]), scene([say('done')])];
    expect((await story(await poor.client.start(worker, input))).at(-1)).toMatchObject(incomplete('costUsd', 0));
    expect(requestsOf(poor, input)).toEqual([]);
    expect((await story(await poor.client.start(worker, rich, { limits: { costUsd: 10 } }))).at(-1)).toMatchObject({
      type: 'thread.run.completed',
    });
  });

  test('[A85] a time limit ends the run at the next boundary, and completed work is kept', async () => {
    const slow = callTools([{ name: 'work', args: { n: 1, ms: 3_500 }, id: 'call_slow' }]);
    const { end, requests, thread, messages } = await ended([slow, say('done')], { limits: { wallClockMs: 3_000 }, atLimit: 'fail' });
    expect(ranIn(thread)).toEqual([1]);
    expect(end).toMatchObject({ type: 'thread.run.failed', data: { message: 'The run reached its limit of 3 s of work.' } });
    expect(requests).toHaveLength(1);
    expect(messages.at(-1)).toMatchObject({ role: 'tool', content: 'worked 1' });
  });

  test('[A87] a context limit ends the run if the last call measured more than it allows', async () => {
    const { end, requests } = await ended([priced(doing(1)), say('done')], { limits: { contextTokens: 110 } });
    expect(requests).toHaveLength(1);
    expect(end).toMatchObject(incomplete('contextTokens', 110));
    expect((await ended([priced(doing(1)), say('done')], { limits: { contextTokens: 130 } })).end).toMatchObject({
      type: 'thread.run.completed',
    });
  });
});

test('0 means zero: no call is made, for any kind of limit, and the input is in the transcript', async () => {
  const names = ['turns', 'tokens', 'costUsd', 'wallClockMs', 'contextTokens'] as const;
  const runs = await Promise.all(
    names.flatMap((name) => [ended([say('done')], { limits: { [name]: 0 } }), ended([say('done')], { threadLimits: { [name]: 0 } })]),
  );
  runs.forEach(({ end, requests, messages, told }, i) => {
    expect(end).toMatchObject(incomplete(names[Math.floor(i / 2)] as LimitName, 0, { output: '' }));
    expect(requests).toEqual([]);
    expect(roles(messages)).toEqual(['user']);
    expect(typesOf(told)).toEqual(['agent.run.created', 'thread.message.created', 'thread.run.incomplete']);
  });
});

test('[A88][B6] a run without limits has 100 turns, and both status and usage say how many are left', async () => {
  const { thread } = await ended([doing(1), say('done')]);
  expect((await thread.status()).remaining).toEqual({ run: { turns: 98 }, thread: {} });
  expect((await thread.usage()).remaining).toEqual({ run: { turns: 98 }, thread: {} });
  const set = await ended([priced(doing(1)), priced(say('done'))], {
    limits: { turns: 10, toolCalls: 5, toolRounds: 1, tokens: 1_000 },
    threadLimits: { tokens: 2_000, costUsd: 1 },
  });
  const { remaining } = await set.thread.usage();
  expect(remaining).toEqual({
    run: { turns: 8, toolRounds: 0, toolCalls: 4, tokens: 760 },
    thread: { tokens: 1_760, costUsd: expect.closeTo(0.76) },
  });
  expect((await set.thread.status()).remaining).toEqual(remaining);
});

test('limits of a thread count all its runs, and a run after the limit ends without a call and without text of another run', async () => {
  const { thread, input } = await begun([doing(1), say('one'), { ...doing(2), text: 'Let me see.' }], {
    mode: 'conversation',
    threadLimits: { turns: 3, toolCalls: 9 },
  });
  const idleAfter = (runs: number) =>
    until(
      async () => ({ ...(await thread.status()), ...(await thread.usage()) }),
      (both) => both.status === 'idle' && both.runs === runs,
    );
  expect((await idleAfter(1)).remaining).toEqual({ run: { turns: 98 }, thread: { turns: 1, toolCalls: 8 } });
  await thread.send('Again.');
  expect((await idleAfter(2)).remaining.thread).toEqual({ turns: 0, toolCalls: 7 });
  await thread.send('And again.');
  await idleAfter(3);
  await thread.close();
  await thread.result();
  const told: Awaited<ReturnType<typeof story>> = [];
  for await (const event of thread.events({ live: false, from: 1 })) if (isDurable(event)) told.push(event);
  expect(requestsOf(rig, input)).toHaveLength(3);
  expect(ofType(told, 'thread.run.completed')).toHaveLength(1);
  expect(ofType(told, 'thread.run.incomplete').map(({ data }) => data)).toEqual([
    { limit: 'turns', max: 3, scope: 'thread', message: 'The thread reached its limit of 3 turns.', output: 'Let me see.' },
    { limit: 'turns', max: 3, scope: 'thread', message: 'The thread reached its limit of 3 turns.', output: '' },
  ]);
});
