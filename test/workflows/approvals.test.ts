import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { callDigest } from '../../src/activities/steps/call-digest';
import { defineAgent } from '../../src/agents';
import type { Thread } from '../../src/client';
import type { PermissionRule } from '../../src/core/tool';
import { defineHooks } from '../../src/hooks';
import { callTools, type ScriptedCall, say } from '../../src/testing/model-server';
import { type ApprovalPolicy, createAskHuman, createPermissions, defineTool, filePermissionStore } from '../../src/tools';
import { type Rig, startRig, until } from '../support/rig';
import { ask, happened, logOf, reaches, refusal } from './asking';
import { ofType, requestsOf, scenes, story, thrownBy, typesOf } from './scenes';

const { script, scene } = scenes();
const ran: { threadId: string; tool: string; args: unknown }[] = [];
const input = z.object({ cents: z.number().int().positive() });

function paying(name: string, approval: ApprovalPolicy<z.infer<typeof input>> | 'never' | 'always') {
  return defineTool({
    name,
    description: 'Pays.',
    input,
    approval,
    execute(args, ctx) {
      ran.push({ threadId: ctx.threadId, tool: name, args });
      return `${name} ${args.cents}`;
    },
  });
}

/** A deadline that passes without anybody's doing. */
const soon = 300;
/** One before which, or behind whose escalation, somebody still does something: seconds, so that a slow machine gets to it. */
const later = 4_000;
const tools = [
  paying('free', 'never'),
  paying('pay', 'always'),
  paying('named', { users: ['dana', 'eve'], groups: ['finance'], reason: 'money leaves the house' }),
  paying('two', { approvers: 2, groups: ['finance'] }),
  paying('late', { deadlineMs: soon }),
  paying('escalates', { users: ['dana'], deadlineMs: soon, onDeadline: [{ escalate: ['managers'] }, 'deny'] }),
  paying('escalates_later', { users: ['dana'], deadlineMs: later, onDeadline: [{ escalate: ['managers'] }, 'deny'] }),
  paying('asks_on', { deadlineMs: soon, onDeadline: 'ask-again' }),
  paying('lets', { deadlineMs: soon, onDeadline: 'approve' }),
  paying('cancels', { deadlineMs: soon, onDeadline: 'cancel' }),
  createAskHuman(),
  defineTool({ name: 'fetch', description: 'Is done outside.', input: z.object({}), ask: { deadlineMs: soon } }),
  defineTool({
    name: 'fetch_on',
    description: 'Is done outside.',
    input: z.object({}),
    ask: { deadlineMs: later, onDeadline: [{ escalate: ['managers'] }] },
  }),
  defineTool({
    name: 'look',
    description: 'Looks.',
    input: z.object({ ms: z.number() }),
    effect: 'pure',
    execute({ ms }) {
      if (ms < 0) throw new Error('blind');
      return new Promise((resolve) => setTimeout(() => resolve('seen'), ms));
    },
  }),
];
const model = { model: 'test-model', instructions: 'Pay.' };
const clerk = defineAgent({ name: 'clerk', ...model, tools });
const stern = defineAgent({ name: 'stern', ...model, tools, toolFailure: 'fail' });

const folder = mkdtempSync(join(tmpdir(), 'longhaul-rules-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const keeper = defineAgent({
  name: 'keeper',
  ...model,
  tools: [paying('pay', 'always'), paying('command', 'always')],
  permissions: createPermissions({ store: filePermissionStore(join(folder, 'rules.json')) }),
});
/** What is remembered for its agent is kept only once it is let through. */
const slowly = { kept: [] as PermissionRule[], entered: () => {}, let: Promise.resolve() };
const keptSlowly = defineAgent({
  name: 'kept-slowly',
  ...model,
  tools: [paying('pay', 'always')],
  permissions: createPermissions({
    store: {
      load: async () => [],
      async add(_, rules) {
        slowly.entered();
        await slowly.let;
        slowly.kept.push(...rules);
      },
    },
  }),
});
const strict = defineAgent({
  name: 'strict',
  ...model,
  tools: [paying('pay', 'always'), paying('free', 'never'), paying('banned', 'never'), paying('fatal', 'never')],
  permissions: createPermissions({ mode: 'full-access', deny: [{ tool: 'banned' }, { tool: 'fatal', stop: true }] }),
});
/** Runs commands, as far as rules look at it. */
const shell = defineTool({
  name: 'shell',
  description: 'Runs.',
  input: z.object({ command: z.string() }),
  approval: 'always',
  execute({ command }, ctx) {
    ran.push({ threadId: ctx.threadId, tool: 'shell', args: command });
    return 'ran';
  },
});
const operator = defineAgent({ name: 'operator', ...model, tools: [shell], permissions: createPermissions() });
const bare = defineAgent({ name: 'bare', ...model, tools: [shell] });

