import { z } from 'zod';
import { unknownFields } from '../../core/closest';
import { excerpt } from '../../core/json';
import type { SandboxMode } from '../../core/tool';
import { type ApprovalRule, defineTool, type Tool, type ToolContext } from '../defining/define-tool';
import { ToolFailure } from '../defining/tool-failure';
import { type CommandLimits, checkLimits } from './command-limits';
import { openWorkspace } from './open-workspace';
import { createSandbox, type Sandbox, type SandboxOptions, sandboxWords } from './sandbox/sandbox';
import { commandEnvironment, type Environment } from './shell-environment';
import { type Confine, runShell, type ShellResult } from './shell-process';
import { WorkspaceError } from './workspace';

export interface ShellOptions {
  /** Variables for commands, in addition to the default ones (`PATH`, `HOME`, …). No other variable of the worker is passed on. */
  environment?: Environment | undefined;
  /** Who must agree to a command. Default `never`. */
  approval?: ApprovalRule<ShellArguments> | undefined;
  /** Whether commands run in a sandbox. Default `off`. */
  sandbox?: SandboxMode | SandboxOptions | undefined;
  /** Default: none, besides those of programs that only read. */
  limits?: CommandLimits | undefined;
  /**
   * `text` (default): what the command printed, as it appeared. `json`: one line with `key`, `state`, `exit_code`, `duration_ms`, `stdout` and
   * `stderr`; stderr of a command that succeeds only if the model asks for it.
   */
  output?: ShellOutput | undefined;
}

const shellOptions = ['environment', 'approval', 'sandbox', 'limits', 'output'] as const satisfies readonly (keyof ShellOptions)[];

/** Throws `TypeError` for an option that is not known. */
export function checkShellOptions(by: string, options: ShellOptions): void {
  const [unknown] = unknownFields(options, shellOptions);
  if (unknown) throw new TypeError(`${by}: ${unknown}`);
}

export type ShellOutput = 'text' | 'json';

export const maxTimeoutSeconds = 300;
/** Linux accepts at most 128 KiB in one argument. */
const maxCommandBytes = 120_000;
/** Space for `[exit code: N]` and the truncation marker within the limit of a result. */
export const reservedBytes = 512;

