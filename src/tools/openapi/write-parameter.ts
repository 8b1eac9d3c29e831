import { isObject } from '../../core/json';
import { wellFormed } from '../../core/text';
import type { ApiParameter } from './parameters';

/** Writes the value of a path parameter, encoded. */
export function pathText({ name, style, explode, mediaType }: ApiParameter, value: unknown): string {
  if (mediaType !== undefined) return encode(textOf(value, mediaType));
  const label = encode(name);
  switch (style) {
    case 'label':
      return isObject(value) && explode
        ? `.${pairs(value).map(assigned).join('.')}`
        : `.${flat(value)
            .map(encode)
            .join(explode ? '.' : ',')}`;
    case 'matrix':
      if (!explode) return `;${label}=${flat(value).map(encode).join(',')}`;
      if (isObject(value)) return `;${pairs(value).map(assigned).join(';')}`;
      return items(value)
        .map((item) => `;${label}=${encode(item)}`)
        .join('');
    default:
      return isObject(value) && explode ? pairs(value).map(assigned).join(',') : flat(value).map(encode).join(',');
  }
}

/** Writes a query or form parameter as names and values, not encoded. */
export function queryPairs(
  { name, style, explode, mediaType }: Pick<ApiParameter, 'name' | 'style' | 'explode' | 'mediaType'>,
  value: unknown,
): Pair[] {
  if (mediaType !== undefined) return [[name, textOf(value, mediaType)]];
  if (style === 'deepObject') return deepPairs(name, value);
  if (explode) return isObject(value) ? pairs(value) : items(value).map((item): Pair => [name, item]);
  const separator = style === 'spaceDelimited' ? ' ' : style === 'pipeDelimited' ? '|' : ',';
  return [[name, flat(value).join(separator)]];
}

/** Writes the value of a header, not encoded. */
export function headerText({ explode, mediaType }: ApiParameter, value: unknown): string {
  if (mediaType !== undefined) return textOf(value, mediaType);
  return isObject(value) && explode
    ? pairs(value)
        .map(([key, text]) => `${key}=${text}`)
        .join(',')
    : flat(value).join(',');
}

export type Pair = readonly [name: string, value: string];

/** Encodes a query. `allowReserved`: characters with a meaning in URLs stay, except those that would begin another parameter. */
export function encodedPair([name, value]: Pair, allowReserved = false): string {
  const text = allowReserved ? encodeURI(value).replace(/[#&+]/g, encodeURIComponent) : encode(value);
  return `${encode(name)}=${text}`;
}

/** The separators between the items of one parameter are not encoded, unlike separators within an item. */
export function encodedQuery(parameter: ApiParameter, value: unknown): string[] {
  const { name, style, explode, mediaType, allowReserved } = parameter;
  if (mediaType === undefined && style !== 'deepObject' && !explode) {
    const separator = style === 'spaceDelimited' ? '%20' : style === 'pipeDelimited' ? '|' : ',';
    return [`${encode(name)}=${flat(value).map(encode).join(separator)}`];
  }
  return queryPairs(parameter, value).map((pair) => encodedPair(pair, allowReserved));
}

export function encode(text: string): string {
  return encodeURIComponent(wellFormed(text));
}

function assigned([name, value]: Pair): string {
  return `${encode(name)}=${encode(value)}`;
}

function pairs(value: Record<string, unknown>): Pair[] {
  return Object.entries(value)
    .filter(([, item]) => item !== undefined && item !== null)
    .map(([key, item]): Pair => [key, plain(item)]);
}

function items(value: unknown): string[] {
  return Array.isArray(value) ? value.map(plain) : [plain(value)];
}

/** The items of a list, or the names and values of an object in turn. */
function flat(value: unknown): string[] {
  return isObject(value) ? pairs(value).flat() : items(value);
}

function deepPairs(name: string, value: unknown): Pair[] {
  if (Array.isArray(value)) return value.flatMap((item, at) => deepPairs(`${name}[${at}]`, item));
  if (isObject(value)) return Object.entries(value).flatMap(([key, item]) => deepPairs(`${name}[${key}]`, item));
  return value === undefined || value === null ? [] : [[name, plain(value)]];
}

/** The styles define no form for nested objects and lists; JSON is what most services take. */
export function plain(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? '');
}

function textOf(value: unknown, mediaType: string): string {
  return /json/i.test(mediaType) ? JSON.stringify(value) : plain(value);
}