const judge = defineHooks({
  'approve:tool': {
    id: 'judge',
    timeoutMs: soon,
    run({ call, ask: own }) {
      const { cents } = JSON.parse(call.arguments);
      if (cents === 1) throw new Error('the ledger is away');
      if (cents === 2) return new Promise(() => {});
      if (cents === 3) return { approved: false, reason: 'not today' };
      if (cents === 4) return { approved: true, reason: 'it is little' };
      if (cents === 5) return { approved: true, args: { cents: 55 } };
      if (cents === 6) return { ask: { users: ['kim'], reason: 'it is odd' } };
      if (cents === 7) return { approved: false, reason: 'and that is that', stop: true };
      if (cents === 8) return { approved: true, args: { cents: -8 } };
      if (cents === 9) return { ask: { users: ['kim'] }, args: { cents: 99 } };
      return own ? undefined : { approved: false, reason: 'UI confirm not supported' };
    },
  },
});
const judged = defineAgent({ name: 'judged', ...model, tools: [paying('pay', 'always'), paying('free', 'never')], hooks: judge });
const alone = defineAgent({
  name: 'alone',
  ...model,
  tools: [paying('pay', 'always'), paying('free', 'never')],
  hooks: defineHooks({ 'approve:tool': ({ ask: own }) => (own ? { approved: false, reason: 'UI confirm not supported' } : undefined) }),
});

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ script, agents: [clerk, stern, keeper, keptSlowly, strict, operator, bare, judged, alone], bus: true });
});

const call = (name: string, cents = 900, id = `call_${name}`): ScriptedCall => ({ name, args: { cents }, id });
const ranIn = (thread: Thread) => ran.filter((one) => one.threadId === thread.id).map(({ tool, args }) => ({ tool, args }));

async function begin(agent: { name: string }, calls: ScriptedCall[], options: { mode?: 'conversation' } = {}) {
  const said = scene([callTools(calls), say('done'), say('done again')]);
  const thread = await rig.client.start(agent, said, options);
  const results = () =>
    requestsOf(rig, said)
      .at(-1)
      ?.body.messages.filter((m) => m.role === 'tool')
      .map((m) => m.content) ?? [];
  return { thread, said, results };
}

async function waiting(agent: { name: string }, calls: ScriptedCall[], count = calls.length) {
  const begun = await begin(agent, calls);
  await reaches(begun.thread, 'requires_action', count);
  return begun;
}

