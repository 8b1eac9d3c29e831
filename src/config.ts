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
    environment: env,
  };
}
