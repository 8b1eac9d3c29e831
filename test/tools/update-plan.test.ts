import { details } from '../../src/core/details';
import { evolve } from '../../src/core/evolve';
import { newThread } from '../../src/core/state';
import { updatePlan } from '../../src/tools/built-in/update-plan';
import { told } from './tool-host';

const step = (description: string, status: string) => ({ description, status });

describe('update_plan', () => {
  test('[B145] replaces the plan and echoes its steps with their status', async () => {
    const steps = [step('read\nthe code', 'completed'), step('repair it', 'in_progress'), step('test it', 'pending')];
    expect(await told(updatePlan, { steps, explanation: 'The bug is elsewhere.' })).toBe(
      '[x] read the code\n[>] repair it\n[ ] test it\nReason: The bug is elsewhere.',
    );
    expect(await told(updatePlan, { steps: [] })).toBe('(no steps)');
  });

  test('[B162] at most one step is in progress', async () => {
    const text = await told(updatePlan, { steps: [step('a', 'in_progress'), step('b', 'in_progress')] });
    expect(text).toContain('several steps in_progress; at most one may be');
  });

  test('the plan is shown in the Web UI, bounded', () => {
    const state = newThread({ threadId: 't', agent: 'a', mode: 'one-shot', overrides: {}, queue: [] });
    const completed = (output: string, name = 'update_plan', status = 'success') =>
      evolve(state, {
        type: 'agent.tool.execution.completed',
        seq: state.nextSeq,
        runId: null,
        threadId: 't',
        timestamp: new Date(0).toISOString(),
        data: { stepId: 's', toolCallId: 'c', name, status, output, isError: false, messageId: 'm' },
      } as never);
    expect(details(state)).not.toContain('Plan:');
    completed('[>] first');
    completed('failed', 'update_plan', 'failed');
    completed('other', 'read_file');
    expect(details(state)).toMatch(/Plan:\n\n```+\n\[>\] first\n```/);
    completed('x'.repeat(100_000));
    expect(state.plan?.length).toBeLessThanOrEqual(8_000);
    expect(details(state).length).toBeLessThan(20_000);
  });
});
