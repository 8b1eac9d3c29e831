import { auditLines, dollars, spentLines } from '../../src/cli/views/show-audit';
import type { Audit, AuditFact } from '../../src/client';
import type { UsageView } from '../../src/contract/thread';

function audit(...facts: AuditFact[]): Audit {
  return {
    entries: facts.map((fact, i) => ({ seq: i + 1, at: '2026-01-31T12:00:00.000Z', runId: 'run_1', ...fact })),
    truncated: false,
  };
}

const lines = (told: Audit) => auditLines(told).map(({ text }) => text.replace('2026-01-31 12:00:00 ', ''));

const paid: AuditFact = { kind: 'tool', toolCallId: 'c1', name: 'pay_invoice', status: 'success', durationMs: 8_200, attempts: 2 };

test('small amounts are exact to a millionth, and nothing is 0', () => {
  expect([0, 0.00375, 0.001, 0.0196, 0.1, 0.5, 0.99999, 12].map(dollars)).toEqual([
    '0 USD',
    '0.00375 USD',
    '0.001 USD',
    '0.0196 USD',
    '0.10 USD',
    '0.50 USD',
    '1.00 USD',
    '12.00 USD',
  ]);
});

test('a call that needed more than one attempt is reported, and counted with its tool', () => {
  expect(lines(audit(paid))).toEqual(['retry pay_invoice (c1): 2 attempts']);
  const failed: AuditFact = { ...paid, toolCallId: 'c2', status: 'failed', attempts: 3, error: 'Error: no answer' };
  expect(lines(audit(failed))).toEqual(['failed pay_invoice (c2), 3 attempts: Error: no answer']);
  expect(lines(audit({ ...paid, attempts: 1 }))).toEqual([]);

  const usage = {
    metrics: {
      models: {},
      tools: { pay_invoice: { calls: 2, failed: 1, timedOut: 0, durationMs: 8_200 } },
      hooks: {},
      approvals: { approved: 0, refused: 0, waitedMs: 0 },
    },
  } as unknown as UsageView;
  const spent = (told: Audit) => spentLines(usage, told).map(({ text }) => text);
  expect(spent(audit(paid, failed))).toEqual(['pay_invoice · 2 calls · 1 failed · 8.2 s · 3 retries']);
  expect(spent({ ...audit(paid), truncated: true })).toEqual(['pay_invoice · 2 calls · 1 failed · 8.2 s']);
});

test('attempts of a model that gave no answer are reported with their cost', () => {
  const counted = { inputTokens: 1_200, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 34, reasoningTokens: 0 };
  const answered: AuditFact = { kind: 'model', turn: 1, model: 'gpt', usage: counted, durationMs: 10 };
  expect(lines(audit(answered))).toEqual([]);
  expect(lines(audit({ ...answered, wasted: { usage: counted, estimated: true } }))).toEqual([
    'lost gpt: attempts without an answer: about 1.2k tokens in, 34 out',
  ]);
});

test('a refusal is reported once, with the person; a call that no person refused is reported by its outcome', () => {
  const refused: AuditFact = { kind: 'decided', toolCallId: 'c1', name: 'pay_invoice', approved: false, by: 'dana' };
  const outcome: AuditFact = {
    kind: 'tool',
    toolCallId: 'c1',
    name: 'pay_invoice',
    status: 'denied',
    error: 'ApprovalDeniedError: refused',
  };
  const forbidden: AuditFact = { ...outcome, error: 'PermissionDeniedError: not here' };
  expect(lines(audit(refused, outcome, forbidden))).toEqual([
    'rejected pay_invoice (c1) by dana',
    'denied pay_invoice (c1): PermissionDeniedError: not here',
  ]);
});

test('decisions name the call and its arguments, and what people answered', () => {
  const asked: AuditFact = {
    kind: 'asked',
    toolCallId: 'c1',
    name: 'shell',
    arguments: '{"command":"git push"}',
    reason: 'It changes git.',
  };
  const decided: AuditFact = { kind: 'decided', toolCallId: 'c1', name: 'shell', approved: true, by: 'dana' };
  const question: AuditFact = {
    kind: 'question-answered',
    toolCallId: 'c2',
    name: 'book',
    questionId: 'q',
    action: 'accept',
    content: { seats: 2, name: '812' },
    by: 'mia',
    waitedMs: 35_000,
  };
  const answered: AuditFact = { kind: 'tool', toolCallId: 'c3', name: 'ask_human', status: 'success', by: 'kim', answer: 'blue' };
  const left: AuditFact = { ...question, action: 'cancel' };
  delete (left as { content?: object }).content;
  expect(lines(audit(asked, decided, question, { ...question, action: 'decline', content: {} }, left, answered))).toEqual([
    'asked about shell git push (c1): It changes git.',
    'approved shell (c1) by dana',
    'answered the question of book (c2) by mia: seats: 2, name: "812"',
    'declined the question of book (c2) by mia',
    'left unanswered the question of book (c2) by mia',
    'answered ask_human (c3) by kim: blue',
  ]);
});

test('a settlement is one line, and counts once for the people; the time of attempts that were lost is not known', () => {
  const unknown: AuditFact = {
    kind: 'outcome-unknown',
    toolCallId: 'c1',
    name: 'pay',
    message: 'Error: the worker was lost while pay ran. It may have been carried out or not; check before you call it again.',
  };
  const again: AuditFact = { kind: 'settled', toolCallId: 'c1', name: 'pay', outcome: 'not-done', by: 'dana', waitedMs: 20_000 };
  const done: AuditFact = { ...again, outcome: 'done', waitedMs: 10_000 };
  const outcome: AuditFact = { kind: 'tool', toolCallId: 'c1', name: 'pay', status: 'success', by: 'dana', answer: 'receipt 7' };
  const answered: AuditFact = { kind: 'tool', toolCallId: 'c3', name: 'ask_human', status: 'success', by: 'kim', waitedMs: 5_000 };
  const told = audit(unknown, again, unknown, done, outcome, answered);
  expect(lines(told)).toEqual([
    'unknown pay (c1): the worker was lost while pay ran. It may have been carried out or not',
    'settled pay (c1) as not-done by dana',
    'unknown pay (c1): the worker was lost while pay ran. It may have been carried out or not',
    'settled pay (c1) as done by dana; with receipt 7',
    'answered ask_human (c3) by kim',
  ]);
  const tools = { pay: { calls: 1, failed: 0, timedOut: 0, durationMs: 0 } };
  const usage = {
    metrics: { models: {}, tools, hooks: {}, approvals: { approved: 1, refused: 0, waitedMs: 1_000 } },
  } as unknown as UsageView;
  const spent = (one: Audit) => spentLines(usage, one).map(({ text }) => text);
  expect(spent(told)).toEqual(['pay · 1 call', 'people · 1 approved · 0 rejected · 1 answered · 2 settled · 36.0 s waited for']);
  expect(spent({ ...told, truncated: true })).toEqual(['pay · 1 call · 0 ms', 'people · 1 approved · 0 rejected · 1.0 s waited for']);
});