describe('people who may decide', () => {
  test('a pending call lists the people who may decide and the reason, and refuses everyone else with a code', async () => {
    const { thread } = await waiting(clerk, [call('named')]);
    const [pending] = await thread.pending();
    expect(pending).toMatchObject({ kind: 'approval', users: ['dana', 'eve'], groups: ['finance'], reason: 'money leaves the house' });
    const approve = (who: object) => refusal(ask(thread, 'approve', { toolCallId: 'call_named', ...who }));
    expect(await approve({ by: 'mallory', groups: ['sales'] })).toBe(
      'approve: "call_named" (named) is for dana, eve, members of "finance" to answer; "mallory" (sales) is none of them',
    );
    expect(await approve({})).toMatch(/is for dana, eve.*say who you are with `by`, and `groups`/);
    expect(await approve({ by: 'mallory', approved: false })).toMatch(/"mallory" is none of them/);
    expect(ranIn(thread)).toEqual([]);
    await ask(thread, 'approve', { toolCallId: 'call_named', by: 'zoe', groups: ['finance'] });
    const told = await story(thread);
    expect(ofType(told, 'agent.approval.decided')[0]?.data).toEqual({ toolCallId: 'call_named', approved: true, by: 'zoe' });
    expect(ofType(told, 'agent.request.rejected')).toEqual([]);
    expect(ranIn(thread)).toHaveLength(1);
  });

  test('a named user needs no group, and a signal of a person who may not decide is logged', async () => {
    const { thread } = await waiting(clerk, [call('named')]);
    await thread.client.temporal.workflow.getHandle(thread.id).signal('approve', { toolCallId: 'call_named', by: 'mallory' });
    const log = await happened(thread, 'agent.request.rejected');
    expect(ofType(log, 'agent.request.rejected')[0]?.data.reason).toMatch(/"mallory" is none of them/);
    await ask(thread, 'approve', { toolCallId: 'call_named', by: 'eve' });
    await story(thread);
    expect(ranIn(thread)).toHaveLength(1);
  });

  test('the refusal of a late decision says who decided, and when', async () => {
    const { thread } = await waiting(clerk, [call('named'), call('pay')]);
    await ask(thread, 'approve', { toolCallId: 'call_named', by: 'dana' });
    expect(await refusal(ask(thread, 'approve', { toolCallId: 'call_named', by: 'eve', approved: false }))).toMatch(
      /"call_named" .*(decided already|has its outcome).*approved by dana, \d{4}-.*Z/,
    );
    await ask(thread, 'approve', { toolCallId: 'call_pay', approved: false });
    await story(thread);
  });

  test('if several approvals are required each is a vote, the same person counts once, and the last approval lets it run', async () => {
    const { thread } = await waiting(clerk, [call('two')]);
    const vote = (by: string) => ask(thread, 'approve', { toolCallId: 'call_two', by, groups: ['finance'] });
    expect(await refusal(ask(thread, 'approve', { toolCallId: 'call_two', groups: ['finance'] }))).toMatch(/needs 2 people to agree/);
    await vote('dana');
    expect(await refusal(vote('dana'))).toBe('approve: "dana" has agreed to "call_two" (two) already; 1 more must');
    expect((await thread.pending())[0]).toMatchObject({ approvers: 2, votes: ['dana'] });
    expect(ranIn(thread)).toEqual([]);
    await vote('eve');
    const told = await story(thread);
    expect(ofType(told, 'agent.approval.voted')[0]?.data).toEqual({ toolCallId: 'call_two', by: 'dana', outstanding: 1 });
    expect(ofType(told, 'agent.approval.decided')[0]?.data).toMatchObject({ approved: true, by: 'eve' });
    expect(ranIn(thread)).toHaveLength(1);
  });

  test('if several approvals are required nobody may edit the arguments, nor have a rule remembered', async () => {
    const { thread } = await waiting(clerk, [call('two')]);
    const dana = { toolCallId: 'call_two', by: 'dana', groups: ['finance'] };
    expect(await refusal(ask(thread, 'approve', { ...dana, arguments: { cents: 1 } }))).toMatch(/none of them can edit the arguments/);
    expect(await refusal(ask(thread, 'approve', { ...dana, remember: 'thread' }))).toMatch(/none of them can have it remembered/);
    await ask(thread, 'approve', dana);
    await ask(thread, 'approve', { ...dana, by: 'eve' });
    await story(thread);
    expect(ranIn(thread)).toEqual([{ tool: 'two', args: { cents: 900 } }]);
  });

  test('one refusal is enough if several approvals are required', async () => {
    const { thread, results } = await waiting(clerk, [call('two')]);
    await ask(thread, 'approve', { toolCallId: 'call_two', by: 'dana', groups: ['finance'] });
    await ask(thread, 'approve', { toolCallId: 'call_two', by: 'eve', groups: ['finance'], approved: false, reason: 'too much' });
    await story(thread);
    expect(ranIn(thread)).toEqual([]);
    expect(results()[0]).toMatch(/refused by eve: too much/);
  });

  test('of two concurrent decisions, with arguments that must be checked first, exactly one takes effect', async () => {
    const { thread } = await waiting(clerk, [call('pay')]);
    const decide = (by: string, cents: number) => ask(thread, 'approve', { toolCallId: 'call_pay', by, arguments: { cents } });
    const both = await Promise.allSettled([decide('dana', 11), decide('eve', 22)]);
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    const told = await story(thread);
    expect(ofType(told, 'agent.approval.decided')).toHaveLength(1);
    const winner = both[0]?.status === 'fulfilled' ? 11 : 22;
    expect(ranIn(thread)).toEqual([{ tool: 'pay', args: { cents: winner } }]);
  });
});

