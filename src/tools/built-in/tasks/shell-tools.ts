import { z } from 'zod';
import { bounds } from '../../../core/bounds';
import { excerpt } from '../../../core/json';
import type { ApprovalContext } from '../../defining/approval';
import { defineTool, longestTimeoutMs, type Tool } from '../../defining/define-tool';
import { ToolFailure } from '../../defining/tool-failure';
import { maxOutputBytes } from '../../running/output-cap';
import { checkLimits } from '../command-limits';
import { createSandbox, sandboxWords } from '../sandbox/sandbox';
import {
  checkedOutput,
  checkShellOptions,
  jsonArguments,
  maxTimeoutSeconds,
  placeOf,
  reservedBytes,
  runInForeground,
  type ShellArguments,
  type ShellOptions,
  shellInput,
  shellTimeoutMs,
  withSandbox,
} from '../shell';
import { type FindTask, inputApproval, withSubject } from './input-approval';
import { logText } from './log-text';
import { isOfThisMachine } from './task-folder';
import { backgroundTasks, type Tasks, type TaskView } from './tasks';
import { threadKey } from './thread-key';

const longestTimeoutSeconds = Math.floor(longestTimeoutMs / 1_000);
const longestWaitSeconds = 240;

const backgroundArguments = {
  background: z.boolean().optional().describe('Start it and return its id at once, without waiting for its end.'),
  timeout: z
    .number()
    .positive()
    .max(longestTimeoutSeconds)
    .optional()
    .describe(
      `Seconds until the command is stopped; fractions count. Default 60, at most ${maxTimeoutSeconds}; in the background none, and no maximum.`,
    ),
};

function fitsForeground({ background, timeout = 0 }: Pick<ShellArguments, 'background' | 'timeout'>): boolean {
  return background === true || timeout <= maxTimeoutSeconds;
}
const tooLong = { path: ['timeout'], message: `is above ${maxTimeoutSeconds}; run a longer command with background: true` };

const textInput = shellInput.extend(backgroundArguments).refine(fitsForeground, tooLong);
const jsonInput = shellInput.extend({ ...backgroundArguments, ...jsonArguments }).refine(fitsForeground, tooLong);

const id = z.string().min(1).describe('The id of a command that was started with background: true.');

/**
 * Creates the tool `shell` of `createShell` with an additional argument `background`, and the tools for commands in the background: `shell_task`
 * lists them, waits, and shows their state and output; `shell_input` writes to their input; `shell_cancel` ends them. A command in the background
 * belongs to its thread, and ends at the latest with the thread or with the worker process that started it.
 */
