import { z } from 'zod';
import type { AskOptions } from '../../core/ask-policy';
import { defineTool, type Tool } from '../defining/define-tool';

/** Who is asked, and until when. `onDeadline: 'deny'`, the default, fails the question, and the model is told. */
export type AskHumanOptions = Pick<AskOptions, 'groups' | 'users' | 'deadlineMs' | 'onDeadline'>;

const description =
  'Ask a person a question and wait for the answer, however long it takes. Use it when only a person can know or decide: a preference, ' +
  'a missing fact, a risk to accept. Ask one thing, and say what they need to know to answer it.';

/** Creates the tool `ask_human`: the run waits until a person answers. Throws `TypeError` as `defineTool` does. */
export function createAskHuman(options: AskHumanOptions = {}): Tool {
  return defineTool({
    name: 'ask_human',
    description,
    input: z.object({
      question: z.string().trim().min(1).describe('The question, in full.'),
      options: z.array(z.string().trim().min(1)).min(2).max(20).optional().describe('Answers to choose from; others stay possible.'),
    }),
    question: true,
    ask: options,
  });
}

/** `ask_human` that anybody may answer, without a deadline. */
export const askHuman = createAskHuman();
