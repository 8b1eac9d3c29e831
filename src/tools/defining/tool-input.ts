import type { z } from 'zod';
import { isObject, type JsonObject } from '../../core/json';
import { withoutUnknownPatterns } from './foreign-patterns';
import { type JsonSchema, type SchemaDefinitions, selfContained } from './json-schema';
import { mustBeSchema, type SchemaOrigin, schemaCheck } from './schema-check';
import { toolParameters } from './tool-parameters';
import { zodProblems } from './zod-problems';

/** Arguments for `execute`, or the problems of the arguments, one line each. */
export type CheckedInput = { ok: true; args: unknown } | { ok: false; problems: string[] };

export interface ToolInput {
  parameters: JsonObject;
  /** Validates arguments. Rejects if the tool author's own check throws. */
  check(value: unknown): Promise<CheckedInput>;
}

/** Creates a tool's input from a zod object or a JSON Schema. `refuse` creates the error to throw for anything else. */
export function toolInput(input: unknown, definitions: SchemaDefinitions | undefined, refuse: (problem: string) => Error): ToolInput {
  if (!isObject(input)) throw refuse('is not a schema; use z.object({ … }) from zod 4, or a JSON Schema.');
  if ('_zod' in input || typeof input.safeParse === 'function') {
    if (definitions !== undefined) throw refuse('is a zod schema, and definitions are for JSON Schemas; leave them out.');
    return zodInput(input as unknown as z.ZodType, refuse);
  }
  return jsonInput(input, definitions, refuse);
}

function zodInput(input: z.ZodType, refuse: (problem: string) => Error): ToolInput {
  return {
    parameters: toolParameters(input, refuse),
    async check(value) {
      const parsed = await input.safeParseAsync(value);
      return parsed.success ? { ok: true, args: parsed.data } : { ok: false, problems: zodProblems(parsed.error.issues) };
    },
  };
}

/** Every schema of an object has one of these keywords at its root. */
const rootKeywords = ['type', 'properties', '$ref', 'allOf', 'anyOf', 'oneOf'];

function jsonInput(input: JsonSchema, definitions: SchemaDefinitions | undefined, refuse: (problem: string) => Error): ToolInput {
  // A schema with only unknown keywords is valid, and accepts everything.
  if (!rootKeywords.some((keyword) => keyword in input)) {
    const zod = Object.values(input).some((value) => isObject(value) && '_zod' in value);
    throw refuse(
      zod
        ? 'is a plain object of zod schemas; wrap it: z.object({ … }).'
        : `doesn't describe an object; a JSON Schema needs one of ${rootKeywords.join(', ')}.`,
    );
  }
  const parameters = selfContained(input, definitions, refuse);
  try {
    mustBeSchema(parameters);
  } catch (error) {
    throw refuse(`is not a valid JSON Schema of draft-07 or 2020-12: ${error instanceof Error ? error.message : String(error)}.`);
  }
  return checkedBy(parameters, 'own');
}

/**
 * Creates the input from a schema of an untrusted author, which is compiled only in the validation thread. Patterns that JavaScript doesn't know are not
 * checked here.
 */
export function foreignInput(input: JsonSchema, refuse: (problem: string) => Error): ToolInput {
  const { parameters, check } = checkedBy(withoutUnknownPatterns(selfContained(input, undefined, refuse)).schema, 'foreign');
  return {
    parameters,
    check: (value) =>
      check(value).catch((error: Error) => {
        throw refuse(`can't be used: ${error.message}`);
      }),
  };
}

function checkedBy(schema: JsonObject, origin: SchemaOrigin): ToolInput {
  const problemsOf = schemaCheck(schema, origin);
  const { $schema: _dialect, ...parameters } = schema;
  return {
    parameters,
    async check(value) {
      const problems = await problemsOf(value);
      return problems.length === 0 ? { ok: true, args: value } : { ok: false, problems };
    },
  };
}
