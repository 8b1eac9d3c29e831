import { measure } from '../../src/core/metrics';
import { newThread, type RunState } from '../../src/core/state';

test('decisions about calls count as approvals, and decisions about limits do not', () => {
  const { metrics } = newThread({ threadId: 't', agent: 'a', mode: 'one-shot', overrides: {}, queue: [] });
  const run = { calls: [{ id: 'call_1', ask: { since: 1_000 } }] } as RunState;
  const decide = (toolCallId: string, approved: boolean) =>
    measure(
      metrics,
      { type: 'agent.approval.decided', timestamp: new Date(3_000).toISOString(), data: { toolCallId, approved } } as never,
      run,
    );
  decide('limit_1', false);
  expect(metrics.approvals).toEqual({ approved: 0, refused: 0, waitedMs: 0 });
  decide('call_1', true);
  expect(metrics.approvals).toEqual({ approved: 1, refused: 0, waitedMs: 2_000 });
});