export const shellInput = z.object({
  command: z
    .string()
    .regex(/\S/, 'must not be empty')
    .refine((command) => !command.includes('\0'), 'has a null character, which no command can have')
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

/** With `output: 'json'`. */
export const jsonArguments = {
  include_stderr_on_success: z.boolean().default(false).describe('Show stderr also if the command succeeds.'),
};

/** The arguments of a command. */
export interface ShellArguments {
  command: string;
  workdir?: string | undefined;
  /** Seconds. Unset in the background: none. */
  timeout?: number | undefined;
  /** Only with `createShellTools`. */
  background?: boolean | undefined;
  /** Only with `output: 'json'`. */
  include_stderr_on_success?: boolean | undefined;
}

/**
 * Creates the tool `shell`, which runs a command in bash. Its result is stdout and stderr in the order in which they were written, then
 * `[exit code: N]` if the exit code is not 0. Long output is shortened to its head and tail. On timeout and cancel, the whole process group is
 * stopped and the output so far is kept. Background processes end with the command, except those that `CommandProcesses` lists. Stdin is closed.
 *
 * Without `sandbox`, `workdir` is confined, the command is not: it can read and change everything that the worker's user can, including secrets in
 * the worker's environment and memory; docs/tools.md has a table. Then run the worker in a container, and as a user, with no more rights than the
 * agent may have.
 */
export function createShell(options: ShellOptions = {}): Tool {
  const { environment = {}, approval = 'never', limits = {} } = options;
  checkShellOptions('createShell', options);
  const output = checkedOutput('createShell', options.output);
  const sandbox = createSandbox(options.sandbox);
  checkLimits(limits);
  const shell = defineTool({
    name: 'shell',
    description: `Run a command in bash and get what it prints. Nothing can be typed into it, and background processes end with it. Each call starts anew in the workspace: cd and variables do not carry over.${sandboxWords(sandbox)}`,
    input: output === 'json' ? shellInput.extend(jsonArguments) : shellInput,
    effect: 'once',
    approval,
    timeoutMs: shellTimeoutMs,
    execute: (args, ctx) => runInForeground(args, { environment, sandbox, limits, output }, ctx),
  });
  return withSandbox(shell, sandbox);
}

export function checkedOutput(by: string, output: unknown = 'text'): ShellOutput {
  if (output === 'text' || output === 'json') return output;
  throw new TypeError(`${by}: output must be 'text' or 'json'; it is ${excerpt(String(output), 100)}.`);
}

/** The tool, from which others learn how its commands run. */
export function withSandbox(tool: Tool, sandbox: Sandbox | undefined): Tool {
  return sandbox ? Object.freeze({ ...tool, sandbox }) : tool;
}

/** The command has its own timeout; this one applies only if that fails. */
export const shellTimeoutMs = (maxTimeoutSeconds + 10) * 1_000;

/** Runs a command to its end, and returns what it printed. Throws `ToolFailure` with the output unless it succeeds. */
export async function runInForeground(
  { command, workdir, timeout, include_stderr_on_success: withErrors = false }: ShellArguments & { timeout: number },
  how: HowToRun,
  ctx: ToolContext,
): Promise<string> {
  const begun = performance.now();
  const isJson = how.output === 'json';
  const result = await runShell({
    command,
    ...(await placeOf(workdir, how, ctx)),
    timeoutMs: timeout * 1_000,
    limits: how.limits,
    ...(isJson && { separate: true }),
    maxOutputBytes: ctx.maxOutputBytes - reservedBytes,
    signal: ctx.signal,
    onOutput: latestLine(ctx.progress),
  });
  if (!isJson) return told(result, timeout);
  return toldAsJson(result, { key: ctx.toolCallId, durationMs: Math.round(performance.now() - begun), withErrors });
}

/** What is the same for all commands of a tool. */
export interface HowToRun {
  environment: Environment;
  sandbox: Sandbox | undefined;
  limits: CommandLimits;
  output: ShellOutput;
}

/** Where and with which environment a command runs. Rejects if `workdir` is no folder of the workspace. */
export async function placeOf(
  workdir = '.',
  { environment, sandbox }: HowToRun,
  ctx: ToolContext,
): Promise<{ cwd: string; env: Environment; confined?: Confine }> {
  const { root, local, inside, stat } = await openWorkspace(ctx.workspace, ctx);
  if (!local)
    throw new WorkspaceError(`Commands need a folder on disk, and the workspace ${root} has none: only the tools for files work in it.`);
  const cwd = await inside(workdir);
  if (!(await stat(cwd))?.isDirectory()) throw new WorkspaceError(`'${workdir}' is not a folder that exists.`);
  if (!sandbox || sandbox.state === 'unused') return { cwd, env: commandEnvironment(environment, cwd) };
  const confined: Confine = (start) => sandbox.confine({ workspace: root, cwd }, start);
  // Otherwise npm tries for minutes, without a word.
  const offline = sandbox.network ? {} : { npm_config_offline: 'true' };
  return { cwd, env: commandEnvironment({ ...offline, ...environment }, cwd, '/tmp'), confined };
}

function told({ output, exitCode, stopped, limit }: ShellResult, timeout: number): string {
  const text = output.trimEnd();
  const withLine = (line: string) => (text === '' ? line : `${text}\n${line}`);
  if (stopped === 'timeout') {
    const line = `Command timed out after ${timeout}s`;
    throw new ToolFailure(withLine(line), { status: 'timed-out', name: 'ToolTimeoutError', message: line });
  }
  if (stopped === 'abort') throw new ToolFailure(withLine('[stopped before it ended]'));
  if (stopped === 'processes') throw new ToolFailure(withLine(`[${limit}]`), { name: 'ShellLimitError', message: limit });
  if (exitCode !== 0) {
    const message = limit === undefined ? `exit code ${exitCode}` : `exit code ${exitCode}: ${limit}`;
    throw new ToolFailure(withLine(`[exit code: ${exitCode}${limit === undefined ? '' : `; ${limit}`}]`), {
      name: 'ShellExitError',
      message,
    });
  }
  return text === '' ? '(no output)' : text;
}

const states = { timeout: 'timed_out', abort: 'cancelled', processes: 'failed' } as const;

/** `key`: the id of the call. A command that does not succeed is a failure with both outputs. */
function toldAsJson(
  { output, errors = '', exitCode, stopped, limit }: ShellResult,
  { key, durationMs, withErrors }: { key: string; durationMs: number; withErrors: boolean },
): string {
  const isSuccess = !stopped && exitCode === 0;
  const state = stopped ? states[stopped] : isSuccess ? 'succeeded' : 'failed';
  const stderr = isSuccess && !withErrors ? '' : errors;
  const json = JSON.stringify({
    key,
    state,
    exit_code: exitCode,
    duration_ms: durationMs,
    ...(limit !== undefined && { limit }),
    ...(output.trim() !== '' && { stdout: output.trimEnd() }),
    ...(stderr.trim() !== '' && { stderr: stderr.trimEnd() }),
  });
  if (isSuccess) return json;
  if (stopped === 'timeout') {
    throw new ToolFailure(json, { status: 'timed-out', name: 'ToolTimeoutError', message: `Command timed out after ${durationMs} ms` });
  }
  const message = limit === undefined ? `exit code ${exitCode}` : `exit code ${exitCode}: ${limit}`;
  throw new ToolFailure(json, stopped === 'abort' ? undefined : { name: 'ShellExitError', message });
}

const progressEveryMs = 250;

/** Shows the last printed line, a few times per second. */
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
