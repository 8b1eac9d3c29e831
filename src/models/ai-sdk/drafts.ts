import { bounds } from '../../core/bounds';
import { isDeepJson, isObject, type Json, type JsonObject, parseObject } from '../../core/json';
import type { AnswerPart } from '../../core/message';
import type { ModelDelta } from '../model';
import { LimitExceeded } from '../wire/limit-exceeded';
import type { Own } from './own';
import { plainJson } from './plain-json';

/** Counts the contents of an answer, and throws `LimitExceeded` above a limit. */
export interface Meter {
  said(chars: number): void;
  thought(chars: number): void;
  kept(chars: number): void;
  /** For pieces that are shown, and arrive again as a whole. */
  shown(chars: number): void;
}

/** Where the parts of an answer are collected. */
export interface Draft {
  provider: string;
  count: Meter;
  push(...parts: AnswerPart[]): void;
  onDelta(delta: ModelDelta): void;
}

export function meter(): Meter {
  const count = (what: string, max: number, unit: string) => {
    let sum = 0;
    return (chars: number) => {
      sum += chars;
      if (sum > max) throw new LimitExceeded(what, max, unit);
    };
  };
  return {
    said: count('its answer', bounds.answerBytes, 'bytes of JSON'),
    thought: count('its reasoning', bounds.reasoningChars, 'characters'),
    kept: count('its opaque data', bounds.opaqueChars, 'characters of JSON'),
    shown: count('its answer', bounds.answerBytes, 'bytes of JSON'),
  };
}

/** The metadata of a part; omitted if it is empty. */
export function metadataOf(given: unknown, { kept }: Meter): { metadata?: JsonObject } {
  if (given === undefined || given === null) return {};
  const metadata = plainJson(given, 'its opaque data', kept);
  return isObject(metadata) && Object.keys(metadata).length > 0 ? { metadata: metadata as JsonObject } : {};
}

/** The data of a file as a URL and, if inline, as base64. In version 4 it is inside an object. */
export function fileOf(given: unknown, mediaType: string): { url: string; data?: string } | undefined {
  const data = isObject(given) && !(given instanceof Uint8Array) && !(given instanceof URL) ? (given.data ?? given.url) : given;
  if (data instanceof URL) return { url: data.href };
  if (data instanceof Uint8Array) return dataFile(Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64'), mediaType);
  if (typeof data !== 'string') return undefined;
  return /^(https?|data):/i.test(data) ? { url: data } : dataFile(data, mediaType);
}

const dataFile = (data: string, mediaType: string) => ({ url: `data:${mediaType};base64,${data}`, data });

export function filePart(part: Record<string, unknown>, provider: string, meter: Meter): AnswerPart[] {
  const mediaType = textIn(part.mediaType) || 'application/octet-stream';
  const file = fileOf(part.data, mediaType);
  if (!file) return [];
  meter.said(file.url.length);
  const opaque: Own = { provider, ...metadataOf(part.providerMetadata, meter) };
  return mediaType.startsWith('image/') ? [{ type: 'image', url: file.url, opaque }] : [{ type: 'file', url: file.url, mediaType, opaque }];
}

/** Parts that only the provider can read become reasoning parts without text. */
export function unreadablePart(part: Record<string, unknown>, provider: string, meter: Meter): AnswerPart[] {
  const own: Own = { provider, ...metadataOf(part.providerMetadata, meter) };
  if (part.type === 'custom') return [{ type: 'reasoning', text: '', opaque: { ...own, custom: textIn(part.kind) } }];
  const mediaType = textIn(part.mediaType);
  const file = fileOf(part.data, mediaType);
  if (!file) return [];
  meter.kept(file.url.length);
  own.file = file.data === undefined ? { mediaType, url: file.url } : { mediaType, data: file.data };
  return [{ type: 'reasoning', text: '', opaque: own }];
}

export function sourcePart({ url, title, filename }: Record<string, unknown>, { said }: Meter): AnswerPart {
  const name = textIn(title) || textIn(filename);
  said(textIn(url).length + name.length);
  return { type: 'source', ...(typeof url === 'string' && { url }), ...(name && { title: name }) };
}

/** In the specification the input is JSON text. Some packages send the object. */
export function argumentsOf(input: unknown, { said }: Meter): string {
  if (input === undefined || input === null) return '';
  const text = typeof input === 'string' ? input : JSON.stringify(plainJson(input, 'the input of a tool', said));
  said(text.length);
  return text;
}

export function hostedInput(text: string): Json {
  if (isDeepJson(text, bounds.jsonDepth)) throw new LimitExceeded('the input of a tool', bounds.jsonDepth, 'levels of nesting');
  return text.trim() === '' ? {} : ((parseObject(text) as JsonObject | undefined) ?? text);
}

export function textIn(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
