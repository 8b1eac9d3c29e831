import { createHash } from 'node:crypto';
import { z } from 'zod';
import { callDigest } from '../../src/activities/steps/call-digest';
import { whyNotApproved } from '../../src/activities/steps/signed-approvals';
import { defineAgent } from '../../src/agents';
import { type Attestation, type SignedIn, statementOf } from '../../src/core/attestation';
import type { DecisionRequest } from '../../src/core/requests';
import { defineHooks } from '../../src/hooks';
import { createPermissions, defineTool } from '../../src/tools';

/** Signs with the signer's name, so that a test can see who signed what. */
const verifier = {
  verify: ({ statement, signature, by }: { statement: string; signature: string; by: string }) =>
    signature === `${by}: ${statement}` && by !== 'mallory' ? { by, groups: by === 'eve' ? ['finance'] : [] } : undefined,
};

const input = z.object({ cents: z.number(), to: z.string().default('the shop') });
const pay = (name: string, approval: Parameters<typeof defineTool>[0]['approval']) =>
  defineTool({ name, description: 'Pays.', input, approval, execute: () => 'paid' });
const tools = [
  pay('pay', 'always'),
  pay('two_pay', { approvers: 2 }),
  pay('finance_pays', { groups: ['finance'] }),
  pay('escalated', { users: ['zoe'], deadlineMs: 1_000, onDeadline: [{ escalate: ['finance'] }, 'deny'] }),
  pay('pay_in_time', { deadlineMs: 1_000, onDeadline: 'approve' }),
  pay('free', 'never'),
  pay('denied', 'never'),
];
const permissions = createPermissions({ deny: [{ tool: 'denied' }] });
const agent = defineAgent({ name: 'clerk', model: 'test-model', instructions: 'Pay.', tools, permissions });
const hooked = (name: 'approve:tool' | 'before:tool') =>
  defineAgent({
    name: 'clerk',
    model: 'test-model',
    instructions: 'Pay.',
    tools,
    permissions,
    hooks: defineHooks({ [name]: () => undefined }),
  });

const at = { threadId: 'thread', agent: 'clerk', runId: 'run' };
const args = '{"cents":900}';
const shown = '{"cents":900,"to":"the shop"}';
const idOf = (name: string) => `call_${name}`;
const shownDigest = (name: string) => callDigest(at.threadId, { id: idOf(name), name, arguments: args }, shown);

function approval(
  name: string,
  { by = 'dana', in: place = {}, ...content }: Partial<DecisionRequest> & { in?: Partial<SignedIn> } = {},
): Attestation {
  const call = { name, arguments: shown, digest: shownDigest(name) };
  const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
  const statement = statementOf(
    { name: 'approve', content: { toolCallId: idOf(name), by, ...content } },
    { ...at, call, ...place },
    sha256,
  );
  return { statement, signature: `${by}: ${statement}` };
}

async function why(name: string, claimed: Partial<Parameters<typeof whyNotApproved>[1]> = {}, of = agent): Promise<string | undefined> {
  const toolbox = await of.toolsFor({ threadId: at.threadId });
  const call = { id: idOf(name), name, arguments: args };
  const error = await whyNotApproved({ agent: of, toolbox, verifier }, { ...at, call, workspace: '/', ...claimed });
  return error?.name;
}

test('a call that needs no approval runs without signatures', async () => {
  expect(await why('free')).toBeUndefined();
});

test('a call that a rule denies does not run, whatever was signed', async () => {
  expect(await why('denied', { signed: [approval('denied')] })).toBe('PermissionDeniedError');
});

test('a call runs with a signed approval of exactly this call', async () => {
  expect(await why('pay', { signed: [approval('pay')] })).toBeUndefined();
});

const forged: [string, Attestation[]][] = [
  ['there are none', []],
  ['the signer is unknown', [approval('pay', { by: 'mallory' })]],
  ['the signature is of another statement', [{ ...approval('pay'), signature: approval('two_pay').signature }]],
  ['the statement is no JSON', [{ statement: 'approve', signature: 'dana: approve' }]],
  ['it is a refusal', [approval('pay', { approved: false })]],
  ['it is for another tool', [approval('pay', { in: { call: { name: 'free', arguments: shown } } })]],
  ['it is for another call', [approval('pay', { toolCallId: 'call_other' })]],
  ['it is for another thread', [approval('pay', { in: { threadId: 'other' } })]],
  ['it is for another agent', [approval('pay', { in: { agent: 'other' } })]],
  ['it is for another run', [approval('pay', { in: { runId: 'other' } })]],
  [
    'it is for other arguments, even if their digest is the same',
    [approval('pay', { in: { call: { name: 'pay', arguments: '{"cents":901}', digest: shownDigest('pay') } } })],
  ],
  ['it names no call', [approval('pay', { in: { call: undefined } })]],
  ['the signer edited the arguments', [approval('pay', { arguments: { cents: 1 } })]],
];

