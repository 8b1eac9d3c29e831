import { z } from 'zod';
import type { AskPolicy } from '../../src/core/tool';
import { askHuman, createAskHuman } from '../../src/tools/built-in/ask-human';
import { type ApprovalRule, defineTool } from '../../src/tools/defining/define-tool';
import { createToolbox } from '../../src/tools/running/toolbox';
import { callOf } from './tool-host';

type Rule = ApprovalRule<{ cents: number }>;

const refund = (approval: Rule) =>
  defineTool({ name: 'refund', description: 'Refund.', input: z.object({ cents: z.number() }), approval, execute: () => 'ok' });

async function judged(approval: unknown) {
  return createToolbox([refund(approval as Rule)]).judge(callOf('refund', { cents: 6_000 }));
}

async function asked(approval: unknown): Promise<AskPolicy | undefined> {
  const verdict = await judged(approval);
  if (verdict.kind !== 'run') throw new Error(JSON.stringify(verdict));
  return verdict.approval;
}

describe('an approval that says how people are asked', () => {
  test.each([
    ['nothing but a reason', { reason: 'money' }, { reason: 'money' }],
    ['nothing at all', {}, {}],
    [
      'users and groups',
      { users: ['dana'], groups: ['finance'], approvers: 3 },
      { users: ['dana'], groups: ['finance'], approvers: 3, remember: [] },
    ],
    ['a deadline, which denies', { deadlineMs: 60_000 }, { deadlineMs: 60_000, onDeadline: ['deny'] }],
    ['one action at the deadline', { deadlineMs: 5, onDeadline: 'cancel' }, { deadlineMs: 5, onDeadline: ['cancel'] }],
    [
      'a chain of actions',
      { deadlineMs: 5, onDeadline: ['ask-again', { escalate: ['boss'] }, 'deny'] },
      { deadlineMs: 5, onDeadline: ['ask-again', { escalate: ['boss'] }, 'deny'] },
    ],
    ['a rule that says no', { when: () => false, users: ['dana'] }, undefined],
    ['a rule that says yes', { when: ({ cents }: { cents: number }) => cents > 5_000, users: ['dana'] }, { users: ['dana'], remember: [] }],
    ['a rule that says why', { when: () => 'much', reason: 'money', users: ['dana'] }, { reason: 'much', users: ['dana'], remember: [] }],
    [
      'a rule that says whom',
      { when: () => ({ groups: ['board'] }), reason: 'money' },
      { reason: 'money', groups: ['board'], remember: [] },
    ],
    [
      'a bare rule that says how',
      async () => ({ users: ['dana', 'lee'], approvers: 2 }),
      { users: ['dana', 'lee'], approvers: 2, remember: [] },
    ],
    [
      'a rule that throws, whose people stay the same',
      {
        when: () => {
          throw new Error('no rates');
        },
        users: ['dana'],
      },
      { users: ['dana'], reason: 'The approval rule failed: no rates', remember: [] },
    ],
  ])('%s', async (_what, approval, policy) => {
    expect(await asked(approval)).toEqual(policy);
  });

  test.each([
    ['more approvers than there are', { users: ['dana', 'dana'], approvers: 2 }, /approvers is 2, and users names only 1/],
    ['no approvers', { approvers: 0 }, /approvers is 0; use a whole number above 0/],
    ['an empty group', { groups: [] }, /groups is \[\]; use a list of names, at least one/],
    ['a deadline in the past', { deadlineMs: -1 }, /deadlineMs is -1; use milliseconds from 1/],
    ['a deadline of less than the clock tells', { deadlineMs: 0.5 }, /deadlineMs is 0.5; use milliseconds from 1/],
    ['something to do at no deadline', { onDeadline: 'deny' }, /onDeadline has no deadline; set deadlineMs, too/],
    ['an unknown action', { deadlineMs: 1, onDeadline: 'shrug' }, /onDeadline is "shrug"; use 'deny', 'approve'/],
    ['no action', { deadlineMs: 1, onDeadline: [] }, /onDeadline is \[\]/],
    ['an escalation to nobody', { deadlineMs: 1, onDeadline: { escalate: [] } }, /onDeadline is \{"escalate":\[\]\}/],
    ['actions after the end', { deadlineMs: 1, onDeadline: ['deny', 'ask-again'] }, /onDeadline has actions after "deny", which is final/],
    ['a misspelt field', { user: ['dana'] }, /user is not known; known are reason, users, groups/],
    ['rules to remember, which are not its to give', { remember: [{ tool: 'refund' }] }, /remember is not known/],
  ])('%s is refused, when the tool is defined and when a rule returns it', async (_what, policy, message) => {
    expect(() => refund(policy as never)).toThrow(message);
    expect(() => refund(policy as never)).toThrow(/^defineTool 'refund': approval is not valid: /);
    // Not asked with less than was meant: anybody might then agree.
    expect(await judged(() => policy)).toEqual({
      kind: 'reject',
      error: { name: 'ApprovalPolicyError', message: expect.stringMatching(message) },
    });
  });

  test('does not change the tool if it is changed later', async () => {
    const users = ['dana'];
    const tool = refund({ users });
    users.push('mallory');
    const verdict = await createToolbox([tool]).judge(callOf('refund', { cents: 1 }));
    expect(verdict).toMatchObject({ approval: { users: ['dana'] } });
  });
});

describe('tools that people answer', () => {
  test('have people, a deadline, and are questions', async () => {
    const deliver = defineTool({
      name: 'deliver',
      description: 'Deliver.',
      input: z.object({}),
      ask: { groups: ['drivers'], deadlineMs: 1_000 },
    });
    expect(await createToolbox([deliver]).judge(callOf('deliver', {}))).toEqual({
      kind: 'external',
      ask: { groups: ['drivers'], deadlineMs: 1_000, onDeadline: ['deny'] },
    });
  });

  test('ask_human is a question to anybody', async () => {
    const box = createToolbox([askHuman]);
    expect(await box.judge(callOf('ask_human', { question: 'Which colour?', options: ['red', 'blue'] }))).toEqual({
      kind: 'external',
      question: true,
    });
    for (const args of [{}, { question: ' ' }, { question: 'Which?', options: ['one'] }]) {
      expect(await box.judge(callOf('ask_human', args))).toMatchObject({ kind: 'reject' });
    }
  });

  test('ask_human may be for some people, with a deadline', async () => {
    const tool = createAskHuman({ groups: ['owners'], deadlineMs: 86_400_000, onDeadline: [{ escalate: ['boss'] }, 'deny'] });
    expect(await createToolbox([tool]).judge(callOf('ask_human', { question: 'May I?' }))).toEqual({
      kind: 'external',
      question: true,
      ask: { groups: ['owners'], deadlineMs: 86_400_000, onDeadline: [{ escalate: ['boss'] }, 'deny'] },
    });
    expect(() => createAskHuman({ onDeadline: 'deny' })).toThrow(/ask_human': ask can't be used: onDeadline has no deadline/);
  });
});
