import type { HostedTool } from '../../core/agent';
import { ModelFailure } from '../model';

/** The tools that Google runs, by their provider-independent names. */
const offered: Readonly<Record<string, string>> = {
  'web-search': 'googleSearch',
  'web-fetch': 'urlContext',
  'code-execution': 'codeExecution',
  'file-search': 'fileSearch',
  maps: 'googleMaps',
};

export function toHostedTool({ name, options }: HostedTool): object {
  const field = Object.hasOwn(offered, name) ? offered[name] : undefined;
  if (!field) {
    const names = Object.keys(offered).join(', ');
    throw new ModelFailure('bad-request', `Google has no hosted tool '${name}'. It has: ${names}.`);
  }
  return { [field]: { ...options } };
}

const names: Readonly<Record<string, string>> = {
  GOOGLE_SEARCH_WEB: 'web-search',
  GOOGLE_SEARCH_IMAGE: 'image-search',
  URL_CONTEXT: 'web-fetch',
  GOOGLE_MAPS: 'maps',
  FILE_SEARCH: 'file-search',
};

/** The provider-independent name of the API's tool type. */
export function neutralName(toolType: string): string {
  const known = Object.hasOwn(names, toolType) ? names[toolType] : undefined;
  return known ?? (toolType.toLowerCase().replaceAll('_', '-') || 'tool');
}
