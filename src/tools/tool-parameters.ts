import { z } from 'zod';
import { isObject, type JsonObject } from '../core/json';

/** Kinds of value that JSON has no way to write: a tool that demands one could never be called. */
const beyondJson = ['bigint', 'date', 'symbol', 'map', 'set', 'nan', 'function', 'file', 'promise'];

/** The JSON Schema the model is shown for a zod schema. `refuse` makes the error that is thrown when there is none. */
export function toolParameters(input: z.ZodType, refuse: (problem: string) => Error): JsonObject {
  if (!isObject(input) || !('_zod' in input) || typeof (input as Partial<z.ZodType>).safeParseAsync !== 'function') {
    throw refuse('is not a zod schema; use z.object({ … }) from zod 4.');
  }
  const impossible = fieldBeyondJson(input, '');
  if (impossible) throw refuse(`${impossible}, which JSON can't carry; take text or a number and convert it (z.coerce, .transform).`);
  let schema: unknown;
  try {
    schema = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any', target: 'draft-2020-12' });
  } catch (error) {
    throw refuse(`can't be written as a JSON Schema: ${error instanceof Error ? error.message : String(error)}`);
  }
  const { $schema: _dialect, ...parameters } = JSON.parse(JSON.stringify(schema)) as JsonObject;
  if (parameters.type !== 'object') {
    throw refuse('is not an object at its root, which providers demand; wrap it: z.object({ value: … }).');
  }
  return 'properties' in parameters ? parameters : { ...parameters, properties: {} };
}

/** Looks where every value has to pass. Unions, pipes and coercions are left alone: they may well have a way for JSON. */
function fieldBeyondJson(schema: z.ZodType, path: string, seen = new Set<z.ZodType>()): string | undefined {
  // Schemas may contain themselves.
  if (seen.has(schema)) return undefined;
  seen.add(schema);
  const def = schema._zod.def as unknown as SchemaDef;
  if (beyondJson.includes(def.type) && !def.coerce) return path === '' ? `is a ${def.type}` : `has a ${def.type} at '${path}'`;
  const inner = def.innerType ? fieldBeyondJson(def.innerType, path, seen) : undefined;
  if (inner) return inner;
  if (def.element) return fieldBeyondJson(def.element, `${path}[]`, seen);
  for (const [key, field] of Object.entries(def.shape ?? {})) {
    const found = fieldBeyondJson(field, path === '' ? key : `${path}.${key}`, seen);
    if (found) return found;
  }
  return undefined;
}

/** The parts of zod's definitions that are looked at here. */
interface SchemaDef {
  type: string;
  coerce?: boolean;
  innerType?: z.ZodType;
  element?: z.ZodType;
  shape?: Record<string, z.ZodType>;
}
