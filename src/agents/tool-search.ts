import { z } from 'zod';
import { bounds } from '../core/bounds';
import type { Tool } from '../tools/defining/define-tool';
import { problemsOf } from './problems';

/** When an agent's model is not sent all tools, but finds them with the tool `find_tools`. */
export interface ToolSearchOptions {
  /** Above this number of tools. `0`: always. Default: above 100 tools, or 120,000 characters of names, descriptions and parameters. */
  threshold?: number | undefined;
  /** The maximum number of found tools that are sent. Those that were used least recently go first. Default 30, at most 100. */
  limit?: number | undefined;
  /** Names of the tools that are always sent. Default: those that the list of tools has one by one, if they alone are not above the threshold. */
  always?: readonly string[] | undefined;
}

const schema = z.strictObject({
  threshold: z.number().int().min(0).optional(),
  limit: z.number().int().min(1).max(bounds.loadedTools).optional(),
  always: z.array(z.string()).optional(),
});

const defaultThreshold = 100;
/** About 30,000 tokens. */
const mostChars = 120_000;

/** Returns the problems of the option, one line each. */
export function problemsOfToolSearch(option: unknown): string[] {
  return option === undefined || typeof option === 'boolean' ? [] : problemsOf('toolSearch', schema, option);
}

/** An agent's tools by where they come from: those that are in its list one by one, and those of toolsets, providers and functions. */
export interface GatheredTools {
  own: readonly Tool[];
  others: readonly Tool[];
}

/** Returns the tools that the model is not sent before it finds them. */
export function hiddenTools({ own, others }: GatheredTools, option: boolean | ToolSearchOptions = {}): readonly Tool[] {
  if (option === false) return [];
  const { threshold, always } = option === true ? { threshold: 0 } : option;
  const all = [...own, ...others];
  if (!isAbove(all, threshold)) return [];
  if (always) return all.filter(({ name }) => !always.includes(name));
  const keepsOwn = others.length > 0 && !isAbove(own, threshold === 0 ? undefined : threshold);
  return keepsOwn ? others : all;
}

function isAbove(tools: readonly Tool[], threshold: number | undefined): boolean {
  if (threshold !== undefined) return tools.length > threshold;
  return tools.length > defaultThreshold || charsOf(tools) > mostChars;
}

function charsOf(tools: readonly Tool[]): number {
  const specs = tools.map(({ name, description, parameters }) => ({ name, description, parameters }));
  return JSON.stringify(specs).length;
}
