import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

/** The model vendors whose key and address the environment holds. The first one with a key or an address is the default. */
const vendors = ['openai', 'anthropic', 'google'] as const;
export type Vendor = (typeof vendors)[number];

/** The settings of the environment. Nothing else in the project reads environment variables. */
export interface Config extends Record<Vendor, ProviderConfig> {
  openai: OpenAiConfig;
  /** `TEMPORAL_ADDRESS`, if it is set. Temporal's own code reads the other Temporal variables. */
  temporalAddress?: string;
  /** `LONGHAUL_WORKSPACE`: the folder that tools work in. */
  workspace?: string;
  /** `LONGHAUL_TASK_QUEUE` */
  taskQueue?: string;
  /** `LONGHAUL_AGENTS`: the module whose agents a worker process runs. */
  agentsFile?: string;
  /** `LONGHAUL_MODEL`: the model of the built-in agent. */
  model?: string;
  /** `LONGHAUL_MODELS`: a JSON file of facts about models, such as windows and prices, which override the lists of the package. */
  modelsFile?: string;
  /** `LONGHAUL_ARTIFACTS`: where long outputs of tools are kept: the path of a folder, or a `postgres://` or `s3://` URL. */
  artifacts?: string;
  /** `LONGHAUL_SIGNERS`: a JSON file of people. With it a worker accepts only their signed decisions. */
  signersFile?: string;
  /** `LONGHAUL_LIVE_TEXT_MS`: the interval at which a worker puts the growing text of answers into heartbeats, in milliseconds. */
  liveTextMs?: number;
  /** `LONGHAUL_DRAIN_MS`: how long running steps may continue after a worker process was told to stop, in milliseconds. */
  drainMs?: number;
  /** `LLM_COST_LIMIT`: the cost limit of a run in US dollars, for agents that set none. 0 allows no cost at all. */
  costLimitUsd?: number;
  /** `LONGHAUL_MODE`: what the built-in agent may do without asking: `minimal`, `trusted`, `sandboxed` or `full-access`. */
  mode?: string;
  /** `LONGHAUL_SANDBOX`: whether commands of the built-in agent run in a sandbox: `off`, `auto` or `required`. */
  sandbox?: string;
  /** `LONGHAUL_COMMAND_LIMITS`: limits of the commands of the built-in agent, such as `memoryMb=4096,cpuSeconds=600`. */
  commandLimits?: string;
  /** `LONGHAUL_PASS_ENV`: names of environment variables that are passed to commands of the built-in agent. */
  passEnv: string[];
}

/** The address and the key of a model vendor. */
export interface ProviderConfig {
  /**
   * `ANTHROPIC_API_KEY`; `GEMINI_API_KEY`, or `GOOGLE_API_KEY`. The property is not enumerable, so that it is left out when the object is printed,
   * copied or written as JSON.
   */
  apiKey?: string;
  /** `ANTHROPIC_BASE_URL`; `GOOGLE_GEMINI_BASE_URL`. */
  baseUrl?: string;
}

/** `OPENAI_API_KEY`, and `OPENAI_BASE_URL` of any server that implements OpenAI's Chat Completions or Responses. */
export interface OpenAiConfig extends ProviderConfig {
  /** `OPENAI_ORG_ID` */
  organization?: string;
  /** `OPENAI_PROJECT_ID` */
  project?: string;
}

