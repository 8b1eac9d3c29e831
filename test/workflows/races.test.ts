import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import type { Thread } from '../../src/client';
import { defineHooks, type HookDefinitions } from '../../src/hooks';
import { callTools, type Reply, type ScriptedCall, say } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { type Rig, startRig, until } from '../support/rig';
import { ask, executionsOf, handleOf, happened, logOf, reaches, standsStill } from './asking';
import { gate, ofType, requestsOf, scenes, story, textOf, typesOf } from './scenes';

// What people do while the thread waits for something of its own: a hook, a check, a tool, a new execution.
const { script, scene } = scenes();
const ran: { threadId: string; name: string; n: number }[] = [];
const input = z.object({ n: z.number() });
/** A point where a thread's own code waits until the test lets it continue. */
const places = new Map<string, { opened: Promise<void>; open(): void; entered: number }>();
async function standAt(threadId: string, place: string): Promise<void> {
  const here = places.get(`${threadId} ${place}`);
  if (!here) return;
  here.entered += 1;
  await here.opened;
}
const doing =
  (name: string) =>
  async ({ n }: { n: number }, ctx: { threadId: string }) => {
    ran.push({ threadId: ctx.threadId, name, n });
    await standAt(ctx.threadId, name);
    return `${name} ${n}`;
  };
const tools = [
  defineTool({ name: 'look', description: 'Looks.', input, effect: 'pure', execute: doing('look') }),
  defineTool({ name: 'write', description: 'Writes.', input, effect: 'keyed', execute: doing('write') }),
  defineTool({ name: 'asked', description: 'Asks first.', input, effect: 'pure', approval: 'always', execute: doing('asked') }),
  defineTool({ name: 'lengthy', description: 'Says much.', input: z.object({}), effect: 'pure', execute: () => 'x'.repeat(5_000) }),
  defineTool({ name: 'outside', description: 'Is answered outside.', input }),
];
const common = { model: 'test-model', instructions: 'Do.', tools };
const hooked = (name: string, hooks: HookDefinitions) => defineAgent({ ...common, name, hooks: defineHooks(hooks) });
const agents = [
  defineAgent({ ...common, name: 'plain' }),
  // Its tools come from somewhere slow, now and then.
  defineAgent({
    ...common,
    name: 'slow-tools',
    tools: async ({ threadId }: { threadId: string }) => {
      await standAt(threadId, 'tools');
      return tools;
    },
  }),
  defineAgent({
    ...common,
    name: 'finisher',
    stop: 'done-tool',
    hooks: defineHooks({ 'check:completion': ({ output }) => (output === 'first' ? { prompt: 'Look again.' } : undefined) }),
  }),
  hooked('asks-slowly', {
    'approve:tool': async ({ call }, ctx) => {
      if (call.id === 'call_2') await standAt(ctx.threadId, 'approve:tool');
      return undefined;
    },
  }),
  hooked('begins-slowly', {
    'before:tool': async ({ call }, ctx) => {
      if (call.id === 'call_2') await standAt(ctx.threadId, 'before:tool');
      return call.arguments.includes('13') ? { block: 'thirteen' } : undefined;
    },
    'before:llm': async (_, ctx) => void (await standAt(ctx.threadId, 'before:llm')),
  }),
  hooked('told-slowly', {
    'on:event': async (_, ctx) => {
      if ((await ctx.events()).at(-1)?.type.startsWith('thread.run.comp')) await standAt(ctx.threadId, 'on:event');
    },
  }),
  hooked('guarded', { 'after:llm': ({ toolCalls }) => (toolCalls.length > 0 ? { block: 'no calls' } : undefined) }),
];

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ script, agents, bus: true, worker: { continueAsNewAfter: { events: 60, bytes: 1_000_000 } } });
});

const calls = (...wanted: [string, number][]): Reply =>
  callTools(wanted.map(([name, n], i): ScriptedCall => ({ name, args: { n }, id: `call_${i + 1}` })));

