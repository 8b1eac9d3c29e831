import { createHash, randomUUID } from 'node:crypto';
import { Client, Connection, type ConnectionOptions, type WorkflowExecutionInfo } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { LonghaulError } from './client/errors';
import { findSuspended, findThread, runMeant } from './client/find-thread';
import { type InboxFilter, type InboxItem, readInbox } from './client/inbox';
import { attributeOf, listThreads } from './client/list-filter';
import { persist } from './client/persist';
import { patientConnection } from './client/reach';
import type { DecisionSigner } from './client/signer';
import { type Once, type SendOptions, Thread } from './client/thread';
import { stopWatching } from './client/thread-watch';
import { readConfig } from './config';
import type { Receipt } from './contract/requests';
import { defaultTaskQueue, type ThreadInput, workflowType } from './contract/thread';
import { checkGivenId, checkThreadId } from './core/check-input';
import { taskDetails } from './core/details';
import { sortedJson } from './core/json';
import { type Content, textOf } from './core/message';
import type { CancelRequest } from './core/requests';
import { checkThreadInput } from './core/thread-input';
import { summary } from './core/views';
import type { StreamBus } from './stream/stream-bus';

export type { Audit, AuditEntry, AuditFact } from './client/audit';
export { LonghaulError, type LonghaulErrorCode } from './client/errors';
export type { EventsOptions } from './client/event-feed';
export type { InboxFilter, InboxItem } from './client/inbox';
export type { ParsedResult, StandardSchema } from './client/parse-output';
export type { ResultOptions } from './client/result';
export { createSigner, type DecisionSigner } from './client/signer';
export { type Answer, type Approval, type Decision, type Refusal, type SendOptions, Thread } from './client/thread';

export interface ClientOptions {
  /** Where threads are started. Default LONGHAUL_TASK_QUEUE, else `longhaul`. */
  taskQueue?: string;
  /** The worker's own bus, where it is in this process: deltas then come at once instead of about twice a second. */
  bus?: StreamBus;
  /** How long a request may wait for a worker. Milliseconds, default 10,000. */
  requestTimeoutMs?: number;
  /**
   * How long a request waits for a Temporal server that is away. Milliseconds, default 90,000. Readers of events and `result()` wait until
   * they are told to stop.
   */
  serverAwayMs?: number;
  /** Signs decisions, outputs and answers, for workers that take no others. Default: none is signed. */
  signer?: DecisionSigner;
}

export interface StartOptions extends Omit<ThreadInput, 'agent' | 'input'> {
  /** The thread's id. The same id with the same request attaches to the thread there is; with another it is refused. */
  id?: string;
  taskQueue?: string;
}

export interface ThreadSummary {
  id: string;
  agent: string;
  /** Temporal's word for the workflow: RUNNING, COMPLETED, FAILED, CANCELLED, TERMINATED, … */
  execution: string;
  /** Ours, where the search attributes are registered. */
  status?: string;
  pendingTool?: string;
  startedAt: Date;
  closedAt?: Date;
}

/** Starts threads and finds them again. Needs no code of the agents. */
export class LonghaulClient {
  readonly taskQueue: string;

  constructor(
    readonly temporal: Client,
    readonly options: ClientOptions = {},
  ) {
    this.taskQueue = options.taskQueue ?? readConfig().taskQueue ?? defaultTaskQueue;
  }

  /** Connects where the standard Temporal environment points, or where `connection` says. Rejects within about 5 s with `unreachable`. */
  static async connect(options: ClientOptions & { connection?: ConnectionOptions; namespace?: string } = {}): Promise<LonghaulClient> {
    const { connection, namespace, ...rest } = options;
    const environment = loadClientConnectConfig();
    const connectionOptions = { ...environment.connectionOptions, ...connection };
    const address = connectionOptions.address ?? 'localhost:7233';
    const patient = patientConnection();
    try {
      const temporal = await Connection.connect({
        connectTimeout: '5s',
        ...patient.options,
        ...connectionOptions,
        channelArgs: { ...patient.options.channelArgs, ...connectionOptions.channelArgs },
      });
      patient.belongsTo(temporal);
      return new LonghaulClient(new Client({ connection: temporal, namespace: namespace ?? environment.namespace ?? 'default' }), rest);
    } catch (cause) {
      throw new LonghaulError(
        'unreachable',
        `Temporal can't be reached at ${address}. Start one ("longhaul dev") or set TEMPORAL_ADDRESS.`,
        undefined,
        { cause },
      );
    }
  }

