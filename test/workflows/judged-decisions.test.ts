import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import type { Thread } from '../../src/client';
import { defineHooks } from '../../src/hooks';
import { callTools, type ScriptedCall, say } from '../../src/testing/model-server';
import { createToolset, defineTool } from '../../src/tools';
import { type Rig, startRig } from '../support/rig';
import { ask, reaches, refusal } from './asking';
import { ofType, scenes, story } from './scenes';

const { script, scene } = scenes();

const ran: string[] = [];
const cents = z.object({ cents: z.number() });
const pays = (name: string) => ({
  name,
  description: 'Pays.',
  input: cents,
  effect: 'once' as const,
  execute: (args: { cents: number }) => {
    ran.push(`${name} ${args.cents}`);
    return `paid ${args.cents}`;
  },
});

const refund = defineTool({
  ...pays('refund'),
  approval: ({ cents }) => (cents <= 100 ? { groups: ['clerks'] } : { groups: ['leads'], approvers: 2 }),
});
const tip = defineTool({ ...pays('tip'), approval: ({ cents }) => (cents <= 100 ? true : { groups: ['leads'] }) });
const pair = defineTool({ ...pays('pair'), approval: { groups: ['leads'], approvers: 2 } });
const outside = defineTool({ name: 'outside', description: 'Is done elsewhere.', input: cents, approval: { groups: ['leads'] } });
const free = defineTool({ ...pays('free') });

const clerk = defineAgent({ name: 'clerk', model: 'test-model', instructions: 'Do it.', tools: [refund, tip, pair, outside] });
const watched = defineAgent({
  name: 'watched',
  model: 'test-model',
  instructions: 'Do it.',
  tools: [free],
  hooks: defineHooks({
    'approve:tool': ({ call }) => {
      const { cents } = JSON.parse(call.arguments) as { cents: number };
      if (cents > 1_000) return { approved: false, reason: 'above the limit of the house' };
      return { ask: cents > 100 ? { groups: ['leads'] } : { reason: 'small' }, ...(cents === 7 && { args: { cents: 8 } }) };
    },
  }),
});

const plan = (dryRun: boolean) =>
  defineTool({
    name: 'apply',
    description: 'Applies a plan.',
    input: z.object({ env: z.string(), dryRun: z.boolean().default(dryRun), at: z.number().optional() }),
    approval: 'always',
    execute: (args) => {
      ran.push(`apply ${JSON.stringify(args)}`);
      return 'applied';
    },
  });
const plans = createToolset([plan(true)]);
const planner = defineAgent({ name: 'planner', model: 'test-model', instructions: 'Do it.', tools: plans });
const stamp = defineTool({
  name: 'stamp',
  description: 'Stamps.',
  input: z.object({ at: z.number().default(() => Date.now()) }),
  approval: 'always',
  execute: () => {
    ran.push('stamp');
    return 'stamped';
  },
});
const stamper = defineAgent({ name: 'stamper', model: 'test-model', instructions: 'Do it.', tools: [stamp] });

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ script, agents: [clerk, watched, planner, stamper] });
});
beforeEach(() => {
  ran.length = 0;
});

const call = (name: string, args: object, id = 'call_1'): ScriptedCall => ({ name, args, id });

async function waiting(agent: string, calls: ScriptedCall[][], options: object = {}): Promise<Thread> {
  const thread = await rig.client.start(agent, scene([...calls.map((turn) => callTools(turn)), say('done')]), options);
  await reaches(thread, 'requires_action', calls[0]?.length);
  return thread;
}

const edit = (thread: Thread, amount: number, who: object) =>
  ask(thread, 'approve', { toolCallId: 'call_1', arguments: { cents: amount }, ...who });
const cara = { by: 'cara', groups: ['clerks'] };
const lea = { by: 'lea', groups: ['leads'] };

describe('edited arguments', () => {
  test('are approved only by the people whom the tool requires for them', async () => {
    const thread = await waiting('clerk', [[call('refund', { cents: 10 })]]);
    expect(await refusal(edit(thread, 5_000_000, cara))).toMatch(
      /with the edited arguments refund is for 2 people \(members of "leads"\) to agree to; .* the call still waits/,
    );
    expect(await refusal(edit(thread, 5_000_000, { by: 'cara', groups: ['clerks', 'leads'] }))).toMatch(/is for 2 people/);
    await edit(thread, 20, cara);
    await story(thread);
    expect(ran).toEqual(['refund 20']);
  });

  test('pass through the hooks that saw those of the model', async () => {
    const thread = await waiting('watched', [[call('free', { cents: 5 })]]);
    expect(await refusal(edit(thread, 70_000, cara))).toMatch(/a hook refuses the edited arguments: above the limit of the house/);
    expect(await refusal(edit(thread, 500, cara))).toMatch(/is for others \(members of "leads"\) to agree to/);
    await edit(thread, 500, lea);
    await story(thread);
    expect(ran).toEqual(['free 500']);
  });

  test.each([
    ['a person', 9],
    ['a hook', undefined],
  ])('run as %s edited them last', async (_, amount) => {
    const thread = await waiting('watched', [[call('free', { cents: 7 })]]);
    expect(await thread.pending()).toMatchObject([{ arguments: '{"cents":8}' }]);
    await thread.approve('call_1', { ...cara, ...(amount !== undefined && { arguments: { cents: amount } }) });
    await story(thread);
    expect(ran).toEqual([`free ${amount ?? 8}`]);
  });
});

