import { namesPeople } from '../../../core/ask-policy';
import { excerpt, isObject, sortedJson } from '../../../core/json';
import type { ApprovalAnswer, ApprovalPolicy, ApprovalRule, Tool } from '../../defining/define-tool';
import { ToolFailure } from '../../defining/tool-failure';
import type { ShellArguments } from '../shell';
import type { TaskRecord } from './task-folder';

/** Finds a command of a thread. Throws `ToolFailure` if there is none. */
export type FindTask = (threadId: string | undefined, id: string) => Promise<TaskRecord>;

interface InputArguments {
  id: string;
  text: string;
}

/**
 * Who must agree to text for a command, if the commands of the tool have this rule. Text for a program can be a command. So somebody is always asked,
 * unless nobody is for commands, and the people are those whom the rule names for the command that reads the text, or for the text as a command.
 */
export function inputApproval(rule: ApprovalRule<ShellArguments>, find: FindTask): ApprovalRule<InputArguments> {
  if (rule === 'never' || rule === 'always') return rule;
  const { when = 'always', ...ask }: ApprovalPolicy<ShellArguments> = typeof rule === 'function' ? { when: rule } : rule;
  if (when === 'always') return ask;
  return {
    ...ask,
    async when({ id, text }, ctx) {
      const { command, workdir } = await find(ctx.threadId, id);
      const asCommand = { workdir, background: true };
      const forCommand = policyOf(await when({ ...asCommand, command }, ctx));
      const forText = text.trim() === '' ? undefined : policyOf(await when({ ...asCommand, command: text.trim() }, ctx));
      if (forCommand && forText && sortedJson(forCommand) !== sortedJson(forText)) throw new ToolFailure(otherPeople);
      return forCommand ?? forText ?? true;
    },
  };
}

const otherPeople =
  'Error: other people must agree to this text, as a command, than to the command that would read it, so nobody can approve the call. Run it as a command of its own.';

/** An answer of a rule that names people. */
function policyOf(answer: ApprovalAnswer): Exclude<ApprovalAnswer, boolean | string> | undefined {
  return isObject(answer) && namesPeople(answer) ? answer : undefined;
}

/** The tool, which tells people what its text is for. */
export function withSubject(tool: Tool, find: FindTask): Tool {
  return Object.freeze({
    ...tool,
    async subject(args: unknown, { threadId }: { threadId?: string | undefined }) {
      const { id } = args as InputArguments;
      const task = await find(threadId, id).catch(() => undefined);
      return task && `Input for the command ${JSON.stringify(excerpt(task.command, 300))}, started at ${task.startedAt}`;
    },
  });
}
