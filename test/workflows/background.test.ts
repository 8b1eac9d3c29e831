import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import type { Thread } from '../../src/client';
import { type Content, textOf as textIn } from '../../src/core/message';
import { defineHooks } from '../../src/hooks';
import { callTools, fail, type Reply, say } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { type Rig, startRig, until } from '../support/rig';
import { gate, ofType, requestsOf, roles, scenes, story, textOf } from './scenes';

const { script, scene } = scenes();
const held = new Map<string, ReturnType<typeof gate>>();
const stopped: string[] = [];

const report = defineTool({
  name: 'report',
  description: 'Takes its time.',
  input: z.object({ n: z.number(), ms: z.number().optional() }),
  effect: 'pure',
  background: true,
  timeoutMs: 10_000,
  async execute({ n, ms = 0 }, { threadId, signal }) {
    signal.addEventListener('abort', () => stopped.push(threadId));
    await Promise.race([
      Promise.resolve(held.get(threadId)?.opened).then(() => new Promise((resolve) => setTimeout(resolve, ms))),
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    ]);
    return `report ${n}`;
  },
});
const late = defineTool({
  name: 'late',
  description: 'Never ends.',
  input: z.object({}),
  background: true,
  timeoutMs: 200,
  execute: (_, { signal }) => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
});
const quick = defineTool({ name: 'quick', description: 'Is quick.', input: z.object({}), effect: 'pure', execute: () => 'quick' });
const agent = defineAgent({ name: 'clerk', model: 'test-model', instructions: 'Report.', tools: [report, late, quick] });
const seen: unknown[] = [];
const guarded = defineAgent({
  name: 'guarded',
  model: 'test-model',
  instructions: 'Report.',
  tools: [report],
  hooks: defineHooks({
    'after:tool': {
      failure: 'fail',
      run({ call, status, content }) {
        seen.push({ id: call.id, arguments: call.arguments, status });
        if (content === 'report 1') return { content: 'report ***' };
        if (content === 'report 2') return { block: 'not for the model' };
        return { retry: true };
      },
    },
  }),
});

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ script, agents: [agent, guarded], bus: true });
});

const reports = (...times: number[]): Reply =>
  callTools(times.map((ms, i) => ({ name: 'report', args: { n: i + 1, ms }, id: `call_${i + 1}` })));

/** A thread whose reports wait until `open` is called. */
async function withHeld(script: Reply[], mode: 'one-shot' | 'conversation' = 'one-shot') {
  const input = scene(script);
  const id = `thread_${input.replace(' ', '_')}_${process.pid}`;
  const { open, opened } = gate();
  held.set(id, { open, opened });
  return { input, open, thread: await rig.client.start(agent, input, { id, mode }) };
}
const asked = (input: string, count: number) =>
  until(
    () => requestsOf(rig, input),
    (requests) => requests.length >= count,
  );
const said = (input: string, n: number) => requestsOf(rig, input)[n]?.body.messages.map(textOf) ?? [];
const idle = (thread: Thread, runs: number) =>
  until(
    async () => ({ ...(await thread.status()), ...(await thread.usage()) }),
    (both) => both.status === 'idle' && both.runs === runs,
  );

test('[A69][A70] a tool in the background has a placeholder as its result immediately, and its result is sent later as a message', async () => {
  const { input, open, thread } = await withHeld([reports(0), say('I wait.'), say('All there.')]);
  await asked(input, 2);
  expect(said(input, 1).at(-1)).toMatch(/report goes on in the background/);
  await until(
    () => thread.messages(),
    (messages) => messages.length === 4,
  );
  expect((await thread.status()).status).toBe('in_progress');
  open();
  const told = await story(thread);
  expect(said(input, 2).slice(-2)).toEqual(['I wait.', '[Result of report, call call_1]\nreport 1']);
  expect(ofType(told, 'agent.tool.execution.completed')[0]?.data).toMatchObject({
    toolCallId: 'call_1',
    background: true,
    status: 'success',
  });
  expect(ofType(told, 'agent.tool.background.completed')[0]?.data).toMatchObject({
    toolCallId: 'call_1',
    name: 'report',
    status: 'success',
    message: { role: 'user', origin: 'tool' },
  });
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'All there.' } });
  expect(roles(await thread.messages())).toEqual(['user', 'assistant', 'tool', 'assistant', 'user', 'assistant']);
});

