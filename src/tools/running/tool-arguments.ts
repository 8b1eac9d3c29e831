import { bounds } from '../../core/bounds';
import { excerpt, isDeepJson, isObject } from '../../core/json';
import { messageOfThrown } from '../../core/thrown';
import type { ToolError } from '../../core/tool';
import type { Tool } from '../defining/define-tool';

export type ParsedArguments = { ok: true; args: unknown } | { ok: false; error: ToolError };

/** Parses and validates the model's arguments for `execute`. Each rejection tells the model how to correct the arguments. */
export async function parseArguments(tool: Pick<Tool, 'name' | 'check'>, text: string): Promise<ParsedArguments> {
  if (isDeepJson(text, bounds.jsonDepth)) {
    return refuse(`Tool '${tool.name}': the arguments are nested deeper than ${bounds.jsonDepth} levels. Got: ${excerpt(text, 300)}`);
  }
  let value: unknown;
  try {
    // Some models send an empty string for a tool without arguments.
    value = text.trim() === '' ? {} : JSON.parse(text);
  } catch (error) {
    const why = messageOfThrown(error);
    return refuse(`Tool '${tool.name}': the arguments are not valid JSON (${why}). Send one JSON object. Got: ${excerpt(text, 300)}`);
  }
  if (!isObject(value)) {
    return refuse(`Tool '${tool.name}': the arguments must be one JSON object. Got: ${excerpt(text, 300)}`);
  }
  if (hasInfinity(value)) {
    return refuse(`Tool '${tool.name}': the arguments contain a number that is too large. Got: ${excerpt(text, 300)}`);
  }
  try {
    const checked = await tool.check(value);
    if (checked.ok) return checked;
    return refuse(
      `Tool '${tool.name}': the arguments don't fit its schema:\n${checked.problems.map((problem) => `- ${problem}`).join('\n')}`,
    );
  } catch (error) {
    // A transform or refinement of the tool author threw instead of reporting an issue; the cause is still the arguments.
    const why = messageOfThrown(error);
    return refuse(`Tool '${tool.name}': the arguments could not be checked: ${why}`);
  }
}

/** `JSON.parse` turns `1e999` into Infinity, which is written back as null: the approver would see a different value than the tool gets. */
function hasInfinity(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isFinite(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(hasInfinity);
}

function refuse(message: string): ParsedArguments {
  // The message is recorded in full, and a schema with a thousand choices would list them all.
  return { ok: false, error: { name: 'InvalidToolArgumentsError', message: excerpt(message, 4_000) } };
}
