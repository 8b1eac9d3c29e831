import type { JsonObject } from '../core/json';

/** Tells a model in words what its answer must fit, where the request can't. */
export function schemaWords(schema: JsonObject): string {
  return `Your final answer must be JSON that fits this JSON Schema, and nothing else:\n${JSON.stringify(schema)}`;
}
