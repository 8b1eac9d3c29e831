import { z } from 'zod';
import { planTool } from '../../core/plan';
import { defineTool } from '../defining/define-tool';

const marks = { pending: '[ ]', in_progress: '[>]', completed: '[x]' };

const input = z.object({
  steps: z
    .array(
      z.object({
        description: z.string().trim().min(1).max(300).describe('What is to be done, in one line.'),
        status: z.enum(['pending', 'in_progress', 'completed']),
      }),
    )
    .max(20)
    .refine(hasOneStepInProgress, 'has several steps in_progress; at most one may be, and the others are pending or completed')
    .describe('All steps, in order: they replace the plan.'),
  explanation: z.string().trim().max(500).optional().describe('Why the plan changes.'),
});

function hasOneStepInProgress(steps: readonly { status: string }[]): boolean {
  return steps.filter(({ status }) => status === 'in_progress').length <= 1;
}

/**
 * Replaces the plan of the thread. It returns the plan as text, and the engine keeps the last such result with the thread: in its status, in the Web
 * UI, and in summaries of the transcript. So a repeated call changes nothing: `pure`.
 */
export const updatePlan = defineTool({
  name: planTool,
  description:
    'Write down the steps of a longer task, and update them when one begins or ends. Gives the whole plan each time. People see it, and it is kept when the conversation becomes too long. Not needed for a task of one or two steps.',
  input,
  effect: 'pure',
  execute({ steps, explanation }) {
    const lines = steps.map(({ description, status }) => `${marks[status]} ${description.replace(/\s+/g, ' ')}`);
    return [...(lines.length === 0 ? ['(no steps)'] : lines), ...(explanation ? [`Reason: ${explanation}`] : [])].join('\n');
  },
});
