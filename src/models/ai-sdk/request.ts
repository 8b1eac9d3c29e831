import type { HostedTool, ModelSettings } from '../../core/agent';
import { isObject, type Json, type JsonObject } from '../../core/json';
import { ModelFailure, type ModelRequest } from '../model';
import { schemaWords } from '../schema-words';
import { vendorOf } from './prompt';
import type { ByProvider, CallOptions, PromptMessage, SpecVersion, ToolOption } from './spec';

/** How requests to a model are encoded. */
export interface Dialect {
  version: SpecVersion;
  provider: string;
  headers?: Record<string, string>;
  /** Whether the answer schema is also added to the instructions. */
  tellSchema: boolean;
  /** The vendor's options for a reasoning effort. Default: the specification's own field in version 4. */
  reasoning?: (effort: Effort, model: string) => JsonObject;
}

export type Effort = NonNullable<ModelSettings['reasoningEffort']>;

/** Settings of the specification without an equivalent in `ModelSettings`. They are accepted at the top level of `providerOptions`. */
const plainSettings = ['topP', 'topK', 'presencePenalty', 'frequencyPenalty', 'seed', 'stopSequences'];

/** The options of one call. `settings.providerOptions` are merged last: objects go to the provider of that name, `null` removes a field. */
export function encodeRequest(request: ModelRequest, prompt: PromptMessage[], dialect: Dialect): CallOptions {
  const { instructions, settings, tools, hostedTools = [], answer } = request;
  const system = answer && dialect.tellSchema ? `${instructions}\n\n${schemaWords(answer)}`.trim() : instructions;
  const all: ToolOption[] = [
    ...tools.map(({ name, description, parameters }) => ({
      type: 'function' as const,
      name,
      ...(description && { description }),
      inputSchema: parameters,
    })),
    ...hostedTools.map((tool) => toHostedTool(tool, dialect.version)),
  ];
  const { plain, byProvider } = providerOptions(request, dialect);
  return {
    prompt: system.trim() === '' ? prompt : [{ role: 'system', content: system }, ...prompt],
    ...(all.length > 0 && { tools: all, ...(settings.toolChoice !== undefined && { toolChoice: toToolChoice(settings.toolChoice) }) }),
    ...(answer && { responseFormat: { type: 'json', schema: answer, name: 'answer' } }),
    ...(settings.temperature !== undefined && { temperature: settings.temperature }),
    ...(settings.maxTokens !== undefined && { maxOutputTokens: settings.maxTokens }),
    ...(settings.reasoningEffort !== undefined && hasReasoning(dialect) && { reasoning: settings.reasoningEffort }),
    ...(dialect.headers && { headers: { ...dialect.headers } }),
    ...(Object.keys(byProvider).length > 0 && { providerOptions: byProvider }),
    ...plain,
    includeRawChunks: false,
  };
}

function toToolChoice(choice: NonNullable<ModelSettings['toolChoice']>): CallOptions['toolChoice'] {
  return typeof choice === 'string' ? { type: choice } : { type: 'tool', toolName: choice.tool };
}

function toHostedTool({ name, options = {} }: HostedTool, version: SpecVersion): ToolOption {
  const { id, args = {} } = options;
  if (typeof id !== 'string' || !/^[^.]+\../.test(id)) {
    const example = `{ name: '${name}', options: { id: 'openai.web_search', args: {} } }`;
    throw new ModelFailure('bad-request', `The hosted tool '${name}' needs the id of the AI SDK's tool in its options: ${example}.`);
  }
  if (!isObject(args))
    throw new ModelFailure('bad-request', `The options of the hosted tool '${name}' have 'args' that are not an object.`);
  return {
    type: version === 'v2' ? 'provider-defined' : 'provider',
    id: id as `${string}.${string}`,
    name: nameThere({ name, options }),
    args,
  };
}

/** The vendor's name for a hosted tool, which also names it in answers: from its id, without the vendor and the date of its version. */
export function nameThere({ name, options = {} }: HostedTool): string {
  if (typeof options.name === 'string') return options.name;
  const id = typeof options.id === 'string' ? options.id : name;
  return id.slice(id.indexOf('.') + 1).replace(/_\d{8}$/, '');
}

const hasReasoning = ({ version, reasoning }: Dialect) => version === 'v4' && !reasoning;

function providerOptions({ model, settings }: ModelRequest, dialect: Dialect): { plain: Record<string, Json>; byProvider: ByProvider } {
  const plain: Record<string, Json> = {};
  const byProvider: ByProvider = {};
  const { reasoningEffort: effort } = settings;
  if (effort !== undefined && !hasReasoning(dialect)) {
    const fields = dialect.reasoning?.(effort, model) ?? { [vendorOf(dialect.provider)]: { reasoningEffort: effort } };
    for (const [name, value] of Object.entries(fields)) if (isObject(value)) byProvider[name] = value;
  }
  for (const [name, value] of Object.entries(settings.providerOptions ?? {})) {
    if (plainSettings.includes(name)) {
      if (value !== null) plain[name] = value;
    } else if (value === null) delete byProvider[name];
    else if (isObject(value)) {
      const fields = { ...byProvider[name], ...value };
      byProvider[name] = Object.fromEntries(Object.entries(fields).filter(([, field]) => field !== null));
    } else {
      const example = `{ ${vendorOf(dialect.provider)}: { ${name}: … } }`;
      throw new ModelFailure('bad-request', `Options for a provider of the AI SDK must be under its name: write ${example} for '${name}'.`);
    }
  }
  return { plain, byProvider };
}
