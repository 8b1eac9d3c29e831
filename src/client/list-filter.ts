import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import type { LonghaulClient } from '../client';
import { searchAttributeTypes } from '../contract/search-attributes';
import { workflowType } from '../contract/thread';
import { detailsOf, grpc, grpcCode, LonghaulError, wordsOf } from './errors';
import { withPlace } from './filter-place';
import { persist } from './persist';

/** A text as a list filter of Temporal's takes it. */
export function quoted(text: string): string {
  return `'${text.replace(/\\/g, '\\\\').replace(/'/g, "\\'")}'`;
}

/** That one of a thread's ids is this. The server's index in SQLite stumbles over two characters, as if it were away: they are found by nothing. */
export function idsHave(id: string): string {
  return `AgentIds = ${quoted(/["\\]/.test(id) ? 'nothing' : id)}`;
}

/** What the index has of our threads, newest first; `filter` is Temporal's, and optional. */
export async function listThreads(
  { temporal, options }: LonghaulClient,
  { what, filter, limit }: { what: string; filter?: string; limit: number },
): Promise<WorkflowExecutionInfo[]> {
  const query = ofThreads(what, filter);
  const read = async () => {
    const found: WorkflowExecutionInfo[] = [];
    for await (const info of temporal.workflow.list({ query, pageSize: Math.min(limit, 1_000) })) {
      found.push(info);
      if (found.length >= limit) break;
    }
    return found;
  };
  return persist(temporal.connection, what, read, { awayMs: options.serverAwayMs }).catch(async (cause) => {
    throw await explainList({ temporal, what, filter }, cause);
  });
}

const onlyThreads = `WorkflowType = '${workflowType}'`;
const beforeFilter = `${onlyThreads} AND (`;

/** A list filter that finds only threads. */
export function ofThreads(what: string, filter: string | undefined): string {
  if (filter === undefined) return onlyThreads;
  if (filter.trim() === '') throw new LonghaulError('invalid-input', `${what}: the filter is blank; leave it out for all threads`);
  const wrong = leavesParentheses(filter);
  if (wrong) throw new LonghaulError('invalid-input', `${what}: the filter has ${wrong}`);
  return `${beforeFilter}${filter})`;
}

/** Strings and names as the server reads them, to their end or to that of the filter, beginnings of comments, and parentheses. */
const filterParts = /'(?:\\.|[^'\\])*'?|"(?:\\.|[^"\\])*"?|`[^`]*`?|--|\/\/|\/\*|#|[()]/gs;

/** What in a filter closes the parenthesis that we put before it, or hides the one behind it: it could then find what is no thread. */
function leavesParentheses(filter: string): string | undefined {
  const open: number[] = [];
  for (const { 0: part, index } of filter.matchAll(filterParts)) {
    const place = `at its character ${index + 1}`;
    if (part === '(') open.push(index);
    else if (part === ')' && open.pop() === undefined) return `a ")" ${place} that closes no "("`;
    else if (/^[-/#]/.test(part)) return `a comment ${place}; leave it out`;
  }
  const last = open.at(-1);
  return last === undefined ? undefined : `a "(" at its character ${last + 1} that is not closed`;
}

interface Listing {
  temporal: Client;
  what: string;
  filter?: string | undefined;
}

/** What a failed listing means for whoever wrote the filter. */
export async function explainList({ temporal, what, filter = '' }: Listing, error: unknown): Promise<unknown> {
  if (error instanceof LonghaulError || grpcCode(error) === undefined) return error;
  if (grpcCode(error) !== grpc.invalidArgument) return notDone(what, error);
  if (isUnregistered(error)) return unregistered(what, error);
  return notUnderstood(what, await withPlace(temporal, serverWords(error), { filter, before: beforeFilter.length }), error);
}

/** A search attribute's value. */
export function attributeOf(info: WorkflowExecutionInfo, name: keyof typeof searchAttributeTypes): unknown {
  return info.searchAttributes?.[name]?.[0];
}

function isUnregistered(error: unknown): boolean {
  const words = wordsOf(error);
  return /search attribute/i.test(words) && Object.keys(searchAttributeTypes).some((name) => words.includes(name));
}

function unregistered(what: string, cause: unknown): LonghaulError {
  const create = Object.entries(searchAttributeTypes).map(([name, type]) => `--name ${name} --type ${type}`);
  const remedy = `A worker registers them when it starts, where it may and the namespace has room for them; else an operator does: temporal operator search-attribute create ${create.join(' ')}`;
  return new LonghaulError(
    'search-attributes-missing',
    `${what}: the namespace does not have the search attributes by which threads are found (${serverWords(cause)}). ${remedy}`,
    undefined,
    { cause },
  );
}

function notDone(what: string, cause: unknown): LonghaulError {
  return new LonghaulError('unreachable', `${what}: Temporal did not do it: ${serverWords(cause)}`, undefined, { cause });
}

function notUnderstood(what: string, words: string, cause: unknown): LonghaulError {
  return new LonghaulError('invalid-input', `${what}: the server did not understand the filter: ${words}`, undefined, { cause });
}

function serverWords(error: unknown): string {
  return detailsOf(error) ?? wordsOf(error);
}