test('[A70] a streamed run emits the placeholder, the text in between and the result as they occur, not delayed by the tool', async () => {
  const { input, open, thread } = await withHeld([reports(0), say('I wait.'), say('All there.')]);
  const live: string[] = [];
  const following = (async () => {
    for await (const event of thread.events()) {
      if (event.type === 'thread.message.delta') live.push(event.data.contentChunk ?? '');
      if (event.type === 'agent.tool.execution.completed') live.push(`placeholder of ${event.data.toolCallId}`);
      if (event.type === 'agent.tool.background.completed') live.push(`result of ${event.data.toolCallId}`);
    }
  })();
  await asked(input, 2);
  // Seen while the tool still runs.
  await until(
    () => live.join(''),
    (words) => words.includes('placeholder of call_1') && words.includes('I wait.'),
  );
  expect(live).not.toContain('result of call_1');
  open();
  await following;
  expect(live).toContain('result of call_1');
  expect(live.join('')).toContain('All there.');
});

test('[A69] the model continues with other work meanwhile, and receives the result between two turns', async () => {
  const { input, open, thread } = await withHeld([
    reports(0),
    callTools([{ name: 'quick', args: {} }]),
    callTools([{ name: 'quick', args: {} }]),
    say('done'),
    say('really'),
  ]);
  await asked(input, 3);
  open();
  const told = await story(thread);
  expect(said(input, 2).at(-1)).toBe('quick');
  expect(
    requestsOf(rig, input)
      .map((_, n) => said(input, n).filter((words) => words.startsWith('[Result of')).length)
      .at(-1),
  ).toBe(1);
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.completed' });
});

test('[A69] results that arrive within half a second are sent together, with one model call', async () => {
  for (let tries = 1; tries <= 10; tries++) {
    const { input, open, thread } = await withHeld([
      reports(0, 100, 200),
      say('I wait.'),
      say('All three.'),
      say('The rest.'),
      say('The rest.'),
    ]);
    await asked(input, 2);
    open();
    const told = await story(thread);
    const times = ofType(told, 'agent.tool.background.completed').map(({ timestamp }) => Date.parse(timestamp));
    expect(times).toHaveLength(3);
    const apart = Math.max(...times) - Math.min(...times);
    // On a busy machine they may arrive together, or further apart; neither case proves anything.
    if (apart < 50 || apart > 400) continue;
    expect(told.at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'All three.', turns: 3 } });
    expect(said(input, 2).slice(-3).sort()).toEqual([1, 2, 3].map((n) => `[Result of report, call call_${n}]\nreport ${n}`));
    return;
  }
  throw new Error('three results never came within half a second of each other, and not at once, in ten tries');
});

test('[A69] one that exceeds its timeout is reported as timed out', async () => {
  const input = scene([callTools([{ name: 'late', args: {}, id: 'call_late' }]), say('I wait.'), say('A pity.')]);
  const thread = await rig.client.start(agent, input);
  const told = await story(thread);
  expect(said(input, 2).at(-1)).toMatch(/^\[Result of late, call call_late, timed-out\]\nError: .*timed out after 200 ms/);
  expect((await thread.usage()).metrics.tools).toMatchObject({ late: { calls: 1, timedOut: 1 } });
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'A pity.' } });
});

test('[A69] a cancel stops it, and the conversation continues only with the next message', async () => {
  const { input, thread } = await withHeld([reports(0), say('I wait.'), say('Hello again.')], 'conversation');
  await asked(input, 2);
  await until(
    () => thread.messages(),
    (messages) => messages.length === 4,
  );
  await thread.cancel();
  const told = await story(thread);
  expect(stopped).toContain(thread.id);
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.cancelled' });
  expect(ofType(told, 'agent.tool.background.completed')[0]?.data).toMatchObject({ status: 'cancelled' });
  expect(await idle(thread, 1)).toMatchObject({ queued: 0 });
  await thread.send('Hello?');
  await idle(thread, 2);
  expect(said(input, 2).slice(-2)).toEqual([expect.stringMatching(/^\[Result of report, call call_1, cancelled\]/), 'Hello?']);
  await thread.close();
});

test('[A69] a failure of its run stops it, too', async () => {
  const { thread } = await withHeld([reports(0), fail(401)]);
  const told = await story(thread);
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.failed', data: { code: 'auth' } });
  expect(ofType(told, 'agent.tool.background.completed')).toHaveLength(1);
  expect(stopped).toContain(thread.id);
});

test('hooks on `after:tool` check what ran in the background, and may change or withhold it', async () => {
  const input = scene([reports(0, 0, 0), say('I wait.'), say('All there.')]);
  const told = await story(await rig.client.start(guarded, input));
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.completed' });
  const results = ofType(told, 'agent.tool.background.completed').map(({ data }) => textIn(data.message.content as Content));
  expect(results.map((text) => text.split('\n')[1]).sort()).toEqual([
    '[report has run (success); its result is withheld.]',
    'report ***',
    'report 3',
  ]);
  expect(seen).toContainEqual({ id: 'call_1', arguments: '{"n":1,"ms":0}', status: 'success' });
  expect(ofType(told, 'agent.hook.completed').map(({ data }) => data.ignored)).toContain('retry: report runs in the background');
});
