import { generateKeyPairSync } from 'node:crypto';
import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import { createSigner, LonghaulClient } from '../../src/client';
import type { PendingCall } from '../../src/core/event';
import { defineHooks } from '../../src/hooks';
import { callTools, say } from '../../src/testing/model-server';
import { defineTool, type ToolContext } from '../../src/tools';
import { createVerifier } from '../../src/worker';
import { longhaul } from '../cli/command';
import { type Rig, startRig, until } from '../support/rig';
import { ask, pester, reaches, refusal } from './asking';
import { ofType, requestsOf, scenes, story, textOf } from './scenes';

const { script, scene } = scenes();
const begun: Record<string, string[]> = {};
const hooked: string[] = [];
let probes = 0;

/** The first attempt at a call never returns. */
async function execute({ id }: { id: string }, { idempotencyKey, signal }: ToolContext): Promise<string> {
  begun[id] = [...(begun[id] ?? []), idempotencyKey];
  if ((begun[id]?.length ?? 0) > 1) return 'paid now';
  await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
  return 'never';
}

const base = { description: 'Pays.', input: z.object({ id: z.string() }), execute };
const tools = [
  defineTool({ ...base, name: 'pay' }),
  defineTool({ ...base, name: 'pay_or_fail', onUnknown: 'fail-run' }),
  defineTool({
    ...base,
    name: 'pay_probed',
    effect: 'verify',
    onUnknown: 'probe-again',
    probe: () => (++probes === 1 ? { status: 'unknown' } : { status: 'done', output: 'paid before' }),
  }),
  defineTool({ ...base, name: 'leads_pay', approval: { groups: ['leads'] } }),
];
const hooks = defineHooks({
  'before:tool': ({ call }) => void hooked.push(`before ${call.arguments}`),
  'after:tool': ({ call }) => void hooked.push(`after ${call.arguments}`),
});
const payer = { model: 'test-model', instructions: 'Pay.', onUnknown: 'ask-person' as const, hooks };
const agent = defineAgent({ ...payer, name: 'payer', tools });

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const verifier = createVerifier({ dana: { publicKey: publicKey.export({ format: 'pem', type: 'spki' }) as string, groups: ['leads'] } });
const signer = createSigner({ by: 'dana', privateKey });

let rig: Rig;
let strict: Rig;
beforeAll(async () => {
  // Without caches, every workflow task replays its thread.
  const worker = { continueAsNewAfter: { events: 200, bytes: 4_000_000 }, transcriptCacheSize: 0, temporal: { maxCachedWorkflows: 0 } };
  rig = await startRig({ script, agents: [agent], worker });
  strict = await startRig({ script, agents: [agent], worker: { verifier } });
});

/** Starts a run whose call is interrupted in the middle, on a worker that shuts down. */
async function interrupted(name: string, id: string, on = rig) {
  const words = scene([callTools([{ name, args: { id }, id: 'call_1' }]), say('Settled.')]);
  const thread = await on.client.start(agent, words);
  if (name === 'leads_pay') {
    await reaches(thread, 'requires_action', 1);
    await new LonghaulClient(on.client.temporal, { ...on.client.options, signer }).attach(thread.id).approve('call_1');
  }
  await until(
    () => begun[id]?.length ?? 0,
    (times) => times === 1,
  );
  const [old] = on.workers.splice(0);
  await on.addWorker();
  await old?.stop();
  return { words, thread, told: () => textOf(requestsOf(on, words)[1]?.body.messages.at(-1)) };
}

const hooksOf = (id: string) => hooked.filter((line) => line.includes(`"${id}"`)).map((line) => line.split(' ')[0]);

test('a person settles an unknown outcome as done, and the model gets the output', async () => {
  const { thread, told } = await interrupted('pay', 'done');
  const { pending } = await reaches(thread, 'requires_action', 1);
  expect(pending).toMatchObject([
    { kind: 'outcome', toolCallId: 'call_1', name: 'pay', reason: expect.stringContaining('the worker was lost') },
  ]);
  expect(await refusal(ask(thread, 'settle', { toolCallId: 'call_2', outcome: 'not-done' }))).toContain('does not wait');
  const [shown] = pending;
  const other = { ...(shown as PendingCall), since: new Date(0).toISOString() };
  await expect(thread.settle('call_1', { outcome: 'not-done', expect: other })).rejects.toMatchObject({ refusal: 'not-as-expected' });
  const approved = await longhaul(['approve', thread.id, 'call_1'], { env: { TEMPORAL_ADDRESS: rig.address } });
  expect(approved.stderr).toMatch(
    /call_1 is answered with: longhaul settle .*\nerror: .*someone has to settle.*nothing in thread "\S+" waits for an approval\n$/,
  );
  await thread.settle('call_1', { outcome: 'done', output: { receipt: 7 }, by: 'dana', reason: 'I saw it', expect: shown as PendingCall });
  const log = await story(thread);
  expect(ofType(log, 'agent.tool.outcome.settled').map(({ data }) => data)).toEqual([
    { toolCallId: 'call_1', outcome: 'done', by: 'dana', reason: 'I saw it' },
  ]);
  expect(ofType(log, 'agent.tool.execution.completed').map(({ data }) => data)).toMatchObject([{ status: 'success', by: 'dana' }]);
  expect(told()).toBe('{"receipt":7}');
  expect(begun.done).toHaveLength(1);
  expect(hooksOf('done')).toEqual(['before']);
});

