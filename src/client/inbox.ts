import type { LonghaulClient } from '../client';
import { queries } from '../contract/requests';
import { searchAttributes } from '../contract/search-attributes';
import { checkName } from '../core/check-input';
import type { PendingCall } from '../core/event';
import { cleanName, sameName } from '../core/people';
import { checkedPending } from './checked-answers';
import { LonghaulError } from './errors';
import { agentOf, attributeOf, idsHave, listThreads, quoted, wordOf } from './list-filter';
import type { ListedThread } from './listed-threads';
import { persist } from './persist';
import { askWorkflow } from './query';
import { explain } from './thread-errors';

export interface InboxFilter {
  agent?: string | undefined;
  /** The tool of the call, or the name of the limit. */
  tool?: string | undefined;
  /** A group that may decide. */
  group?: string | undefined;
  /** Only items that have waited longer than this, in milliseconds. */
  olderThanMs?: number | undefined;
  /** The maximum number of items. Default 100. */
  limit?: number | undefined;
}

/** Something that waits for a person or another program. */
export interface InboxItem {
  threadId: string;
  agent: string;
  status: 'requires_action' | 'suspended';
  /** Since when it waits. ISO 8601, UTC. */
  since: string;
  /** What waits, who may decide, and until when. */
  call?: PendingCall;
  /** Why there is no `call`: the thread could not be queried, did not answer in time, or answered with something else. */
  note?: string;
}

const atOnce = 8;
/** How long to wait for a thread's answer. A worker must first replay an idle thread, which takes a few hundred milliseconds. */
const patienceMs = 5_000;
const mostThreads = 10_000;
/** Temporal's enum value for a task queue of workflow tasks. */
const workflowTasks = 1;

/**
 * Lists what waits in all threads, oldest first. The index says which threads wait, and each thread is queried for its calls. A thread that can't
 * answer, because its worker is not running, is listed with the data of the index.
 */
export async function readInbox(client: LonghaulClient, { group, ...others }: InboxFilter): Promise<InboxItem[]> {
  for (const name of ['agent', 'tool', 'group'] as const) mustBeName(name, { group, ...others }[name]);
  const filter = { ...others, ...(group !== undefined && { group: cleanName(group) }) };
  const { limit = 100 } = filter;
  const threads = oldestFirst(await listThreads(client, { what: 'pending', filter: indexFilter(filter), limit: mostThreads }));
  const asking = new Asking(client);
  const items: InboxItem[] = [];
  for (let at = 0; at < threads.length && items.length < limit; at += atOnce) {
    const told = await Promise.all(threads.slice(at, at + atOnce).map((info) => asking.of(info)));
    for (const ofThread of told)
      items.push(
        ...withinShare(
          limit,
          ofThread.filter((item) => fits(item, filter)),
        ),
      );
  }
  return items.sort((a, b) => (a.since < b.since ? -1 : 1)).slice(0, limit);
}

/** A thread with thousands of calls must not hide the others. */
function withinShare(limit: number, items: readonly InboxItem[]): readonly InboxItem[] {
  const most = Math.max(10, Math.ceil(limit / 4));
  const first = items[0];
  if (!first || items.length <= most) return items;
  const { call: _, ...about } = first;
  return [...items.slice(0, most), { ...about, note: `${items.length - most} more calls wait in this thread; its status lists them` }];
}

/** Rejects a blank name: it usually comes from an unset variable, and would otherwise list what waits for everyone. */
function mustBeName(field: string, name: string | undefined): void {
  const wrong = name === undefined ? undefined : checkName(field, name);
  if (wrong) throw new LonghaulError('invalid-input', `pending: ${wrong}`);
}

/**
 * `AgentPendingTool` and `AgentPendingGroup` hold one name each, of the first call that waits. The names of further calls are in `AgentIds`.
 */
function indexFilter({ agent, tool, group, olderThanMs }: InboxFilter): string {
  const { status, pendingTool, pendingGroup, waitingSince } = searchAttributes;
  return [
    "ExecutionStatus = 'Running'",
    `${status.name} IN ('requires_action', 'suspended')`,
    ...(agent ? [`${searchAttributes.agent.name} = ${quoted(agent)}`] : []),
    ...(tool ? [`(${pendingTool.name} = ${quoted(tool)} OR ${idsHave(`tool:${tool}`)})`] : []),
    ...(group ? [`(${pendingGroup.name} = ${quoted(group)} OR ${idsHave(`group:${group}`)})`] : []),
    ...(olderThanMs === undefined ? [] : [`${waitingSince.name} <= '${new Date(Date.now() - olderThanMs).toISOString()}'`]),
  ].join(' AND ');
}

