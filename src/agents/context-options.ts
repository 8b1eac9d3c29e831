import { z } from 'zod';
import type { ContextPolicy, ModelSettings } from '../core/agent';
import { defaultReserve } from '../core/context/budget';
import { checkModels } from '../core/thread-input';
import { problemsOf } from './problems';

/** When and how a thread's transcript is shortened, so that requests fit into the model's context window. Sizes are in tokens. */
export interface ContextOptions {
  /** The context window of the agent's models. Default: as in the price list. */
  windowTokens?: number;
  /** What is kept free for the answer. Default: the maximum that requests state (`settings.maxTokens`; always for Claude), or else 32,000, but at most a quarter of the window. */
  reserveTokens?: number;
  /** Above this share of the rest of the window the transcript is shortened. Default 0.85. */
  compactAt?: number;
  /** `false`: it is shortened only on request, or if the provider rejects it as too long. Default `true`. */
  auto?: boolean;
  /** The newest outputs of tools, up to this size together, are not cleared. Default 40,000, less for windows below 190,000. */
  pruneProtectTokens?: number;
  /** Old outputs are cleared only if that frees more than this. Default 20,000, less for windows below 190,000. */
  pruneMinimumTokens?: number;
  /** How many of the last turns (a model call and its tool calls) a summary does not replace, at most. Default 3. */
  keepTurns?: number;
  /** The maximum length of a summary. Default 4,096. */
  summaryTokens?: number;
  /** The model that writes summaries. Default: the model of the run. */
  model?: string;
  /** What a summary must contain, in words for the model that writes it. */
  prompt?: string;
  /**
   * `provider`: models whose provider compacts conversations itself (`anthropic` from Claude 4.6 on, and `openai-responses`) leave it to the provider.
   * For other models, and if the provider does not compact, the engine does. Default `engine`.
   */
  compaction?: 'engine' | 'provider';
}

/** The options with their defaults. */
export interface ContextRules extends ContextPolicy, Pick<ContextOptions, 'windowTokens' | 'reserveTokens' | 'prompt'> {}

const tokens = z.number().int().positive();
const schema = z.strictObject({
  windowTokens: tokens.optional(),
  reserveTokens: z.number().int().min(0).optional(),
  compactAt: z.number().gt(0).max(1).optional(),
  auto: z.boolean().optional(),
  pruneProtectTokens: z.number().int().min(0).optional(),
  pruneMinimumTokens: z.number().int().min(0).optional(),
  keepTurns: z.number().int().min(0).max(1_000).optional(),
  summaryTokens: tokens.optional(),
  model: z.string().optional(),
  compaction: z.enum(['engine', 'provider']).optional(),
  prompt: z.string().trim().min(1, 'is empty').max(20_000).optional(),
});

const defaults = { compactAt: 0.85, auto: true, keepTurns: 3, summaryTokens: 4_096 } as const;

/** Expands an agent's option `context`, and returns its problems. `fixedTokens`: what instructions and tools take, as far as they are known. */
export function contextRules(
  option: unknown,
  { settings = {}, fixedTokens }: { settings: ModelSettings | undefined; fixedTokens: () => number },
): { rules: ContextRules | null; problems: string[] } {
  if (option === null) return { rules: null, problems: [] };
  const given = (option ?? {}) as ContextOptions;
  const problems = problemsOf('context', schema, given);
  if (problems.length > 0) return { rules: null, problems };
  const { compaction, ...set } = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as ContextOptions;
  const rules: ContextRules = { ...defaults, ...set, ...(compaction === 'provider' && { compaction }) };
  const wrongModel = set.model === undefined ? undefined : checkModels(set.model);
  return {
    rules,
    problems: [...(wrongModel ? [`context.${wrongModel}`] : []), ...problemsOfSizes(rules, set.summaryTokens, settings, fixedTokens)],
  };
}

/** Sizes that contradict each other can only be detected if the window is set here. Otherwise each model call checks them. */
function problemsOfSizes(
  { windowTokens: window, reserveTokens, compactAt }: ContextRules,
  summaryTokens = 0,
  { maxTokens }: ModelSettings,
  fixedTokens: () => number,
): string[] {
  if (window === undefined) return [];
  const reserve = reserveTokens ?? defaultReserve(window, maxTokens);
  if (reserve >= window) return [`context.reserveTokens: (${reserve}) must be below context.windowTokens (${window})`];
  const threshold = Math.floor(compactAt * (window - reserve));
  const words = `${threshold} (${compactAt} of ${window} - ${reserve}), above which the transcript is shortened`;
  if (summaryTokens >= threshold) return [`context.summaryTokens: (${summaryTokens}) must be below ${words}`];
  const fixed = fixedTokens();
  return fixed < threshold
    ? []
    : [
        `context.windowTokens: the instructions and tools take about ${fixed} tokens, which must be below ${words}; shorten them, or use a model with a larger window`,
      ];
}