test('a call that a person settles as not done runs again with the same key, also after continue-as-new; its hooks run once', async () => {
  const { thread, told } = await interrupted('pay', 'again');
  await reaches(thread, 'requires_action', 1);
  await pester(thread);
  await thread.settle('call_1', { outcome: 'not-done', by: 'dana' });
  await story(thread);
  expect(told()).toBe('paid now');
  expect(begun.again).toHaveLength(2);
  expect(new Set(begun.again).size).toBe(1);
  expect(hooksOf('again')).toEqual(['before', 'after']);
  expect((await thread.usage()).metrics.tools.pay?.calls).toBe(1);
});

test('a failure that a person settles at the command line is told to the model with its reason', async () => {
  const { thread, told } = await interrupted('pay', 'failed');
  await reaches(thread, 'requires_action', 1);
  const env = { TEMPORAL_ADDRESS: rig.address };
  const shown = await longhaul(['show', thread.id], { env });
  const mark = /settle \S+ call_1 --done '<output>' --expect (\S+)/.exec(shown.stdout)?.[1] ?? '';
  const wrong = await longhaul(['settle', thread.id, 'call_1', '--not-done', '--expect', `${mark}0`], { env });
  expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('look at it again before you settle it')]);
  const both = await longhaul(['settle', thread.id, 'call_1', '--not-done', '--done', 'x'], { env });
  expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('one of --done OUTPUT, --not-done and --failed REASON')]);
  const settled = await longhaul(['settle', thread.id, 'call_1', '--failed', 'the account is closed', '--by', 'dana', '--expect', mark], {
    env,
  });
  expect([settled.code, settled.stderr]).toEqual([
    0,
    expect.stringMatching(
      /^Settling pay as failed \(as shown with --expect \S+\)\n {4}→ the account is closed\n.*Find out, then settle the call\n.*id: failed\ncall_1 is settled\.\n$/s,
    ),
  ]);
  expect(ofType(await story(thread), 'agent.tool.execution.completed')[0]?.data.status).toBe('failed');
  expect(told()).toBe('Error: the account is closed');
});

test('a cancel while a person is asked leaves the outcome unknown', async () => {
  const { thread } = await interrupted('pay', 'cancelled');
  await reaches(thread, 'requires_action', 1);
  await thread.cancel();
  expect(ofType(await story(thread), 'agent.tool.execution.completed')[0]?.data.status).toBe('unknown');
});

test('the run fails if the tool wants that, and the call keeps its unknown outcome', async () => {
  const { thread } = await interrupted('pay_or_fail', 'fail');
  const log = await story(thread);
  expect(log.at(-1)).toMatchObject({ type: 'thread.run.failed', data: { code: 'outcome_unknown' } });
  expect(ofType(log, 'agent.tool.execution.completed')[0]?.data.status).toBe('unknown');
});

test('the probe is asked again later, and its answer is the outcome', async () => {
  const { thread, told } = await interrupted('pay_probed', 'probed');
  await story(thread);
  expect(told()).toBe('paid before');
  expect(probes).toBe(2);
  expect(begun.probed).toHaveLength(1);
});

test('on a worker with a verifier only a signed settlement counts, by someone who could approve the call', async () => {
  const { thread } = await interrupted('leads_pay', 'signed', strict);
  const { pending } = await reaches(thread, 'requires_action', 1);
  expect(await refusal(ask(thread, 'settle', { toolCallId: 'call_1', outcome: 'not-done', by: 'dana' }))).toContain(
    'signed decisions only',
  );
  const forged = { toolCallId: 'call_1', outcome: 'not-done', by: 'dana', signature: 'x' };
  expect(await refusal(ask(thread, 'settle', forged))).toContain('the signature is not one of "dana"');
  const signing = new LonghaulClient(strict.client.temporal, { ...strict.client.options, signer }).attach(thread.id);
  const [shown] = pending as [PendingCall];
  for (const other of [{ arguments: '{"id":"other"}' }, { since: new Date(0).toISOString() }]) {
    const expected = { ...shown, ...other };
    await expect(signing.settle('call_1', { outcome: 'not-done', expect: expected })).rejects.toMatchObject({ refusal: 'not-as-expected' });
  }
  // What a person was shown is expected by its mark, whatever the thread says it has now.
  await expect(signing.settle('call_1', { outcome: 'not-done', expect: `0000@${shown.since}` })).rejects.toThrow('Nothing was signed');
  await signing.settle('call_1', { outcome: 'not-done', expect: `${shown.digest}@${shown.since}` });
  const log = await story(thread);
  const { statement = '{}' } = ofType(log, 'agent.tool.outcome.settled')[0]?.data.signed ?? {};
  expect(JSON.parse(statement)).toMatchObject({
    request: 'settle',
    outcome: 'not-done',
    tool: 'leads_pay',
    toolCallId: 'call_1',
    by: 'dana',
    // A signature for one loss of the call must not count for another.
    since: pending[0]?.since,
  });
  expect(ofType(log, 'agent.tool.execution.completed')[0]?.data.status).toBe('success');
  expect(begun.signed).toHaveLength(2);
});
