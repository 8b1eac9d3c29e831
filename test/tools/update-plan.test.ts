import { details } from '../../src/core/details';
import { evolve } from '../../src/core/evolve';
import { newThread } from '../../src/core/state';
import { updatePlan } from '../../src/tools/built-in/update-plan';
import { run, told } from './tool-host';

const step = (description: string, status: string) => ({ description, status });

describe('update_plan', () => {
  test('[B145] replaces the plan and echoes its steps with their status', async () => {
    const steps = [step('read\nthe code', 'completed'), step('repair it', 'in_progress'), step('test it', 'pending')];
    expect(await told(updatePlan, { steps, explanation: 'The bug is\n[x] elsewhere.' })).toBe(
      '[x] read the code\n[>] repair it\n[ ] test it\nReason: The bug is [x] elsewhere.',
    );
    expect(await told(updatePlan, { steps: [] })).toBe('(no steps)');
  });

  test('[B162] at most one step is in progress', async () => {
    const text = await told(updatePlan, { steps: [step('a', 'in_progress'), step('b', 'in_progress')] });
    expect(text).toContain('several steps in_progress; at most one may be');
  });

  test('[B162] steps are changed by their numbers; an unknown one is reported with the plan, and nothing changes', async () => {
    const plan = '[x] read\n[>] repair [it]\n[ ] test\nReason: [ ] no step';
    const change = (changes: object[], before: string | undefined = plan) =>
      run(updatePlan, { changes }, before === undefined ? {} : { plan: before }).then(({ outcome }) => outcome);
    const next = [
      { step: 2, status: 'completed' },
      { step: 3, status: 'in_progress', description: 'test\nall' },
    ];
    expect((await change(next)).content).toBe('[x] read\n[x] repair [it]\n[>] test all');
    const unknown = await change([{ step: 4, status: 'pending' }, { step: 0, status: 'pending' }, ...next]);
    expect(unknown).toMatchObject({
      status: 'failed',
      content: 'Error: There is no step 4, 0. Nothing was changed. The plan is:\n1 [x] read\n2 [>] repair [it]\n3 [ ] test',
    });
    expect(await change([{ step: 3, status: 'in_progress' }])).toMatchObject({
      status: 'failed',
      content: expect.stringContaining('several steps in_progress'),
    });
    expect((await change(next, '')).content).toContain('no step 2, 3. The thread has no plan yet');
    expect((await run(updatePlan, { steps: [], changes: next })).outcome.content).toContain('give either steps or changes');
    expect((await run(updatePlan, {})).outcome.content).toContain('give either steps or changes');
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
