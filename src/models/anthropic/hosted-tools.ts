import type { HostedTool } from '../../core/agent';
import type { Json } from '../../core/json';
import { isObject } from '../../core/json';
import { ModelFailure } from '../model';

/** The tools that Anthropic runs, by their provider-independent names. `options` override these fields, including the version. */
const offered: Readonly<Record<string, { type: string; name: string }>> = {
  'web-search': { type: 'web_search_20250305', name: 'web_search' },
  'web-fetch': { type: 'web_fetch_20250910', name: 'web_fetch' },
  'code-execution': { type: 'code_execution_20250825', name: 'code_execution' },
};

export function toHostedTool({ name, options }: HostedTool): object {
  const tool = Object.hasOwn(offered, name) ? offered[name] : undefined;
  if (!tool) {
    const names = Object.keys(offered).join(', ');
    throw new ModelFailure('bad-request', `Anthropic has no hosted tool '${name}'. It has: ${names}.`);
  }
  return { ...tool, ...options };
}

/** The provider-independent name. The tools inside code execution have names of their own. */
export function neutralName(name: string): string {
  if (/code_execution$/.test(name)) return 'code-execution';
  return name.replaceAll('_', '-');
}

/** A result without the encrypted data that only the model can read. */
export function readableResult(block: Record<string, unknown>): { output: Json; isError: boolean } {
  const { content } = block;
  const isError = isObject(content) && String(content.type).endsWith('_error');
  return { output: readable(content), isError };
}

function readable(value: unknown): Json {
  if (Array.isArray(value)) return value.map(readable);
  if (!isObject(value)) return (value ?? null) as Json;
  const shown = Object.entries(value).filter(([key]) => !key.startsWith('encrypted_') && key !== 'data');
  return Object.fromEntries(shown.map(([key, one]) => [key, readable(one)]));
}