async function begin(agent: string, replies: Reply[], { standing = [], ...options }: { standing?: string[]; mode?: 'conversation' } = {}) {
  const id = `race-${Math.random().toString(36).slice(2)}`;
  const made = standing.map((place) => {
    const held = { ...gate(), entered: 0 };
    places.set(`${id} ${place}`, held);
    return [place, held] as const;
  });
  const at = new Map(made);
  const said = scene(async ({ turn, messages }) => {
    // A summarized transcript does not tell the turn.
    if (messages.some((message) => textOf(message).includes('<summary>'))) return replies.at(-1) as Reply;
    if (turn === 0) await standAt(id, 'model');
    return replies[Math.min(turn, replies.length - 1)] as Reply;
  });
  const thread = await rig.client.start(agent, said, { id, ...options });
  return {
    thread,
    requests: () => requestsOf(rig, said),
    ran: () => ran.filter(({ threadId }) => threadId === id).map(({ name, n }) => `${name} ${n}`),
    open: (place: string) => at.get(place)?.open(),
    reached: (place: string) =>
      until(
        () => at.get(place)?.entered ?? 0,
        (n) => n > 0,
      ),
    /** From now on, or for the first time. */
    stand: (place: string) => {
      const held = { ...gate(), entered: 0 };
      places.set(`${id} ${place}`, held);
      at.set(place, held);
    },
  };
}

/** Many requests that can't be followed, so that the history is long enough for a new execution. */
async function pester(thread: Thread): Promise<void> {
  // By the status: a log with large outputs in it takes long to read again and again.
  const recorded = async () => (await thread.status()).seq;
  const before = await recorded();
  await Promise.all(Array.from({ length: 60 }, () => handleOf(thread).signal('approve', { toolCallId: 'no such call' })));
  await until(recorded, (seq) => seq > before);
}

/** A conversation has had so many runs, and waits for the next message. */
const atRest = (thread: Thread, runs: number) =>
  until(
    async () => ({ ...(await thread.usage()), ...(await thread.status()) }),
    (both) => both.status === 'idle' && both.runs === runs,
  );

const moved = (thread: Thread) =>
  until(
    () => executionsOf(thread),
    (executions) => executions.length > 1,
  );

test('a run that continues after `done` ends with its next `done`, not with the calls before it', async () => {
  const done = (message: string): Reply => callTools([{ name: 'done', args: { message } }]);
  const { thread, requests } = await begin('finisher', [done('first'), calls(['look', 1]), done('second')]);
  const told = await story(thread);
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'second' } });
  expect(requests()).toHaveLength(3);
});

describe('a refusal that ends the run', () => {
  test('while a hook still processes another call: approval of that one is no longer requested', async () => {
    const { thread, reached, open } = await begin('asks-slowly', [calls(['asked', 1], ['asked', 2]), say('done')], {
      standing: ['approve:tool'],
    });
    await reached('approve:tool');
    await ask(thread, 'approve', { toolCallId: 'call_1', approved: false, stop: true, by: 'dana' });
    open('approve:tool');
    const told = await story(thread);
    expect(told.at(-1)).toMatchObject({ type: 'thread.run.cancelled', data: { stopped: true, by: 'dana' } });
    expect(ofType(told, 'agent.approval.requested')).toHaveLength(1);
  });

  test('while a hook still processes another call that is about to begin: it does not begin, and has one outcome', async () => {
    const { thread, reached, open, ran } = await begin('begins-slowly', [calls(['asked', 1], ['look', 2]), say('done')], {
      standing: ['before:tool'],
    });
    await reached('before:tool');
    await ask(thread, 'approve', { toolCallId: 'call_1', approved: false, stop: true, by: 'dana' });
    open('before:tool');
    const told = await story(thread);
    expect(told.at(-1)).toMatchObject({ type: 'thread.run.cancelled', data: { stopped: true } });
    expect(ran()).toEqual([]);
    expect(ofType(told, 'agent.tool.execution.completed').map(({ data }) => [data.toolCallId, data.status])).toEqual([
      ['call_1', 'denied'],
      ['call_2', 'skipped'],
    ]);
  });
});

