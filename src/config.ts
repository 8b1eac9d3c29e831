/** What the environment says. Nothing else in the project reads it. */
export interface Config {
  openai: OpenAiConfig;
  /** `TEMPORAL_ADDRESS`, where it is set: everything else of Temporal's environment is read by Temporal's own code. */
  temporalAddress?: string;
  /** `LONGHAUL_WORKSPACE`: the folder that tools work in. */
  workspace?: string;
  /** `LONGHAUL_TASK_QUEUE` */
  taskQueue?: string;
  /** `LONGHAUL_AGENTS`: the module whose agents a worker process runs. */
  agentsFile?: string;
  /** `LONGHAUL_MODEL`: the model of the built-in agent. */
  model?: string;
  /** `LONGHAUL_PRICES`: a JSON file of what models cost, beside the list that comes with the package. */
  pricesFile?: string;
  /** `LONGHAUL_SIGNERS`: a JSON file of the people whose signed decisions a worker takes, and no others. */
  signersFile?: string;
  /** `LONGHAUL_LIVE_TEXT_MS`: how often a worker process puts the growing text of answers into heartbeats. */
  liveTextMs?: number;
  /** `LONGHAUL_DRAIN_MS`: how long steps may go on after a worker process was told to stop. */
  drainMs?: number;
  /** `LLM_COST_LIMIT`: US dollars that a run may cost where its agent says nothing. 0 means nothing at all. */
  costLimitUsd?: number;
  /** `LONGHAUL_MODE`: what the built-in agent may do without asking: `minimal`, `trusted` or `full-access`. */
  mode?: string;
  /** `LONGHAUL_PASS_ENV`: names of variables that commands of the built-in agent are given. */
  passEnv: string[];
}

export interface OpenAiConfig {
  /** `OPENAI_API_KEY`. There for whoever asks for it by name: what is printed, copied or written as JSON is without it. */
  apiKey?: string;
  /** `OPENAI_BASE_URL`: any server that speaks OpenAI's Chat Completions. */
  baseUrl?: string;
  /** `OPENAI_ORG_ID` */
  organization?: string;
  /** `OPENAI_PROJECT_ID` */
  project?: string;
}

/** A variable that is empty counts as unset: that is what `FOO= command` and an empty line in an env file mean. */
export function readConfig(env: Record<string, string | undefined> = process.env): Config {
  const read = (name: string) => env[name]?.trim() || undefined;
  return {
    openai: withKey(read('OPENAI_API_KEY'), {
      baseUrl: read('OPENAI_BASE_URL'),
      organization: read('OPENAI_ORG_ID'),
      project: read('OPENAI_PROJECT_ID'),
    }),
    temporalAddress: read('TEMPORAL_ADDRESS'),
    workspace: read('LONGHAUL_WORKSPACE'),
    taskQueue: read('LONGHAUL_TASK_QUEUE'),
    agentsFile: read('LONGHAUL_AGENTS'),
    model: read('LONGHAUL_MODEL'),
    mode: read('LONGHAUL_MODE'),
    pricesFile: read('LONGHAUL_PRICES'),
    signersFile: read('LONGHAUL_SIGNERS'),
    liveTextMs: milliseconds('LONGHAUL_LIVE_TEXT_MS', read('LONGHAUL_LIVE_TEXT_MS')),
    drainMs: milliseconds('LONGHAUL_DRAIN_MS', read('LONGHAUL_DRAIN_MS')),
    costLimitUsd: dollars('LLM_COST_LIMIT', read('LLM_COST_LIMIT')),
    passEnv: read('LONGHAUL_PASS_ENV')?.split(/[\s,]+/) ?? [],
  };
}

/** `LONGHAUL_SIGNING_KEY`: the file of the private key with which the CLI signs decisions. No worker reads it. */
export function readSigningKeyFile(env: Record<string, string | undefined> = process.env): string | undefined {
  return env.LONGHAUL_SIGNING_KEY?.trim() || undefined;
}

/** `LONGHAUL_USER`: who answers at the command line, where `--by` does not say it. */
export function readUser(env: Record<string, string | undefined> = process.env): string | undefined {
  return env.LONGHAUL_USER?.trim() || undefined;
}

function withKey(apiKey: string | undefined, settings: OpenAiConfig): OpenAiConfig {
  return Object.defineProperty(settings, 'apiKey', { get: () => apiKey, enumerable: false });
}

/** Variables of the environment by their names; one that is unset is left out. */
export function readVariables(names: readonly string[], env: Record<string, string | undefined> = process.env): Record<string, string> {
  return Object.fromEntries(names.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])));
}

function dollars(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (Number.isFinite(value) && value >= 0) return value;
  throw new Error(`${name} is ${JSON.stringify(text)}; it must be a number of US dollars, 0 or more.`);
}

function milliseconds(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (Number.isFinite(value) && value >= 100) return value;
  throw new Error(`${name} is ${JSON.stringify(text)}; it must be a number of milliseconds, 100 or more.`);
}

/**
 * The version of a worker process: `TEMPORAL_DEPLOYMENT_NAME` and `TEMPORAL_WORKER_BUILD_ID`, as Temporal's Worker Controller sets them, and
 * `LONGHAUL_VERSIONING`. Not in `readConfig`: half of it is a mistake only where a worker runs.
 */
export function readDeployment(
  env: Record<string, string | undefined> = process.env,
): { name: string; buildId: string; behavior?: 'auto-upgrade' | 'pinned' } | undefined {
  const [name, buildId, behavior] = ['TEMPORAL_DEPLOYMENT_NAME', 'TEMPORAL_WORKER_BUILD_ID', 'LONGHAUL_VERSIONING'].map(
    (variable) => env[variable]?.trim() || undefined,
  );
  if (name === undefined && buildId === undefined && behavior === undefined) return undefined;
  if (name === undefined || buildId === undefined) {
    throw new Error(
      'Worker versioning needs TEMPORAL_DEPLOYMENT_NAME and TEMPORAL_WORKER_BUILD_ID. Set both, or neither of them nor LONGHAUL_VERSIONING.',
    );
  }
  if (behavior === undefined) return { name, buildId };
  if (behavior === 'auto-upgrade' || behavior === 'pinned') return { name, buildId, behavior };
  throw new Error(`LONGHAUL_VERSIONING is ${JSON.stringify(behavior)}; it must be auto-upgrade or pinned.`);
}
