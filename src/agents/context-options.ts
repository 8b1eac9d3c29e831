import { z } from 'zod';
import type { ContextPolicy, ModelSettings } from '../core/agent';
import { defaultReserve } from '../core/context/budget';
import { checkModels } from '../core/thread-input';
import { problemsOf } from './problems';

/** When and how a thread's transcript is shortened, so that requests fit into the model's context window. Sizes are in tokens. */
export interface ContextOptions {
  /** The context window of the agent's models. Default: as in the price list. */
  windowTokens?: number | undefined;
  /** What is kept free for the answer. Default: the maximum that requests state (`settings.maxTokens`; always for Claude), or else 32,000, but at most a quarter of the window. */
  reserveTokens?: number | undefined;
  /** Above this share of the rest of the window the transcript is shortened. Default 0.85. */
  compactAt?: number | undefined;
  /** `false`: it is shortened only on request, or if the provider rejects it as too long. Default `true`. */
  auto?: boolean | undefined;
  /** The newest outputs of tools, up to this size together, are not cleared. Default 40,000, less for windows below 190,000. */
  pruneProtectTokens?: number | undefined;
  /** Old outputs are cleared only if that frees more than this. Default 20,000, less for windows below 190,000. */
  pruneMinimumTokens?: number | undefined;
  /** How many of the last turns (a model call and its tool calls) a summary does not replace, at most. Default 3. */
  keepTurns?: number | undefined;
  /** The maximum length of a summary. Default 4,096. */
  summaryTokens?: number | undefined;
  /** The model that writes summaries. Default: the model of the run. */
  model?: string | undefined;
  /** What a summary must contain, in words for the model that writes it. */
  prompt?: string | undefined;
  /** A sliding window: with more messages than this, the oldest are dropped, without a summary, until `keepMessages` are left. Default: no limit but 1,000. */
  maxMessages?: number | undefined;
  /** How many messages are left then, at most. Default: half of `maxMessages`. Each drop invalidates the provider's prompt cache. */
  keepMessages?: number | undefined;
  /** `false`: the user's first message may be summarized or dropped like others. Messages that the current run began with stay. Default `true`. */
  keepTask?: boolean | undefined;
  /** `false`: of the turns that a summary does not replace, only texts stay, unless the model has not seen the results yet. Default `true`. */
  keepTools?: boolean | undefined;
  /** What happens if a summary fails. `drop`: the oldest messages are dropped at once. Default `keep`: only when a request would exceed the window. */
  ifSummaryFails?: 'keep' | 'drop' | undefined;
  /**
   * `provider`: models whose provider compacts conversations itself (`anthropic` from Claude 4.6 on, and `openai-responses`) leave it to the provider.
   * For other models, and if the provider does not compact, the engine does. Default `engine`.
   */
  compaction?: 'engine' | 'provider' | undefined;
}

/** The options with their defaults. */
export interface ContextRules extends ContextPolicy, Pick<ContextOptions, 'windowTokens' | 'reserveTokens' | 'prompt'> {}

/** Values that are the default, and are not part of the rules. */
const usual = { compaction: 'engine', keepTask: true, keepTools: true, ifSummaryFails: 'keep' } satisfies Partial<ContextOptions>;

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
  maxMessages: z.number().int().min(4).max(1_000).optional(),
  keepMessages: z.number().int().min(2).max(1_000).optional(),
  keepTask: z.boolean().optional(),
  keepTools: z.boolean().optional(),
  ifSummaryFails: z.enum(['keep', 'drop']).optional(),
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
  const isSet = ([name, value]: [string, unknown]) => value !== undefined && value !== usual[name as keyof typeof usual];
  const set = Object.fromEntries(Object.entries(given).filter(isSet)) as Omit<ContextOptions, keyof typeof usual>;
  const rules: ContextRules = { ...defaults, ...set };
  const wrongModel = set.model === undefined ? undefined : checkModels(set.model);
  return {
    rules,
    problems: [
      ...(wrongModel ? [`context.${wrongModel}`] : []),
      ...problemsOfSliding(rules),
      ...problemsOfSizes(rules, set.summaryTokens, settings, fixedTokens),
    ],
  };
}

function problemsOfSliding({ maxMessages, keepMessages, auto, compaction }: ContextRules): string[] {
  if (maxMessages === undefined)
    return keepMessages === undefined ? [] : ['context.keepMessages: has no effect without context.maxMessages'];
  if (keepMessages !== undefined && keepMessages > maxMessages)
    return [`context.keepMessages: (${keepMessages}) must be at most context.maxMessages (${maxMessages})`];
  if (!auto) return ['context.maxMessages: has no effect with `auto: false`'];
  return compaction
    ? ["context.maxMessages: can't be combined with `compaction: 'provider'`, which needs the messages that it would drop"]
    : [];
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
