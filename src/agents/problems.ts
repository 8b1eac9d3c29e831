import type { z } from 'zod';
import { closest } from '../core/closest';

/** Returns the problems of a value, one line each, with their paths. For an unknown field, suggests the most similar known one. */
export function problemsOf(name: string, schema: z.ZodObject, value: unknown): string[] {
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
