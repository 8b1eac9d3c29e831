import { excerpt } from '../core/json';
import type { AskPolicy } from '../core/tool';
import type { Tool } from './define-tool';
import { withinPatience } from './within';

/** Whether a person must agree to a call of this tool, and how they are asked. `undefined`: nobody need be. Never rejects. */
export async function approvalFor(tool: Tool, args: unknown): Promise<AskPolicy | undefined> {
  const rule = tool.approval;
  if (rule === 'never') return undefined;
  if (rule === 'always') return {};
  try {
    const answer: unknown = await withinPatience(() => rule(args));
    if (answer === false) return undefined;
    if (typeof answer === 'string' && answer.trim() !== '') return { reason: excerpt(answer, 500) };
    return answer === true || typeof answer === 'string' ? {} : { reason: 'The approval rule gave no clear answer.' };
  } catch (error) {
    return { reason: excerpt(`The approval rule failed: ${error instanceof Error ? error.message : String(error)}`, 500) };
  }
}
