import { type FilePart, fileWords, type ImagePart } from '../../core/message';
import { dataOf } from '../wire/data-url';
import type { RequestPart } from './contents';

const imageTypes: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  heic: 'image/heic',
  heif: 'image/heif',
  avif: 'image/avif',
};

export function imagePart({ url }: Pick<ImagePart, 'url'>): RequestPart {
  const held = dataOf(url);
  if (held) return { inlineData: { mimeType: held.mediaType || 'text/plain', data: held.data } };
  const extension = /\.(\w{3,4})(?:[?#]|$)/.exec(url)?.[1]?.toLowerCase() ?? '';
  const mimeType = Object.hasOwn(imageTypes, extension) ? imageTypes[extension] : undefined;
  return { fileData: { ...(mimeType && { mimeType }), fileUri: url } };
}

/** The API reads media, PDFs and plain text. Other text is sent as text, and other files only as a description. */
export function filePart(part: FilePart): RequestPart {
  const mimeType = part.mediaType.split(';')[0]?.trim().toLowerCase() ?? '';
  const held = dataOf(part.url);
  if (/^(?:image|audio|video|text)\/|^application\/pdf$/.test(mimeType)) {
    return held ? { inlineData: { mimeType, data: held.data } } : { fileData: { mimeType, fileUri: part.url } };
  }
  const isText = /[/+](?:json|xml|yaml|x-yaml|toml|javascript|typescript|sql|x-sh)$/.test(mimeType);
  if (held && isText) return { text: `${fileWords(part)}\n${Buffer.from(held.data, 'base64').toString()}` };
  return { text: fileWords(part) };
}