describe('at the deadline', () => {
  test('an undecided call is refused, and the refusal of a later decision says so', async () => {
    const { thread, results } = await begin(clerk, [call('late')], { mode: 'conversation' });
    const log = await happened(thread, 'agent.approval.requested');
    const [asked] = ofType(log, 'agent.approval.requested');
    expect(Date.parse(asked?.data.dueAt ?? '') - Date.parse(asked?.timestamp ?? '')).toBe(soon);
    const told = await story(thread);
    expect(ofType(told, 'agent.approval.decided')[0]?.data).toMatchObject({ approved: false, source: 'deadline' });
    expect(ofType(told, 'agent.tool.execution.completed')[0]?.data).toMatchObject({ status: 'denied' });
    expect(results()[0]).toMatch(/refused by its deadline: nobody decided in time/);
    expect(ranIn(thread)).toEqual([]);
    expect(await refusal(ask(thread, 'approve', { toolCallId: 'call_late' }))).toMatch(/"call_late" was answered already.*by its deadline/);
    await thread.close();
  });

  test('others are asked, and may then decide; the log has the people and the new deadline', async () => {
    const { thread } = await waiting(clerk, [call('escalates_later')]);
    expect(await refusal(ask(thread, 'approve', { toolCallId: 'call_escalates_later', by: 'max', groups: ['managers'] }))).toMatch(
      /is for dana/,
    );
    const log = await happened(thread, 'agent.approval.escalated');
    expect(ofType(log, 'agent.approval.escalated')[0]?.data).toEqual({
      toolCallId: 'call_escalates_later',
      groups: ['managers'],
      dueAt: expect.stringMatching(/Z$/),
    });
    await ask(thread, 'approve', { toolCallId: 'call_escalates_later', by: 'max', groups: ['managers'] });
    await story(thread);
    expect(ranIn(thread)).toHaveLength(1);
  });

  test('if the others do not answer, either, the call is refused', async () => {
    const { thread } = await begin(clerk, [call('escalates')]);
    const told = await story(thread);
    expect(typesOf(told).filter((type) => type.startsWith('agent.approval.'))).toEqual([
      'agent.approval.requested',
      'agent.approval.escalated',
      'agent.approval.decided',
    ]);
    expect(ofType(told, 'agent.approval.decided')[0]?.data).toMatchObject({ approved: false, source: 'deadline' });
    expect(ranIn(thread)).toEqual([]);
  });

  test('the same people are asked again, as often as the policy says', async () => {
    const { thread } = await begin(clerk, [call('asks_on')]);
    await happened(thread, 'agent.approval.escalated', 3);
    await ask(thread, 'approve', { toolCallId: 'call_asks_on', by: 'dana' });
    expect((await story(thread)).at(-1)?.type).toBe('thread.run.completed');
    expect(ranIn(thread)).toHaveLength(1);
  });

  test('the call runs if its policy says so, and the log says that no person decided', async () => {
    const { thread } = await begin(clerk, [call('lets')]);
    const told = await story(thread);
    expect(ofType(told, 'agent.approval.decided')[0]?.data).toEqual({ toolCallId: 'call_lets', approved: true, source: 'deadline' });
    expect(ranIn(thread)).toHaveLength(1);
  });

  test('the run is cancelled if its policy says so', async () => {
    const { thread } = await begin(clerk, [call('cancels'), call('pay')]);
    const told = await story(thread);
    expect(told.at(-1)).toMatchObject({
      type: 'thread.run.cancelled',
      data: { reason: 'nobody answered for cancels ("call_cancels") in time' },
    });
    expect(ofType(told, 'agent.tool.execution.completed').map(({ data }) => data.status)).toEqual(['skipped', 'skipped']);
    expect(ranIn(thread)).toEqual([]);
  });

  test('a call is refused on time even while an earlier one still waits', async () => {
    const { thread } = await waiting(clerk, [call('pay'), call('late')], 2);
    const log = await happened(thread, 'agent.approval.decided');
    expect(ofType(log, 'agent.approval.decided')[0]?.data).toMatchObject({ toolCallId: 'call_late', approved: false, source: 'deadline' });
    await reaches(thread, 'requires_action', 1);
    await ask(thread, 'approve', { toolCallId: 'call_pay' });
    await story(thread);
    expect(ranIn(thread)).toEqual([{ tool: 'pay', args: { cents: 900 } }]);
  });

  test('a call that is carried out externally fails, or others are asked, according to its policy', async () => {
    const late = await begin(clerk, [{ name: 'fetch', args: {}, id: 'call_f' }]);
    const told = await story(late.thread);
    expect(ofType(told, 'agent.input.expired')[0]?.data).toEqual({ toolCallId: 'call_f' });
    expect(ofType(told, 'agent.tool.execution.completed')[0]?.data).toMatchObject({ status: 'failed', error: { name: 'DeadlineError' } });
    expect(late.results()[0]).toBe('Error: nobody answered fetch in time.');

    const { thread } = await begin(clerk, [{ name: 'fetch_on', args: {}, id: 'call_f' }]);
    await happened(thread, 'agent.approval.escalated');
    expect(await refusal(ask(thread, 'submitToolOutputs', { outputs: [{ toolCallId: 'call_f', output: 1 }], by: 'dana' }))).toMatch(
      /"call_f" \(fetch_on\) is for members of "managers" to answer; "dana" is none of them/,
    );
    await ask(thread, 'submitToolOutputs', { outputs: [{ toolCallId: 'call_f', output: 1 }], by: 'max', groups: ['managers'] });
    expect((await story(thread)).at(-1)?.type).toBe('thread.run.completed');
  });
});

