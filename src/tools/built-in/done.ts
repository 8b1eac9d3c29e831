import { z } from 'zod';
import { defineTool } from '../defining/define-tool';

/** The tool that ends a run of an agent with stop policy `done-tool`. */
export const doneTool = defineTool({
  name: 'done',
  description: 'Call this, and nothing else, when the task is finished and checked. Nothing but this call ends your work.',
  input: z.object({ message: z.string().describe('The answer, or what was done, in full: the person sees this.').optional() }),
});
