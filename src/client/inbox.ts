import type { WorkflowExecutionInfo } from '@temporalio/client';
import type { LonghaulClient } from '../client';
import { queries } from '../contract/requests';
import type { PendingCall } from '../core/event';
import type { LonghaulError } from './errors';
import { attributeOf, idsHave, listThreads, quoted } from './list-filter';
import { askWorkflow } from './query';
import { explain } from './thread-errors';

export interface InboxFilter {
  agent?: string;
  /** Of the call; of a limit, the limit's name. */
  tool?: string;
  /** A group that is asked. */
  group?: string;
  /** Only what has waited for so long. */
  olderThanMs?: number;
  /** At most so many; default 100. */
  limit?: number;
}

/** Something that waits for someone outside. */
export interface InboxItem {
  threadId: string;
  agent: string;
  status: 'requires_action' | 'suspended';
  /** Since when. ISO 8601, UTC. */
  since: string;
  /** What is asked, of whom, and until when. */
  call?: PendingCall;
  /** Why there is no `call`: the thread could not be asked, or not in time. */
  note?: string;
}

const atOnce = 8;
/** A thread that is asleep must be replayed first, which takes some hundred milliseconds. */
const patienceMs = 5_000;
const mostThreads = 10_000;

/**
 * What waits in all threads, oldest first: the index says which threads, each thread says what. One that can't answer (no worker is up for
 * it) is listed by what the index has.
 */
export async function readInbox(client: LonghaulClient, filter: InboxFilter): Promise<InboxItem[]> {
  const { limit = 100 } = filter;
  const threads = oldestFirst(await listThreads(client, { what: 'pending', filter: indexFilter(filter), limit: mostThreads }));
  const asking = new Asking(client);
  const items: InboxItem[] = [];
  for (let at = 0; at < threads.length && items.length < limit; at += atOnce) {
    const told = await Promise.all(threads.slice(at, at + atOnce).map((info) => asking.of(info)));
    items.push(...told.flat().filter((item) => fits(item, filter)));
  }
  return items.sort((a, b) => (a.since < b.since ? -1 : 1)).slice(0, limit);
}

/**
 * `AgentPendingTool` and `AgentPendingGroup` have room for one name, that of the first call that waits; the names of further ones stand
 * in `AgentIds`.
 */
function indexFilter({ agent, tool, group, olderThanMs }: InboxFilter): string {
  return [
    "ExecutionStatus = 'Running'",
    "AgentStatus IN ('requires_action', 'suspended')",
    ...(agent ? [`AgentName = ${quoted(agent)}`] : []),
    ...(tool ? [`(AgentPendingTool = ${quoted(tool)} OR ${idsHave(`tool:${tool}`)})`] : []),
    ...(group ? [`(AgentPendingGroup = ${quoted(group)} OR ${idsHave(`group:${group}`)})`] : []),
    ...(olderThanMs === undefined ? [] : [`AgentWaitingSince <= '${new Date(Date.now() - olderThanMs).toISOString()}'`]),
  ].join(' AND ');
}

function fits({ call, since }: InboxItem, { tool, group, olderThanMs = 0 }: InboxFilter): boolean {
  if (Date.parse(since) > Date.now() - olderThanMs) return false;
  if (!call) return true;
  return (tool === undefined || call.name === tool) && (group === undefined || call.groups?.includes(group) === true);
}

function oldestFirst(threads: readonly WorkflowExecutionInfo[]): WorkflowExecutionInfo[] {
  return [...threads].sort((a, b) => (waitingSince(a) < waitingSince(b) ? -1 : 1));
}

function waitingSince(info: WorkflowExecutionInfo): string {
  const since = attributeOf(info, 'AgentWaitingSince');
  return (since instanceof Date ? since : info.startTime).toISOString();
}

/** Asks threads, and does not wait for the same absent worker again and again. */
class Asking {
  readonly #answered = new Set<string>();
  readonly #silent = new Set<string>();

  constructor(readonly client: LonghaulClient) {}

  async of(info: WorkflowExecutionInfo): Promise<InboxItem[]> {
    const { workflowId: threadId, taskQueue } = info;
    const since = waitingSince(info);
    const agent = String(info.memo?.agent ?? attributeOf(info, 'AgentName') ?? '?');
    const status = attributeOf(info, 'AgentStatus') as InboxItem['status'];
    const item = { threadId, agent, status, since };
    if (this.#silent.has(taskQueue)) return [{ ...item, note: `no worker answers on task queue "${taskQueue}"` }];
    try {
      const pending = await this.#ask(threadId);
      this.#answered.add(taskQueue);
      // None: it was answered meanwhile, and the index is a moment behind.
      return pending.map((call) => ({ ...item, since: call.since ?? since, call }));
    } catch (error) {
      const { code, message } = explain(threadId, 'pending', error) as LonghaulError;
      if (code === 'thread-not-found') return [];
      if (code === 'no-worker' && !this.#answered.has(taskQueue)) this.#silent.add(taskQueue);
      return [{ ...item, note: message }];
    }
  }

  #ask(threadId: string): Promise<PendingCall[]> {
    const { temporal, options } = this.client;
    return askWorkflow(temporal, {
      threadId,
      query: queries.pending,
      args: [],
      what: 'pending',
      patienceMs: Math.min(options.requestTimeoutMs ?? patienceMs, patienceMs),
    });
  }
}
