import { isObject, type JsonObject } from '../../core/json';
import { writeJson } from '../../core/write-json';
import { cleanText } from './clean-text';
import type { ApiDocument } from './document';

/** A schema of a document, by the name of the argument that it describes. */
export interface Field {
  name: string;
  schema: unknown;
  description: string;
  required: boolean;
}

/** How much of a tool's schema the model gets. About 4,000 tokens. */
const maxSchemaChars = 16_000;

/** What is shown of nested schemas, from everything to nearly nothing. The first that fits into `maxSchemaChars` is used. */
const details = [
  { depth: 24, descriptionChars: 500 },
  { depth: 12, descriptionChars: 250 },
  { depth: 8, descriptionChars: 140 },
  { depth: 6, descriptionChars: 80 },
  { depth: 4, descriptionChars: 80 },
  { depth: 3, descriptionChars: 40 },
  { depth: 2, descriptionChars: 0 },
  { depth: 1, descriptionChars: 0 },
];
type Detail = (typeof details)[number];

/**
 * Returns one JSON Schema (2020-12) for the arguments of an operation. Schemas that the document refers to are in `$defs`, so they may refer to
 * each other in cycles. A schema that is too large for a model is cut at a depth; below it, every value is valid. What the document allows is
 * always valid: the service checks the rest. Keywords with invalid values
 * are left out, so that the result is a valid schema whatever the document contains, except for patterns in another language of regular expressions
 * (`withoutUnknownPatterns`).
 */
export function modelSchema(document: ApiDocument, fields: readonly Field[]): JsonObject {
  for (const detail of details) {
    const schema = new SchemaWriter(document, detail, maxSchemaChars).write(fields);
    if (schema) return schema;
  }
  return objectSchema(
    fields,
    Object.fromEntries(fields.map(({ name }) => [name, { description: 'Its schema is too large to be shown.' }])),
  );
}

function objectSchema(fields: readonly Field[], properties: Record<string, unknown>): JsonObject {
  const required = fields.filter((field) => field.required).map(({ name }) => name);
  return { type: 'object', properties: properties as JsonObject, ...(required.length > 0 && { required }), additionalProperties: false };
}

const types: readonly unknown[] = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'];
const numbers = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'];
const counts = ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties', 'minContains', 'maxContains'];
const values = ['default', 'const'];
const single = ['items', 'additionalProperties', 'contains', 'propertyNames'];
/** Keywords by which a schema accepts less if another schema in it accepts more. */
const inverse = ['not', 'if', 'then', 'else', 'unevaluatedProperties', 'unevaluatedItems'];
const lists = ['allOf', 'anyOf', 'prefixItems'];
const maps = ['patternProperties', 'dependentSchemas'];

/** More names do not fit, however short they are. */
const maxNames = maxSchemaChars / 6;
const tooWide = new WeakSet<object>();

/** Thrown when a schema does not fit into its room. */
const full = Symbol('full');

class SchemaWriter {
  readonly #names = new Map<string, string>();
  readonly #waiting: { ref: string; name: string; depth: number }[] = [];

  constructor(
    readonly document: ApiDocument,
    readonly detail: Detail,
    private room: number,
  ) {}

  /** Returns `undefined` if the schema does not fit. */
  write(fields: readonly Field[]): JsonObject | undefined {
    try {
      const properties = Object.fromEntries(fields.map((field) => [field.name, this.#field(field)]));
      const $defs = this.#definitions();
      return { ...objectSchema(fields, properties), ...(Object.keys($defs).length > 0 && { $defs }) };
    } catch (error) {
      if (error === full) return undefined;
      throw error;
    }
  }

  #field({ name, schema, description }: Field): unknown {
    this.#spend(name.length + 20);
    const written = this.#schema(schema, this.detail.depth);
    const words = cleanText(description, Math.max(this.detail.descriptionChars, 80));
    if (words === '' || !isObject(written)) return written;
    this.#spend(words.length + 20);
    return { ...written, description: words };
  }

  #definitions(): JsonObject {
    const written: Record<string, unknown> = {};
    // The loop also visits what is added during it. What is nearest to the root is written first, with the greatest depth.
    for (const { ref, name, depth } of this.#waiting) {
      this.#spend(name.length + 10);
      written[name] = this.#schema(this.document.follow({ $ref: ref }).value, depth);
    }
    return written as JsonObject;
  }

  #schema(given: unknown, depth: number): unknown {
    if (typeof given === 'boolean') return given;
    if (!isObject(given)) return {};
    if (depth <= 0) return this.#cut(given);
    if (typeof given.$ref === 'string') return this.#reference(given, depth);
    return this.#nullable(given, this.#keywords(given, depth));
  }