describe('a decision', () => {
  test('[B174] refuses with a reason that the model receives, and the run continues', async () => {
    const { thread, results } = await waiting(clerk, [call('pay')]);
    await ask(thread, 'approve', { toolCallId: 'call_pay', approved: false, by: 'dana', reason: 'pay it next month' });
    expect((await story(thread)).at(-1)?.type).toBe('thread.run.completed');
    expect(results()[0]).toMatch(/refused by dana: pay it next month\. Do not call it again/);
  });

  test('[B25][B174] refuses and stops: the run ends in the middle of its calls, and none of them is left open', async () => {
    const { thread, said } = await waiting(clerk, [call('free', 1, 'call_1'), call('pay', 2, 'call_2'), call('free', 3, 'call_3')], 1);
    await ask(thread, 'approve', { toolCallId: 'call_2', approved: false, by: 'dana', reason: 'that is enough', stop: true });
    const told = await story(thread);
    expect(told.at(-1)).toMatchObject({
      type: 'thread.run.cancelled',
      data: { reason: 'stopped by a refusal: that is enough', by: 'dana' },
    });
    expect(ofType(told, 'agent.tool.execution.completed').map(({ data }) => [data.toolCallId, data.status])).toEqual([
      ['call_1', 'success'],
      ['call_2', 'denied'],
      ['call_3', 'skipped'],
    ]);
    expect(requestsOf(rig, said)).toHaveLength(1);
    expect(ranIn(thread)).toHaveLength(1);
    expect(await thrownBy(thread.result())).toMatchObject({ code: 'run-cancelled', message: expect.stringContaining('that is enough') });
  });

  test('edits the arguments: invalid ones are refused and the call still waits; valid ones are used', async () => {
    const { thread, results } = await waiting(clerk, [call('pay')]);
    const edit = (args: object) => ask(thread, 'approve', { toolCallId: 'call_pay', by: 'dana', arguments: args });
    expect(await refusal(edit({ cents: 'many' }))).toMatch(/the edited arguments do not fit pay:[\s\S]*cents[\s\S]*still waits/);
    expect(await thread.pending()).toHaveLength(1);
    await edit({ cents: 7 });
    await story(thread);
    expect(ranIn(thread)).toEqual([{ tool: 'pay', args: { cents: 7 } }]);
    expect(results()[0]).toMatch(/edited the arguments.*\{"cents":7\}[\s\S]*pay 7/);
  });

  test('a cancel resolves a pending approval immediately, and a later answer finds no pending call', async () => {
    const { thread } = await waiting(clerk, [call('pay')]);
    await thread.cancel({ reason: 'never mind' });
    const told = await story(thread);
    expect(told.at(-1)).toMatchObject({ type: 'thread.run.cancelled', data: { reason: 'never mind' } });
    expect(await thrownBy(thread.approve('call_pay'))).toMatchObject({ code: 'thread-closed' });
    expect(ranIn(thread)).toEqual([]);
  });

  test('a call that fails the run does not wait for the approval of another', async () => {
    const { thread } = await begin(stern, [call('pay'), { name: 'look', args: { ms: -1 }, id: 'call_f' }]);
    const told = await story(thread);
    expect(told.at(-1)).toMatchObject({ type: 'thread.run.failed', data: { code: 'tool_failed' } });
    expect(ofType(told, 'agent.tool.execution.completed').map(({ data }) => [data.toolCallId, data.status])).toEqual([
      ['call_f', 'failed'],
      ['call_pay', 'skipped'],
    ]);
  });
});

