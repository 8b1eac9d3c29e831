import { excerpt } from './json';
import type { Content } from './message';
import type { ToolOutcome } from './tool';

/** The tool whose last result is the thread's plan. */
export const planTool = 'update_plan';

/** The plan is carried over with the state, and repeated in summaries. */
const planChars = 8_000;

/** Returns the plan that a call's outcome sets, as text; `undefined` if it sets none. */
export function planOf(name: string, status: ToolOutcome['status'], output: Content): string | undefined {
  return name === planTool && status === 'success' && typeof output === 'string' ? excerpt(output, planChars) : undefined;
}
