import { setImmediate } from 'node:timers/promises';
import { isObject } from '../../core/json';
import { type ApiBody, bodyOf } from './body';
import type { ApiDocument } from './document';
import { type ApiParameter, parametersOf } from './parameters';
import { type ServerOf, type ServerOptions, serversOf } from './servers';

export const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'] as const;
export type Method = (typeof methods)[number];

/** What a filter or a setting of operations decides by. */
export interface ApiOperation {
  /** The document's `operationId`. */
  readonly id: string;
  readonly method: Uppercase<Method>;
  /** The path template, such as `/pets/{petId}`. */
  readonly path: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly deprecated: boolean;
}

/** Schemes by name with the scopes that are needed; all of them together are one way to authenticate. */
export type SecurityRequirement = Readonly<Record<string, readonly string[]>>;

/** An operation with all that is needed to call it. */
export interface FullOperation extends ApiOperation {
  readonly description: string;
  readonly parameters: readonly ApiParameter[];
  readonly body?: ApiBody;
  readonly security: readonly SecurityRequirement[];
  readonly server: URL;
  /** The header in which the service takes an idempotency key, according to the document. */
  readonly idempotencyHeader?: string;
}

/** How long reading operations keeps the event loop, which other documents and a running worker need, too. */
const maxTurnMs = 20;

/** Returns the operations of a document, and why others are left out, one sentence each. */
export async function operationsOf(
  document: ApiDocument,
  options: ServerOptions,
): Promise<{ operations: FullOperation[]; skipped: string[] }> {
  const operations: FullOperation[] = [];
  const skipped: string[] = [];
  const serverOf = serversOf(document.root.servers, options, document.location);
  let turn = performance.now();
  for (const [path, item] of Object.entries(objectOf(document.root.paths))) {
    if (performance.now() - turn > maxTurnMs) {
      await setImmediate();
      turn = performance.now();
    }
    if (!path.startsWith('/')) continue;
    const { value: pathItem } = document.follow(item);
    if (!isObject(pathItem)) continue;
    for (const method of methods) {
      const { value: operation } = document.follow(pathItem[method]);
      if (!isObject(operation)) continue;
      const place = `${method.toUpperCase()} ${path}`;
      if (typeof operation.operationId !== 'string' || operation.operationId.trim() === '') {
        skipped.push(`${place} has no operationId.`);
        continue;
      }
      try {
        operations.push(fullOperation(document, { path, method, pathItem, operation }, serverOf));
      } catch (error) {
        skipped.push(`${place}: ${(error as Error).message}`);
      }
    }
  }
  return { operations, skipped };
}

interface Found {
  path: string;
  method: Method;
  pathItem: Record<string, unknown>;
  operation: Record<string, unknown>;
}

function fullOperation(document: ApiDocument, { path, method, pathItem, operation }: Found, serverOf: ServerOf): FullOperation {
  const parameters = parametersOf(document, pathItem.parameters, operation.parameters);
  const missing = namesIn(path).filter((name) => !parameters.some((one) => one.in === 'path' && one.name === name));
  if (missing.length > 0) throw new Error(`its path has '{${missing[0]}}', which is not among its parameters.`);
  const body = bodyOf(document, operation.requestBody);
  const header = headerOf(operation) ?? headerOf(document.root) ?? parameters.find(isIdempotencyKey)?.name;
  return {
    id: operation.operationId as string,
    method: method.toUpperCase() as Uppercase<Method>,
    path,
    tags: Array.isArray(operation.tags) ? operation.tags.filter((tag) => typeof tag === 'string') : [],
    summary: text(operation.summary) || text(pathItem.summary),
    description: text(operation.description) || text(pathItem.description),
    deprecated: operation.deprecated === true,
    parameters: header === undefined ? parameters : parameters.filter((one) => !isHeader(one, header)),
    ...(body && { body }),
    security: requirementsOf(operation.security ?? document.root.security),
    server: serverOf(operation.servers, pathItem.servers),
    ...(header !== undefined && { idempotencyHeader: header }),
  };
}

export function requirementsOf(security: unknown): SecurityRequirement[] {
  if (!Array.isArray(security)) return [];
  return security
    .filter(isObject)
    .map((requirement) =>
      Object.fromEntries(
        Object.entries(requirement).map(([scheme, scopes]) => [
          scheme,
          Array.isArray(scopes) ? scopes.filter((scope) => typeof scope === 'string') : [],
        ]),
      ),
    );
}

/** The names of a path template's parameters. */
export function namesIn(path: string): string[] {
  return [...path.matchAll(/\{([^{}]+)\}/g)].map(([, name = '']) => name);
}

function headerOf({ 'x-idempotency-key': header }: Record<string, unknown>): string | undefined {
  return typeof header === 'string' ? header : undefined;
}

function isIdempotencyKey({ in: place, name }: ApiParameter): boolean {
  return place === 'header' && /^(?:x-)?idempotency-key$/i.test(name);
}

function isHeader({ in: place, name }: ApiParameter, header: string): boolean {
  return place === 'header' && name.toLowerCase() === header.toLowerCase();
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function objectOf(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}
