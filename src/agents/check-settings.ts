import { z } from 'zod';
import { closest } from './closest';

const count = z.number().int().min(0);
const positive = z.number().positive();

const settingsSchema = z.strictObject({
  temperature: z.number().min(0).max(2).optional(),
  maxTokens: z.number().int().positive().optional(),
  toolChoice: z.union([z.enum(['auto', 'none', 'required']), z.strictObject({ tool: z.string() })]).optional(),
  providerOptions: z.record(z.string(), z.json()).optional(),
});
const limitsSchema = z.strictObject({ turns: count.optional(), toolCalls: count.optional() });
const retrySchema = z.strictObject({
  // Temporal's own bound on attempts must stay above it: see workflows/activity-options.ts.
  maxAttempts: z.number().int().positive().max(20).optional(),
  baseMs: positive.optional(),
  maxMs: positive.optional(),
  backoff: z.enum(['exponential', 'linear']).optional(),
  jitter: z.boolean().optional(),
  windowMs: positive.optional(),
  retryAfterCeilingMs: positive.optional(),
});

/** What is wrong with model settings, a line each; none when they are fine. `tools`: the names a tool choice may force. */
export function problemsOfSettings(settings: unknown, tools: readonly string[]): string[] {
  const problems = problemsOf('settings', settingsSchema, settings);
  if (problems.length > 0) return problems;
  const { toolChoice } = settings as z.infer<typeof settingsSchema>;
  const known = tools.join(', ') || 'none';
  if (typeof toolChoice === 'object' && !tools.includes(toolChoice.tool)) {
    return [`settings.toolChoice: forces the tool '${toolChoice.tool}', which the agent does not have (it has: ${known})`];
  }
  return toolChoice === 'required' && tools.length === 0 ? ["settings.toolChoice: is 'required', but the agent has no tools"] : [];
}

export function problemsOfLimits(limits: unknown): string[] {
  return problemsOf('limits', limitsSchema, limits);
}

export function problemsOfRetry(retry: unknown): string[] {
  return problemsOf('retry', retrySchema, retry);
}

function problemsOf(name: string, schema: z.ZodObject, value: unknown): string[] {
  const parsed = schema.safeParse(value);
  if (parsed.success) return [];
  return parsed.error.issues.flatMap((issue) => {
    const path = [name, ...issue.path].map(String).join('.');
    if (issue.code !== 'unrecognized_keys') return [`${path}: ${issue.message}`];
    const known = Object.keys(schema.shape);
    return issue.keys.map((key) => {
      const meant = closest(key, known);
      return `${path}.${key}: is not known${meant ? `; did you mean '${meant}'?` : ''} Known: ${known.join(', ')}`;
    });
  });
}
