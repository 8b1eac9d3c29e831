import { createHash, generateKeyPairSync, verify } from 'node:crypto';
import { AsyncCompletionClient } from '@temporalio/client';
import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import { createSigner, type DecisionSigner, LonghaulClient, type Thread } from '../../src/client';
import { statementOf } from '../../src/core/attestation';
import { digestOfCall } from '../../src/core/call-digest';
import type { DurableEvent, PendingCall } from '../../src/core/event';
import type { DecisionRequest } from '../../src/core/requests';
import type { PermissionRule } from '../../src/core/tool';
import { defineHooks } from '../../src/hooks';
import { callTools, type ScriptedCall, say } from '../../src/testing/model-server';
import { createAskHuman, createPermissions, defineTool } from '../../src/tools';
import { createVerifier } from '../../src/worker';
import { type Rig, startRig, until } from '../support/rig';
import { ask, happened, reaches, refusal, standsStill } from './asking';
import { ofType, scenes, story } from './scenes';

const { script, scene } = scenes();
const people = Object.fromEntries(['dana', 'eve', 'mallory'].map((name) => [name, generateKeyPairSync('ed25519')]));
const pem = (name: string) => people[name]?.privateKey.export({ format: 'pem', type: 'pkcs8' }) as string;
const publicPem = (name: string) => people[name]?.publicKey.export({ format: 'pem', type: 'spki' }) as string;
const signerOf = (name: string, by = name) => createSigner({ by, privateKey: pem(name) });

const pay = (name: string, approval: Parameters<typeof defineTool>[0]['approval']) =>
  defineTool({
    name,
    description: 'Pays.',
    input: z.object({ cents: z.number() }),
    approval,
    execute: ({ cents }) => `paid ${cents}`,
  });
const clerk = defineAgent({
  name: 'clerk',
  model: 'test-model',
  instructions: 'Pay.',
  tools: [
    pay('pay', 'always'),
    pay('finance_pays', { groups: ['finance'] }),
    pay('two_pay', { approvers: 2 }),
    pay('pay_in_time', { deadlineMs: 2_500, onDeadline: 'approve' }),
    pay('denied_in_time', { deadlineMs: 2_500, onDeadline: 'deny' }),
    createAskHuman(),
    defineTool({ name: 'fetch', description: 'Is done outside.', input: z.object({}) }),
  ],
});
const spender = defineAgent({
  name: 'spender',
  model: 'test-model',
  instructions: 'Spend.',
  limits: { turns: 1 },
  atLimit: 'ask',
  tools: [pay('free', 'never')],
});

const remembered: PermissionRule[] = [];
const rememberer = defineAgent({
  name: 'rememberer',
  model: 'test-model',
  instructions: 'Pay.',
  tools: [pay('pay', 'always')],
  permissions: createPermissions({ store: { load: async () => [], add: async (_, rules) => void remembered.push(...rules) } }),
});
const edited = defineAgent({
  name: 'edited',
  model: 'test-model',
  instructions: 'Pay.',
  tools: [pay('pay', 'always')],
  hooks: defineHooks({ 'before:tool': () => ({ args: { cents: 7 } }) }),
});

let rig: Rig;
let clients: Record<'dana' | 'eve' | 'mallory' | 'posing', LonghaulClient>;
let down = false;
/** Until then nothing is verified, once it is set. */
let verifiesAt = 0;
/** Verifies this many signatures only together, so that the thread gets the results at the same time. */
const together = { wanted: 0, come: [] as (() => void)[] };
beforeAll(async () => {
  const keys = createVerifier({
    dana: { publicKey: publicPem('dana'), groups: ['leads'] },
    Eve: { publicKey: publicPem('eve'), groups: ['finance'] },
  });
  const verifier = {
    async verify(signed: { statement: string; signature: string; by: string }) {
      if (together.wanted > 0) {
        await new Promise<void>((resolve) => {
          if (together.come.push(resolve) < together.wanted) return;
          together.wanted = 0;
          for (const goOn of together.come.splice(0)) goOn();
        });
      }
      if (down) throw new Error('the directory is away');
      while (Date.now() < verifiesAt) await new Promise((resolve) => setTimeout(resolve, 20));
      return keys.verify(signed);
    },
  };
  rig = await startRig({ script, agents: [clerk, spender, rememberer, edited], worker: { verifier } });
  const as = (signer: DecisionSigner) =>
    new LonghaulClient(rig.client.temporal, { ...rig.client.options, taskQueue: rig.taskQueue, signer });
  clients = {
    dana: as(signerOf('dana')),
    eve: as(signerOf('eve')),
    mallory: as(signerOf('mallory')),
    posing: as(signerOf('mallory', 'dana')),
  };
});