describe('a remembered rule', () => {
  const twice = (calls: [ScriptedCall, ScriptedCall]) => scene([callTools([calls[0]]), callTools([calls[1]]), say('done')]);

  test.each([['clerk'], ['keeper']])('for the thread means that it needs no further approval: %s', async (agent) => {
    const thread = await rig.client.start(agent, twice([call('pay', 1, 'call_1'), call('pay', 2, 'call_2')]));
    await reaches(thread, 'requires_action', 1);
    await ask(thread, 'approve', { toolCallId: 'call_1', by: 'dana', remember: 'thread' });
    const told = await story(thread);
    expect(ofType(told, 'agent.approval.requested')).toHaveLength(1);
    expect(ofType(told, 'agent.approval.decided')[0]?.data.remembered).toEqual([{ tool: 'pay' }]);
    expect(ranIn(thread)).toHaveLength(2);
    const { thread: other } = await waiting({ name: agent }, [call('pay')]);
    await other.cancel();
  });

  test('[B175] for the agent needs none in a new thread, either', async () => {
    const { thread } = await waiting(keeper, [call('command')]);
    await ask(thread, 'approve', { toolCallId: 'call_command', by: 'dana', remember: 'agent' });
    await story(thread);
    const { thread: next } = await begin(keeper, [call('command')]);
    expect(typesOf(await story(next))).not.toContain('agent.approval.requested');
    expect(ranIn(next)).toHaveLength(1);
  });

  test('for the agent is refused if there is no store, and the call still waits', async () => {
    const { thread } = await waiting(clerk, [call('pay')]);
    expect(await refusal(ask(thread, 'approve', { toolCallId: 'call_pay', remember: 'agent' }))).toMatch(
      /agent clerk has no store to remember it in; .* still waits/,
    );
    await ask(thread, 'approve', { toolCallId: 'call_pay' });
    await story(thread);
  });

  test('for the agent is stored once the decision has taken effect, whatever the outcome of the run is', async () => {
    const { thread } = await waiting(keptSlowly, [call('pay')]);
    let letThrough = () => {};
    slowly.let = new Promise((resolve) => {
      letThrough = resolve;
    });
    const entered = new Promise<void>((resolve) => {
      slowly.entered = resolve;
    });
    const approving = ask(thread, 'approve', { toolCallId: 'call_pay', by: 'dana', remember: 'agent' });
    await entered;
    expect(ofType(await logOf(thread), 'agent.approval.decided')[0]?.data).toMatchObject({ approved: true, by: 'dana' });
    expect(await refusal(ask(thread, 'approve', { toolCallId: 'call_pay', approved: false }))).toMatch(
      /decided already|has its outcome|answered already/,
    );
    await thread.cancel().catch(() => undefined);
    letThrough();
    expect(await approving).toEqual({ accepted: true, seq: expect.any(Number) });
    await story(thread);
    expect(slowly.kept).toEqual([{ tool: 'pay' }]);
  });

  test('for the agent is not stored if the decision is refused, such as one that edits the offered arguments', async () => {
    slowly.kept.length = 0;
    const { thread } = await waiting(keptSlowly, [call('pay')]);
    const edited = { toolCallId: 'call_pay', remember: 'agent', arguments: { cents: -1 } };
    expect(await refusal(ask(thread, 'approve', edited))).toMatch(/send either edited arguments or `remember`/);
    await thread.cancel();
    await story(thread);
    expect(slowly.kept).toEqual([]);
  });

  test('for the agent that can’t be stored does not affect the approval, and the approver and the log get the error', async () => {
    slowly.let = Promise.reject(new Error('the disk is full'));
    slowly.let.catch(() => undefined);
    const { thread } = await waiting(keptSlowly, [call('pay')]);
    const { warning } = await ask(thread, 'approve', { toolCallId: 'call_pay', remember: 'agent' });
    expect(warning).toMatch(/is approved.*for agent kept-slowly it could not be remembered: the disk is full/);
    const log = await story(thread);
    expect(ofType(log, 'agent.request.rejected')[0]?.data.reason).toBe(warning);
    expect(ranIn(thread)).toHaveLength(1);
  });

  test.each([['operator'], ['bare']])(
    '[B175] of a command remembers what was offered, and nothing if nothing was offered: %s',
    async (agent) => {
      const run = (command: string, id: string): ScriptedCall => ({ name: 'shell', args: { command }, id });
      const said = scene([
        callTools([run('sudo reboot', 'call_1')]),
        callTools([run('git push origin', 'call_2')]),
        callTools([run('git push origin', 'call_3')]),
        callTools([run('cat /etc/shadow', 'call_4')]),
        say('done'),
      ]);
      const thread = await rig.client.start(agent, said);
      await reaches(thread, 'requires_action', 1);
      expect(await refusal(ask(thread, 'approve', { toolCallId: 'call_1', remember: 'thread' }))).toMatch(
        /no rule by which calls like "call_1" \(shell\) could be told apart/,
      );
      await ask(thread, 'approve', { toolCallId: 'call_1' });
      const waitsFor = (id: string) =>
        until(
          () => thread.pending(),
          ([first]) => first?.toolCallId === id,
        );
      expect((await waitsFor('call_2'))[0]?.remember).toEqual([{ tool: 'shell', prefix: ['git', 'push', 'origin'], exact: true }]);
      await ask(thread, 'approve', { toolCallId: 'call_2', remember: 'thread' });
      await waitsFor('call_4');
      await ask(thread, 'approve', { toolCallId: 'call_4', approved: false });
      await story(thread);
      expect(ranIn(thread).map(({ args }) => args)).toEqual(['sudo reboot', 'git push origin', 'git push origin']);
    },
  );
});

