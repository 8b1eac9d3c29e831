import type OpenAI from 'openai';
import type { HostedTool } from '../../core/agent';
import { isObject, type Json, parseObject } from '../../core/json';
import type { HostedToolPart } from '../../core/message';
import { ModelFailure } from '../model';

/** An item of the API's input or output, of any type. */
export type Item = Record<string, unknown>;

interface Offered {
  tool: { type: string } & Record<string, Json>;
  /** The type of the items that report its use. */
  item: string;
  /** What the API includes in these items only on request. */
  include?: OpenAI.Responses.ResponseIncludable;
}

/** The tools that OpenAI runs, by their provider-independent names. `options` override these fields. */
const offered: Readonly<Record<string, Offered>> = {
  'web-search': { tool: { type: 'web_search' }, item: 'web_search_call', include: 'web_search_call.action.sources' },
  'code-execution': {
    tool: { type: 'code_interpreter', container: { type: 'auto' } },
    item: 'code_interpreter_call',
    include: 'code_interpreter_call.outputs',
  },
  'file-search': { tool: { type: 'file_search' }, item: 'file_search_call', include: 'file_search_call.results' },
  // A PNG image, the API's default, exceeds the size limit of an answer.
  'image-generation': { tool: { type: 'image_generation', output_format: 'webp', output_compression: 75 }, item: 'image_generation_call' },
  // The engine has no way to answer an approval request of the provider.
  mcp: { tool: { type: 'mcp', require_approval: 'never' }, item: 'mcp_call' },
};

export function toHostedTool({ name, options }: HostedTool): object {
  const found = Object.hasOwn(offered, name) ? offered[name] : undefined;
  if (!found) {
    const names = Object.keys(offered).join(', ');
    throw new ModelFailure('bad-request', `OpenAI has no hosted tool '${name}'. It has: ${names}.`);
  }
  return { ...found.tool, ...options };
}

/** The `include` values with which the API sends the results of these tools. */
export function includesOf(tools: readonly HostedTool[]): string[] {
  const found = tools.flatMap(({ name }) => (Object.hasOwn(offered, name) ? (offered[name]?.include ?? []) : []));
  return [...new Set(found)];
}

/** Converts an item to the part that people see. `result`: the item with its result, if that is a separate item. */
export function readablePart(item: Item, result: Item | undefined): HostedToolPart {
  const output = outputOf(item, result);
  const isError = item.status === 'failed' || (item.error !== undefined && item.error !== null);
  return {
    type: 'hosted-tool',
    id: textIn(item.id) || textIn(item.call_id),
    name: neutralName(item),
    input: inputOf(item),
    ...(output !== undefined && { output }),
    ...(isError && { isError }),
  };
}

function neutralName({ type, name }: Item): string {
  const known = Object.entries(offered).find(([, { item }]) => item === type);
  if (known) return known[0];
  const own = type === 'custom_tool_call' ? textIn(name) : '';
  return (own || String(type).replace(/_call$/, '')).replaceAll('_', '-');
}

function inputOf(item: Item): Json {
  const { type, action, operation, queries, code, name, server_label, revised_prompt, prompt } = item;
  const args = parseObject(textIn(item.arguments) || textIn(item.input));
  switch (type) {
    case 'file_search_call':
      return { queries: json(queries) };
    case 'code_interpreter_call':
    case 'program':
      return { code: json(code) };
    case 'image_generation_call':
      return { prompt: json(revised_prompt ?? prompt) };
    case 'mcp_call':
    case 'mcp_approval_request':
      return { server: json(server_label), tool: json(name), arguments: json(args ?? item.arguments) };
    default: {
      const { sources: _, ...asked } = isObject(action) ? action : isObject(operation) ? operation : {};
      if (Object.keys(asked).length > 0) return json(asked);
      return json(args ?? (isObject(item.arguments) ? item.arguments : { input: json(item.input ?? item.arguments) }));
    }
  }
}

function outputOf(item: Item, result: Item | undefined): Json | undefined {
  const { action, outputs, results, output, error } = item;
  const sources = isObject(action) ? action.sources : undefined;
  const found = [error, output, outputs, results, sources, result?.output, result?.result, result?.tools];
  return found.find((one) => one !== undefined && one !== null) as Json | undefined;
}

const json = (value: unknown): Json => (value ?? null) as Json;

export function textIn(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
