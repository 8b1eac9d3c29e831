import { createHash } from 'node:crypto';
import type { PlainEffect, ToolRetry } from '../../core/tool';
import type { Approval } from '../defining/approval';
import type { Tool, ToolContext } from '../defining/define-tool';
import { foreignInput, type ToolInput } from '../defining/tool-input';
import { argumentNames, argumentSchema } from './arguments';
import { cleanText } from './clean-text';
import { authenticate, type Security } from './credentials';
import type { ApiDocument } from './document';
import type { FullOperation, SecurityRequirement } from './operations';
import { resultOf } from './read-response';
import { type ApiRequest, requestOf, setHeader } from './request';
import { send } from './send';

/** What a user sets for an operation. */
export interface OperationSettings {
  approval?: Approval | undefined;
  timeoutMs?: number | undefined;
  effect?: PlainEffect | undefined;
  idempotencyHeader?: string | undefined;
}

const maxDescriptionChars = 1_000;
const maxTags = 20;
const maxTagChars = 100;
/** Of a call that may run again, after no response or a status such as 503. */
const retry: ToolRetry = { maxAttempts: 3, initialMs: 1_000, maxMs: 30_000 };

export function cleanTag(tag: unknown): string {
  return cleanText(tag, maxTagChars);
}

/** Creates the tool of an operation. Its schema is made when it is first used: a document may have thousands of operations. */
export function operationTool(
  document: ApiDocument,
  operation: FullOperation,
  { name, security, settings }: { name: string; security: Security; settings: OperationSettings },
): Tool {
  const names = argumentNames(operation);
  const header = settings.idempotencyHeader ?? operation.idempotencyHeader;
  const effect = settings.effect ?? effectOf(operation, header);
  const { approval, timeoutMs } = settings;
  const { method, path, server, security: requirements } = operation;
  const tags = operation.tags
    .slice(0, maxTags)
    .map(cleanTag)
    .filter((tag) => tag !== '');
  let input: ToolInput | undefined;
  const made = () => (input ??= foreignInput(argumentSchema(document, operation, names), (problem) => new Error(`its schema ${problem}`)));
  return Object.freeze({
    name,
    description: descriptionOf(operation),
    get parameters() {
      return made().parameters;
    },
    check: (value: unknown) => made().check(value),
    ...(tags.length > 0 && { tags: Object.freeze(tags) }),
    effect,
    ...(approval && { approval }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(effect !== 'once' && { retry }),
    execute: (args: unknown, ctx: ToolContext) =>
      callApi({ what: `${method} ${path} at ${server.host}`, security, requirements, about: { operation: operation.id } }, ctx, () => {
        const request = requestOf(document, operation, names, args);
        if (header !== undefined) setHeader(request.headers, header, keyOf(ctx.idempotencyKey));
        return request;
      }),
  });
}

interface ApiCall {
  what: string;
  security: Security;
  requirements: readonly SecurityRequirement[];
  about: { operation?: string };
}

/** Authenticates and sends a request, and converts the response. An OAuth token that is rejected is replaced, once a call and once a minute. */
export async function callApi(
  { what, security, requirements, about }: ApiCall,
  ctx: ToolContext,
  build: () => ApiRequest,
): Promise<unknown> {
  const secrets: string[] = [];
  for (let isFirst = true; ; isFirst = false) {
    const request = build();
    const { secrets: added, reject } = await authenticate(request, requirements, security, about, ctx);
    secrets.push(...added);
    const response = await send(request, what, ctx.signal);
    if (response.status === 401 && isFirst && reject?.()) {
      await response.body?.cancel();
      continue;
    }
    return resultOf(response, { what, secrets, maxBytes: ctx.maxOutputBytes, threadId: ctx.threadId });
  }
}

/** Reading has no effect, and `PUT` and `DELETE` have the same effect when they are repeated (RFC 9110). */
function effectOf({ method }: FullOperation, header: string | undefined): PlainEffect {
  if (method === 'GET' || method === 'HEAD' || method === 'OPTIONS' || method === 'TRACE') return 'pure';
  return method === 'PUT' || method === 'DELETE' || header !== undefined ? 'keyed' : 'once';
}

/** A text of 36 characters, the form of a UUID: services limit the length, and thread ids may be long or not ASCII. */
function keyOf(idempotencyKey: string): string {
  const hex = createHash('sha256').update(idempotencyKey).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `a${hex.slice(17, 20)}`, hex.slice(20, 32)].join('-');
}

function descriptionOf({ summary, description, deprecated, method, path }: FullOperation): string {
  const [short, long] = [cleanText(summary, 300), cleanText(description, maxDescriptionChars)];
  const words = long.startsWith(short) ? long : [short, long].filter((text) => text !== '').join('. ');
  return [deprecated ? 'Deprecated.' : '', words, `(${method} ${cleanText(path, 300)})`].filter((text) => text !== '').join(' ');
}
