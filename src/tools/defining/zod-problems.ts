import type { z } from 'zod';

const shownProblems = 20;

/** Zod's issues, one line each, with their paths. */
export function zodProblems(issues: readonly z.core.$ZodIssue[]): string[] {
  return firstProblems(issues.map((issue) => describe(issue, [])));
}

/** The first problems, and how many more there are. */
export function firstProblems(problems: readonly string[]): string[] {
  if (problems.length <= shownProblems) return [...problems];
  return [...problems.slice(0, shownProblems), `and ${problems.length - shownProblems} more`];
}

function describe(issue: z.core.$ZodIssue, above: PropertyKey[]): string {
  const path = [...above, ...issue.path];
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    const ways = issue.errors.map((branch) => branch.map((inner) => describe(inner, path)).join(' and '));
    return `${pathOf(path)}: fits none of its forms: ${[...new Set(ways)].join('; or ')}`;
  }
  return `${pathOf(path)}: ${issue.message}`;
}

/** `items[2].price`, and `(root)` for the object itself. */
export function pathOf(path: readonly PropertyKey[]): string {
  const text = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('');
  return text === '' ? '(root)' : text.replace(/^\./, '');
}
