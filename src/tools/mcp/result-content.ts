import { isDeepStrictEqual } from 'node:util';
import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client';
import { parseObject } from '../../core/json';
import type { Content, FilePart, ImagePart, Part, TextPart } from '../../core/message';
import type { SecretMask } from '../running/secret-mask';

/** Makes what the model sees of a result, without secrets: its parts, and its structured content if no text already says the same. */
export function resultContent({ content, structuredContent }: CallToolResult, secret: SecretMask): Content {
  const parts = content.map((block) => partOf(block, secret));
  if (structuredContent !== undefined && !saysTheSame(parts, structuredContent)) parts.push(text(JSON.stringify(structuredContent)));
  const clean = parts.map((part) => (part.type === 'text' ? text(secret.text(part.text)) : part));
  if (clean.length === 0) return '[no content]';
  return clean.length === 1 && clean[0]?.type === 'text' ? clean[0].text : clean;
}

/** How many texts are compared with structured content. Each comparison may take as long as both are. */
const comparedTexts = 10;

/** Servers also write structured content as text, for clients that don't know it: as JSON, or its only values as they are. */
function saysTheSame(parts: readonly Part[], structured: unknown): boolean {
  const texts = parts.flatMap((part) => (part.type === 'text' ? part.text : [])).slice(0, comparedTexts);
  return (
    Object.values(structured ?? {}).every((value) => texts.includes(value)) ||
    texts.some((text) => isDeepStrictEqual(parseObject(text), structured))
  );
}

function partOf(block: ContentBlock, secret: SecretMask): Part {
  switch (block.type) {
    case 'text':
      return text(block.text);
    case 'image':
      return media(secret, block.data, block.mimeType);
    case 'audio':
      return media(secret, block.data, block.mimeType);
    case 'resource':
      return 'text' in block.resource
        ? text(`[Resource ${block.resource.uri}]\n${block.resource.text}`)
        : media(secret, block.resource.blob, block.resource.mimeType, block.resource.uri);
    case 'resource_link':
      return text(
        `[Resource link: ${[block.title ?? block.name, block.description, block.mimeType].filter(Boolean).join('; ')}: ${block.uri}]`,
      );
    default:
      return text(JSON.stringify(block));
  }
}

function text(words: string): TextPart {
  return { type: 'text', text: words };
}

/** By its content, because a provider refuses the whole request, and so every later one, if an image is not what its type says. */
function media(secret: SecretMask, given: string, type = 'application/octet-stream', name?: string): ImagePart | FilePart | TextPart {
  const mimeType = secret.text(type);
  if (!isBase64(given)) return text(`[${mimeType.slice(0, 100)}: left out, because its data is not valid base64]`);
  const data = secret.bytes(Buffer.from(given, 'base64')).toString('base64');
  const image = imageTypes.find(([, begins]) => begins.test(Buffer.from(data.slice(0, 24), 'base64').toString('hex')))?.[0];
  if (image) return { type: 'image', url: `data:${image};base64,${data}` };
  const mediaType = /^[a-z]+\/[\w.+-]{1,100}$/i.test(mimeType) && !/^image\//i.test(mimeType) ? mimeType : 'application/octet-stream';
  return { type: 'file', mediaType, url: `data:${mediaType};base64,${data}`, ...(name !== undefined && { name: secret.text(name) }) };
}

/** The images that all providers with images accept, by their first bytes in hexadecimal. */
const imageTypes: [string, RegExp][] = [
  ['image/png', /^89504e470d0a1a0a/],
  ['image/jpeg', /^ffd8ff/],
  ['image/gif', /^47494638/],
  ['image/webp', /^52494646.{8}57454250/],
];

function isBase64(data: string): boolean {
  return data !== '' && data.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(data);
}