describe('a remembered rule', () => {
  test('is neither offered nor accepted for a call that particular people must approve', async () => {
    const thread = await waiting('clerk', [[call('refund', { cents: 10 })]]);
    expect(await thread.pending()).toMatchObject([{ remember: [] }]);
    expect(await refusal(ask(thread, 'approve', { toolCallId: 'call_1', ...cara, remember: 'thread' }))).toMatch(
      /one of those that certain people agree to each time/,
    );
    await thread.cancel();
  });

  test('does not replace the people whom another call of the tool requires', async () => {
    const small = [call('tip', { cents: 10 })];
    const thread = await waiting('clerk', [small, [call('tip', { cents: 20 }, 'call_2')], [call('tip', { cents: 9_000 }, 'call_3')]]);
    await thread.approve('call_1', { ...cara, remember: 'thread' });
    const { pending } = await reaches(thread, 'requires_action', 1);
    expect(pending).toMatchObject([{ toolCallId: 'call_3', groups: ['leads'] }]);
    await thread.reject('call_3', lea);
    await story(thread);
    expect(ran).toEqual(['tip 10', 'tip 20']);
  });

  test('can’t be one that was offered for other arguments', async () => {
    const thread = await waiting('clerk', [[call('tip', { cents: 10 })]]);
    expect(await refusal(edit(thread, 20, { ...cara, remember: 'thread' }))).toMatch(/send either edited arguments or `remember`/);
    await thread.cancel();
  });

  test('is not offered if only a hook required approval', async () => {
    const thread = await waiting('watched', [[call('free', { cents: 5 })]]);
    expect(await thread.pending()).toMatchObject([{ remember: [] }]);
    expect(await refusal(ask(thread, 'approve', { toolCallId: 'call_1', remember: 'thread' }))).toMatch(/approve it without `remember`/);
    await thread.cancel();
  });
});

test('a call that a limit hands out needs the same people as one that runs here, for its approval and for its output', async () => {
  const calls = [call('pair', { cents: 5 }), call('outside', { cents: 6 }, 'call_2')];
  const thread = await waiting('clerk', [calls], { limits: { toolCalls: 0 }, atLimit: 'hand-out' });
  expect((await thread.pending()).map(({ kind, groups, approvers }) => [kind, groups, approvers])).toEqual([
    ['approval', ['leads'], 2],
    ['approval', ['leads'], undefined],
  ]);
  const output = (id: string, who: object) => ask(thread, 'submitToolOutputs', { outputs: [{ toolCallId: id, output: 'done' }], ...who });
  expect(await refusal(output('call_1', cara))).toMatch(/waits for an approval, not for an answer or an output/);
  await thread.approve('call_2', lea);
  await thread.approve('call_1', lea);
  await thread.approve('call_1', { by: 'lou', groups: ['leads'] });
  expect((await thread.pending()).map(({ kind }) => kind)).toEqual(['output', 'output']);
  expect(await refusal(output('call_1', cara))).toMatch(/is for members of "leads" to answer/);
  await output('call_1', lea);
  await output('call_2', cara);
  await story(thread);
  expect(ran).toEqual([]);
});

describe('a call runs as shown', () => {
  test('also outside: it is handed out with the arguments that were approved, without what its schema does not have', async () => {
    const calls = [call('outside', { cents: 6, to: 'mallory' }), call('tip', { cents: 900, to: 'mallory' }, 'call_2')];
    const thread = await waiting('clerk', [calls], { limits: { toolCalls: 0 }, atLimit: 'hand-out' });
    const shown = (await thread.pending()).map((waits) => waits.arguments);
    expect(shown).toEqual(['{"cents":6}', '{"cents":900}']);
    for (const { toolCallId } of await thread.pending()) await thread.approve(toolCallId, lea);
    expect((await thread.pending()).map((waits) => [waits.kind, waits.arguments])).toEqual(shown.map((args) => ['output', args]));
    await thread.cancel();
  });

  test('or not at all, if the tool changed meanwhile; called again it is shown again', async () => {
    const apply = (id: string) => call('apply', { env: 'prod' }, id);
    const thread = await waiting('planner', [[apply('call_1')], [apply('call_2')]]);
    expect(await thread.pending()).toMatchObject([{ arguments: '{"env":"prod","dryRun":true}' }]);
    plans.set([plan(false)]);
    await thread.approve('call_1', { by: 'dana' });
    const { pending } = await reaches(thread, 'requires_action', 1);
    expect(pending).toMatchObject([{ toolCallId: 'call_2', arguments: '{"env":"prod","dryRun":false}' }]);
    await thread.approve('call_2', { by: 'dana' });
    const done = ofType(await story(thread), 'agent.tool.execution.completed').map(({ data }) => [data.toolCallId, data.status]);
    expect(done).toEqual([
      ['call_1', 'denied'],
      ['call_2', 'success'],
    ]);
    expect(ran).toEqual(['apply {"env":"prod","dryRun":false}']);
  });

  test('with a default that differs each time, for which the text of the model is shown', async () => {
    const thread = await waiting('stamper', [[call('stamp', {})]]);
    expect(await thread.pending()).toMatchObject([{ arguments: '{}' }]);
    await thread.approve('call_1');
    await story(thread);
    expect(ran).toEqual(['stamp']);
  });
});
