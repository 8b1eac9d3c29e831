import { Ajv, type AnySchema } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import { isObject } from '../../../src/core/json';
import type { Received } from './echo-server';

type Json = Record<string, any>;

/** What a server that was generated from a document reads of a request: values by place and name, and the body. */
export interface Read {
  parameters: Record<string, unknown>;
  body?: unknown;
}

/** Reads and checks requests by a document alone, independently of the code that builds them. */
export class MockApi {
  readonly #ajv: Ajv;
  readonly #document: Json;

  constructor(document: Json, version: string) {
    this.#document = asJsonSchema(document);
    const options = {
      strict: false,
      allErrors: true,
      logger: false as const,
      coerceTypes: false,
      validateFormats: true,
      unicodeRegExp: false,
    };
    this.#ajv = version.startsWith('3.0') ? new Ajv(options) : new Ajv2020(options);
    addFormats(this.#ajv);
    this.#ajv.addSchema({ ...this.#document, $id: 'https://document.invalid/' } as AnySchema);
  }

  follow(value: any): any {
    for (let at = value, hops = 0; ; hops++) {
      if (!isObject(at) || typeof at.$ref !== 'string' || hops > 20) return at;
      at = at.$ref
        .slice(2)
        .split('/')
        .reduce((node: any, step: string) => node?.[decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')], this.#document);
    }
  }

  /** The parameters and the body of an operation, in the media type of a request or the first that there is. */
  operation(path: string, method: string, mediaType = ''): { parameters: Json[]; body?: Json } {
    const item = this.follow(this.#document.paths[path]);
    const operation = this.follow(item[method]);
    const described = ['accept', 'content-type', 'authorization'];
    const all = [...(item.parameters ?? []), ...(operation.parameters ?? [])]
      .map((parameter) => this.follow(parameter))
      .filter(({ in: place, name }) => place !== 'header' || !described.includes(name.toLowerCase()));
    const parameters = [...new Map(all.map((parameter) => [`${parameter.in} ${parameter.name}`, parameter])).values()];
    const content: Record<string, Json> = this.follow(operation.requestBody)?.content ?? {};
    const body = this.follow(content[mediaType] ?? Object.values(content)[0]);
    return { parameters, ...(body && { body }) };
  }

  /** The problems of a value, by a schema of the document; `undefined` if the schema is not valid itself. */
  problems(schema: unknown, value: unknown): string[] | undefined {
    try {
      const validate = this.#ajv.compile(withAbsoluteReferences(schema) as AnySchema);
      return validate(value) ? [] : (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
    } catch {
      return undefined;
    }
  }

  read(path: string, method: string, { url, headers, body }: Received): Read {
    const mediaType = headers['content-type'] ?? '';
    const { parameters, body: media } = this.operation(path, method, mediaType);
    const [pathname = '', query = ''] = url.split('?');
    const names = [...path.matchAll(/\{([^{}]+)\}/g)].map(([, name = '']) => name);
    const pattern = path
      .replace(/[?#].*/s, '')
      .split(/\{[^{}]+\}/)
      .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
    const values = new RegExp(`^${pattern.join('([^/]*?)')}$`).exec(pathname)?.slice(1) ?? [];
    const cookies = (headers.cookie ?? '').replaceAll('; ', '&');
    const found = parameters.flatMap((parameter): [string, unknown][] => {
      const { name, in: place, schema } = parameter;
      const given =
        place === 'query'
          ? fromQuery(query, parameter, this.follow(schema), this)
          : place === 'cookie'
            ? fromQuery(cookies, parameter, this.follow(schema), this)
            : place === 'header'
              ? fromText(headers[name.toLowerCase()] as string | undefined, this.follow(schema), this)
              : fromText(decodeURIComponent(values[names.indexOf(name)] ?? ''), this.follow(schema), this);
      return given === undefined ? [] : [[`${place} ${name}`, given]];
    });
    const text = body.toString();
    if (text === '') return { parameters: Object.fromEntries(found) };
    if (/json/.test(mediaType)) return { parameters: Object.fromEntries(found), body: JSON.parse(text) };
    if (!/urlencoded/.test(mediaType)) return { parameters: Object.fromEntries(found) };
    const schema = this.follow(media?.schema);
    const fields = Object.entries<Json>(schema?.properties ?? {}).flatMap(([name, property]) => {
      const value = fromQuery(text, { name, ...media?.encoding?.[name] }, this.follow(property), this);
      return value === undefined ? [] : [[name, value]];
    });
    return { parameters: Object.fromEntries(found), body: Object.fromEntries(fields) };
  }
}

function fromQuery(
  query: string,
  { name, style = 'form', explode = style === 'form' }: Json,
  schema: Json | undefined,
  api: MockApi,
): unknown {
  const pairs = query === '' ? [] : query.split('&').map((pair) => pair.split('=').map(decodeURIComponent) as [string, string]);
  if (style === 'deepObject')
    return deep(
      pairs.flatMap(([key, value]) => (key.startsWith(`${name}[`) || key === name ? [[key.slice(name.length), value]] : [])),
      schema,
      api,
    );
  const own = pairs.filter(([key]) => key === name).map(([, value]) => value);
  if (typeOf(schema) === 'array') {
    const items = explode
      ? own
      : own.flatMap((value) => (value === '' ? [] : value.split(style === 'pipeDelimited' ? '|' : style === 'spaceDelimited' ? ' ' : ',')));
    return items.length === 0 ? undefined : items.map((item) => typed(item, api.follow(schema?.items)));
  }
  return own[0] === undefined ? undefined : typed(own[0], schema);
}

function deep(pairs: string[][], schema: Json | undefined, api: MockApi): unknown {
  if (pairs.length === 0) return undefined;
  if (pairs.length === 1 && pairs[0]?.[0] === '') return typed(pairs[0][1] ?? '', schema);
  const groups = new Map<string, string[][]>();
  for (const [key = '', value = ''] of pairs) {
    const [, step = '', rest = ''] = /^\[([^\]]*)\](.*)$/s.exec(key) ?? [];
    groups.set(step, [...(groups.get(step) ?? []), [rest, value]]);
  }
  const alternatives = [schema, ...(schema?.anyOf ?? []), ...(schema?.oneOf ?? [])].map((one) => api.follow(one));
  const isList = [...groups.keys()].every((key, at) => key === String(at)) && alternatives.some((one) => typeOf(one) === 'array');
  const inner = (key: string) => {
    const found = alternatives.map((one) => (isList ? one?.items : (one?.properties?.[key] ?? one?.additionalProperties))).find(isObject);
    return api.follow(found);
  };
  const entries = [...groups].map(([key, rest]) => [key, deep(rest, inner(key), api)] as const);
  return isList ? entries.map(([, value]) => value) : Object.fromEntries(entries);
}

function fromText(text: string | undefined, schema: Json | undefined, api: MockApi): unknown {
  if (text === undefined) return undefined;
  return typeOf(schema) === 'array' ? text.split(',').map((item) => typed(item, api.follow(schema?.items))) : typed(text, schema);
}

function typeOf(schema: Json | undefined): unknown {
  const type = schema?.type;
  return Array.isArray(type) ? type.find((one) => one !== 'null') : type;
}

/** A text that stands for another type becomes that; objects without a style of their own are JSON. */
function typed(text: string, schema: Json | undefined): unknown {
  const candidates = [schema, ...(schema?.anyOf ?? []), ...(schema?.oneOf ?? []), ...(schema?.allOf ?? [])].map(typeOf);
  if (candidates.includes('string')) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** OpenAPI 3.0 as JSON Schema: exclusive limits are numbers there. `nullable` is known to ajv. */
function asJsonSchema<T>(value: T): T {
  if (Array.isArray(value)) return value.map(asJsonSchema) as T;
  if (!isObject(value)) return value;
  // An `$id` in an example would be taken for that of a schema.
  const entries = Object.entries(value).filter(([key, inner]) => key !== '$id' || typeof inner !== 'string');
  const copy: Json = Object.fromEntries(entries.map(([key, inner]) => [key, asJsonSchema(inner)]));
  for (const [limit, exclusive] of [
    ['minimum', 'exclusiveMinimum'],
    ['maximum', 'exclusiveMaximum'],
  ] as const) {
    if (typeof copy[exclusive] !== 'boolean') continue;
    if (copy[exclusive]) copy[exclusive] = copy[limit];
    else delete copy[exclusive];
  }
  return copy as T;
}

function withAbsoluteReferences(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withAbsoluteReferences);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, inner]) => [
    key,
    key === '$ref' && typeof inner === 'string' ? `https://document.invalid/${inner}` : withAbsoluteReferences(inner),
  ]);
  return Object.fromEntries(entries);
}
