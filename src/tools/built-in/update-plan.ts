import { z } from 'zod';
import { planTool } from '../../core/plan';
import { defineTool } from '../defining/define-tool';
import { ToolFailure } from '../defining/tool-failure';

const marks = { pending: '[ ]', in_progress: '[>]', completed: '[x]' };
type Status = keyof typeof marks;

interface Step {
  description: string;
  status: Status;
}

const mostSteps = 20;
const description = z.string().trim().min(1).max(300);
const status = z.enum(['pending', 'in_progress', 'completed']);
const several = 'has several steps in_progress; at most one may be, and the others are pending or completed';

const input = z
  .object({
    steps: z
      .array(z.object({ description: description.describe('What is to be done, in one line.'), status }))
      .max(mostSteps)
      .refine(hasOneStepInProgress, several)
      .optional()
      .describe('All steps, in order: they replace the plan.'),
    changes: z
      .array(z.object({ step: z.number().int().describe('Its number in the plan, from 1.'), status, description: description.optional() }))
      .min(1)
      .max(mostSteps)
      .optional()
      .describe('Instead of steps: only the steps that change.'),
    explanation: z.string().trim().max(500).optional().describe('Why the plan changes.'),
  })
  .refine(({ steps, changes }) => (steps === undefined) !== (changes === undefined), 'give either steps or changes');

function hasOneStepInProgress(steps: readonly { status: string }[]): boolean {
  return steps.filter(({ status }) => status === 'in_progress').length <= 1;
}

/**
 * Replaces the plan of the thread, or changes some of its steps. It returns the plan as text, and the engine keeps the last such result with the thread:
 * in its status, in the Web UI, and in summaries of the transcript. The same call with the same plan before it has the same result. Not `pure`, because
 * calls of one answer must run in their order.
 */
export const updatePlan = defineTool({
  name: planTool,
  description:
    'Write down the steps of a longer task, and update them when one begins or ends. Give the whole plan with steps, or some steps of it with changes. People see it, and it is kept when the conversation becomes too long. Not needed for a task of one or two steps.',
  input,
  effect: 'keyed',
  execute({ steps, changes = [], explanation }, { plan = '' }) {
    const lines = (steps ?? changed(stepsOf(plan), changes)).map(lineOf);
    return [...(lines.length === 0 ? ['(no steps)'] : lines), ...(explanation ? [`Reason: ${explanation.replace(/\s+/g, ' ')}`] : [])].join(
      '\n',
    );
  },
});

function lineOf({ description, status }: Step): string {
  return `${marks[status]} ${description.replace(/\s+/g, ' ')}`;
}

function stepsOf(plan: string): Step[] {
  const statuses = Object.keys(marks) as Status[];
  return plan.split('\n').flatMap((line) => {
    const status = statuses.find((one) => line.startsWith(`${marks[one]} `));
    return status ? [{ status, description: line.slice(marks[status].length + 1) }] : [];
  });
}

function changed(steps: readonly Step[], changes: readonly (Pick<Step, 'status'> & { step: number; description?: string | undefined })[]) {
  const unknown = [...new Set(changes.map(({ step }) => step))].filter((step) => steps[step - 1] === undefined);
  if (unknown.length > 0) throw refusal(`There is no step ${unknown.join(', ')}. ${planWords(steps)}`);
  const result = [...steps];
  for (const { step, status, description = result[step - 1]?.description ?? '' } of changes) result[step - 1] = { status, description };
  if (!hasOneStepInProgress(result)) throw refusal(`The plan then ${several}. ${planWords(steps)}`);
  return result;
}

function planWords(steps: readonly Step[]): string {
  if (steps.length === 0) return 'The thread has no plan yet; give all steps with steps.';
  return `Nothing was changed. The plan is:\n${steps.map((step, i) => `${i + 1} ${lineOf(step)}`).join('\n')}`;
}

function refusal(message: string): ToolFailure {
  return new ToolFailure(`Error: ${message}`, { name: 'PlanError', message });
}
