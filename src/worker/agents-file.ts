import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createCoder } from '../agents/coder';
import type { Agent } from '../agents/define-agent';
import { type Config, readConfig, readVariables, usableVendors, type Vendor } from '../config';
import { type PermissionMode, permissionModes, type SandboxMode, sandboxModes } from '../core/tool';
import type { ModelProvider } from '../models/model';
import { type CommandLimits, checkLimits } from '../tools/built-in/command-limits';
import type { Dependencies } from '../tools/defining/define-tool';
import { createPermissions } from '../tools/permissions/permissions';
import { checkDependencies, checkProviders } from './check-exports';
import { modeSetFor, readUserSettings } from './user-settings';

/** What a worker is configured to run. */
export interface ConfiguredAgents {
  agents: Agent[];
  /** Available to their tools through `ctx.resolve`. */
  dependencies: Dependencies;
  /** Their additional model providers. */
  providers: Readonly<Record<string, ModelProvider>>;
}

export interface AgentChoice {
  file?: string | undefined;
  mode?: string | undefined;
  /** The mode if nothing else sets one. */
  picked?: PermissionMode | undefined;
  sandbox?: string | undefined;
}

/**
 * Returns the agents of `file`, by default those of the file that LONGHAUL_AGENTS names, or else the built-in coder. The coder uses the model of
 * LONGHAUL_MODEL, or a model of the first vendor that has a key or an address. `mode` (default: that of `coderMode`) is what the coder may do without asking, and `sandbox`
 * (default LONGHAUL_SANDBOX) whether its commands run in a sandbox; agents of a file define that themselves.
 */
export async function configuredAgents({ file, mode, picked, sandbox }: AgentChoice = {}): Promise<ConfiguredAgents> {
  const config = readConfig();
  const named = file ?? config.agentsFile;
  if (!named) return { agents: [configuredCoder(config, { mode, picked, sandbox })], dependencies: {}, providers: {} };
  if (mode !== undefined) throw new Error(`--mode is for the built-in coder; the agents of ${named} define their own permissions.`);
  // Unlike a mode, a sandbox that is not there leaves everything open, so the environment's is not ignored either.
  const [asked, by] = sandbox === undefined ? [config.sandbox, 'LONGHAUL_SANDBOX'] : [sandbox, '--sandbox'];
  if (asked !== undefined && sandboxOf(asked) !== 'off') {
    throw new Error(`${by} is for the built-in coder; the agents of ${named} set the sandbox of their commands themselves.`);
  }
  return loadAgents(named);
}

/**
 * The mode that is set for the built-in coder: `given` on the command line, or else LONGHAUL_MODE, or else what the user has set for the workspace or for
 * all folders. Throws if the one that counts is not a mode.
 */
export function coderMode(given: string | undefined, config: Config = readConfig()): PermissionMode | undefined {
  const named = given ?? config.mode;
  return named === undefined ? modeSetFor(config.workspace ?? '.', readUserSettings()) : modeOf(named);
}

function configuredCoder(config: Config, choice: Pick<AgentChoice, 'mode' | 'picked' | 'sandbox'>): Agent {
  const mode = coderMode(choice.mode, config) ?? choice.picked ?? 'minimal';
  const sandbox = sandboxOf(choice.sandbox ?? config.sandbox ?? 'off');
  if (mode === 'sandboxed' && sandbox === 'off') {
    throw new Error('The mode is "sandboxed", but commands run in no sandbox. Set --sandbox or LONGHAUL_SANDBOX to required or auto.');
  }
  return createCoder({
    environment: readVariables(config.passEnv),
    permissions: createPermissions({ mode }),
    model: config.model ?? coderModels[usableVendors(config)[0] ?? 'openai'],
    sandbox,
    commandLimits: limitsOf(config.commandLimits),
  });
}

/** The coder's model for each vendor whose key may be set. */
const coderModels: Readonly<Record<Vendor, string>> = {
  openai: 'openai/gpt-5',
  anthropic: 'anthropic/claude-sonnet-4-5',
  google: 'google/gemini-2.5-pro',
};

function modeOf(text: string): PermissionMode {
  const mode = permissionModes.find((known) => known === text);
  if (!mode) throw new Error(`The mode is ${JSON.stringify(text)}; use ${permissionModes.join(', ')}.`);
  return mode;
}

/** `memoryMb=4096,cpuSeconds=600` */
function limitsOf(text = ''): CommandLimits {
  const entries = text.split(',').filter((entry) => entry.trim() !== '');
  const limits = Object.fromEntries(
    entries.map((entry) => entry.split('=').map((part) => part.trim())).map(([name, value]) => [name, Number(value)]),
  );
  try {
    return checkLimits(limits);
  } catch (error) {
    throw new Error(`LONGHAUL_COMMAND_LIMITS is ${JSON.stringify(text)}; ${(error as Error).message}`);
  }
}

function sandboxOf(text: string): SandboxMode {
  const mode = sandboxModes.find((known) => known === text);
  if (!mode) throw new Error(`The sandbox is ${JSON.stringify(text)}; use ${sandboxModes.join(', ')}.`);
  return mode;
}

/** Loads a module's exports: agents by name, as a list, or as the default export, `dependencies` and `providers`. Throws if there is no agent. */
async function loadAgents(file: string): Promise<ConfiguredAgents> {
  const path = resolve(file);
  if (!existsSync(path)) throw new Error(`The agents' file ${path} does not exist. Give a module that exports agents made by defineAgent.`);
  const module = await loaded(path);
  const found = new Set(
    Object.values(module)
      .flatMap((value) => [value, ...Object.values((value as object) ?? {})])
      .flat()
      .filter(isAgent),
  );
  if (found.size === 0) throw new Error(`${path} exports no agent. Export what defineAgent returns.`);
  const { dependencies = {}, providers = {} } = module;
  const wrong = checkDependencies(dependencies) ?? checkProviders(providers);
  if (wrong) throw new Error(`${path}: the export ${wrong}.`);
  return { agents: [...found], dependencies: dependencies as Dependencies, providers: providers as Record<string, ModelProvider> };
}

async function loaded(path: string): Promise<Record<string, unknown>> {
  try {
    return await required(path);
  } catch (error) {
    const { name, message } = (error ?? {}) as Error;
    // Node 20 can't load TypeScript. If tsx is loaded, as in a checkout, the file itself has a syntax error.
    const typed =
      name === 'SyntaxError' && /\.[cm]?ts$/.test(path) ? ' It is TypeScript: compile it, or set NODE_OPTIONS="--import tsx".' : '';
    throw new Error(`The agents' file ${path} can't be loaded: ${String(message ?? error).replace(/\.$/, '')}.${typed}`, { cause: error });
  }
}

/** `require` also loads ES modules, except those that wait for something at their top level, such as an OpenAPI document. */
async function required(path: string): Promise<Record<string, unknown>> {
  try {
    return createRequire(__filename)(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException | null)?.code !== 'ERR_REQUIRE_ASYNC_MODULE') throw error;
    return await import(pathToFileURL(path).href);
  }
}

function isAgent(value: unknown): value is Agent {
  return typeof (value as Agent | null)?.toolbox?.judge === 'function';
}