  /**
   * Starts a thread. Safe to repeat with the same `id`. Needs no worker: the thread begins when one is up.
   * @throws LonghaulError `invalid-input`, `thread-exists` (the id is taken by another request), `unreachable`
   */
  async start(agent: string | { name: string }, input: Content, options: StartOptions = {}): Promise<Thread> {
    const { id = `thread_${randomUUID().slice(0, 13)}`, taskQueue = this.taskQueue, ...settings } = options;
    const name = typeof agent === 'string' ? agent : agent.name;
    const request: ThreadInput = { agent: name, input, ...settings };
    const wrong = checkThreadId(id) ?? checkThreadInput(request);
    if (wrong) throw new LonghaulError('invalid-input', `The thread was not started: ${wrong}`);
    const digest = digestOf(request);
    const task = textOf(input) || '(image)';
    try {
      const begin = () =>
        this.temporal.workflow.start(workflowType, {
          workflowId: id,
          taskQueue,
          args: [request],
          memo: { agent: name, request: digest },
          staticSummary: summary(`${name}: ${task.slice(0, 500)}`),
          staticDetails: taskDetails(task),
          workflowIdReusePolicy: 'REJECT_DUPLICATE',
          workflowTaskTimeout: '5s',
        });
      await persist(this.temporal.connection, 'start', begin, { awayMs: this.options.serverAwayMs });
    } catch (error) {
      if ((error as Error).name !== 'WorkflowExecutionAlreadyStartedError') throw error;
      await this.#mustBeSame(id, digest);
    }
    return this.attach(id);
  }

  /**
   * A thread by its id. Asks nobody: one that does not exist is told by the first request.
   * @throws LonghaulError `invalid-input` (the id is blank)
   */
  attach(id: string): Thread {
    const wrong = checkGivenId("the thread's id", id);
    if (wrong) throw new LonghaulError('invalid-input', `attach: ${wrong}`);
    return new Thread(this, id);
  }

  /**
   * Threads, newest first. `query` is Temporal's list filter, added to ours.
   * @throws LonghaulError `invalid-input` (the filter is blank, or the server did not understand it), `search-attributes-missing`
   */
  async list({ query, limit = 50 }: { query?: string; limit?: number } = {}): Promise<ThreadSummary[]> {
    const found = await listThreads(this, { what: 'list', limit, ...(query !== undefined && { filter: query }) });
    return found.map(summaryOf);
  }

  /**
   * A thread by its id, by the id of a run, or by the correlation id of a suspension. The latter two are looked up in the index, which is
   * a moment behind, knows of each thread its newest run, and finds no id with a double quote or a backslash.
   * @throws LonghaulError `run-not-found`, `invalid-input` (the id is blank), `search-attributes-missing`
   */
  findThread(id: string): Promise<Thread> {
    return findThread(this, id);
  }

  /** Ends a run, by its id or its thread's. @throws LonghaulError `run-not-found`, and as `Thread.cancel` */
  async cancel(id: string, request: Omit<CancelRequest, 'runId'> & Once = {}): Promise<Receipt> {
    const thread = await findThread(this, id);
    const runId = await runMeant(thread, id);
    return thread.cancel({ ...request, ...(runId && { runId }) });
  }

  /**
   * Replies to a suspension: the thread that rests for it goes on.
   * @throws LonghaulError `run-not-found` (nothing waits for this reply), `invalid-input` (several threads do, or the id is blank), `search-attributes-missing`
   */
  async reply(correlationId: string, input: Content, options: Omit<SendOptions, 'correlationId'> = {}): Promise<Receipt> {
    const thread = await findSuspended(this, correlationId);
    return thread.send(input, { ...options, correlationId });
  }

  /**
   * What waits for someone in all threads, oldest first. The index tells which threads wait, each of them what for; one for which no worker
   * is up is listed without `call`, and with a note.
   * @throws LonghaulError `invalid-input` (a name in the filter is blank), `search-attributes-missing`
   */
  pending(filter: InboxFilter = {}): Promise<InboxItem[]> {
    return readInbox(this, filter);
  }

  /** Readers and `result()` that are under way reject. */
  async close(): Promise<void> {
    stopWatching(this.temporal);
    await this.temporal.connection.close();
  }

  async #mustBeSame(id: string, digest: string): Promise<void> {
    const describe = () => this.temporal.workflow.getHandle(id).describe();
    const { memo } = await persist(this.temporal.connection, 'start', describe, { awayMs: this.options.serverAwayMs });
    if (memo?.request === digest) return;
    throw new LonghaulError(
      'thread-exists',
      `Thread "${id}" exists already and was started with another request. Choose another id, or attach to it.`,
    );
  }
}

function summaryOf(info: WorkflowExecutionInfo): ThreadSummary {
  const attribute = (name: 'AgentName' | 'AgentStatus' | 'AgentPendingTool') => attributeOf(info, name) as string | undefined;
  const status = attribute('AgentStatus');
  const pendingTool = attribute('AgentPendingTool');
  return {
    id: info.workflowId,
    agent: String(info.memo?.agent ?? attribute('AgentName') ?? '?'),
    execution: info.status.name,
    ...(status && { status }),
    ...(pendingTool && { pendingTool }),
    startedAt: info.startTime,
    ...(info.closeTime && { closedAt: info.closeTime }),
  };
}

/** Tells requests apart, whatever the order of their keys. */
function digestOf(value: unknown): string {
  return createHash('sha256')
    .update(sortedJson(value) ?? '')
    .digest('hex')
    .slice(0, 32);
}
