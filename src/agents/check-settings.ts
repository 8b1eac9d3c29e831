import { z } from 'zod';
import { limitNames } from '../core/agent';
import { problemsOf } from './problems';

const count = z.number().int().min(0);
const positive = z.number().positive();

const settingsSchema = z.strictObject({
  temperature: z.number().min(0).max(2).optional(),
  maxTokens: z.number().int().positive().optional(),
  toolChoice: z.union([z.enum(['auto', 'none', 'required']), z.strictObject({ tool: z.string() })]).optional(),
  reasoningEffort: z.enum(['none', 'low', 'medium', 'high']).optional(),
  otherReasoning: z.enum(['drop', 'text']).optional(),
  providerOptions: z.record(z.string(), z.json()).optional(),
});
const limitsSchema = z.strictObject(
  Object.fromEntries(limitNames.map((name) => [name, (name === 'costUsd' ? z.number().min(0) : count).optional()])),
);
const optionsSchema = z
  .object({
    atLimit: z.enum(['stop', 'summarize', 'hand-out', 'ask', 'fail']),
    toolFailure: z.enum(['continue', 'fail']),
    onUnknown: z.enum(['tell-model', 'ask-person', 'fail-run']),
    fallbackOnContentFilter: z.boolean(),
    readOutputs: z.boolean(),
    outputRetries: count,
    emptyRetries: count,
    completionChecks: count,
    hookErrors: z.number().int().positive(),
    toolTimeoutMs: z
      .number()
      .positive()
      .max(2 ** 31 - 1),
  })
  .partial();
const retrySchema = z.strictObject({
  // Temporal's own limit on attempts must stay above this: see workflows/activity-options.ts.
  maxAttempts: z.number().int().positive().max(20).optional(),
  baseMs: positive.optional(),
  maxMs: positive.optional(),
  backoff: z.enum(['exponential', 'linear']).optional(),
  jitter: z.boolean().optional(),
  windowMs: positive.optional(),
  retryAfterCeilingMs: positive.optional(),
  afterPartial: z.boolean().optional(),
});

/** Returns the problems of model settings, one line each; none if they are valid. `tools`: the tools that a tool choice may name, if known. */
export function problemsOfSettings(settings: unknown, tools: readonly string[] | undefined): string[] {
  const problems = problemsOf('settings', settingsSchema, settings);
  if (problems.length > 0 || tools === undefined) return problems;
  const { toolChoice } = settings as z.infer<typeof settingsSchema>;
  const known = tools.join(', ') || 'none';
  if (typeof toolChoice === 'object' && !tools.includes(toolChoice.tool)) {
    return [`settings.toolChoice: forces the tool '${toolChoice.tool}', which the agent does not have (it has: ${known})`];
  }
  return toolChoice === 'required' && tools.length === 0 ? ["settings.toolChoice: is 'required', but the agent has no tools"] : [];
}

const hostedToolSchema = z.strictObject({
  name: z.string().regex(/^[a-z][a-z0-9-]{0,63}$/, "must be a name such as 'web-search'"),
  options: z.record(z.string(), z.json()).optional(),
});

export function problemsOfHostedTools(tools: unknown): string[] {
  if (tools === undefined) return [];
  if (!Array.isArray(tools)) return ["hostedTools: give a list, such as [{ name: 'web-search' }]"];
  const problems = tools.flatMap((tool, i) => problemsOf(`hostedTools.${i}`, hostedToolSchema, tool));
  if (problems.length > 0) return problems;
  const names = (tools as { name: string }[]).map(({ name }) => name);
  return new Set(names).size < names.length ? ['hostedTools: names a tool twice'] : [];
}

export function problemsOfLimits(name: 'limits' | 'threadLimits', limits: unknown): string[] {
  return problemsOf(name, limitsSchema, limits);
}

export function problemsOfRetry(retry: unknown): string[] {
  return problemsOf('retry', retrySchema, retry);
}

/** Validates the options that are a single word or number. */
export function problemsOfOptions(options: object): string[] {
  return optionsSchema.safeParse(options).error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) ?? [];
}
