import { stat } from 'node:fs/promises';
import { z } from 'zod';
import { excerpt } from '../core/json';
import { type ApprovalRule, defineTool, type Tool } from './define-tool';
import { maxOutputBytes } from './output-cap';
import { commandEnvironment, type Environment } from './shell-environment';
import { runShell, type ShellResult } from './shell-process';
import { ToolFailure } from './tool-failure';
import { openWorkspace, WorkspaceError } from './workspace';

export interface ShellOptions {
  /** Variables for commands, as they are, beside the plain ones (`PATH`, `HOME`, …). Nothing of the worker's environment is passed on otherwise. */
  environment?: Environment;
  /** Who must agree to a command. Default `never`. */
  approval?: ApprovalRule<ShellArguments>;
}

const maxTimeoutSeconds = 600;
/** Linux takes 128 KiB in one argument. */
const maxCommandBytes = 120_000;
/** Room for `[exit code: N]` and the marker of a cut within what a result may hold. */
const reservedBytes = 512;

const shellInput = z.object({
  command: z
    .string()
    .regex(/\S/, 'must not be empty')
    .refine((command) => Buffer.byteLength(command) <= maxCommandBytes, 'is too long for a command line; write it to a file and run that')
    .describe('For bash.'),
  workdir: z.string().min(1).optional().describe('A folder inside the workspace; default is the workspace.'),
  timeout: z
    .number()
    .positive()
    .max(maxTimeoutSeconds)
    .default(60)
    .describe(`Seconds until the command is stopped; fractions count. At most ${maxTimeoutSeconds}.`),
});

/** `timeout` in seconds. */
export type ShellArguments = z.output<typeof shellInput>;

/**
 * Runs a command in bash: output and errors in the order they were written, then `[exit code: N]` if it is not 0. Too much output keeps
 * its beginning and its end. On timeout and cancel the whole process group is stopped and the output so far is kept; what a command
 * leaves in the background ends with it, but for what `CommandProcesses` names. Input is closed.
 *
 * This is not a sandbox. `workdir` is confined, the command is not: it can read and change whatever the worker's user can, secrets in the
 * worker's environment and memory included; docs/tools.md has a table. Run the worker in a container, and as a user, that may do no more
 * than the agent may.
 */
export function createShell({ environment = {}, approval = 'never' }: ShellOptions = {}): Tool {
  return defineTool({
    name: 'shell',
    description:
      'Run a command in bash and get what it prints. Nothing can be typed into it, and background processes end with it. Each call starts anew in the workspace: cd and variables do not carry over.',
    input: shellInput,
    effect: 'once',
    approval,
    // The command has its own limit; this one only catches what that did not.
    timeoutMs: (maxTimeoutSeconds + 10) * 1_000,
    async execute({ command, workdir = '.', timeout }, ctx) {
      const workspace = await openWorkspace(ctx.workspace);
      const cwd = await workspace.inside(workdir);
      if (!(await stat(cwd).catch(() => undefined))?.isDirectory()) throw new WorkspaceError(`'${workdir}' is not a folder that exists.`);
      const result = await runShell({
        command,
        cwd,
        env: commandEnvironment(environment, cwd),
        timeoutMs: timeout * 1_000,
        maxOutputBytes: maxOutputBytes - reservedBytes,
        signal: ctx.signal,
        onOutput: latestLine(ctx.progress),
      });
      return told(result, timeout);
    },
  });
}

function told({ output, exitCode, stopped }: ShellResult, timeout: number): string {
  const text = output.trimEnd();
  const withLine = (line: string) => (text === '' ? line : `${text}\n${line}`);
  if (stopped === 'timeout') {
    const line = `Command timed out after ${timeout}s`;
    throw new ToolFailure(withLine(line), { status: 'timed-out', name: 'ToolTimeoutError', message: line });
  }
  if (stopped === 'abort') throw new ToolFailure(withLine('[stopped before it ended]'));
  if (exitCode !== 0) {
    throw new ToolFailure(withLine(`[exit code: ${exitCode}]`), { name: 'ShellExitError', message: `exit code ${exitCode}` });
  }
  return text === '' ? '(no output)' : text;
}

const progressEveryMs = 250;

/** Shows the last line printed, a few times a second. */
function latestLine(progress: (message: string) => void): (chunk: Buffer) => void {
  let last = Number.NEGATIVE_INFINITY;
  return (chunk) => {
    const now = performance.now();
    if (now - last < progressEveryMs) return;
    const line = chunk.toString('utf8').trimEnd().split('\n').at(-1)?.trim();
    if (!line) return;
    last = now;
    progress(excerpt(line, 200));
  };
}
