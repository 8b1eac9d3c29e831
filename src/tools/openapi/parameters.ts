import { isObject } from '../../core/json';
import type { ApiDocument } from './document';

export const places = ['path', 'query', 'header', 'cookie'] as const;
export type Place = (typeof places)[number];

export type Style = 'simple' | 'label' | 'matrix' | 'form' | 'spaceDelimited' | 'pipeDelimited' | 'deepObject';

/** A parameter of an operation. */
export interface ApiParameter {
  readonly name: string;
  readonly in: Place;
  readonly required: boolean;
  readonly description: unknown;
  readonly schema: unknown;
  readonly style: Style;
  readonly explode: boolean;
  readonly allowReserved: boolean;
  /** The value is one text in this media type, instead of in a style. */
  readonly mediaType?: string;
}

/** Header parameters that a document can't declare: other parts of it describe them. */
const describedElsewhere = ['accept', 'content-type', 'authorization'];

/** More than any known operation has. Optional parameters after them are left out. */
const maxParameters = 300;
/** Of a path or an operation, including those that are invalid. Others are not read: thousands of operations may share a list. */
const maxRead = 2 * maxParameters;

/** Returns the parameters of an operation and its path. Those of the operation override equal ones of the path. */
export function parametersOf(document: ApiDocument, ofPath: unknown, ofOperation: unknown): ApiParameter[] {
  const found = new Map<string, ApiParameter>();
  for (const given of [...listOf(ofPath), ...listOf(ofOperation)]) {
    const { value } = document.follow(given);
    const parameter = isObject(value) ? parameterOf(value) : undefined;
    if (parameter) found.set(`${parameter.in} ${parameter.name}`, parameter);
  }
  const all = [...found.values()];
  return all.length <= maxParameters ? all : all.filter(({ required }, at) => required || at < maxParameters);
}

function parameterOf(value: Record<string, unknown>): ApiParameter | undefined {
  const { name, in: place, description, schema, style, explode, allowReserved, content } = value;
  if (typeof name !== 'string' || name === '' || !isPlace(place)) return undefined;
  if (place === 'header' && describedElsewhere.includes(name.toLowerCase())) return undefined;
  const [mediaType, media] = isObject(content) ? (Object.entries(content)[0] ?? []) : [];
  const known = isStyle(style) ? style : place === 'query' || place === 'cookie' ? 'form' : 'simple';
  return {
    name,
    in: place,
    required: place === 'path' || value.required === true,
    description,
    schema: mediaType === undefined ? schema : isObject(media) ? media.schema : {},
    style: known,
    explode: typeof explode === 'boolean' ? explode : known === 'form',
    allowReserved: allowReserved === true,
    ...(mediaType !== undefined && { mediaType }),
  };
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value.slice(0, maxRead) : [];
}

function isPlace(value: unknown): value is Place {
  return places.includes(value as Place);
}

const styles: readonly unknown[] = ['simple', 'label', 'matrix', 'form', 'spaceDelimited', 'pipeDelimited', 'deepObject'];

function isStyle(value: unknown): value is Style {
  return styles.includes(value);
}