  #reference(given: Record<string, unknown>, depth: number): unknown {
    const { value, ref } = this.document.follow(given);
    if (typeof value === 'boolean') return value;
    if (!isObject(value) || ref === undefined) return {};
    const name = this.#names.get(ref) ?? this.#place(ref, depth);
    this.#spend(name.length + 20);
    const { $ref: _, ...siblings } = given;
    return this.#nullable(given, { ...this.#keywords(siblings, depth), $ref: `#/$defs/${name}` });
  }

  #place(ref: string, depth: number): string {
    const last = ref.slice(ref.lastIndexOf('/') + 1).replace(/[^a-zA-Z0-9_.-]/g, '_') || 'schema';
    const taken = new Set(this.#names.values());
    let name = last.slice(0, 100);
    for (let n = 2; taken.has(name); n++) name = `${last.slice(0, 100)}_${n}`;
    this.#names.set(ref, name);
    this.#waiting.push({ ref, name, depth: depth - 1 });
    return name;
  }

  /** What remains of a schema at the greatest depth: its type, if it has one. */
  #cut(given: Record<string, unknown>): JsonObject {
    const { value } = this.document.follow(given);
    const type = isObject(value) && !value.nullable ? knownTypes(value.type) : undefined;
    this.#spend(24);
    return (type === undefined ? {} : { type }) as JsonObject;
  }

  #keywords(given: Record<string, unknown>, depth: number): Record<string, unknown> {
    const written: Record<string, unknown> = {};
    const put = (keyword: string, value: unknown) => {
      if (value === undefined) return;
      this.#spend(keyword.length + 6);
      written[keyword] = value;
    };
    put('type', knownTypes(given.type));
    put('description', this.#description(given.description ?? given.title));
    put('enum', Array.isArray(given.enum) && given.enum.length > 0 ? this.#data(given.enum) : undefined);
    put('format', typeof given.format === 'string' && /^[a-z0-9-]{1,40}$/.test(given.format) ? given.format : undefined);
    put('pattern', this.#pattern(given.pattern));
    for (const keyword of values) if (keyword in given) put(keyword, this.#data(given[keyword]));
    for (const keyword of counts) put(keyword, isCount(given[keyword]) ? given[keyword] : undefined);
    for (const [keyword, value] of limits(given)) put(keyword, value);
    if (typeof given.uniqueItems === 'boolean') put('uniqueItems', given.uniqueItems);
    for (const keyword of single) if (isSchema(given[keyword])) put(keyword, this.#schema(given[keyword], depth - 1));
    if (this.detail === details[0])
      for (const keyword of inverse) if (isSchema(given[keyword])) put(keyword, this.#schema(given[keyword], depth - 1));
    for (const keyword of lists) put(keyword, this.#list(given[keyword], depth));
    const choices = this.#list(given.oneOf, depth);
    if (choices) this.#putChoices(choices, written);
    for (const keyword of maps) put(keyword, this.#map(given[keyword], depth));
    const properties = this.#properties(given.properties, depth);
    put('properties', properties);
    put('required', this.#required(given, properties));
    return written;
  }

  /** As `anyOf`: alternatives that are cut may both accept a value of which only one was meant. */
  #putChoices(choices: unknown[], written: Record<string, unknown>): void {
    this.#spend(16);
    if (written.anyOf === undefined) written.anyOf = choices;
    else written.allOf = [...((written.allOf as unknown[] | undefined) ?? []), { anyOf: choices }];
  }

  /** The properties, without those that only answers have. */
  #properties(given: unknown, depth: number): Record<string, unknown> | undefined {
    return this.#map(given, depth, (property) => !this.#isReadOnly(property));
  }

  #isReadOnly(property: unknown): boolean {
    const { value } = this.document.follow(property);
    return isObject(value) && value.readOnly === true;
  }

  #required(given: Record<string, unknown>, properties: Record<string, unknown> | undefined): string[] | undefined {
    if (!Array.isArray(given.required)) return undefined;
    this.#spend(3 * given.required.length);
    const own = isObject(given.properties) ? given.properties : {};
    const names = new Set(given.required.filter((name): name is string => typeof name === 'string'));
    const sent = [...names].filter((name) => !Object.hasOwn(own, name) || Object.hasOwn(properties ?? {}, name));
    for (const name of sent) this.#spend(name.length);
    return sent.length > 0 ? sent : undefined;
  }

  #map(given: unknown, depth: number, isWanted: (inner: unknown) => boolean = () => true): Record<string, unknown> | undefined {
    if (!isObject(given)) return undefined;
    const written: [string, unknown][] = [];
    for (const name of this.#namesIn(given)) {
      const inner = given[name];
      // Spent also for what is left out, so that looking at it is bounded, too.
      this.#spend(name.length + 6);
      if (!isSchema(inner) || !isWanted(inner)) continue;
      written.push([name, this.#schema(inner, depth - 1)]);
    }
    return Object.fromEntries(written);
  }

  /** Lists a map's names only once if they can't fit: that takes longer than all else. */
  #namesIn(map: Record<string, unknown>): string[] {
    if (tooWide.has(map)) throw full;
    const names = Object.keys(map);
    if (names.length <= maxNames) return names;
    tooWide.add(map);
    throw full;
  }

  #list(given: unknown, depth: number): unknown[] | undefined {
    if (!Array.isArray(given)) return undefined;
    this.#spend(given.length);
    const written = given.filter(isSchema).map((inner) => this.#schema(inner, depth - 1));
    return written.length > 0 ? written : undefined;
  }

  /** In OpenAPI 3.0, `nullable` also allows null. */
  #nullable(given: Record<string, unknown>, written: Record<string, unknown>): Record<string, unknown> {
    if (given.nullable !== true) return written;
    const { type, enum: choices, description, ...rest } = written;
    if (typeof type === 'string' && !('$ref' in rest)) {
      const more = Array.isArray(choices) && !choices.includes(null) ? [...choices, null] : choices;
      return { ...written, type: type === 'null' ? type : [type, 'null'], ...(more !== undefined && { enum: more }) };
    }
    const { description: _, ...whole } = written;
    return { anyOf: [whole, { type: 'null' }], ...(description !== undefined && { description }) };
  }

  #description(given: unknown): string | undefined {
    const words = this.detail.descriptionChars === 0 ? '' : cleanText(given, this.detail.descriptionChars);
    this.#spend(words.length);
    return words === '' ? undefined : words;
  }

  #pattern(given: unknown): string | undefined {
    if (typeof given !== 'string' || given.length > 1_000) return undefined;
    this.#spend(given.length);
    return given;
  }

  #data(given: unknown): unknown {
    const json = writeJson(given, this.room);
    if (!json) return undefined;
    if (json.isCut) throw full;
    this.#spend(json.text.length);
    return JSON.parse(json.text);
  }

  #spend(chars: number): void {
    this.room -= chars;
    if (this.room < 0) throw full;
  }
}

function isSchema(value: unknown): boolean {
  return isObject(value) || typeof value === 'boolean';
}

function knownTypes(type: unknown): unknown {
  if (types.includes(type)) return type;
  if (!Array.isArray(type)) return undefined;
  const known = [...new Set(type.slice(0, 100).filter((one) => types.includes(one)))];
  return known.length > 0 ? known : undefined;
}

function isCount(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0;
}

/** The limits of a number. In OpenAPI 3.0, `exclusiveMinimum: true` makes `minimum` exclusive. */
function limits(given: Record<string, unknown>): [string, unknown][] {
  const found = numbers.filter((keyword) => Number.isFinite(given[keyword])).map((keyword): [string, unknown] => [keyword, given[keyword]]);
  const known = found.map(([keyword, value]): [string, unknown] => {
    if (keyword === 'minimum' && given.exclusiveMinimum === true) return ['exclusiveMinimum', value];
    if (keyword === 'maximum' && given.exclusiveMaximum === true) return ['exclusiveMaximum', value];
    return [keyword, value];
  });
  const { multipleOf } = given;
  return typeof multipleOf === 'number' && multipleOf > 0 && Number.isFinite(multipleOf) ? [...known, ['multipleOf', multipleOf]] : known;
}
