import data from './model-data.json';
import type { Capabilities, Capability, ModelInfo } from './model-info';

type Facts = Pick<ModelInfo, 'windowTokens' | 'maxOutputTokens' | 'capabilities'>;

/** Models of which the same is known. */
interface Group {
  input?: number;
  output?: number;
  can?: string;
  cannot?: string;
  models: string[];
}

/** Where the list comes from. */
export const listSource: string = data.source;

/** Names under which providers are often registered, and their names in the list. */
const otherNames: Readonly<Record<string, string>> = {
  'openai-responses': 'openai',
  gemini: 'google',
  'google-vertex': 'vertex',
  'vertex-ai': 'vertex',
  'amazon-bedrock': 'bedrock',
  togetherai: 'together',
  moonshot: 'moonshotai',
  dashscope: 'alibaba',
  vercel: 'gateway',
};

/** Returns what the list contains about exactly this name. */
export function listedModel(model: string, provider: string): Facts | undefined {
  const name = Object.hasOwn(otherNames, provider) ? otherNames[provider] : provider;
  return byName().get(`${name}/${model}`);
}

/** The names of all models of the list, as `provider/model`. */
export function listedNames(): string[] {
  return [...byName().keys()];
}

let known: Map<string, Facts> | undefined;

function byName(): Map<string, Facts> {
  known ??= new Map(
    Object.entries<Group[]>(data.providers).flatMap(([provider, groups]) =>
      groups.flatMap((group) => {
        const facts = factsOf(group);
        return group.models.map((model): [string, Facts] => [`${provider}/${model}`, facts]);
      }),
    ),
  );
  return known;
}

function factsOf({ input, output, can = '', cannot = '' }: Group): Facts {
  const told = (names: string, value: boolean) =>
    names
      .split(' ')
      .filter(Boolean)
      .map((name): [Capability, boolean] => [name as Capability, value]);
  const capabilities: Capabilities = Object.fromEntries([...told(can, true), ...told(cannot, false)]);
  return { ...(input !== undefined && { windowTokens: input }), ...(output !== undefined && { maxOutputTokens: output }), capabilities };
}
