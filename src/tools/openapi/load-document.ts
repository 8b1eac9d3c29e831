import { readFile, realpath, stat } from 'node:fs/promises';
import { dirname, resolve, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { CORE_SCHEMA, load, mergeTag } from 'js-yaml';
import { isDeepJson, isObject } from '../../core/json';
import { messageOfThrown } from '../../core/thrown';
import { readBytes } from '../web/read-bytes';

/** An OpenAPI document as an object, the path of a JSON or YAML file, or an `http(s):` or `file:` URL. */
export type DocumentSource = string | URL | { readonly [key: string]: unknown };

/** A parsed file. `location` is unset for an object. */
export interface LoadedFile {
  content: Record<string, unknown>;
  location?: URL;
  /** Whether it may refer to other files. Most documents don't, and then need not be searched for references. */
  mayReferOut: boolean;
}

/** All files of one document together. The largest published documents have 80 MB, as JSON. */
export const maxDocumentBytes = 100_000_000;
/** Parsing YAML takes ten times as long as JSON, and blocks the event loop: about 200 ms per MB. */
export const maxYamlBytes = 20_000_000;
const maxDepth = 500;
const downloadMs = 30_000;
const maxRedirects = 5;

/** Reads and parses a document, without the files that it refers to. Throws an `Error` that names the document and says what is wrong. */
export async function loadDocument(source: DocumentSource): Promise<LoadedFile> {
  if (isObject(source) && !(source instanceof URL)) return { content: source, mayReferOut: false };
  return loadFile(locationOf(source), maxDocumentBytes);
}

/** Reads and parses a file of a document. */
export async function loadFile(location: URL, maxBytes: number): Promise<LoadedFile & { bytes: number }> {
  const { text, bytes, from } = location.protocol === 'file:' ? await readLocal(location, maxBytes) : await download(location, maxBytes);
  return { content: parseDocument(text, bytes, nameOf(location)), location: from, bytes, mayReferOut: referenceOut.test(text) };
}

/** Returns whether a document may refer to a file: only in its own folder or below, or on its own origin. */
export async function referenceRule(root: URL): Promise<(target: URL) => Promise<boolean>> {
  if (root.protocol !== 'file:') return async (target) => target.origin === root.origin;
  const folder = dirname(await realpath(fileURLToPath(root)));
  return async (target) => {
    if (target.protocol !== 'file:') return false;
    const path = await realpath(fileURLToPath(target)).catch(() => '');
    return path.startsWith(folder + sep);
  };
}

/** A `$ref` in JSON or YAML whose value does not begin with `#`. */
const referenceOut = /\$ref["']?\s*:\s*(?=\S)["']?(?!["']?#)/;

/** Parses JSON or YAML. Throws an `Error` with the problems of both if the text is neither. */
function parseDocument(text: string, bytes: number, name: string): Record<string, unknown> {
  const value = parseText(text.startsWith('\uFEFF') ? text.slice(1) : text, bytes, name);
  if (!isObject(value)) throw new Error(`The OpenAPI document ${name} is not an object.`);
  return value;
}

function parseText(text: string, bytes: number, name: string): unknown {
  let notJson: string;
  try {
    const value: unknown = JSON.parse(text);
    if (isDeepJson(text, maxDepth)) throw new RangeError(`it is nested deeper than ${maxDepth} levels`);
    return value;
  } catch (error) {
    if (error instanceof RangeError) throw new Error(`The OpenAPI document ${name} can't be used: ${error.message}.`);
    notJson = messageOfThrown(error);
  }
  if (bytes > maxYamlBytes) {
    throw new Error(
      `The OpenAPI document ${name} is not JSON (${notJson}), and has more than ${maxYamlBytes} bytes, the limit for YAML. Convert it to JSON.`,
    );
  }
  try {
    return load(text, { schema: CORE_SCHEMA.withTags(mergeTag), json: true, maxDepth });
  } catch (error) {
    throw new Error(`The OpenAPI document ${name} is neither JSON (${notJson}) nor YAML (${messageOfThrown(error)}).`);
  }
}

function locationOf(source: string | URL): URL {
  if (source instanceof URL) return checkedProtocol(source);
  return /^(?:https?|file):\/\//i.test(source) ? checkedProtocol(new URL(source)) : pathToFileURL(resolve(source));
}

function checkedProtocol(url: URL): URL {
  if (['http:', 'https:', 'file:'].includes(url.protocol)) return url;
  throw new TypeError(`The OpenAPI document ${nameOf(url)} has an unsupported protocol; use http:, https: or file:, or pass an object.`);
}

interface ReadText {
  text: string;
  bytes: number;
  /** After redirects. */
  from: URL;
}

async function readLocal(location: URL, maxBytes: number): Promise<ReadText> {
  const path = fileURLToPath(location);
  try {
    const { size } = await stat(path);
    if (size > maxBytes) throw new Error(`it has ${size} bytes; at most ${maxBytes} are read`);
    return { text: await readFile(path, 'utf8'), bytes: size, from: location };
  } catch (error) {
    throw new Error(`The OpenAPI document ${path} can't be read: ${messageOfThrown(error)}.`);
  }
}

async function download(location: URL, maxBytes: number): Promise<ReadText> {
  const accept = 'application/json, application/yaml, application/vnd.oai.openapi, */*;q=0.5';
  try {
    const { response, from } = await fetchOnOrigin(location, { headers: { accept }, signal: AbortSignal.timeout(downloadMs) });
    if (!response.ok) throw new Error(`the server answered with status ${response.status}`);
    const { bytes, isCut } = await readBytes(response, maxBytes);
    if (isCut) throw new Error(`it has more than ${maxBytes} bytes`);
    return { text: bytes.toString('utf8'), bytes: bytes.length, from };
  } catch (error) {
    throw new Error(`The OpenAPI document ${nameOf(location)} can't be loaded: ${messageOfThrown(error)}.`);
  }
}

/** Follows redirects on the same origin only: a service could redirect to addresses that only the worker can reach. */
async function fetchOnOrigin(location: URL, init: RequestInit): Promise<{ response: Response; from: URL }> {
  let from = location;
  for (let redirects = 0; redirects <= maxRedirects; redirects++) {
    const response = await fetch(from, { ...init, redirect: 'manual' });
    const target = response.headers.get('location');
    if (target === null || response.status < 300 || response.status >= 400) return { response, from };
    await response.body?.cancel();
    from = new URL(target, from);
    if (from.origin !== location.origin) throw new Error(`it redirects to ${nameOf(from)}; if you trust that address, pass it instead`);
  }
  throw new Error(`it redirects more than ${maxRedirects} times`);
}

/** Without user info and query, which may contain a secret. */
function nameOf({ protocol, host, pathname }: URL): string {
  return protocol === 'file:' ? pathname : `${protocol}//${host}${pathname}`;
}
