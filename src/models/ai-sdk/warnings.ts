import { bounds } from '../../core/bounds';
import { isObject } from '../../core/json';
import type { ModelRequest } from '../model';
import { Trouble } from '../wire/failure';
import { LimitExceeded } from '../wire/limit-exceeded';

/**
 * Reads a model's warnings about ignored parts of the request. Agents rely on tools and on the tool choice, so the call fails without them; an
 * ignored temperature does no harm. Returns whether the answer schema was ignored.
 */
export function heedWarnings(warnings: unknown, request: ModelRequest): { schemaLeftOut: boolean } {
  const list = Array.isArray(warnings) ? warnings : [];
  if (list.length > bounds.eventItems) throw new LimitExceeded('a list in an event of its stream', bounds.eventItems, 'items');
  let schemaLeftOut = false;
  for (const warning of list) {
    const feature = leftOut(warning);
    if (feature === undefined) continue;
    if (feature === 'responseFormat') schemaLeftOut = true;
    if (reliesOn(request, feature))
      throw new Trouble({ kind: 'bad-request', words: `it does not support ${feature}${detailsOf(warning)}` });
  }
  return { schemaLeftOut };
}

/** In version 2, settings and tools have warning types of their own; later versions name the feature. */
function leftOut(warning: unknown): string | undefined {
  if (!isObject(warning)) return undefined;
  const { type, setting, tool, feature } = warning;
  if (type === 'unsupported-setting') return String(setting);
  if (type === 'unsupported-tool') return `the tool ${isObject(tool) ? String(tool.id ?? tool.name) : ''}`;
  return type === 'unsupported' && typeof feature === 'string' ? feature : undefined;
}

function reliesOn({ tools, hostedTools = [], settings }: ModelRequest, feature: string): boolean {
  if (/^tool_?choice\b/i.test(feature)) return settings.toolChoice !== undefined && settings.toolChoice !== 'auto';
  if (/^provider-defined tool|^the tool |^tools?\b(?!.*(strict|example|provideroptions))/i.test(feature))
    return tools.length + hostedTools.length > 0;
  return /^combination of function and provider/i.test(feature);
}

function detailsOf({ details }: { details?: unknown }): string {
  return typeof details === 'string' ? `: ${details}` : '';
}
