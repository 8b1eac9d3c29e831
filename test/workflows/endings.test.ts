import { z } from 'zod';
import { type Agent, defineAgent } from '../../src/agents';
import type { ThreadInput } from '../../src/contract/thread';
import { isTerminal } from '../../src/core/event';
import { defineHooks } from '../../src/hooks';
import { callTools, empty, fail, finish, type Reply, refuse, say, slowly, unfinished } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { type Rig, startRig, until } from '../support/rig';
import { ofType, requestsOf, roles, scenes, story, textOf, thrownBy } from './scenes';

const { script, scene } = scenes();
const add = defineTool({
  name: 'add',
  description: 'Adds.',
  input: z.object({ a: z.number(), b: z.number() }),
  effect: 'pure',
  execute: ({ a, b }) => a + b,
});
const base = { model: 'test-model', instructions: 'Do it.', tools: [add], retry: { baseMs: 10, maxAttempts: 3 } };
const plain = defineAgent({ ...base, name: 'plain' });
const verifies = defineAgent({ ...base, name: 'verifies', stop: 'verify' });
const thorough = defineAgent({ ...base, name: 'thorough', stop: { kind: 'verify', rounds: 2, max: 2, prompt: 'Sure?' } });
const hasty = defineAgent({ ...base, name: 'hasty', stop: 'verify', limits: { turns: 1 } });
const pay = defineTool({ name: 'pay', description: 'Pays.', input: z.object({}), approval: 'always', execute: () => 'paid' });
const dutiful = defineAgent({ ...base, name: 'dutiful', stop: 'done-tool', tools: [add, pay] });
const patient = defineAgent({ ...base, name: 'patient', emptyRetries: 1 });
const unfinishedWork = defineHooks({ 'check:completion': ({ output }) => ({ prompt: `"${output}" is not all: the tests fail.` }) });
const checked = defineAgent({ ...base, name: 'checked', hooks: unfinishedWork });

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ script, agents: [plain, verifies, thorough, hasty, dutiful, patient, checked], bus: true });
});

const sum = (id: string): Reply => callTools([{ name: 'add', args: { a: 1, b: 2 }, id }]);

/** A run with these replies, by turn, to its end. */
async function ended(replies: Reply[] | (() => Reply), agent: Agent = plain, mode: ThreadInput['mode'] = 'one-shot') {
  const input = scene(replies);
  const thread = await rig.client.start(agent, input, { mode });
  const told = await story(thread);
  const requests = requestsOf(rig, input);
  const asked = requests.map(({ body }) => textOf(body.messages.at(-1)));
  return { thread, input, told, end: told.at(-1), requests, asked, messages: await thread.messages() };
}

/** The same in a thread that ends with its run, and in one that goes on. */
function inBothModes(replies: Reply[], agent?: Agent) {
  return Promise.all([ended(replies, agent), ended(replies, agent, 'conversation')]);
}

test('[A74][A75][A83] an answer that was cut or filtered fails the run with one code in both modes, and the partial answer is kept', async () => {
  for (const reason of ['length', 'content_filter']) {
    for (const { end, told, messages } of await inBothModes([finish(reason, 'Half a sen')])) {
      expect(end).toMatchObject({ type: 'thread.run.failed', data: { code: 'llm_finish_reason_error' } });
      expect(told.filter(isTerminal)).toHaveLength(1);
      expect(messages).toMatchObject([{ role: 'user' }, { role: 'assistant', content: [{ type: 'text', text: 'Half a sen' }] }]);
    }
  }
});

test('[A76] no finish reason counts as stop if the stream says that it is complete; otherwise the stream is truncated', async () => {
  for (const { end } of await inBothModes([finish(null, 'Fine.')])) {
    expect(end).toMatchObject({ type: 'thread.run.completed', data: { output: 'Fine.' } });
  }
  for (const { end, requests, messages } of await inBothModes([unfinished('Half a sen')])) {
    expect(end).toMatchObject({ type: 'thread.run.failed', data: { code: 'truncated-stream' } });
    expect(requests).toHaveLength(3);
    expect(roles(messages)).toEqual(['user']);
  }
});

