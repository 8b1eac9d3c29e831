import { isObject } from '../../core/json';
import { type DocumentSource, loadDocument, loadFile, maxDocumentBytes, referenceRule } from './load-document';

/** A document whose references to other files are loaded. */
export interface ApiDocument {
  readonly root: Record<string, unknown>;
  /** Where the document was loaded from; relative server URLs refer to it. */
  readonly location?: URL;
  /** Follows a value's `$ref` to its target. `ref` is the last reference followed. Undefined if there is no target. */
  follow(value: unknown): { value: unknown; ref?: string };
}

const maxFiles = 5_000;
/** Files that are read at the same time. */
const concurrency = 16;
const maxHops = 20;

/** Loads a document and the files that it refers to. Throws an `Error` that says what is wrong. */
export async function openDocument(source: DocumentSource): Promise<ApiDocument> {
  const { content: root, location, mayReferOut } = await loadDocument(source);
  mustBeOpenApi(root);
  const files = location && mayReferOut ? await loadReferences(root, location) : new Map<string, unknown>();
  const find = (ref: string): unknown => {
    const [file = '', pointer = ''] = splitAtHash(ref);
    return targetOf(file === '' ? root : files.get(file), pointer);
  };
  return {
    root,
    ...(location && { location }),
    follow(given) {
      let [value, ref] = [given, undefined as string | undefined];
      for (let hops = 0; isObject(value) && typeof value.$ref === 'string'; hops++) {
        if (hops === maxHops) return { value: undefined };
        ref = value.$ref;
        value = find(ref);
      }
      return { value, ...(ref !== undefined && { ref }) };
    },
  };
}

function mustBeOpenApi({ openapi, swagger, paths, webhooks, components }: Record<string, unknown>): void {
  if (typeof swagger === 'string') throw new Error(`The document is of version Swagger ${swagger}; convert it to OpenAPI 3.`);
  if (typeof openapi !== 'string' || !/^3\.\d/.test(openapi)) {
    throw new Error(`The document is not OpenAPI 3: its field 'openapi' is ${JSON.stringify(openapi) ?? 'missing'}.`);
  }
  if (!isObject(paths) && !isObject(webhooks) && !isObject(components)) throw new Error("The document has no 'paths'.");
}

/** Loads the files that a document refers to, and makes all references in them absolute. Returns the files by their URLs. */
async function loadReferences(root: Record<string, unknown>, location: URL): Promise<Map<string, unknown>> {
  const files = new Map<string, unknown>();
  const mayRefer = await referenceRule(location);
  let room = maxDocumentBytes;
  let waiting = [...referencesIn(root, location, true)];
  while (waiting.length > 0) {
    const found = new Set<string>();
    const load = async (href: string) => {
      const url = new URL(href);
      files.set(href, undefined);
      // Without the file, only those operations are left out that need it.
      if (!(await mayRefer(url))) return;
      const { content, bytes } = await loadFile(url, room);
      room -= bytes;
      files.set(href, content);
      for (const more of referencesIn(content, url, false)) found.add(more);
    };
    for (let at = 0; at < waiting.length; at += concurrency) await Promise.all(waiting.slice(at, at + concurrency).map(load));
    waiting = [...found].filter((href) => !files.has(href));
    if (files.size + waiting.length > maxFiles) throw new Error(`The OpenAPI document refers to more than ${maxFiles} files.`);
  }
  return files;
}

/** Keywords whose values are data, in which `$ref` means nothing. */
const data = new Set(['example', 'examples', 'default', 'enum', 'const']);

/** Makes the references in a file absolute, except those of the root document to itself. Returns the files that it refers to. */
function referencesIn(content: unknown, location: URL, isRoot: boolean): Set<string> {
  const found = new Set<string>();
  const seen = new Set<unknown>();
  // Not recursive: the nesting is the author's choice.
  const open: { node: unknown; isMap: boolean }[] = [{ node: content, isMap: false }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { node, isMap } = next;
    if (typeof node !== 'object' || node === null || seen.has(node)) continue;
    seen.add(node);
    if (Array.isArray(node)) {
      for (const inner of node) open.push({ node: inner, isMap: false });
      continue;
    }
    const object = node as Record<string, unknown>;
    if (typeof object.$ref === 'string' && !(isRoot && object.$ref.startsWith('#'))) {
      const target = absolute(object.$ref, location);
      if (target) {
        object.$ref = target.file === location.href && isRoot ? `#${target.pointer}` : `${target.file}#${target.pointer}`;
        if (target.file !== location.href) found.add(target.file);
      }
    }
    // Names of properties may look like keywords.
    for (const [key, inner] of Object.entries(object)) {
      if (isMap || !data.has(key)) open.push({ node: inner, isMap: key === 'properties' && !isMap });
    }
  }
  return found;
}

function absolute(ref: string, location: URL): { file: string; pointer: string } | undefined {
  try {
    const url = new URL(ref, location);
    const [, pointer = ''] = splitAtHash(ref);
    url.hash = '';
    return { file: url.href, pointer };
  } catch {
    return undefined;
  }
}

function splitAtHash(ref: string): [string, string] {
  const at = ref.indexOf('#');
  return at === -1 ? [ref, ''] : [ref.slice(0, at), ref.slice(at + 1)];
}

function targetOf(file: unknown, pointer: string): unknown {
  if (pointer === '' || pointer === '/') return file;
  if (!pointer.startsWith('/')) return undefined;
  let node = file;
  for (const step of pointer.slice(1).split('/')) {
    const name = decoded(step).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof node !== 'object' || node === null || !Object.hasOwn(node, name)) return undefined;
    node = (node as Record<string, unknown>)[name];
  }
  return node;
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    // A single percent sign is literal.
    return step;
  }
}