describe('a thread that is about to continue as new', () => {
  test('waits for a decision that is being checked, and its call runs once', async () => {
    const { thread, stand, reached, open, ran } = await begin('slow-tools', [calls(['asked', 1]), say('done')]);
    await reaches(thread, 'requires_action', 1);
    stand('tools');
    const deciding = ask(thread, 'approve', { toolCallId: 'call_1', arguments: { n: 7 } });
    await reached('tools');
    await pester(thread);
    open('tools');
    expect(await deciding).toMatchObject({ accepted: true });
    expect((await story(thread)).at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'done' } });
    expect(ran()).toEqual(['asked 7']);
  });

  test('is cancelled, although a decision was being checked', async () => {
    const { thread, stand, reached, open, ran } = await begin('slow-tools', [calls(['asked', 1]), say('done')]);
    await reaches(thread, 'requires_action', 1);
    stand('tools');
    const deciding = ask(thread, 'approve', { toolCallId: 'call_1', arguments: { n: 7 } }).catch((error) => error);
    await reached('tools');
    await pester(thread);
    await thread.cancel({ reason: 'enough' });
    open('tools');
    await deciding;
    expect((await story(thread)).at(-1)).toMatchObject({ type: 'thread.run.cancelled', data: { reason: 'enough' } });
    expect(ran()).toEqual([]);
  });

  test('does not while a tool runs that a resume started, although others still wait for a person', async () => {
    const { thread, reached, open, ran } = await begin('plain', [calls(['asked', 1], ['write', 2]), say('done')], {
      standing: ['model', 'write'],
    });
    await reached('model');
    await thread.pause();
    open('model');
    await reaches(thread, 'requires_action', 1);
    await thread.resume();
    await reached('write');
    expect(await thread.status()).toMatchObject({ status: 'in_progress' });
    await pester(thread);
    open('write');
    await reaches(thread, 'requires_action', 1);
    await moved(thread);
    await ask(thread, 'approve', { toolCallId: 'call_1' });
    const told = await story(thread);
    expect(told.at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'done' } });
    expect(ran()).toEqual(['write 2', 'asked 1']);
  });

  test('carries over the request to compact the transcript', async () => {
    const { thread } = await begin('plain', [calls(['outside', 1], ['asked', 2]), say('done')]);
    await reaches(thread, 'requires_action', 2);
    await ask(thread, 'submitToolOutputs', { outputs: [{ toolCallId: 'call_1', output: 'x'.repeat(20_000) }] });
    await ask(thread, 'compact');
    await pester(thread);
    await moved(thread);
    await ask(thread, 'approve', { toolCallId: 'call_2' });
    const told = await story(thread);
    expect(ofType(told, 'thread.context.compacted')).toMatchObject([{ data: { reason: 'requested' } }]);
  });

  test('stays in its execution while outputs that others wait behind are too large to carry over', async () => {
    const { thread, ran } = await begin('plain', [calls(['outside', 1], ['outside', 2], ['asked', 3]), say('done')]);
    await reaches(thread, 'requires_action', 3);
    for (const toolCallId of ['call_1', 'call_2']) {
      await ask(thread, 'submitToolOutputs', { outputs: [{ toolCallId, output: 'x'.repeat(1_200_000) }] });
    }
    await pester(thread);
    const { events } = await handleOf(thread).fetchHistory();
    expect(events?.filter(({ workflowTaskFailedEventAttributes: failed }) => failed)).toEqual([]);
    await ask(thread, 'approve', { toolCallId: 'call_3' });
    expect(await thread.result()).toMatchObject({ output: 'done' });
    expect(ran()).toEqual(['asked 3']);
  });
});

test('a hook that blocks a tool that a resume started ends the run, although others still wait for a person', async () => {
  const { thread, reached, open } = await begin('begins-slowly', [calls(['asked', 1], ['write', 13]), say('done')], {
    standing: ['model'],
  });
  await reached('model');
  await thread.pause();
  open('model');
  await reaches(thread, 'requires_action', 1);
  await thread.resume();
  const told = await story(thread);
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.failed', data: { code: 'blocked_by_hook', message: 'thirteen' } });
});

