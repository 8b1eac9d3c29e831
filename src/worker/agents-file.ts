import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { createCoder } from '../agents/coder';
import type { Agent } from '../agents/define-agent';
import { readConfig, readVariables } from '../config';

/** The agents of a file, or of the one that LONGHAUL_AGENTS names, or the built-in coder with the model of LONGHAUL_MODEL. */
export async function configuredAgents(file?: string): Promise<Agent[]> {
  const { agentsFile, model, passEnv } = readConfig();
  const named = file ?? agentsFile;
  return named ? loadAgents(named) : [createCoder({ environment: readVariables(passEnv), ...(model && { model }) })];
}

/** The agents that a module exports: by name, as a list, or as its default. Throws where it has none. */
function loadAgents(file: string): Agent[] {
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
  return [...found];
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
