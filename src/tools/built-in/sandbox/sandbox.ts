import { closeSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { isObject } from '../../../core/json';
import { type SandboxMode, sandboxModes } from '../../../core/tool';
import type { CommandSandbox } from '../../defining/tool-definition';
import { ToolFailure } from '../../defining/tool-failure';
import { bubblewrap } from './bubblewrap';
import {
  argumentsOf,
  handlesOf,
  type MorePaths,
  type Mount,
  networkMounts,
  problemOfWorkspace,
  systemMounts,
  workspaceMounts,
} from './mounts';

/** Paths are absolute, or begin with `~/`. Those that do not exist are left out. The most specific path takes precedence. */
export interface SandboxOptions {
  /** Default `required`. */
  mode?: SandboxMode | undefined;
  /** Lets commands use the network, and so reach everything that the worker can, including Temporal. */
  network?: boolean | undefined;
  /** More paths that commands can read, such as `~/.cargo`. In the workspace, paths that they can't change. */
  readOnly?: readonly string[] | undefined;
  /** More paths that commands can change, such as the repository of a linked worktree. */
  writable?: readonly string[] | undefined;
  /** Paths that appear empty, such as secrets in `/etc` or in the workspace. */
  hidden?: readonly string[] | undefined;
}

/** How a command is started in the sandbox. `handles` are given to it from the number `firstHandle` on. */
export interface Confinement {
  command: readonly string[];
  handles: readonly number[];
}

/** A sandbox for the commands of a tool. */
export interface Sandbox extends CommandSandbox {
  /**
   * Prepares the start of a command, and closes the handles after `start` has returned. Throws `ToolFailure` if the workspace can't be confined.
   * Both paths are absolute and without symbolic links.
   */
  confine<T>(folders: { workspace: string; cwd: string }, start: (confinement: Confinement) => T): T;
}

/** Creates a sandbox; `undefined` if it is off. Throws `TypeError` that names every problem of the setting. */
export function createSandbox(setting: SandboxMode | SandboxOptions = 'off'): Sandbox | undefined {
  const { mode = 'required', network = false, ...paths } = checked(setting);
  if (mode === 'off') return undefined;
  const more = { readOnly: expanded(paths.readOnly), writable: expanded(paths.writable), hidden: expanded(paths.hidden) };
  const { command, problem } = bubblewrap({ network });
  return Object.freeze({
    state: problem === undefined ? 'used' : mode === 'required' ? 'missing' : 'unused',
    network,
    confines: problem === undefined && !network,
    ...(problem !== undefined && { problem }),
    confine<T>({ workspace, cwd }: { workspace: string; cwd: string }, start: (confinement: Confinement) => T): T {
      if (command === undefined) throw new ToolFailure(`Error: ${withoutSandbox(problem)}`);
      const problemHere = problemOfWorkspace(workspace);
      if (problemHere !== undefined) throw new ToolFailure(`Error: the command did not run, because ${problemHere}.`);
      return withMounts(mountsFor(workspace, more, network), (mounts) =>
        start({ command: [...command, ...argumentsOf(mounts, cwd)], handles: handlesOf(mounts) }),
      );
    },
  });
}

/** What is told about a sandbox that is required and can't be used. */
export function withoutSandbox(problem = ''): string {
  return `commands run only in a sandbox, which can't be used on this machine: ${problem}. No command was run.`;
}

/** What the model is told about its commands; empty without a sandbox. */
export function sandboxWords(sandbox: Sandbox | undefined): string {
  if (!sandbox || sandbox.state === 'unused') return '';
  const network = sandbox.network ? '' : 'they have no network and do not reach servers of other commands; ';
  return ` Commands run in a sandbox: ${network}only changes in the workspace last, and /tmp and the home folder are empty for each command.`;
}

function mountsFor(workspace: string, more: MorePaths, network: boolean): Mount[] {
  return [...systemMounts(), ...(network ? networkMounts() : []), ...workspaceMounts(workspace, more)];
}

function withMounts<T>(mounts: Mount[], use: (mounts: Mount[]) => T): T {
  try {
    return use(mounts);
  } finally {
    // Of two mounts at one path only the last is used, but both may have a handle.
    for (const mount of mounts) if ('handle' in mount && mount.handle !== undefined) closeSync(mount.handle);
  }
}

function expanded(paths: readonly string[] = []): string[] {
  return paths.map((path) => resolve(path.startsWith('~/') ? join(homedir(), path.slice(2)) : path));
}

const lists = ['readOnly', 'writable', 'hidden'] as const;

function checked(setting: SandboxMode | SandboxOptions): SandboxOptions {
  const options: SandboxOptions = typeof setting === 'string' ? { mode: setting } : setting;
  if (!isObject(options)) throw new TypeError(`sandbox: is ${JSON.stringify(setting)}; use 'off', 'auto', 'required' or an object.`);
  const { mode, network } = options;
  const odd = Object.keys(options).find((key) => !['mode', 'network', ...lists].includes(key));
  const problems = [
    ...(mode === undefined || sandboxModes.some((known) => known === mode)
      ? []
      : [`mode is ${JSON.stringify(mode)}; use 'off', 'auto' or 'required'`]),
    ...(network === undefined || typeof network === 'boolean' ? [] : [`network is ${JSON.stringify(network)}; use true or false`]),
    ...lists.filter((name) => !arePaths(options[name])).map((name) => `${name} must be a list of paths that are absolute or begin with ~/`),
    ...(odd === undefined ? [] : [`has the unknown key '${odd}'`]),
  ];
  if (problems.length > 0) throw new TypeError(`sandbox: ${problems.join('; ')}.`);
  return options;
}

function arePaths(paths: unknown): boolean {
  if (paths === undefined) return true;
  return Array.isArray(paths) && paths.every((path) => typeof path === 'string' && (isAbsolute(path) || path.startsWith('~/')));
}
