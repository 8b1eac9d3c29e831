import { type AskOptions, askPolicy } from '../../core/ask-policy';
import { isBytes, isObject } from '../../core/json';
import { shortText } from '../../core/text';
import { messageOfThrown } from '../../core/thrown';
import type { AskPolicy, ToolError } from '../../core/tool';
import type { Tool } from './define-tool';
import { isToolFailure } from './tool-failure';
import { withinPatience } from './within';

/** `true`: ask. A string: ask, with that reason. A policy: whom to ask, how many, and until when. */
export type ApprovalAnswer = boolean | string | AskOptions;

/** Which thread made the call that needs approval. Unset outside an engine. */
export interface ApprovalContext {
  threadId?: string | undefined;
}

/**
 * Whether a call needs approval. A function receives validated arguments. It fails closed: if it throws, doesn't answer within 10 s, or returns
 * an invalid answer, a person is asked. If it throws a `ToolFailure`, or returns an impossible policy, the call is rejected, because there is no
 * valid set of approvers.
 */
export type ApprovalRule<Args> = 'never' | 'always' | ApprovalFunction<Args> | ApprovalPolicy<Args>;

type ApprovalFunction<Args> = (args: Args, ctx: ApprovalContext) => ApprovalAnswer | Promise<ApprovalAnswer>;

/** A policy for approvals. An object that `when` returns is merged over its other fields. */
export interface ApprovalPolicy<Args> extends AskOptions {
  /** Default `always`. */
  when?: 'always' | ApprovalFunction<Args> | undefined;
}

/** A validated approval rule. */
export interface Approval {
  readonly when: 'always' | ((args: unknown, ctx: ApprovalContext) => unknown);
  readonly ask: AskOptions;
}

/** Validates a rule. Returns `undefined` for `never`. `refuse` creates the error to throw for an invalid rule. */
export function checkedApproval(rule: unknown, refuse: (problem: string) => Error): Approval | undefined {
  if (rule === 'never') return undefined;
  if (rule === 'always') return { when: 'always', ask: {} };
  if (typeof rule === 'function') return { when: rule as Exclude<Approval['when'], 'always'>, ask: {} };
  if (!isObject(rule)) throw refuse(`is ${JSON.stringify(rule)}; use 'never', 'always', a function of the arguments, or { when, … }.`);
  const { when = 'always', ...ask } = rule;
  if (when !== 'always' && typeof when !== 'function') {
    throw refuse(`has when, which is ${JSON.stringify(when)}; use 'always' or a function of the arguments.`);
  }
  const { problems } = askPolicy(ask);
  if (problems.length > 0) throw refuse(`is not valid: ${problems.join('; ')}.`);
  return { when: when as Approval['when'], ask: structuredClone(ask) as AskOptions };
}

/** Whether a call of this tool needs approval, and by what policy. `undefined`: no approval. Never rejects. */
export async function approvalFor(
  tool: Tool,
  args: unknown,
  ctx: ApprovalContext,
): Promise<{ ask: AskPolicy } | { refused: ToolError } | undefined> {
  if (!tool.approval) return undefined;
  const { when, ask } = tool.approval;
  const because = (reason: string): AskOptions => ({ ...ask, reason: shortText(reason, 500) });
  let asked: AskOptions = ask;
  if (when !== 'always') {
    try {
      const answer = await withinPatience(() => when(args, ctx));
      if (answer === false) return undefined;
      if (isObject(answer) && !isBytes(answer)) asked = { ...ask, ...answer };
      else if (typeof answer === 'string' && answer.trim() !== '') asked = because(answer);
      else if (answer !== true && answer !== '') asked = because('The approval rule returned an invalid answer.');
    } catch (error) {
      if (isToolFailure(error)) return { refused: { name: error.name, message: shortText(error.message, 1_000) } };
      asked = because(`The approval rule failed: ${messageOfThrown(error)}`);
    }
  }
  const { policy, problems } = readPolicy(asked);
  if (problems.length === 0) return { ask: policy };
  const message = shortText(
    `Tool '${tool.name}' can't be approved: its approval rule returned a policy whose ${problems.join('; ')}`,
    1_000,
  );
  return { refused: { name: 'ApprovalPolicyError', message } };
}

function readPolicy(asked: AskOptions): { policy: AskPolicy; problems: string[] } {
  try {
    return askPolicy(asked);
  } catch (error) {
    return { policy: {}, problems: [`can't be read: ${messageOfThrown(error)}`] };
  }
}