describe('permissions', () => {
  test('[B169][B170] a denied call does not run, whatever else is allowed, and the run continues', async () => {
    const { thread, results } = await begin(strict, [call('pay'), call('banned'), call('free')]);
    const told = await story(thread);
    expect(told.at(-1)?.type).toBe('thread.run.completed');
    expect(typesOf(told)).not.toContain('agent.approval.requested');
    expect(ranIn(thread).map(({ tool }) => tool)).toEqual(['pay', 'free']);
    expect(results()[1]).toMatch(/^Error: Permission denied: blocked by deny rule \(banned\)/);
  });

  test('[B25][B171] a deny rule that stops ends the run, and no call is left open', async () => {
    const { thread, said } = await begin(strict, [call('pay'), call('fatal'), call('free')]);
    const told = await story(thread);
    expect(told.at(-1)).toMatchObject({ type: 'thread.run.cancelled', data: { reason: expect.stringMatching(/deny rule \(fatal\)/) } });
    expect(ranIn(thread)).toEqual([]);
    expect(ofType(told, 'agent.tool.execution.completed').map(({ data }) => [data.name, data.status])).toEqual([
      ['fatal', 'denied'],
      ['pay', 'skipped'],
      ['free', 'skipped'],
    ]);
    expect(requestsOf(rig, said)).toHaveLength(1);
  });

  test('[B176] if nobody can be asked, a call that needs approval is refused with the reason', async () => {
    const { thread, results } = await begin(alone, [call('pay'), call('free')]);
    expect((await story(thread)).at(-1)?.type).toBe('thread.run.completed');
    expect(results()[0]).toMatch(/Permission denied: UI confirm not supported/);
    expect(ranIn(thread).map(({ tool }) => tool)).toEqual(['free']);
  });
});

