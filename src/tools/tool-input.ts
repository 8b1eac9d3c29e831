import type { z } from 'zod';
import { isObject, type JsonObject } from '../core/json';
import { type JsonSchema, type SchemaDefinitions, selfContained } from './json-schema';
import { mustBeSchema, schemaCheck } from './schema-check';
import { toolParameters } from './tool-parameters';
import { zodProblems } from './zod-problems';

/** Arguments as `execute` takes them, or what is wrong with them, a line each. */
export type CheckedInput = { ok: true; args: unknown } | { ok: false; problems: string[] };

export interface ToolInput {
  parameters: JsonObject;
  /** Rejects where a check of the author's throws. */
  check(value: unknown): Promise<CheckedInput>;
}

/** What a tool takes, from a zod object or a JSON Schema. `refuse` makes the error that is thrown for what is neither. */
export function toolInput(input: unknown, definitions: SchemaDefinitions | undefined, refuse: (problem: string) => Error): ToolInput {
  if (!isObject(input)) throw refuse('is no schema; use z.object({ … }) from zod 4, or a JSON Schema.');
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

/** One of these stands at the root of any schema of an object. */
const rootKeywords = ['type', 'properties', '$ref', 'allOf', 'anyOf', 'oneOf'];

function jsonInput(input: JsonSchema, definitions: SchemaDefinitions | undefined, refuse: (problem: string) => Error): ToolInput {
  // A schema of unknown keywords alone is a good one, and lets everything through.
  if (!rootKeywords.some((keyword) => keyword in input)) {
    const zod = Object.values(input).some((value) => isObject(value) && '_zod' in value);
    throw refuse(
      zod
        ? 'has zod schemas inside and is none; wrap it: z.object({ … }).'
        : `says nothing of an object; a JSON Schema has one of ${rootKeywords.join(', ')}.`,
    );
  }
  const parameters = selfContained(input, definitions, refuse);
  try {
    mustBeSchema(parameters);
  } catch (error) {
    throw refuse(`is no JSON Schema of draft-07 or 2020-12: ${error instanceof Error ? error.message : String(error)}.`);
  }
  return checkedBy(parameters);
}

/** From a schema that is compiled only where it is needed, by the thread that checks: whoever wrote it may mean no good. */
export function foreignInput(input: JsonSchema, refuse: (problem: string) => Error): ToolInput {
  const { parameters, check } = checkedBy(selfContained(input, undefined, refuse));
  return {
    parameters,
    check: (value) =>
      check(value).catch((error: Error) => {
        throw refuse(`can't be used: ${error.message}`);
      }),
  };
}

function checkedBy(schema: JsonObject): ToolInput {
  const problemsOf = schemaCheck(schema);
  const { $schema: _dialect, ...parameters } = schema;
  return {
    parameters,
    async check(value) {
      const problems = await problemsOf(value);
      return problems.length === 0 ? { ok: true, args: value } : { ok: false, problems };
    },
  };
}
