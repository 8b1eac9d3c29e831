import type { Limits, ModelChoice, ModelSettings } from '../core/agent';
import type { SandboxMode } from '../core/tool';
import { applyPatch } from '../tools/built-in/apply-patch';
import type { CommandLimits } from '../tools/built-in/command-limits';
import { editFile } from '../tools/built-in/edit';
import { globFiles } from '../tools/built-in/glob';
import { grepFiles } from '../tools/built-in/grep';
import { listDir } from '../tools/built-in/list-dir';
import { readFile } from '../tools/built-in/read-file';
import type { SandboxOptions } from '../tools/built-in/sandbox/sandbox';
import type { ShellArguments, ShellOutput } from '../tools/built-in/shell';
import type { Environment } from '../tools/built-in/shell-environment';
import { createShellTools } from '../tools/built-in/tasks/shell-tools';
import { updatePlan } from '../tools/built-in/update-plan';
import { viewImage } from '../tools/built-in/view-image';
import { writeFile } from '../tools/built-in/write-file';
import type { ApprovalRule } from '../tools/defining/define-tool';
import { createPermissions, type Permissions } from '../tools/permissions/permissions';
import { projectInstructions } from '../tools/project/agents-md';
import { loadSkill, searchSkills, skillInstructions } from '../tools/project/skills';
import { createWebFetch } from '../tools/web/web-fetch';
import { type Agent, defineAgent } from './define-agent';

export interface CoderOptions {
  /** The folder in which it works. Default: the worker's folder. */
  workspace?: string | undefined;
  /** Default `openai/gpt-5`. */
  model?: ModelChoice | undefined;
  settings?: ModelSettings | undefined;
  limits?: Limits | undefined;
  /** Variables for commands, in addition to the default ones. No other variable of the worker is passed on. */
  environment?: Environment | undefined;
  /** Approval of commands about which the permissions don't decide. Default `never`. */
  shellApproval?: ApprovalRule<ShellArguments> | undefined;
  /** Whether its commands run in a sandbox. Default `off`. */
  sandbox?: SandboxMode | SandboxOptions | undefined;
  /** How the model sees the result of a command: as text (the default), or as JSON with its state, exit code, duration and output. */
  shellOutput?: ShellOutput | undefined;
  /** Limits of its commands. Default: none, besides those of programs that only read. */
  commandLimits?: CommandLimits | undefined;
  /**
   * Which of its calls are refused, run immediately, or need approval. Default `createPermissions({ mode: 'minimal' })`: everything that does more
   * than read needs approval. With `createPermissions({})`, `shellApproval` decides.
   */
  permissions?: Permissions | undefined;
}

const instructions = `You are a software engineer at work in a folder (the workspace), by means of tools. Do not ask what you can find out or decide. A person may be asked before a call runs; one that is refused says why: find another way, or say what is missing.

- Look before you change: glob, grep, list_dir and read_file are cheap, and independent calls may be made in one answer. Follow the conventions you find, and the AGENTS.md of the folders you work in. Those of folders below the workspace are added here once a tool for files has been there.
- Make the smallest change that does what was asked. Use edit for one place, apply_patch for several places or files, write_file for new files.
- For a task of several steps, keep update_plan current.
- Prove it: run the tests, the program or the type checker in the shell, and read what it prints. Until it passes you are not done. Start servers and long work with background: true, look at them with shell_task, and end them with shell_cancel.
- A tool that fails says why. Correct the cause; do not repeat a call unchanged.
- If a result says that it is unknown whether a command ran, find out what it changed before you run it again.
- Stay inside the workspace. Delete nothing and publish nothing that you were not asked to.

When it is done, say in a few sentences what you changed, how you checked it, and what is left.`;

/** Creates the built-in agent `coder`, which reads, writes and runs commands in one folder, with approval unless `permissions` allow a call. */
export function createCoder(options: CoderOptions = {}): Agent {
  const { workspace, model = 'openai/gpt-5', settings, limits, environment, shellApproval, sandbox, commandLimits, shellOutput } = options;
  const { permissions = createPermissions({ mode: 'minimal' }) } = options;
  return defineAgent({
    name: 'coder',
    model,
    instructions: async ({ workspace: folder, toolCalls }) =>
      [instructions, await projectInstructions(folder, { toolCalls }), await skillInstructions(folder)].filter(Boolean).join('\n\n'),
    tools: [
      ...createShellTools({ environment, approval: shellApproval, sandbox, limits: commandLimits, output: shellOutput }),
      readFile,
      writeFile,
      editFile,
      applyPatch,
      listDir,
      globFiles,
      grepFiles,
      viewImage,
      createWebFetch(),
      updatePlan,
      searchSkills,
      loadSkill,
    ],
    settings,
    limits,
    workspace,
    permissions,
  });
}