test.each([
  ['tool', 'before:tool', [calls(['look', 1], ['write', 2]), say('done')], 1],
  ['model call', 'before:llm', [say('done')], 0],
] as const)('a pause while a hook looks at what is about to begin holds it: %s', async (_, place, replies, requestsBefore) => {
  const { thread, reached, open, ran, requests } = await begin('begins-slowly', [...replies], { standing: [place] });
  if (place === 'before:tool') {
    await until(ran, (names) => names.length === 1);
  }
  await reached(place);
  await thread.pause();
  open(place);
  await happened(thread, 'agent.hook.completed', place === 'before:tool' ? 3 : 1);
  await standsStill(thread);
  expect(requests()).toHaveLength(requestsBefore);
  expect(ran()).not.toContain('write 2');
  await thread.resume();
  expect((await story(thread)).at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'done' } });
});

test('a cancel that is accepted between two runs takes effect on the next', async () => {
  const { thread, reached, open, requests } = await begin('told-slowly', [say('one'), say('two')], {
    mode: 'conversation',
    standing: ['on:event'],
  });
  await reached('on:event');
  await thread.send('Go on');
  await thread.cancel({ reason: 'never mind' });
  open('on:event');
  const ended = await until(
    () => logOf(thread),
    (log) => ofType(log, 'agent.run.created').length === 2 && log.some((event) => event.type === 'thread.run.cancelled'),
  );
  expect(typesOf(ended).filter((type) => type.startsWith('thread.run.c'))).toEqual(['thread.run.completed', 'thread.run.cancelled']);
  expect(requests()).toHaveLength(1);
});

test('a compaction that is requested during the last model call of a run is done in a run of its own', async () => {
  const held = gate();
  const said = scene(async ({ turn }) => {
    if (turn === 0) return callTools([{ name: 'lengthy', args: {} }]);
    await held.opened;
    return say('done');
  });
  const thread = await rig.client.start('plain', said, { mode: 'conversation' });
  await until(
    () => requestsOf(rig, said).length,
    (n) => n === 2,
  );
  await ask(thread, 'compact');
  held.open();
  await atRest(thread, 2);
  await thread.close();
  const ended = await story(thread);
  expect(ofType(ended, 'thread.context.compacted')).toMatchObject([{ data: { reason: 'requested' } }]);
  expect(ofType(ended, 'thread.run.completed').map(({ data }) => data.output)).toEqual(['done', 'Compaction run completed.']);
});

test('a thread that is closed with a cancel before its run began is cancelled, and calls no model', async () => {
  const lonely = await startRig({ script, agents, workers: 0 });
  const said = scene([say('done')]);
  const thread = await lonely.client.start('plain', said);
  await handleOf(thread).signal('close', { cancel: true, reason: 'too late' });
  await lonely.addWorker();
  expect((await story(thread)).at(-1)).toMatchObject({ type: 'thread.run.cancelled', data: { reason: 'too late' } });
  expect(requestsOf(lonely, said)).toEqual([]);
});

test('calls of an answer that a hook blocked are not reported, because they will never have an outcome', async () => {
  const { thread } = await begin('guarded', [calls(['look', 1])]);
  const told = await story(thread);
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.failed', data: { code: 'blocked_by_hook' } });
  expect(typesOf(told).filter((type) => type.includes('tool_call'))).toEqual([]);
  // Its cost counts nevertheless.
  const usage = await handleOf(thread).query<{ run: { inputTokens: number }; metrics: { models: object } }>('usage');
  expect(usage.run.inputTokens).toBeGreaterThan(0);
  expect(usage.metrics.models).toMatchObject({ 'test-model': { calls: 1 } });
});

test('a context that reached its limit is below it again after a compaction', async () => {
  const said = scene(({ turn }) => (turn === 0 ? calls(['outside', 1]) : say(turn === 1 ? 'one' : 'two')));
  const thread = await rig.client.start('plain', said, { mode: 'conversation', limits: { contextTokens: 5_000 } });
  await reaches(thread, 'requires_action', 1);
  await ask(thread, 'submitToolOutputs', { outputs: [{ toolCallId: 'call_1', output: 'x '.repeat(20_000) }] });
  await reaches(thread, 'idle');
  await ask(thread, 'compact');
  await atRest(thread, 2);
  await thread.send('And now?');
  await until(
    () => requestsOf(rig, said).length,
    (n) => n === 3,
  );
});
