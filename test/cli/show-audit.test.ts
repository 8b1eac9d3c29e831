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
  expect(lines(audit(paid))).toEqual(['retry pay_invoice: 2 attempts']);
  const failed: AuditFact = { ...paid, toolCallId: 'c2', status: 'failed', attempts: 3, error: 'Error: no answer' };
  expect(lines(audit(failed))).toEqual(['failed pay_invoice, 3 attempts: Error: no answer']);
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
    'refused pay_invoice by dana',
    'denied pay_invoice: PermissionDeniedError: not here',
  ]);
});
