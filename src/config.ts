/** What the environment says. Nothing else in the project reads it. */
export interface Config {
  openai: OpenAiConfig;
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
  /** `LLM_COST_LIMIT`: US dollars that a run may cost where its agent says nothing. 0 means nothing at all. */
  costLimitUsd?: number;
  /** All of it: what commands of the built-in agent inherit, less what looks like a secret. */
  environment: Record<string, string | undefined>;
}

export interface OpenAiConfig {
  /** `OPENAI_API_KEY` */
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
    openai: {
      apiKey: read('OPENAI_API_KEY'),
      baseUrl: read('OPENAI_BASE_URL'),
      organization: read('OPENAI_ORG_ID'),
      project: read('OPENAI_PROJECT_ID'),
    },
    workspace: read('LONGHAUL_WORKSPACE'),
    taskQueue: read('LONGHAUL_TASK_QUEUE'),
    agentsFile: read('LONGHAUL_AGENTS'),
    model: read('LONGHAUL_MODEL'),
    pricesFile: read('LONGHAUL_PRICES'),
    costLimitUsd: dollars('LLM_COST_LIMIT', read('LLM_COST_LIMIT')),
    environment: env,
  };
}

function dollars(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (Number.isFinite(value) && value >= 0) return value;
  throw new Error(`${name} is ${JSON.stringify(text)}; it must be a number of US dollars, 0 or more.`);
}