const call = (name: string, args: object = { cents: 900 }): ScriptedCall => ({ name, args, id: `call_${name}` });

async function waiting(calls: ScriptedCall[], agent = 'clerk'): Promise<{ thread: Thread; pending: PendingCall[] }> {
  const thread = await rig.client.start(agent, scene([callTools(calls), say('done')]));
  const { pending } = await reaches(thread, 'requires_action');
  return { thread, pending };
}

const as = (who: keyof typeof clients, thread: Thread) => clients[who].attach(thread.id);

const hexOf = (text: string) => createHash('sha256').update(text).digest('hex');
const sha256 = (json: string) => `sha256:${hexOf(json)}`;

function statementHolds({ signed }: { signed?: { statement: string; signature: string } }, name: string): Record<string, unknown> {
  const { statement, signature } = signed ?? { statement: '{}', signature: '' };
  expect(verify(null, Buffer.from(statement), publicPem(name), Buffer.from(signature, 'base64'))).toBe(true);
  return JSON.parse(statement);
}

test('a decision signed by a known person counts, and the log keeps the signed statement and the person', async () => {
  const { thread, pending } = await waiting([call('pay')]);
  await as('dana', thread).approve('call_pay', { reason: 'it is due' });
  const log = await story(thread);
  const [{ data }] = ofType(log, 'agent.approval.decided') as [DurableEvent<'agent.approval.decided'>];
  expect(data).toMatchObject({ approved: true, by: 'dana', reason: 'it is due' });
  expect(statementHolds(data, 'dana')).toEqual({
    version: 'longhaul-decision-1',
    request: 'approve',
    threadId: thread.id,
    agent: 'clerk',
    runId: log.find((event) => event.runId)?.runId,
    digest: pending[0]?.digest,
    shown: sha256('{"cents":900}'),
    by: 'dana',
    toolCallId: 'call_pay',
    tool: 'pay',
    approved: true,
    reason: 'it is due',
  });
  expect(ofType(log, 'agent.tool.execution.completed')[0]?.data).toMatchObject({ status: 'success' });
});

test.each([
  ['nobody signed it', (thread: Thread) => rig.client.attach(thread.id).approve('call_pay', { by: 'dana' }), /takes signed decisions only/],
  ['its signer is not known', (thread: Thread) => as('mallory', thread).approve('call_pay'), /not one of "mallory"/],
  ['somebody signed it in the name of another', (thread: Thread) => as('posing', thread).approve('call_pay'), /not one of "dana"/],
  [
    'the signature is of another form',
    (thread: Thread) => ask(thread, 'approve', { toolCallId: 'call_pay', by: 'dana', signature: { a: 1 } }),
    /takes signed/,
  ],
  [
    'a refusal is not signed',
    (thread: Thread) => rig.client.attach(thread.id).reject('call_pay', { by: 'dana' }),
    /takes signed decisions only/,
  ],
])('a decision does not count if %s; the call still waits', async (_, decide, words) => {
  const { thread } = await waiting([call('pay')]);
  const refused = await decide(thread).then(
    () => 'it was accepted',
    (error) => `${error.message} ${error.cause?.message}`,
  );
  expect(refused).toMatch(words);
  expect(await thread.pending()).toHaveLength(1);
  await as('dana', thread).reject('call_pay');
  expect(ofType(await story(thread), 'agent.approval.decided')).toHaveLength(1);
});