export function createShellTools(options: ShellOptions = {}, tasks: Tasks = backgroundTasks): Tool[] {
  const { environment = {}, approval = 'never', limits = {} } = options;
  checkShellOptions('createShellTools', options);
  const output = checkedOutput('createShellTools', options.output);
  checkLimits(limits);
  const sandbox = createSandbox(options.sandbox);
  const findTask: FindTask = async (threadId, id) => (await found(tasks, id, { threadId })).task;

  const shell = defineTool({
    name: 'shell',
    description: `Run a command in bash and get what it prints. Processes that it leaves behind end with it. For servers, watchers and long work use background: true, then shell_task. Each call starts anew in the workspace: cd and variables do not carry over.${sandboxWords(sandbox)}`,
    input: output === 'json' ? jsonInput : textInput,
    effect: 'once',
    approval,
    timeoutMs: shellTimeoutMs,
    async execute({ background, timeout, ...args }, ctx) {
      const how = { environment, sandbox, limits, output };
      if (!background) return runInForeground({ ...args, timeout: timeout ?? 60 }, how, ctx);
      const timeoutMs = timeout === undefined ? undefined : timeout * 1_000;
      const place = await placeOf(args.workdir, how, ctx);
      const task = await tasks.start({ threadId: threadKey(ctx.threadId), ...args, ...place, timeoutMs, limits });
      return `${stateLine(await tasks.view(task))}\nshell_task shows its output and waits for it; shell_cancel ends it.`;
    },
  });

  const shellTask = defineTool({
    name: 'shell_task',
    description:
      'Show a command that was started in the background: its state, its exit code, and its output so far. With wait, first wait for its end. Without an id, list all of this thread.',
    input: z.object({
      id: id.optional(),
      wait: z.number().min(0).max(longestWaitSeconds).default(0).describe('Seconds to wait at most if it is still running.'),
      from: z.number().int().min(0).default(0).describe('Show only output after this many bytes, to read on.'),
    }),
    effect: 'pure',
    timeoutMs: (longestWaitSeconds + 10) * 1_000,
    async execute({ id: wanted, wait, from }, ctx) {
      if (wanted === undefined) return listed(await tasks.list(threadKey(ctx.threadId)));
      const { task } = await found(tasks, wanted, ctx);
      const view = await tasks.wait(task, wait * 1_000, ctx.signal);
      return shown(view, await logText(tasks.logOf(task), from, maxOutputBytes - reservedBytes));
    },
  });

  const shellInputTool = defineTool({
    name: 'shell_input',
    description: 'Write text to the standard input of a command in the background. End lines with a line break.',
    input: z.object({
      id,
      text: z.string().max(bounds.taskInputChars),
      end: z.boolean().default(false).describe('Close the input afterwards.'),
    }),
    effect: 'once',
    approval: inputApproval(approval, findTask),
    async execute({ id: wanted, text, end }, ctx) {
      const view = await found(tasks, wanted, ctx);
      if (view.end) throw new ToolFailure(`Error: the command has ended, so nothing was written.\n${stateLine(view)}`);
      await tasks.write(view.task, text, { end });
      return `Wrote ${Buffer.byteLength(text)} bytes${end ? ' and closed the input' : ''}.`;
    },
  });

  const shellCancel = defineTool({
    name: 'shell_cancel',
    description: 'End a command in the background, with all its processes. One that has ended stays as it is.',
    input: z.object({ id }),
    effect: 'keyed',
    async execute({ id: wanted }, ctx) {
      const { task } = await found(tasks, wanted, ctx);
      return stateLine(await tasks.cancel(task));
    },
  });

  return [withSandbox(shell, sandbox), shellTask, withSubject(shellInputTool, findTask), shellCancel];
}

async function found(tasks: Tasks, id: string, { threadId }: ApprovalContext): Promise<TaskView> {
  const view = threadId === undefined ? undefined : await tasks.find(threadKey(threadId), id);
  if (view) return view;
  if (isOfThisMachine(id))
    throw new ToolFailure(`Error: this thread has no command in the background with the id '${id}'. shell_task without an id lists them.`);
  throw new ToolFailure(
    `Error: no command with the id '${id}' was started on this machine since it was booted. If another machine's worker started it, only that machine can tell; start it again here if it is needed.`,
  );
}

function listed(views: readonly TaskView[]): string {
  if (views.length === 0) return '(this thread has no commands in the background on this machine)';
  return views.map((view) => stateLine(view)).join('\n');
}

function shown(view: TaskView, output: string): string {
  return `${stateLine(view)}\n${output === '' ? '(no output)' : output}`;
}

/** One line of JSON. */
function stateLine({ task, end, outputBytes }: TaskView): string {
  const until = end ? Date.parse(end.endedAt) : Date.now();
  return JSON.stringify({
    id: task.id,
    state: end?.state ?? 'running',
    ...(end?.exitCode !== undefined && { exit_code: end.exitCode }),
    ...(end?.limit !== undefined && { limit: end.limit }),
    seconds: Math.max(0, Math.round((until - Date.parse(task.startedAt)) / 100) / 10),
    output_bytes: outputBytes,
    command: excerpt(task.command, 200),
  });
}
