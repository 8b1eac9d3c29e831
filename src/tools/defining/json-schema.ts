import { isObject, type JsonObject } from '../../core/json';

/** A JSON Schema of draft-07 or 2020-12, as JSON. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

/** Schemas that several tools share: an OpenAPI document, or part of one. */
export interface SchemaDefinitions {
  components?: { schemas?: Readonly<Record<string, JsonSchema>> | undefined } | undefined;
}

type Refuse = (problem: string) => Error;

const componentPath = '#/components/schemas/';
/** Keywords whose values are data, not schemas. */
const data = ['enum', 'const', 'default', 'examples', 'example'];
/** Keywords whose values are schemas by name; the names may look like keywords. */
const byName = ['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions'];

/**
 * Returns a schema that refers to no other document: components that it refers to, by path or by `$anchor`, are in its `$defs`. They may refer to
 * each other in cycles. The root is an object, as providers require; a root that is a reference is replaced by its target.
 */
export function selfContained(input: JsonSchema, definitions: SchemaDefinitions | undefined, refuse: Refuse): JsonObject {
  const { components: own, ...schema } = plain(input, refuse);
  const shared = definitions === undefined ? {} : componentsOf(plain(definitions, refuse).components);
  const components = { ...shared, ...componentsOf(own) };
  const bundle = bundler(schema, components, refuse);
  const root = bundle.rewrite(schema);
  const $defs = bundle.definitions();
  const whole: JsonObject = {
    ...root,
    ...(Object.keys($defs).length > 0 && { $defs: { ...(root.$defs as JsonObject | undefined), ...$defs } }),
  };
  const { type = 'object', ...rest } = withoutRootReference(whole);
  if (type !== 'object')
    throw refuse('is not an object at its root, which providers require; wrap it: { type: "object", properties: { value: … } }.');
  return { type, ...rest, properties: rest.properties ?? {} };
}

function plain(value: unknown, refuse: Refuse): JsonObject {
  try {
    return JSON.parse(JSON.stringify(value)) as JsonObject;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw refuse(`can't be written as JSON; use $ref for a recursive schema: ${why}`);
  }
}

function componentsOf(components: unknown): Record<string, unknown> {
  const schemas = isObject(components) ? components.schemas : undefined;
  return isObject(schemas) ? schemas : {};
}

function bundler(schema: JsonObject, components: Record<string, unknown>, refuse: Refuse) {
  const taken = new Set([...Object.keys(schema.$defs ?? {}), ...Object.keys(schema.definitions ?? {})]);
  const places = new Map<string, string>();
  /** Components by the anchors in them; the first if several have the same. Anchors of the schema itself are left out. */
  let holders: Map<string, string> | undefined;

  /** The name of a component in `$defs`. */
  function place(name: string): string {
    const known = places.get(name);
    if (known !== undefined) return known;
    let free = name;
    for (let n = 2; taken.has(free); n += 1) free = `${name}_${n}`;
    taken.add(free);
    places.set(name, free);
    return free;
  }

  /** The referenced components, and those that they refer to. */
  function definitions(): JsonObject {
    const found: Record<string, unknown> = {};
    // `place` appends to `places` during the loop. Recursion instead could overflow the stack on a long chain of references.
    for (const [name, free] of places) found[free] = any(components[name]);
    return found as JsonObject;
  }

  function holderOf(anchor: string): string | undefined {
    if (!holders) {
      const own = anchorsIn(schema);
      const shared = Object.entries(components).flatMap(([name, component]) => [...anchorsIn(component)].map((at) => [at, name] as const));
      holders = new Map(shared.reverse().filter(([at]) => !own.has(at)));
    }
    return holders.get(anchor);
  }

  function reference(ref: string): string {
    if (ref.startsWith(componentPath)) {
      const [first = '', ...rest] = ref.slice(componentPath.length).split('/');
      const name = decodePointer(first);
      if (!Object.hasOwn(components, name)) {
        throw refuse(
          `refers to '${ref}', which is not among its definitions (there are: ${Object.keys(components).join(', ') || 'none'}).`,
        );
      }
      return ['#/$defs', encodePointer(place(name)), ...rest].join('/');
    }
    const holder = /^#[^/]/.test(ref) ? holderOf(ref) : undefined;
    if (holder !== undefined) place(holder);
    return ref;
  }

  function rewrite(node: JsonObject): JsonObject {
    const copy = Object.entries(node).map(([key, value]): [string, unknown] => {
      if (key === '$ref' && typeof value === 'string') return [key, reference(value)];
      if (data.includes(key)) return [key, value];
      if (byName.includes(key) && isObject(value))
        return [key, Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, any(inner)]))];
      return [key, any(value)];
    });
    return Object.fromEntries(copy) as JsonObject;
  }

  function any(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(any);
    return isObject(value) ? rewrite(value as JsonObject) : value;
  }

  return { rewrite, definitions };
}

/** The anchors of a schema and of those inside it: `#pet` for `$anchor: 'pet'`, or for `$id: '#pet'` in draft-07. */
export function anchorsIn(node: unknown, found = new Set<string>()): Set<string> {
  if (Array.isArray(node)) for (const inner of node) anchorsIn(inner, found);
  if (!isObject(node)) return found;
  if (typeof node.$anchor === 'string') found.add(`#${node.$anchor}`);
  if (typeof node.$id === 'string') found.add(node.$id);
  for (const inner of Object.values(node)) anchorsIn(inner, found);
  return found;
}

/** Replaces `{ $ref: '#/$defs/Order' }` by the schema of the order. Its anchor stays with the original. */
function withoutRootReference(schema: JsonObject): JsonObject {
  let root = schema;
  for (let hops = 0; typeof root.$ref === 'string' && hops < 10; hops += 1) {
    const { $ref, ...rest } = root;
    const target = targetOf(schema, $ref as string);
    if (!target) break;
    const { $anchor: _anchor, $id: _id, ...meant } = target;
    root = { ...meant, ...rest };
  }
  return root;
}

function targetOf(schema: JsonObject, ref: string): JsonObject | undefined {
  if (!ref.startsWith('#/'))
    return Object.values(schema.$defs ?? {}).find((inner) => isObject(inner) && hasOwnAnchor(inner, ref)) as JsonObject | undefined;
  let node: unknown = schema;
  for (const step of ref.slice(2).split('/')) node = isObject(node) ? node[decodePointer(step)] : undefined;
  return isObject(node) && node !== schema ? (node as JsonObject) : undefined;
}

function hasOwnAnchor(node: Record<string, unknown>, ref: string): boolean {
  return node.$anchor === ref.slice(1) || node.$id === ref;
}

export function decodePointer(step: string): string {
  let text = step;
  try {
    text = decodeURIComponent(step);
  } catch {
    // A single percent sign is literal.
  }
  return text.replaceAll('~1', '/').replaceAll('~0', '~');
}

function encodePointer(name: string): string {
  return encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'));
}
