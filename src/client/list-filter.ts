import type { Client } from '@temporalio/client';
import type { LonghaulClient } from '../client';
import { searchAttributes, searchAttributeTypes } from '../contract/search-attributes';
import { workflowType } from '../contract/thread';
import { isAgentName } from '../core/agent';
import { detailsOf, grpc, grpcCode, LonghaulError, wordsOf } from './errors';
import { withPlace } from './filter-place';
import { executions, type ListedThread, listedThread } from './listed-threads';

/** Quotes a text for a list filter of Temporal. */
export function quoted(text: string): string {
  return `'${text.replace(/\\/g, '\\\\').replace(/'/g, "\\'")}'`;
}

/**
 * The filter for threads with this id. The server's SQLite index fails on two characters, with an error as if it were unavailable, so ids with them
 * match nothing.
 */
export function idsHave(id: string): string {
  return `${searchAttributes.ids.name} = ${quoted(/["\\]/.test(id) ? 'nothing' : id)}`;
}

/** Lists threads from the index, newest first. `filter` is an optional list filter of Temporal. */
export async function listThreads(
  client: LonghaulClient,
  { what, filter, limit }: { what: string; filter?: string; limit: number },
): Promise<ListedThread[]> {
  const { temporal } = client;
  const query = ofThreads(what, filter);
  // A thread that continued as new or was reopened has several executions.
  const found = new Map<string, ListedThread>();
  try {
    for await (const raw of executions(client, { what, query, pageSize: Math.min(limit, 1_000) })) {
      const thread = listedThread(temporal, raw);
      if (!found.has(thread.workflowId)) found.set(thread.workflowId, thread);
      if (found.size >= limit) break;
    }
  } catch (cause) {
    throw await explainList({ temporal, what, filter }, cause);
  }
  return [...found.values()];
}

/** Threads per request for their beginnings: a filter with very many ids would be too long. */
const idsAtOnce = 20;
/** Executions that are read for their beginnings, per request. */
const mostExecutions = 5_000;

/**
 * Returns when threads began. A thread that continued as new or was reopened has several executions, and the listed one is the newest. Executions that
 * the server no longer retains are not known. Empty if the server can't be asked.
 */
export async function beginningsOf(client: LonghaulClient, what: string, ids: readonly string[]): Promise<Map<string, Date>> {
  const began = new Map<string, Date>();
  try {
    for (let at = 0; at < ids.length; at += idsAtOnce) {
      const named = ids
        .slice(at, at + idsAtOnce)
        .map(quoted)
        .join(', ');
      let read = 0;
      for await (const raw of executions(client, { what, query: ofThreads(what, `WorkflowId IN (${named})`), pageSize: 1_000 })) {
        const { workflowId, startTime } = listedThread(client.temporal, raw);
        const known = began.get(workflowId);
        if (!known || startTime < known) began.set(workflowId, startTime);
        if (++read === mostExecutions) break;
      }
    }
  } catch {
    // The beginning of the newest execution is shown instead.
  }
  return began;
}

const onlyThreads = `WorkflowType = '${workflowType}'`;
const beforeFilter = `${onlyThreads} AND (`;

/** A list filter that matches only threads. */
export function ofThreads(what: string, filter: string | undefined): string {
  if (filter === undefined) return onlyThreads;
  if (filter.trim() === '') throw new LonghaulError('invalid-input', `${what}: the filter is blank; leave it out for all threads`);
  const wrong = leavesParentheses(filter);
  if (wrong) throw new LonghaulError('invalid-input', `${what}: the filter has ${wrong}`);
  return `${beforeFilter}${filter})`;
}

/** Strings and names as the server parses them (to their end, or to the end of the filter), beginnings of comments, and parentheses. */
const filterParts = /'(?:\\.|[^'\\])*'?|"(?:\\.|[^"\\])*"?|`[^`]*`?|--|\/\/|\/\*|#|[()]/gs;

/** Finds what in a filter would close the parenthesis that we add before it, or hide the one after it. It could then match other workflows. */
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

/** Translates the error of a failed listing for the author of the filter. */
export async function explainList({ temporal, what, filter = '' }: Listing, error: unknown): Promise<unknown> {
  if (error instanceof LonghaulError || grpcCode(error) === undefined) return error;
  if (grpcCode(error) !== grpc.invalidArgument) return notDone(what, error);
  if (isUnregistered(error)) return unregistered(what, error);
  return notUnderstood(what, await withPlace(temporal, serverWords(error), { filter, before: beforeFilter.length }), error);
}

/** The value of a search attribute. */
export function attributeOf(thread: ListedThread, key: keyof typeof searchAttributes): unknown {
  return thread.attribute(searchAttributes[key].name)[0];
}

/** The value of a search attribute if it is a text. */
export function wordOf(thread: ListedThread, key: keyof typeof searchAttributes): string | undefined {
  const value = attributeOf(thread, key);
  return typeof value === 'string' ? value : undefined;
}

/** The agent of a thread, from the memo that its starter wrote. Whoever started it may have written megabytes there. */
export async function agentOf(thread: ListedThread): Promise<string> {
  const noted = await thread.memo('agent');
  return isAgentName(noted) ? noted : (wordOf(thread, 'agent') ?? '?');
}

function isUnregistered(error: unknown): boolean {
  const words = wordsOf(error);
  return /search attribute/i.test(words) && Object.values(searchAttributes).some(({ name }) => words.includes(name));
}

function unregistered(what: string, cause: unknown): LonghaulError {
  const create = Object.values(searchAttributes).map(({ name, type }) => `--name ${name} --type ${searchAttributeTypes[type]}`);
  const remedy = `A worker registers them when it starts, if it is permitted to and the namespace has room for them. Otherwise an operator must run: temporal operator search-attribute create ${create.join(' ')}`;
  return new LonghaulError(
    'search-attributes-missing',
    `${what}: the namespace does not have the search attributes that are needed to find threads (${serverWords(cause)}). ${remedy}`,
    undefined,
    { cause },
  );
}

function notDone(what: string, cause: unknown): LonghaulError {
  return new LonghaulError('unreachable', `${what}: Temporal could not carry out the request: ${serverWords(cause)}`, undefined, { cause });
}

function notUnderstood(what: string, words: string, cause: unknown): LonghaulError {
  return new LonghaulError('invalid-input', `${what}: the server did not understand the filter: ${words}`, undefined, { cause });
}

function serverWords(error: unknown): string {
  return detailsOf(error) ?? wordsOf(error);
}