test('[A77] a finish reason of tool calls without any call fails the run', async () => {
  for (const { end } of await inBothModes([finish('tool_calls', 'I shall call.')])) {
    expect(end).toMatchObject({
      type: 'thread.run.failed',
      data: { code: 'llm_finish_reason_error', message: expect.stringMatching(/sent none/) },
    });
  }
});

test('[B16][B17][B18] a text answer, including a refusal, completes the run with the text, trimmed, in both modes', async () => {
  const said: [Reply, string][] = [
    [say('  It is 3.\n'), 'It is 3.'],
    [refuse('I would rather not.'), 'I would rather not.'],
  ];
  for (const [reply, output] of said) {
    for (const { end } of await inBothModes([sum('call_1'), reply])) {
      expect(end).toMatchObject({ type: 'thread.run.completed', data: { output, turns: 2 } });
    }
  }
});

test('[A84] an empty answer ends the run as completed, or is requested again as often as the agent sets, after a wait', async () => {
  const [{ end, requests }, again, twice] = await Promise.all([
    ended([say(' ')]),
    ended([say(' '), say('Now.')], patient),
    ended([say(' '), say(' ')], patient),
  ]);
  expect(end).toMatchObject({ type: 'thread.run.completed', data: { output: '' } });
  expect(requests).toHaveLength(1);
  expect(again.end).toMatchObject({ type: 'thread.run.completed', data: { output: 'Now.' } });
  expect(again.asked[1]).toMatch(/was empty/);
  expect((again.requests[1]?.at ?? 0) - (again.requests[0]?.at ?? 0)).toBeGreaterThanOrEqual(900);
  expect(twice.end).toMatchObject({ type: 'thread.run.completed', data: { output: '' } });
});

test('[A84] an empty stream is an answer if the agent accepts empty answers', async () => {
  // An empty answer is not in the messages, from which the script computes the turn.
  const inOrder =
    (...replies: Reply[]) =>
    () =>
      replies.shift() ?? say('Asked too often.');
  const [again, twice] = await Promise.all([ended(inOrder(empty(), say('Now.')), patient), ended(inOrder(empty(), empty()), patient)]);
  expect(again.end).toMatchObject({ type: 'thread.run.completed', data: { output: 'Now.' } });
  expect(again.asked[1]).toMatch(/was empty/);
  expect(twice.end).toMatchObject({ type: 'thread.run.completed', data: { output: '' } });
  expect(twice.requests).toHaveLength(2);
});

test('[A84][B75] an empty stream is retried by the retry policy, and then fails the run', async () => {
  const { end, requests } = await ended([empty()]);
  expect(end).toMatchObject({ type: 'thread.run.failed', data: { code: 'empty' } });
  expect(requests).toHaveLength(3);
});

