import { isObject } from '../../core/json';
import { type ApiBody, isFileSchema } from './body';
import type { ApiDocument } from './document';
import type { Style } from './parameters';
import { encodedPair, plain, queryPairs } from './write-parameter';

/** A body ready to be sent. `mediaType` is unset if `fetch` sets it. */
export interface WrittenBody {
  content: string | Blob | FormData;
  mediaType?: string;
}

/** Writes the body of a request from the argument of a call. */
export function writeBody(document: ApiDocument, body: ApiBody, value: unknown): WrittenBody {
  switch (body.kind) {
    case 'json':
      return { content: JSON.stringify(value), mediaType: body.mediaType };
    case 'form':
      return { content: formText(body, value), mediaType: body.mediaType };
    case 'multipart':
      // Without a type: only `fetch` knows the boundary.
      return { content: multipart(document, body, value) };
    case 'text':
      return { content: plain(value), mediaType: body.mediaType };
    case 'binary':
      return { content: blobOf(value), mediaType: (isObject(value) && textField(value.mediaType)) || body.mediaType };
  }
}

function formText({ encoding }: ApiBody, value: unknown): string {
  if (!isObject(value)) return plain(value);
  return Object.entries(value)
    .flatMap(([name, field]) => queryPairs({ name, ...styleOf(encoding[name], field) }, field))
    .map((pair) => encodedPair(pair))
    .join('&');
}

/** Without a style, a field that is an object is written as JSON, and each item of a list as a field of its own. */
function styleOf(encoding: unknown, field: unknown): { style: Style; explode: boolean; mediaType?: string } {
  const { style, explode, contentType } = isObject(encoding) ? encoding : {};
  if (style === undefined && explode === undefined) {
    const mediaType = textField(contentType) ?? (isObject(field) ? 'application/json' : undefined);
    return { style: 'form', explode: true, ...(mediaType && /json/i.test(mediaType) && { mediaType }) };
  }
  const known = (style ?? 'form') as Style;
  return { style: known, explode: typeof explode === 'boolean' ? explode : known === 'form' };
}

function multipart(document: ApiDocument, { schema, encoding }: ApiBody, value: unknown): FormData {
  const form = new FormData();
  const { value: object } = document.follow(schema);
  const properties = isObject(object) && isObject(object.properties) ? object.properties : {};
  for (const [name, field] of Object.entries(isObject(value) ? value : {})) {
    const { value: property } = document.follow(properties[name]);
    const isFile = isFileSchema(document, property) || (isObject(property) && isFileSchema(document, property.items));
    const mediaType = isObject(encoding[name]) ? textField(encoding[name].contentType) : undefined;
    for (const item of Array.isArray(field) ? field : [field]) {
      if (isFile) form.append(name, blobOf(item, mediaType), (isObject(item) && textField(item.filename)) || name);
      else if (mediaType !== undefined && !mediaType.includes(',')) form.append(name, new Blob([plain(item)], { type: mediaType }));
      else form.append(name, plain(item));
    }
  }
  return form;
}

/** The content of a file as `fileSchema` describes it. */
function blobOf(value: unknown, mediaType?: string): Blob {
  const { text, base64, mediaType: given } = isObject(value) ? value : { text: value };
  const bytes = typeof base64 === 'string' ? Buffer.from(base64, 'base64') : Buffer.from(plain(text));
  const type = textField(given) ?? (mediaType?.includes(',') || mediaType?.includes('*') ? undefined : mediaType);
  return new Blob([bytes], type === undefined ? {} : { type });
}

function textField(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
