import type { z } from 'zod';
import { closest } from './closest';

/** What is wrong with a value, a line each, every line with its path. An unknown field is told with the one that was meant. */
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