describe('verification', () => {
  test('[B2][B3] the first answer is sent back with the task word for word, and the second in a row ends the run', async () => {
    const { input, end, asked, messages } = await ended([say('Done.'), say('Verified.')], verifies);
    expect(asked).toHaveLength(2);
    expect(asked[1]).toContain(input);
    expect(end).toMatchObject({ type: 'thread.run.completed', data: { output: 'Verified.', turns: 2 } });
    expect(roles(messages)).toEqual(['user', 'assistant', 'user', 'assistant']);
    expect(messages[2]).toMatchObject({ origin: 'engine' });
  });

  test('[B4] a tool call in between restarts the verification', async () => {
    const { asked, end } = await ended([say('Done.'), sum('call_1'), say('Now.'), say('Verified.')], verifies);
    expect(asked.filter((words) => words.includes('verify it'))).toHaveLength(2);
    expect(end).toMatchObject({ type: 'thread.run.completed', data: { output: 'Verified.', turns: 4 } });
  });

  test('[B5] the agent sets the number of consecutive rounds, and the total is never above its maximum', async () => {
    const row = await ended([say('1'), say('2'), say('3')], thorough);
    expect(row.asked.slice(1)).toEqual(['Sure?', 'Sure?']);
    expect(row.end).toMatchObject({ type: 'thread.run.completed', data: { output: '3' } });
    const inAll = await ended([say('1'), sum('call_1'), say('2'), sum('call_2'), say('3')], thorough);
    expect(inAll.asked.filter((words) => words === 'Sure?')).toHaveLength(2);
    expect(inAll.end).toMatchObject({ type: 'thread.run.completed', data: { output: '3', turns: 5 } });
  });

  test('[B15] without it the first answer ends the run', async () => {
    expect((await ended([say('Done.')])).requests).toHaveLength(1);
  });

  test('[B7] a limit in the middle of it ends the run as incomplete, not as verified, and starts no further run', async () => {
    const [, { thread, end }] = await inBothModes([say('Done.')], hasty);
    expect(end).toMatchObject({ type: 'thread.run.incomplete', data: { limit: 'turns', max: 1, output: 'Done.' } });
    expect(await thread.status()).toMatchObject({ status: 'idle', queued: 0 });
    expect(await thread.usage()).toMatchObject({ runs: 1 });
    await thread.close();
  });
});

describe('the tool done', () => {
  const done = (args: object, id = 'call_done') => ({ name: 'done', args, id });

  test('[B21][B22] an answer without it gets a reminder, so that no two answers follow each other, and only the tool ends the run', async () => {
    const { end, messages, asked, requests } = await ended(
      [say('I am done.'), say('Really.'), callTools([done({ message: 'All 3.' })])],
      dutiful,
    );
    expect(roles(messages)).toEqual(['user', 'assistant', 'user', 'assistant', 'user', 'assistant', 'tool']);
    expect(asked[1]).toMatch(/call the tool `done`/);
    expect(requests[0]?.body.tools?.map((tool) => tool.function.name)).toEqual(['add', 'pay', 'done']);
    expect(end).toMatchObject({ type: 'thread.run.completed', data: { output: 'All 3.', turns: 3 } });
  });

  test('[B21] is not needed if the limit of turns ends the run, or a refusal that stops', async () => {
    const begin = (replies: Reply[], options: object) => rig.client.start(dutiful, scene(replies), options);
    const limited = await story(await begin([say('I am done.'), say('Really.')], { limits: { turns: 2 } }));
    expect(limited.at(-1)).toMatchObject({ type: 'thread.run.incomplete', data: { limit: 'turns', max: 2 } });
    const asking = await begin([callTools([{ name: 'pay', args: {}, id: 'call_p' }]), say('never')], {});
    await until(
      () => asking.pending(),
      ({ length }) => length === 1,
    );
    await rig.client.temporal.workflow
      .getHandle(asking.id)
      .executeUpdate('approve', { args: [{ toolCallId: 'call_p', approved: false, stop: true, by: 'dana' }] });
    expect((await story(asking)).at(-1)).toMatchObject({ type: 'thread.run.cancelled', data: { stopped: true } });
  });

  test('[B23] its message is the output, or else the text of its answer; and its result stays in the transcript', async () => {
    const told = await ended([callTools([done({ message: 'It is 3.' })], 'Here.')], dutiful);
    expect(told.end).toMatchObject({ data: { output: 'It is 3.' } });
    expect(told.messages.at(-1)).toMatchObject({ role: 'tool', name: 'done', content: 'Task complete', isError: false });
    expect(await told.thread.result()).toMatchObject({ output: 'It is 3.' });
    expect((await ended([callTools([done({})], 'It is 4.')], dutiful)).end).toMatchObject({ data: { output: 'It is 4.' } });
  });

  test('[B24] in the middle of a batch it leaves no call without a result: those before it run, those after it are skipped', async () => {
    const call = (id: string) => ({ name: 'add', args: { a: 1, b: 1 }, id });
    const [, { thread, told, messages }] = await inBothModes(
      [
        callTools([call('call_1'), done({ message: 'Two.' }), call('call_2')]),
        say('Hello again.'),
        callTools([done({}, 'call_d2')], 'Bye.'),
      ],
      dutiful,
    );
    expect(ofType(told, 'agent.tool.execution.completed').map(({ data }) => [data.toolCallId, data.status])).toEqual(
      expect.arrayContaining([
        ['call_1', 'success'],
        ['call_done', 'success'],
        ['call_2', 'skipped'],
      ]),
    );
    expect(messages.slice(2).map((m) => m.role === 'tool' && m.toolCallId)).toEqual(['call_1', 'call_done', 'call_2']);
    expect(told.at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'Two.' } });

    // The next run's output is its own.
    await thread.send('And now?');
    const status = await until(
      () => thread.status(),
      ({ status, queued, turn }) => status === 'idle' && queued === 0 && turn === 2,
    );
    expect(status.runId).not.toBe(told[0]?.runId);
    await thread.close();
    expect(await thread.result()).toMatchObject({ thread: { runs: 2 }, output: 'Bye.' });
  });
});

