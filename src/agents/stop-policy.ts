import { z } from 'zod';
import type { StopPolicy } from '../core/agent';
import { closest } from '../core/closest';
import { problemsOf } from './problems';

const rounds = z.number().int().positive();
const schemas = {
  immediate: z.strictObject({ kind: z.literal('immediate') }),
  verify: z.strictObject({
    kind: z.literal('verify'),
    rounds: rounds.optional(),
    max: rounds.optional(),
    prompt: z.string().trim().min(1, 'is empty').optional(),
  }),
  'done-tool': z.strictObject({ kind: z.literal('done-tool'), nudge: z.string().trim().min(1, 'is empty').optional() }),
};
const kinds = Object.keys(schemas) as StopPolicy['kind'][];
const defaultMax = 3;

/** Expands a definition's stop option, with defaults, and returns its problems. */
export function stopPolicy(option: unknown = 'immediate'): { policy: StopPolicy; problems: string[] } {
  const wrong = (...problems: string[]) => ({ policy: { kind: 'immediate' } as const, problems });
  const value: unknown = typeof option === 'string' ? { kind: option } : option;
  const kind = (value as { kind?: unknown } | null)?.kind;
  if (!kinds.includes(kind as StopPolicy['kind'])) {
    const meant = typeof kind === 'string' ? closest(kind, kinds) : undefined;
    const known = kinds.map((name) => `'${name}'`).join(', ');
    return wrong(`stop: is ${JSON.stringify(option)}; use ${known}${meant ? ` (did you mean '${meant}'?)` : ''}`);
  }
  const problems = problemsOf('stop', schemas[kind as StopPolicy['kind']], value);
  if (problems.length > 0) return wrong(...problems);
  const given = value as { kind: StopPolicy['kind']; rounds?: number; max?: number; prompt?: string };
  if (given.kind !== 'verify') return { policy: { ...given } as StopPolicy, problems: [] };
  const { rounds: row = 1, prompt } = given;
  const max = given.max ?? Math.max(defaultMax, row);
  if (max < row) return wrong(`stop.max: (${max}) is below stop.rounds (${row})`);
  return { policy: { kind: 'verify', rounds: row, max, ...(prompt === undefined ? {} : { prompt }) }, problems: [] };
}
