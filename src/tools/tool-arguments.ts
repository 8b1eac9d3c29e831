import type { z } from 'zod';
import { excerpt, isObject } from '../core/json';
import type { ToolError } from '../core/tool';
import type { Tool } from './define-tool';

export type ParsedArguments = { ok: true; args: unknown } | { ok: false; error: ToolError };

const shownProblems = 20;

/** From the model's text to what `execute` takes. Every refusal is worded so that the model can do better at once. */
export async function parseArguments(tool: Tool, text: string): Promise<ParsedArguments> {
  let value: unknown;
  try {
    // Some models write nothing at all for a tool that needs nothing.
    value = text.trim() === '' ? {} : JSON.parse(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return refuse(`Tool '${tool.name}': the arguments are not valid JSON (${why}). Send one JSON object. Got: ${excerpt(text, 300)}`);
  }
  if (!isObject(value)) {
    return refuse(`Tool '${tool.name}': the arguments must be one JSON object. Got: ${excerpt(text, 300)}`);
  }
  try {
    const parsed = await tool.input.safeParseAsync(value);
    if (parsed.success) return { ok: true, args: parsed.data };
    return refuse(`Tool '${tool.name}': the arguments don't fit its schema:\n${problems(parsed.error.issues).join('\n')}`);
  } catch (error) {
    // A transform or refinement of the author's that throws instead of reporting: still about the arguments.
    const why = error instanceof Error ? error.message : String(error);
    return refuse(`Tool '${tool.name}': the arguments could not be checked: ${why}`);
  }
}

function refuse(message: string): ParsedArguments {
  // Recorded as it is, and a schema with a thousand choices would name them all.
  return { ok: false, error: { name: 'InvalidToolArgumentsError', message: excerpt(message, 4_000) } };
}

function problems(issues: readonly z.core.$ZodIssue[]): string[] {
  const lines = issues.map((issue) => `- ${describe(issue, [])}`);
  if (lines.length <= shownProblems) return lines;
  return [...lines.slice(0, shownProblems), `- and ${lines.length - shownProblems} more`];
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
function pathOf(path: readonly PropertyKey[]): string {
  const text = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('');
  return text === '' ? '(root)' : text.replace(/^\./, '');
}
