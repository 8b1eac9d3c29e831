import { isObject, type Json, type JsonObject } from '../../core/json';

/**
 * Some compatible servers hang data on a tool call that they must see again with it (Gemini's thought signatures, in `extra_content`),
 * or they refuse the next request. It is kept by the position of the call in its answer.
 */
const field = 'extra_content';

export function keepExtras(extras: (unknown | undefined)[]): JsonObject | undefined {
  if (extras.every((extra) => extra === undefined)) return undefined;
  return { toolCallExtras: extras.map((extra) => (extra ?? null) as Json) };
}

export function replayExtras<C extends object>(calls: C[], opaque: JsonObject | undefined): C[] {
  const extras = opaque?.toolCallExtras;
  if (!Array.isArray(extras)) return calls;
  return calls.map((call, at) => (isObject(extras[at]) ? { ...call, [field]: extras[at] } : call));
}
