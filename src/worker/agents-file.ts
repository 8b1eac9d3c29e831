import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { createCoder } from '../agents/coder';
import type { Agent } from '../agents/define-agent';
import { readConfig, readVariables } from '../config';
import { type PermissionMode, permissionModes } from '../core/tool';
import type { Dependencies } from '../tools/define-tool';
import { createPermissions } from '../tools/permissions';
import { checkDependencies } from './check-dependencies';

/** What a worker is told to run. */
export interface ConfiguredAgents {
  agents: Agent[];
  /** What their tools reach through `ctx.resolve`. */
  dependencies: Dependencies;
}

/**
 * The agents of a file, or of the one that LONGHAUL_AGENTS names, or the built-in coder with the model of LONGHAUL_MODEL. `mode`, or
 * LONGHAUL_MODE, is what the coder may do without asking; agents of a file say that themselves.
 */
export function configuredAgents({ file, mode }: { file?: string | undefined; mode?: string | undefined } = {}): ConfiguredAgents {
  const { agentsFile, model, mode: usual, passEnv } = readConfig();
  const named = file ?? agentsFile;
  if (!named) {
    const permissions = createPermissions({ mode: modeOf(mode ?? usual ?? 'minimal') });
    return { agents: [createCoder({ environment: readVariables(passEnv), permissions, ...(model && { model }) })], dependencies: {} };
  }
  if (mode !== undefined) throw new Error(`--mode is for the built-in coder; the agents of ${named} have permissions of their own.`);
  return loadAgents(named);
}

function modeOf(text: string): PermissionMode {
  const mode = permissionModes.find((known) => known === text);
  if (!mode) throw new Error(`The mode is ${JSON.stringify(text)}; use ${permissionModes.join(', ')}.`);
  return mode;
}

/** What a module exports: agents by name, as a list, or as its default, and `dependencies`. Throws where it has no agent. */
function loadAgents(file: string): ConfiguredAgents {
  const path = resolve(file);
  if (!existsSync(path)) throw new Error(`The agents' file ${path} does not exist. Give a module that exports agents made by defineAgent.`);
  // Node 20.19 and later load ES modules this way too.
  const module = required(path);
  const found = new Set(
    Object.values(module)
      .flatMap((value) => [value, ...Object.values((value as object) ?? {})])
      .flat()
      .filter(isAgent),
  );
  if (found.size === 0) throw new Error(`${path} exports no agent. Export what defineAgent returns.`);
  const { dependencies = {} } = module;
  const wrong = checkDependencies(dependencies);
  if (wrong) throw new Error(`${path}: the export ${wrong}.`);
  return { agents: [...found], dependencies: dependencies as Dependencies };
}

function required(path: string): Record<string, unknown> {
  try {
    return createRequire(__filename)(path);
  } catch (error) {
    const { name, message } = (error ?? {}) as Error;
    // Node 20 reads no types; where tsx is loaded, as in a checkout, this is a mistake in the file.
    const typed =
      name === 'SyntaxError' && /\.[cm]?ts$/.test(path) ? ' It is TypeScript: compile it, or set NODE_OPTIONS="--import tsx".' : '';
    throw new Error(`The agents' file ${path} can't be loaded: ${message ?? error}.${typed}`, { cause: error });
  }
}

function isAgent(value: unknown): value is Agent {
  return typeof (value as Agent | null)?.toolbox?.judge === 'function';
}
