import { bounds } from '../core/bounds';
import { excerpt, isDeepJson, isObject } from '../core/json';
import { messageOfThrown } from '../core/thrown';
import type { ToolError } from '../core/tool';
import type { Tool } from './define-tool';

export type ParsedArguments = { ok: true; args: unknown } | { ok: false; error: ToolError };

/** From the model's text to what `execute` takes. Every refusal is worded so that the model can do better at once. */
export async function parseArguments(tool: Pick<Tool, 'name' | 'check'>, text: string): Promise<ParsedArguments> {
  if (isDeepJson(text, bounds.jsonDepth)) {
    return refuse(`Tool '${tool.name}': the arguments are nested deeper than ${bounds.jsonDepth} levels. Got: ${excerpt(text, 300)}`);
  }
  let value: unknown;
  try {
    // Some models write nothing at all for a tool that needs nothing.
    value = text.trim() === '' ? {} : JSON.parse(text);
  } catch (error) {
    const why = messageOfThrown(error);
    return refuse(`Tool '${tool.name}': the arguments are not valid JSON (${why}). Send one JSON object. Got: ${excerpt(text, 300)}`);
  }
  if (!isObject(value)) {
    return refuse(`Tool '${tool.name}': the arguments must be one JSON object. Got: ${excerpt(text, 300)}`);
  }
  if (hasInfinity(value)) {
    return refuse(`Tool '${tool.name}': the arguments have a number that is too large to be one. Got: ${excerpt(text, 300)}`);
  }
  try {
    const checked = await tool.check(value);
    if (checked.ok) return checked;
    return refuse(
      `Tool '${tool.name}': the arguments don't fit its schema:\n${checked.problems.map((problem) => `- ${problem}`).join('\n')}`,
    );
  } catch (error) {
    // A transform or refinement of the author's that throws instead of reporting: still about the arguments.
    const why = messageOfThrown(error);
    return refuse(`Tool '${tool.name}': the arguments could not be checked: ${why}`);
  }
}

/** JSON.parse makes Infinity of `1e999`, which JSON writes as null: a person would be shown another value than the tool is given. */
function hasInfinity(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isFinite(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(hasInfinity);
}

function refuse(message: string): ParsedArguments {
  // Recorded as it is, and a schema with a thousand choices would name them all.
  return { ok: false, error: { name: 'InvalidToolArgumentsError', message: excerpt(message, 4_000) } };
}
