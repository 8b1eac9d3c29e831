import { z } from 'zod';
import { isObject, type JsonObject } from '../../core/json';

/** Types that JSON can't represent: a tool that requires one could never be called. */
const beyondJson = ['bigint', 'date', 'symbol', 'map', 'set', 'nan', 'function', 'file', 'promise'];

/** Returns the JSON Schema of a zod schema, as sent to the model. `refuse` creates the error to throw if there is none. */
export function toolParameters(input: z.ZodType, refuse: (problem: string) => Error): JsonObject {
  if (!isObject(input) || !('_zod' in input) || typeof (input as Partial<z.ZodType>).safeParseAsync !== 'function') {
    throw refuse('is not a zod schema; use z.object({ … }) from zod 4.');
  }
  const impossible = fieldBeyondJson(input, '');
  if (impossible)
    throw refuse(`${impossible}, which JSON can't represent; use a string or a number and convert it (z.coerce, .transform).`);
  let schema: unknown;
  try {
    schema = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any', target: 'draft-2020-12' });
  } catch (error) {
    throw refuse(`can't be written as a JSON Schema: ${error instanceof Error ? error.message : String(error)}`);
  }
  const { $schema: _dialect, ...parameters } = JSON.parse(JSON.stringify(schema)) as JsonObject;
  if (parameters.type !== 'object') {
    throw refuse('is not an object at its root, which providers require; wrap it: z.object({ value: … }).');
  }
  return 'properties' in parameters ? parameters : { ...parameters, properties: {} };
}

/** Checks only schemas that every value must pass. Unions, pipes and coercions are skipped, because they may accept JSON in another way. */
function fieldBeyondJson(schema: z.ZodType, path: string, seen = new Set<z.ZodType>()): string | undefined {
  // Schemas may be recursive.
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

/** The parts of zod's definitions that are used here. */
interface SchemaDef {
  type: string;
  coerce?: boolean;
  innerType?: z.ZodType;
  element?: z.ZodType;
  shape?: Record<string, z.ZodType>;
}
