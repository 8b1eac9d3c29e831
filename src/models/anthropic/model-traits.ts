import type { ModelSettings } from '../../core/agent';

/** Properties of a model that change the request. An unknown name is treated as a new model. */
export interface ModelTraits {
  /** The API requires a maximum in each request. Default: the most that the model can write. */
  maxTokens: number;
  /** How thinking is requested: with a token budget, with an effort, or not at all. */
  thinking: 'budget' | 'adaptive' | 'none';
  /** Whether the API enforces a JSON schema for the answer. */
  structuredOutput: boolean;
  /** Whether the API compacts the model's conversations. */
  compacts?: true;
}

/** Oldest first; the first match counts. */
const known: [RegExp, ModelTraits][] = [
  [/claude-(?:2|instant|3-(?:opus|sonnet|haiku))/, { maxTokens: 4_096, thinking: 'none', structuredOutput: false }],
  [/claude-3-5/, { maxTokens: 8_192, thinking: 'none', structuredOutput: false }],
  [/claude-3-7/, { maxTokens: 64_000, thinking: 'budget', structuredOutput: false }],
  [/claude-opus-4(?:-[01])?(?:[-@]\d{8}|$)/, { maxTokens: 32_000, thinking: 'budget', structuredOutput: false }],
  [/claude-sonnet-4(?:-0)?(?:[-@]\d{8}|$)/, { maxTokens: 64_000, thinking: 'budget', structuredOutput: false }],
  [/claude-(?:opus|sonnet|haiku)-4-5/, { maxTokens: 64_000, thinking: 'budget', structuredOutput: true }],
];

/** `most`: the most that the model can write, if it is known from elsewhere. */
export function traitsOf(model: string, most = Number.POSITIVE_INFINITY): ModelTraits {
  const [, found] = known.find(([pattern]) => pattern.test(model)) ?? [];
  const traits: ModelTraits = found ?? { maxTokens: 64_000, thinking: 'adaptive', structuredOutput: true, compacts: true };
  return most < traits.maxTokens ? { ...traits, maxTokens: most } : traits;
}

/** Thinking budgets, in tokens. */
const budgets = { low: 4_000, medium: 12_000, high: 24_000 };

const leastBudget = 1_024;

/** The request fields for thinking, and the maximum number of output tokens. */
export function thinkingFields(
  { thinking, maxTokens: most }: ModelTraits,
  { reasoningEffort: effort, maxTokens = most }: ModelSettings,
): { thinking?: object; effort?: string; max_tokens: number } {
  if (effort === undefined || thinking === 'none') return { max_tokens: maxTokens };
  if (effort === 'none') return { thinking: { type: 'disabled' }, max_tokens: maxTokens };
  if (thinking === 'adaptive') return { thinking: { type: 'adaptive', display: 'summarized' }, effort, max_tokens: maxTokens };
  const budget = budgets[effort];
  // Thinking counts as output, and the API rejects a budget that leaves nothing for the answer, or below its minimum.
  const max_tokens = Math.min(most, maxTokens + budget);
  const budget_tokens = budget < max_tokens ? budget : Math.floor(max_tokens / 2);
  return { ...(budget_tokens >= leastBudget && { thinking: { type: 'enabled', budget_tokens } }), max_tokens };
}