test('a signature is valid for one decision on one call of one run, and for nothing else', async () => {
  const { thread } = await waiting([call('pay')]);
  const other = await waiting([call('pay')]);
  const { runId, pending } = await thread.status();
  const digest = pending[0]?.digest as string;
  const content: DecisionRequest = { toolCallId: 'call_pay', approved: false, by: 'dana' };
  const statement = statementOf(
    { name: 'approve', content },
    { threadId: thread.id, agent: 'clerk', runId: runId ?? '', call: { name: 'pay', arguments: '{"cents":900}', digest } },
    hexOf,
  );
  const signature = (await signerOf('dana').sign(statement)) as string;
  // What was signed is a refusal.
  for (const changed of [{ approved: true }, { reason: 'more' }, { stop: true }]) {
    expect(await refusal(ask(thread, 'approve', { ...content, ...changed, signature }))).toMatch(/not one of "dana"/);
  }
  expect(await refusal(ask(other.thread, 'approve', { ...content, signature }))).toMatch(/not one of "dana"/);
  await ask(thread, 'approve', { ...content, signature });
  expect(ofType(await story(thread), 'agent.approval.decided')[0]?.data).toMatchObject({ approved: false, by: 'dana' });
  await as('dana', other.thread).reject('call_pay');
  await other.thread.result();
});

test('what is signed is the call that was shown, and only if its digest is that of its arguments', async () => {
  const { thread, pending } = await waiting([call('pay')]);
  const [shown] = await thread.pending();
  expect(shown).toEqual({ ...pending[0], agent: 'clerk' });
  const other = { ...(shown as PendingCall), arguments: '{"cents":90000}' };
  const digest = digestOfCall(thread.id, { id: 'call_pay', name: 'pay', arguments: other.arguments }, hexOf);
  for (const expected of [other, { ...other, digest }, digest]) {
    await expect(as('dana', thread).approve('call_pay', { expect: expected })).rejects.toMatchObject({ refusal: 'not-as-expected' });
  }
  const { digest: _, ...without } = other;
  for (const expected of [without, { ...without, kind: 'limit' as const }]) {
    await expect(as('dana', thread).approve('call_pay', { expect: expected })).rejects.toThrow(/not one of "dana" over this decision/);
  }
  await as('dana', thread).approve('call_pay', { expect: shown as PendingCall });
  const [decided] = ofType(await story(thread), 'agent.approval.decided');
  expect(statementHolds(decided?.data ?? {}, 'dana')).toMatchObject({
    agent: 'clerk',
    shown: sha256('{"cents":900}'),
    digest: shown?.digest,
  });
});

test('the groups of a signer are those of the verifier, whatever the decision says', async () => {
  const { thread } = await waiting([call('finance_pays')]);
  await expect(as('dana', thread).approve('call_finance_pays', { groups: ['finance'] })).rejects.toThrow(
    /for members of "finance" to answer/,
  );
  await as('eve', thread).approve('call_finance_pays');
  expect(ofType(await story(thread), 'agent.approval.decided')[0]?.data).toMatchObject({ by: 'Eve', approved: true });
});

test('several required approvals are each signed separately', async () => {
  const { thread } = await waiting([call('two_pay')]);
  await as('dana', thread).approve('call_two_pay');
  await expect(as('dana', thread).approve('call_two_pay')).rejects.toThrow(/has agreed .* already/);
  await as('eve', thread).approve('call_two_pay');
  const log = await story(thread);
  statementHolds(ofType(log, 'agent.approval.voted')[0]?.data as object, 'dana');
  statementHolds(ofType(log, 'agent.approval.decided')[0]?.data as object, 'eve');
});

