import { bounds } from '../../core/bounds';
import { isObject, type Json } from '../../core/json';
import type { HostedToolPart, SourcePart } from '../../core/message';
import { LimitExceeded } from '../wire/limit-exceeded';

/** The metadata of a candidate about its sources. */
interface Told {
  groundingMetadata: unknown;
  urlContextMetadata: unknown;
  citationMetadata: unknown;
}

/** Collects the sources of an answer. Later chunks may repeat those of earlier ones. */
export function collectSources() {
  const sources = new Map<string, SourcePart>();
  /** The results of searches. */
  const found: Json[] = [];
  const queries = new Set<string>();
  const pages = new Map<string, string>();
  let chars = 0;

  function take({ groundingMetadata, urlContextMetadata, citationMetadata }: Told): void {
    if (isObject(groundingMetadata)) {
      for (const query of listIn(groundingMetadata.webSearchQueries)) if (typeof query === 'string') noted(queries, query);
      for (const chunk of listIn(groundingMetadata.groundingChunks).filter(isObject)) addChunk(chunk);
    }
    if (isObject(citationMetadata)) {
      for (const { uri, title } of listIn(citationMetadata.citations ?? citationMetadata.citationSources).filter(isObject)) {
        add({ url: uri, title });
      }
    }
    if (!isObject(urlContextMetadata)) return;
    for (const { retrievedUrl, urlRetrievalStatus } of listIn(urlContextMetadata.urlMetadata).filter(isObject)) {
      if (typeof retrievedUrl === 'string' && noted(pages, retrievedUrl)) pages.set(retrievedUrl, String(urlRetrievalStatus ?? ''));
    }
  }

  function addChunk({ web, maps, retrievedContext, image }: Record<string, unknown>): void {
    if (isObject(web) && add({ url: web.uri, title: web.title })) found.push({ url: textIn(web.uri), title: textIn(web.title) });
    if (isObject(maps)) add({ url: maps.uri, title: maps.title });
    if (isObject(retrievedContext)) add({ url: retrievedContext.uri, title: retrievedContext.title, quote: retrievedContext.text });
    if (isObject(image)) add({ url: image.sourceUri ?? image.imageUri, title: image.title });
  }

  function add(told: Record<'url' | 'title', unknown> & { quote?: unknown }): boolean {
    const source = Object.fromEntries(Object.entries(told).filter(([, value]) => typeof value === 'string' && value !== ''));
    const key = JSON.stringify([source.url, source.title, source.quote]);
    const isNew = Object.keys(source).length > 0 && noted(sources, key);
    if (isNew) sources.set(key, { type: 'source', ...source });
    return isNew;
  }

  /** Records a text. Returns whether it is new. */
  function noted(known: Set<string> | Map<string, unknown>, text: string): boolean {
    if (known.has(text)) return false;
    if (known.size >= bounds.answerParts / 2) throw new LimitExceeded('its answer', bounds.answerParts / 2, 'sources');
    chars += text.length;
    if (known instanceof Set) known.add(text);
    return true;
  }

  /** Searches and fetches without parts of their own in the answer. They are shown to people and not sent back. */
  function hosted(told: ReadonlySet<string>): HostedToolPart[] {
    const part = (name: string, input: Json, output: Json): HostedToolPart => ({ type: 'hosted-tool', id: name, name, input, output });
    const fetched = [...pages].map(([url, status]) => ({ url, status }));
    return [
      ...(queries.size > 0 && !told.has('web-search') ? [part('web-search', { queries: [...queries] }, found)] : []),
      ...(pages.size > 0 && !told.has('web-fetch') ? [part('web-fetch', { urls: [...pages.keys()] }, fetched)] : []),
    ];
  }

  return { take, hosted, list: () => [...sources.values()], size: () => chars };
}

function listIn(value: unknown): unknown[] {
  if (!Array.isArray(value)) return [];
  if (value.length > bounds.eventItems) throw new LimitExceeded('a list in an event of its stream', bounds.eventItems, 'items');
  return value;
}

function textIn(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