function fits({ call, since }: InboxItem, { tool, group, olderThanMs = 0 }: InboxFilter): boolean {
  if (Date.parse(since) > Date.now() - olderThanMs) return false;
  if (!call) return true;
  return (
    (tool === undefined || call.name === tool) && (group === undefined || call.groups?.some((asked) => sameName(asked, group)) === true)
  );
}

function oldestFirst(threads: readonly ListedThread[]): ListedThread[] {
  return [...threads].sort((a, b) => (waitingSince(a) < waitingSince(b) ? -1 : 1));
}

function waitingSince(info: ListedThread): string {
  const since = Date.parse(wordOf(info, 'waitingSince') ?? '');
  return (Number.isNaN(since) ? info.startTime : new Date(since)).toISOString();
}

/** Queries threads. Skips task queues that no worker polls, and does not wait for the same absent worker repeatedly. */
class Asking {
  readonly #answered = new Set<string>();
  readonly #silent = new Set<string>();
  readonly #polled = new Map<string, Promise<boolean>>();

  constructor(readonly client: LonghaulClient) {}

  async of(info: ListedThread): Promise<InboxItem[]> {
    const { workflowId: threadId, taskQueue } = info;
    const since = waitingSince(info);
    const agent = await agentOf(info);
    const status = attributeOf(info, 'status') as InboxItem['status'];
    const item = { threadId, agent, status, since };
    const unasked = async () => [{ ...item, note: `no worker answers on task queue "${taskQueue}"${await this.#sentSince(threadId)}` }];
    if (this.#silent.has(taskQueue)) return unasked();
    try {
      if (!(await this.#isPolled(taskQueue))) return await unasked();
      const pending = await this.#ask(threadId);
      this.#answered.add(taskQueue);
      // Empty if the call was answered meanwhile: the index lags by a moment.
      return pending.map((call) => ({ ...item, since: call.since ?? since, call }));
    } catch (error) {
      const { code, message } = explain(threadId, 'pending', error) as LonghaulError;
      if (code === 'thread-not-found') return [];
      if (code !== 'no-worker') return [{ ...item, note: message }];
      if (!this.#answered.has(taskQueue)) this.#silent.add(taskQueue);
      return [{ ...item, note: `${message}${await this.#sentSince(threadId)}` }];
    }
  }

  /** Whether a worker polled the task queue within the last minutes. A worker that has just died still counts. */
  #isPolled(name: string): Promise<boolean> {
    const { temporal, options } = this.client;
    const { namespace } = temporal.options;
    const ask = async () => {
      const { pollers } = await temporal.workflowService.describeTaskQueue({
        namespace,
        taskQueue: { name },
        taskQueueType: workflowTasks,
      });
      return (pollers?.length ?? 0) > 0;
    };
    const known = this.#polled.get(name) ?? persist(temporal.connection, 'pending', ask, { awayMs: options.serverAwayMs });
    this.#polled.set(name, known);
    return known;
  }

  /** The index does not show requests that no worker has taken yet; one of them may be an answer. */
  async #sentSince(threadId: string): Promise<string> {
    const { temporal, options } = this.client;
    const describe = () => temporal.workflow.getHandle(threadId).describe();
    const asked = persist(temporal.connection, 'pending', describe, { awayMs: options.serverAwayMs });
    // If the thread has ended meanwhile, the next listing omits it.
    const waits = await asked.then(({ raw }) => Boolean(raw.pendingWorkflowTask)).catch(() => false);
    return waits ? '; a request to the thread, perhaps an answer, also waits for a worker' : '';
  }

  async #ask(threadId: string): Promise<PendingCall[]> {
    const { temporal, options } = this.client;
    const answer = await askWorkflow(temporal, {
      threadId,
      query: queries.pending,
      args: [],
      what: 'pending',
      patienceMs: Math.min(options.requestTimeoutMs ?? patienceMs, patienceMs),
      awayMs: options.serverAwayMs,
    });
    return checkedPending(threadId, answer);
  }
}
