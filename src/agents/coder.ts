import type { Limits, ModelSettings } from '../core/agent';
import type { ApprovalRule } from '../tools/define-tool';
import { listDir } from '../tools/list-dir';
import { createPermissions, type Permissions } from '../tools/permissions';
import { readFile } from '../tools/read-file';
import { createShell, type ShellArguments } from '../tools/shell';
import type { Environment } from '../tools/shell-environment';
import { writeFile } from '../tools/write-file';
import { type Agent, defineAgent } from './define-agent';

export interface CoderOptions {
  /** The folder it works in; default is the worker's. */
  workspace?: string;
  /** Default `openai/gpt-5`. */
  model?: string;
  settings?: ModelSettings;
  limits?: Limits;
  /** Variables for commands, as they are, beside the plain ones. Nothing of the worker's environment is passed on otherwise. */
  environment?: Environment;
  /** Who must agree to a command that the permissions say nothing of, and how a person is asked. Default `never`. */
  shellApproval?: ApprovalRule<ShellArguments>;
  /**
   * Which of its calls are refused, run at once, or are asked about. Default `createPermissions({ mode: 'minimal' })`: a person is asked
   * about everything that does more than read. `createPermissions({})` leaves it to `shellApproval`.
   */
  permissions?: Permissions;
}

const instructions = `You are a software engineer at work in a folder (the workspace), by means of tools. Do not ask what you can find out or decide. A person may be asked before a call runs; one that is refused says why: find another way, or say what is missing.

- Look before you change: list_dir and read_file are cheap. Follow the conventions you find.
- Make the smallest change that does what was asked. write_file replaces a whole file: read it first, and give it back complete.
- Prove it: run the tests, the program or the type checker in the shell, and read what it prints. Until it passes you are not done.
- A tool that fails says why. Correct the cause; do not repeat a call unchanged.
- If a result says that it is unknown whether a command ran, find out what it changed before you run it again.
- Stay inside the workspace. Delete nothing and publish nothing that you were not asked to.

When it is done, say in a few sentences what you changed, how you checked it, and what is left.`;

/** The built-in agent `coder`: reads, writes and runs things in one folder, and asks a person first unless `permissions` say otherwise. */
export function createCoder(options: CoderOptions = {}): Agent {
  const { workspace, model = 'openai/gpt-5', settings, limits, environment, shellApproval } = options;
  const { permissions = createPermissions({ mode: 'minimal' }) } = options;
  return defineAgent({
    name: 'coder',
    model,
    instructions,
    tools: [createShell({ environment, approval: shellApproval }), readFile, writeFile, listDir],
    settings,
    limits,
    workspace,
    permissions,
  });
}