/** Reads the environment. An empty variable counts as unset, because that is what `FOO= command` and an empty line in an env file mean. */
export function readConfig(env: Record<string, string | undefined> = process.env): Config {
  const read = (name: string) => env[name]?.trim() || undefined;
  return {
    openai: withKey(read('OPENAI_API_KEY'), {
      baseUrl: read('OPENAI_BASE_URL'),
      organization: read('OPENAI_ORG_ID'),
      project: read('OPENAI_PROJECT_ID'),
    }),
    anthropic: withKey(read('ANTHROPIC_API_KEY'), { baseUrl: read('ANTHROPIC_BASE_URL') }),
    google: withKey(read('GEMINI_API_KEY') ?? read('GOOGLE_API_KEY'), { baseUrl: read('GOOGLE_GEMINI_BASE_URL') }),
    temporalAddress: read('TEMPORAL_ADDRESS'),
    workspace: read('LONGHAUL_WORKSPACE'),
    taskQueue: read('LONGHAUL_TASK_QUEUE'),
    agentsFile: read('LONGHAUL_AGENTS'),
    model: read('LONGHAUL_MODEL'),
    mode: read('LONGHAUL_MODE'),
    sandbox: read('LONGHAUL_SANDBOX'),
    commandLimits: read('LONGHAUL_COMMAND_LIMITS'),
    modelsFile: read('LONGHAUL_MODELS'),
    artifacts: read('LONGHAUL_ARTIFACTS'),
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

/** How payloads are written, see `EncodingOptions`. It is not part of `readConfig`, so that keys do not appear where the configuration is printed. */
export function readEncoding(env: Record<string, string | undefined> = process.env): {
  /** `LONGHAUL_ENCRYPTION_KEYS`: the keys themselves. */
  keys?: string;
  /** `LONGHAUL_ENCRYPTION_KEYS_FILE`: a file of keys. */
  keysFile?: string;
  /** `LONGHAUL_COMPRESSION`: `on` or `off`. */
  compression?: boolean;
} {
  const [keys, keysFile, compression] = ['LONGHAUL_ENCRYPTION_KEYS', 'LONGHAUL_ENCRYPTION_KEYS_FILE', 'LONGHAUL_COMPRESSION'].map(
    (name) => env[name]?.trim() || undefined,
  );
  if (keys && keysFile) throw new Error('LONGHAUL_ENCRYPTION_KEYS and LONGHAUL_ENCRYPTION_KEYS_FILE are both set; set one of them.');
  if (compression !== undefined && compression !== 'on' && compression !== 'off') {
    throw new Error(`LONGHAUL_COMPRESSION is ${JSON.stringify(compression)}; it must be on or off.`);
  }
  return { ...(keys && { keys }), ...(keysFile && { keysFile }), ...(compression && { compression: compression === 'on' }) };
}

/** `LONGHAUL_CODEC_TOKEN`: the secret that requests to `longhaul codec-server` must have. */
export function readCodecToken(env: Record<string, string | undefined> = process.env): string | undefined {
  return env.LONGHAUL_CODEC_TOKEN?.trim() || undefined;
}

/** `LONGHAUL_USER`: who answers at the command line, if `--by` is not given. */
export function readUser(env: Record<string, string | undefined> = process.env): string | undefined {
  return env.LONGHAUL_USER?.trim() || undefined;
}

/** Whether this is the program `longhaul`, started by `npx`: it is then not necessarily on the user's PATH. */
export function startedByNpx(env: Record<string, string | undefined> = process.env, program = process.argv[1] ?? ''): boolean {
  return env.npm_command === 'exec' && /[\\/]longhaul(\.js)?$/.test(program);
}

/** The user's folder for program state: `XDG_STATE_HOME`, or the platform's usual folder. A relative path is ignored, as others could control it. */
export function stateHome(env: Record<string, string | undefined> = process.env, platform = process.platform): string {
  const absolute = (path: string | undefined) => (path !== undefined && isAbsolute(path) ? path : undefined);
  const usual = {
    darwin: () => join(homedir(), 'Library', 'Application Support'),
    win32: () => absolute(env.LOCALAPPDATA) ?? join(homedir(), 'AppData', 'Local'),
  }[platform as string];
  return absolute(env.XDG_STATE_HOME) ?? usual?.() ?? join(homedir(), '.local', 'state');
}

/** The user's folder for settings: `XDG_CONFIG_HOME`, or the platform's usual folder. A relative path is ignored, as in `stateHome`. */
export function configHome(env: Record<string, string | undefined> = process.env, platform = process.platform): string {
  const absolute = (path: string | undefined) => (path !== undefined && isAbsolute(path) ? path : undefined);
  const usual = {
    darwin: () => join(homedir(), 'Library', 'Application Support'),
    win32: () => absolute(env.APPDATA) ?? join(homedir(), 'AppData', 'Roaming'),
  }[platform as string];
  return absolute(env.XDG_CONFIG_HOME) ?? usual?.() ?? join(homedir(), '.config');
}

/** The model vendors that have a key or an address. */
export function usableVendors(config: Pick<Config, Vendor>): Vendor[] {
  return vendors.filter((vendor) => config[vendor].apiKey || config[vendor].baseUrl);
}

function withKey<C extends ProviderConfig>(apiKey: string | undefined, settings: C): C {
  return Object.defineProperty(settings, 'apiKey', { get: () => apiKey, enumerable: false });
}

/** The environment variables with these names. Unset ones are left out. */
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
 * `LONGHAUL_VERSIONING`. It is not part of `readConfig`, because an incomplete version is an error only in a worker process.
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