describe('a hook of approve:tool', () => {
  const decided = async (cents: number, tool = 'pay') => {
    const { thread, results } = await begin(judged, [call(tool, cents)]);
    const told = await story(thread);
    return { thread, told, result: String(results()[0]), decisions: ofType(told, 'agent.approval.decided').map(({ data }) => data) };
  };

  test('[A135][B172] that throws refuses the call', async () => {
    const { thread, told, result, decisions } = await decided(1);
    expect(result).toMatch(/Permission denied: Permission check failed: the ledger is away/);
    expect(decisions[0]).toMatchObject({ approved: false, source: 'hook' });
    expect(ofType(told, 'agent.hook.completed')[0]?.data.errors?.[0]).toMatchObject({ id: 'judge', message: 'the ledger is away' });
    expect(ranIn(thread)).toEqual([]);
    expect(told.at(-1)?.type).toBe('thread.run.completed');
  });

  test('[A135][B172] that hangs refuses the call', async () => {
    const { thread, result } = await decided(2);
    expect(result).toMatch(/Permission check failed: did not answer within 300 ms/);
    expect(ranIn(thread)).toEqual([]);
  });

  test('[A134][A137][B170] that refuses is reported to the model, with the reason and a request not to try again', async () => {
    const { thread, told, result, decisions } = await decided(3, 'free');
    expect(result).toBe('Error: Permission denied: not today. Do not call it again with the same arguments.');
    expect(decisions).toEqual([{ toolCallId: 'call_free', approved: false, reason: 'not today', source: 'hook' }]);
    expect(ofType(told, 'agent.tool.execution.completed')[0]?.data).toMatchObject({ status: 'denied', isError: true });
    expect(ranIn(thread)).toEqual([]);
    expect(told.at(-1)?.type).toBe('thread.run.completed');
  });

  test('[A138] that approves lets the call run, even one that would have waited for a person', async () => {
    const { thread, told, decisions } = await decided(4);
    expect(decisions).toEqual([{ toolCallId: 'call_pay', approved: true, reason: 'it is little', source: 'hook' }]);
    expect(typesOf(told)).not.toContain('agent.approval.requested');
    expect(ranIn(thread)).toHaveLength(1);
  });

  test('[A136] that changes the arguments has the call run with them, and the model is informed', async () => {
    const { thread, result } = await decided(5);
    expect(ranIn(thread)).toEqual([{ tool: 'pay', args: { cents: 55 } }]);
    expect(result).toMatch(/A hook edited the arguments.*55/);
  });

  test('[A136] whose arguments do not match the schema has the call refused like any other', async () => {
    const { thread, told } = await decided(8);
    expect(ranIn(thread)).toEqual([]);
    expect(ofType(told, 'agent.tool.execution.completed')[0]?.data.status).toBe('rejected');
  });

  test('that requires approval has people asked its way, whatever the tool says', async () => {
    const { thread } = await waiting(judged, [call('free', 6)]);
    expect((await thread.pending())[0]).toMatchObject({ users: ['kim'], reason: 'it is odd' });
    expect(await refusal(ask(thread, 'approve', { toolCallId: 'call_free', by: 'dana' }))).toMatch(/is for kim/);
    await ask(thread, 'approve', { toolCallId: 'call_free', by: 'kim' });
    await story(thread);
    expect(ranIn(thread)).toHaveLength(1);
  });

  test('that changes the arguments and requires approval shows the changed ones, and their digest', async () => {
    const { thread } = await waiting(judged, [call('pay', 9)]);
    const [shown] = await thread.pending();
    expect(shown).toMatchObject({ arguments: '{"cents":99}', users: ['kim'] });
    expect(shown?.digest).toBe(callDigest(thread.id, { id: 'call_pay', name: 'pay', arguments: '' }, '{"cents":99}'));
    expect(await refusal(ask(thread, 'approve', { toolCallId: 'call_pay', by: 'kim', expect: '0'.repeat(16) }))).toMatch(/was expected/);
    await ask(thread, 'approve', { toolCallId: 'call_pay', by: 'kim', expect: shown?.digest });
    await story(thread);
    expect(ranIn(thread)).toEqual([{ tool: 'pay', args: { cents: 99 } }]);
  });

  test('[B171] that refuses and stops ends the run, without open calls', async () => {
    const { thread, told } = await decided(7);
    expect(told.at(-1)).toMatchObject({ type: 'thread.run.cancelled', data: { reason: 'stopped by a refusal: and that is that' } });
    expect(ranIn(thread)).toEqual([]);
  });

  test('without a decision leaves the approval to the tool', async () => {
    const { thread } = await waiting(judged, [call('pay', 99)]);
    await ask(thread, 'approve', { toolCallId: 'call_pay' });
    await story(thread);
    expect(ranIn(thread)).toHaveLength(1);
  });
});

describe('a question', () => {
  const question = (options?: string[]): ScriptedCall => ({
    name: 'ask_human',
    args: { question: 'Which colour?', ...(options && { options }) },
    id: 'call_q',
  });

  test('waits with its options until a person answers, and the model gets the answer', async () => {
    const { thread, results } = await waiting(clerk, [question(['red', 'blue'])]);
    const [pending] = await thread.pending();
    expect(pending).toMatchObject({ kind: 'question', name: 'ask_human' });
    expect(JSON.parse(pending?.arguments ?? '')).toEqual({ question: 'Which colour?', options: ['red', 'blue'] });
    await ask(thread, 'submitToolOutputs', { outputs: [{ toolCallId: 'call_q', output: 'blue' }], by: 'dana' });
    await story(thread);
    expect(results()).toEqual(['blue']);
  });

  test('without an answer in time is reported to the model, and a person who may not answer is refused', async () => {
    const asker = defineAgent({
      name: 'asker',
      ...model,
      tools: [createAskHuman({ groups: ['support'], deadlineMs: later })],
    });
    const lone = await startRig({ script, agents: [asker], bus: true });
    const said = scene([callTools([question()]), say('I choose blue.')]);
    const thread = await lone.client.start(asker, said);
    await reaches(thread, 'requires_action', 1);
    expect(await refusal(ask(thread, 'submitToolOutputs', { outputs: [{ toolCallId: 'call_q', output: 'red' }], by: 'mallory' }))).toMatch(
      /is for members of "support" to answer/,
    );
    const told = await story(thread);
    expect(typesOf(told)).toContain('agent.input.expired');
    expect(requestsOf(lone, said)[1]?.body.messages.at(-1)?.content).toBe('Error: nobody answered ask_human in time.');
    expect(told.at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'I choose blue.' } });
  });
});
