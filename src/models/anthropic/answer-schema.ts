import { transformJSONSchema } from '@anthropic-ai/sdk/lib/transform-json-schema';
import { isObject, type JsonObject } from '../../core/json';

/**
 * The schema of an answer as the API accepts it, which knows only a part of JSON Schema; the SDK's function moves most of the rest into
 * descriptions. Undefined if the result would be another schema or none: a map would allow only `{}`, and the API rejects schemas that contain
 * themselves or have no type. Such a schema must be told in the instructions.
 */
export function answerSchema(schema: JsonObject): JsonObject | undefined {
  if (!isExpressible(schema, { defs: schema.$defs, seen: new Map() })) return undefined;
  const sent = transformJSONSchema(schema as never) as JsonObject;
  addChoices(schema, sent);
  return sent;
}

interface Definitions {
  defs: unknown;
  /** What is known of each definition. False also while it is looked at, so that one that contains itself is found. */
  seen: Map<string, boolean>;
}

function isExpressible(schema: unknown, known: Definitions): boolean {
  if (!isObject(schema)) return false;
  const { $ref, type, properties = {}, items } = schema;
  if ($ref !== undefined) {
    const [, name] = /^#\/\$defs\/([^/]+)$/.exec(String($ref)) ?? [];
    if (name === undefined || !isObject(known.defs)) return false;
    if (!known.seen.has(name)) {
      known.seen.set(name, false);
      known.seen.set(name, isExpressible(known.defs[name], known));
    }
    return known.seen.get(name) === true;
  }
  const variants = [schema.anyOf, schema.oneOf, schema.allOf].find(Array.isArray);
  if (variants) return variants.every((one) => isExpressible(one, known));
  if (type === undefined) return false;
  if (Array.isArray(type)) return !type.includes('object') && !type.includes('array');
  if (type === 'object') {
    const parts = Object.values(properties as JsonObject);
    const isMap = parts.length === 0 && schema.additionalProperties !== false;
    return !isMap && schema.patternProperties === undefined && parts.every((one) => isExpressible(one, known));
  }
  return type !== 'array' || items === undefined || isExpressible(items, known);
}

/** Adds `enum` and `const`, which the API knows and the SDK's function leaves out, wherever they are. */
function addChoices(schema: unknown, sent: unknown): void {
  if (!isObject(schema) || !isObject(sent)) return;
  const isPlain = (value: unknown) => value === null || typeof value !== 'object';
  if (Array.isArray(schema.enum) && schema.enum.every(isPlain)) sent.enum = schema.enum;
  if (schema.const !== undefined && isPlain(schema.const)) sent.const = schema.const;
  const lists = [
    [schema.anyOf ?? schema.oneOf, sent.anyOf],
    [schema.allOf, sent.allOf],
  ];
  for (const [from, to] of lists)
    if (Array.isArray(from) && Array.isArray(to)) for (const [i, one] of from.entries()) addChoices(one, to[i]);
  for (const key of ['properties', '$defs']) {
    const [from, to] = [schema[key], sent[key]];
    if (isObject(from) && isObject(to)) for (const name of Object.keys(from)) addChoices(from[name], to[name]);
  }
  addChoices(schema.items, sent.items);
}
