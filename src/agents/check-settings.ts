import { z } from 'zod';
import { limitNames } from '../core/agent';
import { problemsOf } from './problems';

const count = z.number().int().min(0);
const positive = z.number().positive();

const settingsSchema = z.strictObject({
  temperature: z.number().min(0).max(2).optional(),
  maxTokens: z.number().int().positive().optional(),
  toolChoice: z.union([z.enum(['auto', 'none', 'required']), z.strictObject({ tool: z.string() })]).optional(),
  providerOptions: z.record(z.string(), z.json()).optional(),
});
const limitsSchema = z.strictObject(
  Object.fromEntries(limitNames.map((name) => [name, (name === 'costUsd' ? z.number().min(0) : count).optional()])),
);
const optionsSchema = z
  .object({
    atLimit: z.enum(['stop', 'summarize', 'hand-out', 'ask', 'fail']),
    toolFailure: z.enum(['continue', 'fail']),
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
  // Temporal's own bound on attempts must stay above it: see workflows/activity-options.ts.
  maxAttempts: z.number().int().positive().max(20).optional(),
  baseMs: positive.optional(),
  maxMs: positive.optional(),
  backoff: z.enum(['exponential', 'linear']).optional(),
  jitter: z.boolean().optional(),
  windowMs: positive.optional(),
  retryAfterCeilingMs: positive.optional(),
  afterPartial: z.boolean().optional(),
});

/** What is wrong with model settings, a line each; none when they are fine. `tools`: what a tool choice may force, where it is known. */
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

export function problemsOfLimits(name: 'limits' | 'threadLimits', limits: unknown): string[] {
  return problemsOf(name, limitsSchema, limits);
}

export function problemsOfRetry(retry: unknown): string[] {
  return problemsOf('retry', retrySchema, retry);
}

/** The options that are one word or one number. */
export function problemsOfOptions(options: object): string[] {
  return optionsSchema.safeParse(options).error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) ?? [];
}
