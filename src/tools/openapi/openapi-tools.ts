import type { PlainEffect } from '../../core/tool';
import { type ApprovalRule, checkedApproval } from '../defining/approval';
import { createToolset, type Toolset } from '../defining/toolset';
import { cleanText } from './clean-text';
import type { Credentials, Security, SecurityScheme } from './credentials';
import { openDocument } from './document';
import { genericTool } from './generic-tool';
import type { DocumentSource } from './load-document';
import { cleanTag, operationTool } from './operation-tool';
import { type ApiOperation, type FullOperation, objectOf, operationsOf, requirementsOf, type SecurityRequirement } from './operations';
import { type ServerVariables, serversOf } from './servers';
import { ToolNames } from './tool-names';

export interface OpenApiOptions {
  /** OpenAPI 3, as an object, the path of a JSON or YAML file, or a URL. */
  document: DocumentSource;
  /** The credentials of each request. Without it, requests are sent without any. */
  credentials?: Credentials | undefined;
  /** How requests authenticate, instead of what the document says. */
  auth?: SecurityScheme | undefined;
  /** Only operations that have one of these tags. */
  tags?: readonly string[] | undefined;
  /** Only these operations: their ids, or a function. */
  operations?: readonly string[] | ((operation: ApiOperation) => boolean) | undefined;
  /** The base URL of all requests, instead of the servers of the document. */
  server?: string | undefined;
  /** Values for the variables of the document's server URLs. */
  serverVariables?: ServerVariables | undefined;
  /** Origins that operations may name as their servers, such as `https://uploads.example.com`, besides those of the document's servers. */
  allowedOrigins?: readonly string[] | undefined;
  /**
   * Whether there is also a tool for any other request, `http_request`. Default: no. `true`: each of its calls needs approval. A request of it that
   * may amount to an operation with an approval is refused, because the operation's own tool asks the right people.
   */
  genericTool?: boolean | { approval: ApprovalRule<Record<string, unknown>> } | undefined;
  /** Begins the name of each tool, such as `github_`. */
  prefix?: string | undefined;
  /** What differs for an operation from the defaults. */
  settings?: ((operation: ApiOperation) => OperationChoice | undefined) | undefined;
}

/** Settings of one operation. */
export interface OperationChoice {
  /** Default: GET, HEAD, OPTIONS and TRACE `pure`; PUT, DELETE and those that take an idempotency key `keyed`; others `once`. */
  effect?: PlainEffect | undefined;
  /** The header in which the service takes an idempotency key. The call is then `keyed`. */
  idempotencyHeader?: string | undefined;
  /** Default `never`. */
  approval?: ApprovalRule<Record<string, unknown>> | undefined;
  /** Timeout of one attempt, in milliseconds. Default: the agent's. */
  timeoutMs?: number | undefined;
}

/** The operation of a tool. */
export interface ToolOperation extends ApiOperation {
  /** The name of its tool. */
  readonly tool: string;
}

/** The tools of a document. */
export interface OpenApiTools extends Toolset {
  readonly operations: readonly ToolOperation[];
  /** The document's tags in its order, also those that no tool has. */
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  /** Operations without a tool, and why, one sentence each. */
  readonly skipped: readonly string[];
}

const genericName = 'http_request';

/**
 * Loads an OpenAPI document and returns a tool for each of its operations. Call it before the worker starts: it reads files and makes requests.
 * Throws an `Error` that says what is wrong with the document.
 */
export async function openApiTools(options: OpenApiOptions): Promise<OpenApiTools> {
  const document = await openDocument(options.document);
  const { operations, skipped } = await operationsOf(document, options);
  mustMatch(operations, options);
  const security: Security = {
    schemes: schemesOf(document.root, options.auth),
    ...(options.credentials && { credentials: options.credentials }),
  };
  const names = new ToolNames(options.prefix ?? '');
  const wanted = operations.filter((operation) => isWanted(operation, options));
  // Its name comes first, so that no operation takes it.
  const name = options.genericTool && names.nameOf(genericName, genericName);
  const made = wanted.map((operation) => {
    const tool = operationTool(document, withAuth(operation, options.auth), {
      name: names.nameOf(operation.id, `${operation.method} ${operation.path}`),
      security,
      settings: settingsOf(operation, options),
    });
    const { id, method, path, tags, summary, deprecated } = operation;
    return { tool, operation: Object.freeze({ id, method, path, tags, summary, deprecated, tool: tool.name }) };
  });
  const generic = name ? [genericOf(name, document.root, security, { ...options, location: document.location, operations, made })] : [];
  const toolset = createToolset([...made.map(({ tool }) => tool), ...generic]);
  return Object.freeze({
    ...toolset,
    operations: Object.freeze(made.map(({ operation }) => operation)),
    tags: Object.freeze(tagsOf(document.root.tags)),
    skipped: Object.freeze(skipped),
  });
}