test('[B39] a hook that finds the work incomplete is followed once: its prompt goes to the model, and the next answer ends the run', async () => {
  const { asked, end, messages, told } = await ended([say('Done.'), say('Mended.')], checked);
  expect(asked).toEqual([expect.any(String), '"Done." is not all: the tests fail.']);
  expect(end).toMatchObject({ type: 'thread.run.completed', data: { output: 'Mended.', turns: 2 } });
  expect(messages[2]).toMatchObject({ role: 'user', origin: 'hook' });
  expect(ofType(told, 'agent.hook.completed').map(({ data }) => data.hook)).toEqual(['check:completion']);
});

describe('an answer that is not whole', () => {
  test('[A90] is closed as failed if the model call fails, and leaves nothing in the transcript', async () => {
    const { told, messages, thread } = await ended([sum('call_1'), fail(401)]);
    const shells = ofType(told, 'thread.message.created').filter(({ data }) => data.inProgress);
    expect(ofType(told, 'thread.message.incomplete').map(({ data }) => data)).toEqual([
      { stepId: `${told[0]?.runId}-turn-2`, messageId: shells[1]?.data.message.id, reason: 'failed' },
    ]);
    expect(roles(messages)).toEqual(['user', 'assistant', 'tool']);
    expect(await thrownBy(thread.result())).toMatchObject({ code: 'run-failed', runCode: 'auth' });
  });

  test('[A97] is closed as cancelled if the run is cancelled, and is neither completed nor in the transcript', async () => {
    const input = scene([slowly(say('A very long story about a fox.'), { chunkMs: 50, chunkSize: 1 })]);
    const thread = await rig.client.start(plain, input);
    await until(
      () => requestsOf(rig, input).length,
      (n) => n === 1,
    );
    await thread.cancel({ reason: 'enough' });
    const told = await story(thread);
    const [shell] = ofType(told, 'thread.message.created').filter(({ data }) => data.inProgress);
    expect(ofType(told, 'thread.message.incomplete')[0]?.data).toMatchObject({
      stepId: `${told[0]?.runId}-turn-1`,
      messageId: shell?.data.message.id,
      reason: 'cancelled',
    });
    expect(ofType(told, 'thread.message.completed')).toEqual([]);
    expect(ofType(told, 'agent.run.status.changed').at(-1)?.data).toMatchObject({ status: 'cancelling' });
    expect(told.at(-1)).toMatchObject({ type: 'thread.run.cancelled', data: { reason: 'enough' } });
    expect(roles(await thread.messages())).toEqual(['user']);
  });
});