test('several concurrent approvals of one person count once', async () => {
  const { thread } = await waiting([call('two_pay')]);
  const times = 8;
  together.wanted = times;
  const votes = await Promise.allSettled(Array.from({ length: times }, () => as('dana', thread).approve('call_two_pay')));
  expect(votes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  expect((await thread.pending())[0]?.votes).toEqual(['dana']);
  await as('eve', thread).approve('call_two_pay');
  expect(ofType(await story(thread), 'agent.approval.voted')).toHaveLength(1);
});

test('outputs and answers are signed, too, each separately', async () => {
  const { thread } = await waiting([call('fetch', {}), call('ask_human', { question: 'Which?' })]);
  const outputs = [{ toolCallId: 'call_fetch', output: { a: 1 } }];
  await expect(rig.client.attach(thread.id).submitToolOutputs(outputs, { by: 'dana' })).rejects.toThrow(
    /takes signed answers and outputs only/,
  );
  await expect(as('dana', thread).submitToolOutputs([...outputs, { toolCallId: 'call_ask_human', output: 'b' }])).rejects.toThrow(
    /one per request/,
  );
  await as('dana', thread).submitToolOutputs(outputs);
  await as('eve', thread).answer('call_ask_human', 'the red one');
  const done = ofType(await story(thread), 'agent.tool.execution.completed').map(({ data }) => data);
  expect(statementHolds(done[0] ?? {}, 'dana')).toMatchObject({ toolCallId: 'call_fetch', output: sha256('{"a":1}') });
  expect(statementHolds(done[1] ?? {}, 'eve')).toMatchObject({ toolCallId: 'call_ask_human', output: sha256('"the red one"') });
});

test('edited arguments are signed by their hash, and more of a limit by its number', async () => {
  const { thread } = await waiting([call('pay')]);
  await as('dana', thread).approve('call_pay', { arguments: { cents: 1 } });
  const [decided] = ofType(await story(thread), 'agent.approval.decided');
  expect(statementHolds(decided?.data ?? {}, 'dana').arguments).toBe(sha256('{"cents":1}'));
  const spending = await waiting([call('free')], 'spender');
  const id = spending.pending[0]?.toolCallId as string;
  await expect(rig.client.attach(spending.thread.id).approve(id, { by: 'dana' })).rejects.toThrow(/takes signed decisions only/);
  await as('dana', spending.thread).approve(id, { more: 3 });
  const [extended] = ofType(await story(spending.thread), 'agent.limit.extended');
  expect(extended?.data).toMatchObject({ by: 'dana', max: 4 });
  expect(statementHolds(extended?.data ?? {}, 'dana').more).toBe(3);
});

test('sent again under its id, a signed decision gets the same answer', async () => {
  const thread = await rig.client.start('clerk', scene([callTools([call('pay')]), say('done')]), { mode: 'conversation' });
  await reaches(thread, 'requires_action');
  const receipt = await as('dana', thread).approve('call_pay', { id: 'mine' });
  await reaches(thread, 'idle');
  expect(await as('dana', thread).approve('call_pay', { id: 'mine' })).toEqual(receipt);
  await thread.close();
  expect(ofType(await story(thread), 'agent.approval.decided')).toHaveLength(1);
});

test('a signal must satisfy the same checks', async () => {
  const { thread } = await waiting([call('pay')]);
  const handle = thread.client.temporal.workflow.getHandle(thread.id);
  await handle.signal('approve', { toolCallId: 'call_pay', by: 'dana' });
  await handle.signal('approve', { toolCallId: 'call_pay', by: 'dana', signature: 'bm8=' });
  await happened(thread, 'agent.request.rejected', 2);
  expect(await thread.pending()).toHaveLength(1);
  await as('dana', thread).approve('call_pay');
  await story(thread);
});

test('of many concurrent signatures only a limited number is checked, fewer than the server accepts in one task', async () => {
  const { thread } = await waiting([call('pay')]);
  await Promise.all(rig.workers.map((worker) => worker.stop()));
  const handle = thread.client.temporal.workflow.getHandle(thread.id);
  const forged = { toolCallId: 'call_pay', by: 'dana', signature: 'bm8=' };
  await Promise.all(Array.from({ length: 120 }, () => handle.signal('approve', forged)));
  await rig.addWorker();
  await standsStill(thread);
  await as('dana', thread).approve('call_pay');
  const log = await story(thread);
  const reasons = ofType(log, 'agent.request.rejected').map(({ data }) => data.reason);
  expect(reasons.filter((reason) => reason.includes('50 requests are being checked'))).toHaveLength(70);
  expect(reasons.filter((reason) => reason.includes('not one of "dana"'))).toHaveLength(50);
  expect(ofType(log, 'agent.approval.decided').map(({ data }) => data)).toMatchObject([{ approved: true, by: 'dana' }]);
});

test('if the verifier is unavailable, nothing is decided, and the error says so', async () => {
  const { thread } = await waiting([call('pay')]);
  down = true;
  await expect(as('dana', thread).approve('call_pay')).rejects.toThrow(
    /could not be checked: the directory is away; what was asked still waits/,
  );
  down = false;
  await as('dana', thread).approve('call_pay');
  await story(thread);
});

test.each([
  ['a refusal', 'pay_in_time', false],
  ['an approval', 'denied_in_time', true],
])('%s that arrived in time counts, even if its signature is checked until after the deadline', async (_, name, approved) => {
  const { thread, pending } = await waiting([call(name)]);
  const due = Date.parse(pending[0]?.dueAt ?? '');
  verifiesAt = due + 1_500;
  const dana = as('dana', thread);
  await (approved ? dana.approve(`call_${name}`) : dana.reject(`call_${name}`));
  expect(Date.now()).toBeGreaterThan(due);
  const [decided] = ofType(await story(thread), 'agent.approval.decided');
  expect(decided?.data).toMatchObject({ approved, by: 'dana' });
});

test('a call does not run if the verification of its approval was forged: the worker that runs it verifies the signature itself', async () => {
  const { thread } = await waiting([call('pay')]);
  verifiesAt = Number.POSITIVE_INFINITY;
  const forged = ask(thread, 'approve', { toolCallId: 'call_pay', by: 'dana', signature: 'bm8=' });
  const temporal = rig.client.temporal;
  const handle = temporal.workflow.getHandle(thread.id);
  const step = await until(
    async () => (await handle.describe()).raw.pendingActivities?.find(({ activityType }) => activityType?.name === 'verifyDecision'),
    (found) => found !== undefined,
  );
  const { connection, options } = temporal;
  const asWorker = new AsyncCompletionClient({ connection, namespace: options.namespace });
  await asWorker.complete({ workflowId: thread.id, activityId: step?.activityId ?? '' }, { by: 'dana', statement: '{}' });
  await forged;
  verifiesAt = 0;
  const [done] = ofType(await story(thread), 'agent.tool.execution.completed');
  expect(done?.data).toMatchObject({ status: 'denied', error: { name: 'SignatureRequiredError' } });
});

test('calls that a signed decision remembers run without a further approval, in the thread or in all threads of the agent', async () => {
  const turns = [callTools([call('pay')]), callTools([{ ...call('pay'), id: 'call_again' }]), say('done')];
  for (const remember of ['thread', 'agent'] as const) {
    const thread = await rig.client.start('rememberer', scene(turns));
    await reaches(thread, 'requires_action');
    await as('dana', thread).approve('call_pay', { remember });
    const log = await story(thread);
    expect(ofType(log, 'agent.approval.decided').map(({ data }) => statementHolds(data, 'dana').remember)).toEqual([
      { for: remember, rules: [{ tool: 'pay' }] },
    ]);
    expect(ofType(log, 'agent.tool.execution.completed').map(({ data }) => data)).toMatchObject([
      { status: 'success' },
      { status: 'success' },
    ]);
  }
  expect(remembered).toEqual([{ tool: 'pay' }]);
});

test('an approved call runs with the arguments that a before:tool hook edited', async () => {
  const thread = await rig.client.start('edited', scene([callTools([call('pay')]), say('done')]));
  await reaches(thread, 'requires_action');
  await as('dana', thread).approve('call_pay');
  const [done] = ofType(await story(thread), 'agent.tool.execution.completed');
  expect(done?.data).toMatchObject({ status: 'success', output: expect.stringContaining('paid 7') });
});
