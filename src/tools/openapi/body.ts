import { isObject } from '../../core/json';
import type { ApiDocument } from './document';

export type BodyKind = 'json' | 'form' | 'multipart' | 'text' | 'binary';

/** The body that an operation takes, in the one of its media types that models write best. */
export interface ApiBody {
  readonly kind: BodyKind;
  readonly mediaType: string;
  readonly required: boolean;
  readonly description: unknown;
  readonly schema: unknown;
  /** How the fields of a form are written. */
  readonly encoding: Readonly<Record<string, unknown>>;
}

/** In the order of preference. */
const kinds: readonly (readonly [BodyKind, RegExp])[] = [
  ['json', /^application\/json\b|\+json\b|^text\/json\b/i],
  ['form', /^application\/x-www-form-urlencoded\b/i],
  ['multipart', /^multipart\/form-data\b/i],
  ['text', /^text\/|[/+](?:xml|yaml|x-yaml|javascript|graphql|x-ndjson|jsonl)\b/i],
  ['binary', /^/],
];

/** Returns the body of an operation; `undefined` if it takes none. */
export function bodyOf(document: ApiDocument, requestBody: unknown): ApiBody | undefined {
  const { value: body } = document.follow(requestBody);
  if (!isObject(body) || !isObject(body.content)) return undefined;
  const offered = Object.entries(body.content);
  for (const [kind, pattern] of kinds) {
    const found = offered.find(([mediaType]) => pattern.test(mediaType));
    if (!found) continue;
    const [mediaType, { value: media }] = [found[0], document.follow(found[1])];
    const { schema, encoding } = isObject(media) ? media : {};
    // Services that accept any type of body accept JSON, if the body is not a file.
    if (mediaType === '*/*' && schema !== undefined && !isFileSchema(document, schema)) {
      return {
        kind: 'json',
        mediaType: 'application/json',
        required: body.required === true,
        description: body.description,
        schema,
        encoding: {},
      };
    }
    return {
      kind,
      mediaType: sendable(kind, mediaType),
      required: body.required === true,
      description: body.description,
      schema: schema ?? {},
      encoding: isObject(encoding) ? encoding : {},
    };
  }
  return undefined;
}

/** A range such as `image/*` can't be sent as the type of a body. */
function sendable(kind: BodyKind, mediaType: string): string {
  if (!mediaType.includes('*')) return mediaType;
  return kind === 'text' ? 'text/plain' : 'application/octet-stream';
}

/** How a model gives the content of a file: as text, or as base64. */
export const fileSchema = {
  type: 'object',
  description: 'The content of a file, as text or as base64.',
  properties: {
    text: { type: 'string' },
    base64: { type: 'string' },
    filename: { type: 'string' },
    mediaType: { type: 'string' },
  },
  oneOf: [{ required: ['text'] }, { required: ['base64'] }],
} as const;

/** Whether a schema describes the content of a file, and not a text. */
export function isFileSchema(document: ApiDocument, schema: unknown): boolean {
  const { value } = document.follow(schema);
  if (!isObject(value)) return false;
  const { type, format, contentMediaType, contentEncoding } = value;
  if (format === 'binary') return true;
  return contentMediaType === 'application/octet-stream' && (type === undefined || type === 'string') && contentEncoding === undefined;
}
