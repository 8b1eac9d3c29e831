import { bounds } from '../../core/bounds';
import { isObject, type JsonObject } from '../../core/json';
import { printableLine } from '../../core/printable';
import { shortText } from '../../core/text';
import { anchorsIn, decodePointer } from './json-schema';

/** A schema whose patterns are regular expressions of JavaScript. */
export interface KnownPatterns {
  schema: JsonObject;
  /** The patterns that were left out. */
  unknown: string[];
}

/** Keywords whose values are data, not schemas. */
const data = ['enum', 'const', 'default', 'examples', 'example', 'required'];
/** Keywords whose values are schemas by name; the names may look like keywords. */
const byName = ['properties', 'patternProperties', 'dependentSchemas', 'dependencies', '$defs', 'definitions'];
/** Keywords by which a schema refuses more if another schema in it accepts more, or is missing. */
const inverse = ['not', 'if', 'then', 'else', 'maxContains', 'unevaluatedProperties', 'unevaluatedItems'];
/** A pattern that every name fits. */
const everyName = '.*';
const longestShown = 200;

/**
 * Leaves out the patterns that are written in another language of regular expressions (`(?i)a`, `\A`, `a++`), so that the tool can be used: its
 * server checks them. The model reads them in the descriptions. What the whole schema accepts is accepted: where a pattern is left out, keywords that
 * would then refuse more are left out with it.
 */
export function withoutUnknownPatterns(given: JsonObject): KnownPatterns {
  const found = new Set<string>();
  find(given, found);
  const unknown = unknownOf(found);
  if (unknown.size === 0) return { schema: given, unknown: [] };
  return { schema: withoutLostReferences(rewrite(given, unknown)), unknown: [...unknown] };
}

/**
 * A pattern is parsed here, and not in the validation thread, so its cost must be bounded: a set of characters by property takes up to 0.2 ms, the rest
 * of a pattern next to nothing. Patterns beyond the maximum of such sets count as unknown.
 */
function unknownOf(patterns: ReadonlySet<string>): Set<string> {
  let sets = 0;
  return new Set(
    [...patterns].filter((pattern) => {
      const its = pattern.match(/\\p/gi)?.length ?? 0;
      sets += its;
      return (its > 0 && sets > bounds.patternSets) || !isKnown(pattern);
    }),
  );
}

function isKnown(pattern: string): boolean {
  try {
    new RegExp(pattern, 'u');
    return true;
  } catch {
    return false;
  }
}

function find(schema: unknown, patterns: Set<string>): void {
  if (Array.isArray(schema)) for (const inner of schema) find(inner, patterns);
  if (!isObject(schema)) return;
  for (const [key, value] of Object.entries(schema)) {
    if (data.includes(key)) continue;
    if (key === 'pattern' && typeof value === 'string') patterns.add(value);
    if (key === 'patternProperties' && isObject(value)) for (const name of Object.keys(value)) patterns.add(name);
    if (byName.includes(key) && isObject(value)) for (const inner of Object.values(value)) find(inner, patterns);
    else find(value, patterns);
  }
}

function any(value: unknown, unknown: Set<string>): unknown {
  if (Array.isArray(value)) return value.map((inner) => any(inner, unknown));
  return isObject(value) ? rewrite(value, unknown) : value;
}

function rewrite({ oneOf, ...schema }: Record<string, unknown>, unknown: Set<string>): JsonObject {
  const kept: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(schema)) {
    if (inverse.includes(key) || (key === 'pattern' && unknown.has(value as string))) continue;
    if (data.includes(key)) kept[key] = value;
    else if (byName.includes(key) && isObject(value)) kept[key] = named(key, value, unknown);
    else kept[key] = any(value, unknown);
  }
  const { pattern } = schema;
  if (typeof pattern === 'string' && unknown.has(pattern)) {
    const words = `Pattern: ${shortText(printableLine(pattern), longestShown)}`;
    kept.description = typeof schema.description === 'string' && schema.description !== '' ? `${schema.description} ${words}` : words;
  }
  if (Array.isArray(oneOf)) {
    // Two alternatives may both accept a value, of which only one was meant.
    const choices = { anyOf: any(oneOf, unknown) };
    if (kept.anyOf === undefined) Object.assign(kept, choices);
    else kept.allOf = [...(Array.isArray(kept.allOf) ? kept.allOf : []), choices];
  }
  return kept as JsonObject;
}

/** Leaves out the references to parts of the schema that were left out: they then accept everything. */
function withoutLostReferences(schema: JsonObject): JsonObject {
  const anchors = anchorsIn(schema);
  const isLost = (ref: unknown) =>
    typeof ref === 'string' && ref.startsWith('#') && !(ref === '#' || ref.startsWith('#/') ? isPlaceIn(schema, ref) : anchors.has(ref));
  const any = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(any);
    if (!isObject(node)) return node;
    const entries = Object.entries(node).filter(([key, value]) => !(key === '$ref' && isLost(value)));
    return Object.fromEntries(entries.map(([key, value]) => [key, data.includes(key) ? value : any(value)]));
  };
  return any(schema) as JsonObject;
}

function isPlaceIn(schema: JsonObject, ref: string): boolean {
  let node: unknown = schema;
  for (const step of ref.split('/').slice(1)) {
    const key = decodePointer(step);
    if (typeof node !== 'object' || node === null || !Object.hasOwn(node, key)) return false;
    node = (node as Record<string, unknown>)[key];
  }
  return typeof node === 'boolean' || isObject(node);
}

function named(keyword: string, schemas: Record<string, unknown>, unknown: Set<string>): Record<string, unknown> {
  const entries = Object.entries(schemas);
  const known = keyword === 'patternProperties' ? entries.filter(([name]) => !unknown.has(name)) : entries;
  const rewritten = Object.fromEntries(known.map(([name, inner]) => [name, any(inner, unknown)]));
  // Otherwise `additionalProperties` would refuse the names that fit a pattern which was left out.
  return known.length < entries.length ? { [everyName]: true, ...rewritten } : rewritten;
}
