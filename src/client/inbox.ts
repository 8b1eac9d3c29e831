import type { WorkflowExecutionInfo } from '@temporalio/client';
import type { LonghaulClient } from '../client';
import { queries } from '../contract/requests';
import { checkName } from '../core/check-input';
import type { PendingCall } from '../core/event';
import { cleanName, sameName } from '../core/people';
import { LonghaulError } from './errors';
import { attributeOf, idsHave, listThreads, quoted } from './list-filter';
import { persist } from './persist';
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
/** Temporal's number for a task queue of workflow tasks. */
const workflowTasks = 1;

/**
 * What waits in all threads, oldest first: the index says which threads, each thread says what. One that can't answer (no worker is up for
 * it) is listed by what the index has.
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
    items.push(...told.flat().filter((item) => fits(item, filter)));
  }
  return items.sort((a, b) => (a.since < b.since ? -1 : 1)).slice(0, limit);
}

/** A blank one is mostly a variable that nobody has set, and no wish to see what waits for everyone. */
function mustBeName(field: string, name: string | undefined): void {
  const wrong = name === undefined ? undefined : checkName(field, name);
  if (wrong) throw new LonghaulError('invalid-input', `pending: ${wrong}`);
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
  return (
    (tool === undefined || call.name === tool) && (group === undefined || call.groups?.some((asked) => sameName(asked, group)) === true)
  );
}

function oldestFirst(threads: readonly WorkflowExecutionInfo[]): WorkflowExecutionInfo[] {
  return [...threads].sort((a, b) => (waitingSince(a) < waitingSince(b) ? -1 : 1));
}

function waitingSince(info: WorkflowExecutionInfo): string {
  const since = attributeOf(info, 'AgentWaitingSince');
  return (since instanceof Date ? since : info.startTime).toISOString();
}

/** Asks threads, and does not wait for an absent worker where the server knows of none, nor for the same one again and again. */
class Asking {
  readonly #answered = new Set<string>();
  readonly #silent = new Set<string>();
  readonly #polled = new Map<string, Promise<boolean>>();

  constructor(readonly client: LonghaulClient) {}

  async of(info: WorkflowExecutionInfo): Promise<InboxItem[]> {
    const { workflowId: threadId, taskQueue } = info;
    const since = waitingSince(info);
    const agent = String(info.memo?.agent ?? attributeOf(info, 'AgentName') ?? '?');
    const status = attributeOf(info, 'AgentStatus') as InboxItem['status'];
    const item = { threadId, agent, status, since };
    const unasked = async () => [{ ...item, note: `no worker answers on task queue "${taskQueue}"${await this.#sentSince(threadId)}` }];
    if (this.#silent.has(taskQueue)) return unasked();
    try {
      if (!(await this.#isPolled(taskQueue))) return await unasked();
      const pending = await this.#ask(threadId);
      this.#answered.add(taskQueue);
      // None: it was answered meanwhile, and the index is a moment behind.
      return pending.map((call) => ({ ...item, since: call.since ?? since, call }));
    } catch (error) {
      const { code, message } = explain(threadId, 'pending', error) as LonghaulError;
      if (code === 'thread-not-found') return [];
      if (code !== 'no-worker') return [{ ...item, note: message }];
      if (!this.#answered.has(taskQueue)) this.#silent.add(taskQueue);
      return [{ ...item, note: `${message}${await this.#sentSince(threadId)}` }];
    }
  }

  /** Whether a worker has asked for work lately: minutes, so that one that has died is still among them. */
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

  /** The index knows nothing of what was sent to a thread and not taken by a worker yet; an answer may be among it. */
  async #sentSince(threadId: string): Promise<string> {
    const { temporal, options } = this.client;
    const describe = () => temporal.workflow.getHandle(threadId).describe();
    const asked = persist(temporal.connection, 'pending', describe, { awayMs: options.serverAwayMs });
    // One that is gone meanwhile is told by the next look.
    const waits = await asked.then(({ raw }) => Boolean(raw.pendingWorkflowTask)).catch(() => false);
    return waits ? '; something was sent to the thread, perhaps an answer, that waits for a worker, too' : '';
  }

  #ask(threadId: string): Promise<PendingCall[]> {
    const { temporal, options } = this.client;
    return askWorkflow(temporal, {
      threadId,
      query: queries.pending,
      args: [],
      what: 'pending',
      patienceMs: Math.min(options.requestTimeoutMs ?? patienceMs, patienceMs),
      awayMs: options.serverAwayMs,
    });
  }
}