test.each(forged)('a call that needs an approval does not run if, of its signatures, %s', async (_, signed) => {
  expect(await why('pay', { signed })).toBe('SignatureRequiredError');
});

test('arguments that the signer edited run as they were signed', async () => {
  const signed = [approval('pay', { arguments: { to: 'me', cents: 1 } })];
  const call = { id: idOf('pay'), name: 'pay', arguments: '{"to":"me","cents":1}' };
  expect(await why('pay', { signed, call, edited: 'person' })).toBeUndefined();
  expect(await why('pay', { signed, call: { ...call, arguments: '{"to":"me","cents":2}' }, edited: 'person' })).toBe(
    'SignatureRequiredError',
  );
});

test('several approvals are counted by person', async () => {
  const [dana, again, eve] = [approval('two_pay'), approval('two_pay', { reason: 'once more' }), approval('two_pay', { by: 'eve' })];
  expect(await why('two_pay', { signed: [dana] })).toBe('SignatureRequiredError');
  expect(await why('two_pay', { signed: [dana, dana, again] })).toBe('SignatureRequiredError');
  expect(await why('two_pay', { signed: [dana, eve] })).toBeUndefined();
});

test('only those who are asked count, also after an escalation', async () => {
  for (const name of ['finance_pays', 'escalated']) {
    expect(await why(name, { signed: [approval(name)] })).toBe('SignatureRequiredError');
    expect(await why(name, { signed: [approval(name, { by: 'eve' })] })).toBeUndefined();
  }
});

test('a rule of the thread allows a call only if a signed decision in this thread remembers exactly this rule', async () => {
  const rule = { tool: 'two_pay' };
  const signed = approval('pay', {
    remember: 'thread',
    in: { call: { name: 'pay', arguments: shown, remember: [{ tool: 'pay' }] } },
  });
  const other = approval('pay', {
    remember: 'thread',
    in: { agent: 'other', call: { name: 'pay', arguments: shown, remember: [{ tool: 'pay' }] } },
  });
  const elsewhere = approval('pay', {
    remember: 'thread',
    in: { threadId: 'other', call: { name: 'pay', arguments: shown, remember: [{ tool: 'pay' }] } },
  });
  expect(await why('pay', { rules: [{ tool: 'pay', signed }] })).toBeUndefined();
  expect(await why('pay', { rules: [{ tool: 'pay' }] })).toBe('SignatureRequiredError');
  expect(await why('pay', { rules: [{ tool: 'pay', signed: elsewhere }] })).toBe('SignatureRequiredError');
  expect(await why('pay', { rules: [{ tool: 'pay', signed: other }] })).toBe('SignatureRequiredError');
  expect(await why('two_pay', { rules: [{ ...rule, signed }] })).toBe('SignatureRequiredError');
  expect(await why('pay', { rules: [{ tool: 'pay', signed: approval('pay') }] })).toBe('SignatureRequiredError');
});

test('approving deadlines and hooks that approve are taken from the thread; arguments may differ only if a hook may have edited them', async () => {
  expect(await why('pay_in_time')).toBeUndefined();
  expect(await why('pay', {}, hooked('approve:tool'))).toBeUndefined();
  const call = { id: idOf('pay'), name: 'pay', arguments: '{"cents":7}' };
  const changed = { call, edited: 'hook' as const, signed: [approval('pay')] };
  expect(await why('pay', changed)).toBe('SignatureRequiredError');
  expect(await why('pay', changed, hooked('before:tool'))).toBeUndefined();
  expect(await why('pay', { ...changed, signed: [] }, hooked('before:tool'))).toBe('SignatureRequiredError');
});

test('a verifier that fails is tried again', async () => {
  let tries = 0;
  const flaky = {
    verify(signed: { statement: string; signature: string; by: string }) {
      tries += 1;
      if (tries < 3) throw new Error('away');
      return verifier.verify(signed);
    },
  };
  const toolbox = await agent.toolsFor({ threadId: at.threadId });
  const call = { id: idOf('pay'), name: 'pay', arguments: args };
  const error = await whyNotApproved({ agent, toolbox, verifier: flaky }, { ...at, call, workspace: '/', signed: [approval('pay')] });
  expect([error, tries]).toEqual([undefined, 3]);
});