function tagsOf(tags: unknown): { name: string; description: string }[] {
  const listed = Array.isArray(tags) ? tags.map(objectOf) : [];
  const clean = listed.map(({ name, description }) => ({ name: cleanTag(name), description: cleanText(description, 500) }));
  return clean.filter(({ name }) => name !== '');
}

/** Throws an `Error` that names the tags and the ids that no operation has: a misspelled one would only leave tools out. */
function mustMatch(operations: readonly FullOperation[], { tags = [], operations: ids }: OpenApiOptions): void {
  const known = { tags: new Set(operations.flatMap((operation) => operation.tags)), ids: new Set(operations.map(({ id }) => id)) };
  const unknown = [
    ...tags.filter((tag) => !known.tags.has(tag)).map((tag) => `the tag '${tag}'`),
    ...(Array.isArray(ids) ? ids : []).filter((id) => !known.ids.has(id)).map((id) => `the id '${id}'`),
  ];
  if (unknown.length > 0) throw new Error(`openApiTools: no operation that can become a tool has ${unknown.join(', or ')}.`);
}

function isWanted(operation: FullOperation, { tags, operations }: OpenApiOptions): boolean {
  if (tags !== undefined && !operation.tags.some((tag) => tags.includes(tag))) return false;
  if (operations === undefined) return true;
  return typeof operations === 'function' ? operations(operation) : operations.includes(operation.id);
}

function settingsOf(operation: FullOperation, { settings }: OpenApiOptions) {
  const { approval, ...choice } = settings?.(operation) ?? {};
  const rule = checkedApproval(
    approval ?? 'never',
    (problem) => new TypeError(`openApiTools: the approval of '${operation.id}' ${problem}`),
  );
  return { ...choice, ...(rule && { approval: rule }) };
}

const authName = 'auth';

function schemesOf(root: Record<string, unknown>, auth: SecurityScheme | undefined): Record<string, unknown> {
  return auth ? { [authName]: auth } : objectOf(objectOf(root.components).securitySchemes);
}

function withAuth(operation: FullOperation, auth: SecurityScheme | undefined): FullOperation {
  return auth ? { ...operation, security: [{ [authName]: [] }] } : operation;
}

interface Operations {
  location: URL | undefined;
  operations: readonly FullOperation[];
  made: readonly { operation: ToolOperation }[];
}

function genericOf(
  name: string,
  root: Record<string, unknown>,
  security: Security,
  { operations, made, ...options }: Omit<OpenApiOptions, 'operations'> & Operations,
) {
  const declared = requirementsOf(root.security);
  // Many documents declare how to authenticate only at each operation.
  const usual: readonly SecurityRequirement[] = operations.find((operation) => operation.security.length > 0)?.security ?? [];
  const server = serversOf(root.servers, options, options.location)();
  const rule = typeof options.genericTool === 'object' ? options.genericTool.approval : 'always';
  const own = checkedApproval(rule, (problem) => new TypeError(`openApiTools: the approval of genericTool ${problem}`));
  const tools = new Map(made.map(({ operation: { id, tool } }) => [id, tool]));
  const guarded = operations.flatMap((operation) => {
    const tool = tools.get(operation.id);
    return settingsOf(operation, options).approval ? [{ operation, ...(tool && { tool }) }] : [];
  });
  return genericTool(name, {
    server,
    guarded,
    ...(own && { approval: own }),
    title: cleanText(objectOf(root.info).title, 100) || 'the service',
    security,
    requirements: options.auth ? [{ [authName]: [] }] : declared.length > 0 ? declared : usual,
  });
}
