import { createHash, randomUUID } from 'node:crypto';
import { Client, Connection, type ConnectionOptions } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { type ArtifactStore, Artifacts, artifactsAt } from './artifacts';
import { LonghaulError } from './client/errors';
import { findSuspended, findThread, runMeant } from './client/find-thread';
import { type InboxFilter, type InboxItem, readInbox } from './client/inbox';
import { agentOf, beginningsOf, listThreads, wordOf } from './client/list-filter';
import type { ListedThread } from './client/listed-threads';
import { persist } from './client/persist';
import { patientConnection } from './client/reach';
import { type ReopenOptions, reopen } from './client/reopen';
import type { DecisionSigner } from './client/signer';
import { type Once, type SendOptions, Thread } from './client/thread';
import { stopWatching } from './client/thread-watch';
import { readConfig } from './config';
import type { Receipt } from './contract/requests';
import { defaultTaskQueue, type ThreadInput, workflowType } from './contract/thread';
import { checkGivenId, checkThreadId } from './core/check-input';
import { unknownFields } from './core/closest';
import { taskDetails } from './core/details';
import { sortedJson } from './core/json';
import { type Content, textOf } from './core/message';
import type { CancelRequest } from './core/requests';
import { checkThreadInput } from './core/thread-input';
import { summary } from './core/views';
import { configuredEncoding, type EncodingOptions, outputKeys, payloadCodecs } from './encoding/encoding';
import type { StreamBus } from './stream/stream-bus';

export type { Audit, AuditEntry, AuditFact } from './client/audit';
export { LonghaulError, type LonghaulErrorCode } from './client/errors';
export type { EventsOptions } from './client/event-feed';
export type { InboxFilter, InboxItem } from './client/inbox';
export type { ParsedResult, StandardSchema } from './client/parse-output';
export type { ReopenOptions } from './client/reopen';
export type { ResultOptions } from './client/result';
export { createSigner, type DecisionSigner } from './client/signer';
export { type Answer, type Approval, type Decision, type Refusal, type SendOptions, Thread } from './client/thread';
export type { WholeOutput } from './client/whole-output';
export type { StatusView, ThreadResult, ThreadTotals, UsageView } from './contract/thread';
export type { RefusalCode } from './core/refusal';
export { type EncodingOptions, payloadCodecs } from './encoding/encoding';
export { type EncryptionKey, type KeyProvider, keysFromFile, keysFromText } from './encoding/key-provider';

export interface ClientOptions {
  /** The task queue on which threads are started. Default: LONGHAUL_TASK_QUEUE, or `longhaul`. */
  taskQueue?: string | undefined;
  /**
   * The worker's own bus, if the worker runs in this process: deltas then arrive immediately. Without it, they arrive as often as the worker puts
   * text into heartbeats (`WorkerOptions.liveTextMs`; by default never).
   */
  bus?: StreamBus | undefined;
  /** How long a request waits for a worker, in milliseconds. Default 10,000. */
  requestTimeoutMs?: number | undefined;
  /**
   * How long a request waits for an unavailable Temporal server, in milliseconds. Default 90,000. Event readers and `result()` wait without a
   * limit, until their signal is aborted.
   */
  serverAwayMs?: number | undefined;
  /** The artifact store of the workers, to read whole outputs. Default: the store that LONGHAUL_ARTIFACTS names, or else none. */
  artifacts?: ArtifactStore | undefined;
  /** As the workers': decodes payloads, unless you make the `Client` of Temporal yourself, and stored outputs. Default: as the environment defines it. */
  encoding?: EncodingOptions | undefined;
  /** Signs decisions, outputs and answers, for workers that require signatures. Default: nothing is signed. */
  signer?: DecisionSigner | undefined;
}

/** Every option, to detect misspelt ones. The compiler rejects missing and unknown ones here. */
const clientOptions: Record<keyof ClientOptions, true> = {
  taskQueue: true,
  bus: true,
  requestTimeoutMs: true,
  serverAwayMs: true,
  artifacts: true,
  encoding: true,
  signer: true,
};

export interface StartOptions extends Omit<ThreadInput, 'agent' | 'input' | 'reopens'> {
  /** The thread's id. If a thread with this id exists, the same request attaches to it; a different request is refused. Default: a random id. */
  id?: string | undefined;
  taskQueue?: string | undefined;
}

export interface ThreadSummary {
  id: string;
  agent: string;
  /** The status of the workflow in Temporal: RUNNING, COMPLETED, FAILED, CANCELLED, TERMINATED, … */
  execution: string;
  /** The thread's own status. Absent if the search attributes are not registered. */
  status?: string;
  pendingTool?: string;
  /** When the thread began, also if it was reopened since, as far as the server retains its first execution. */
  startedAt: Date;
  closedAt?: Date;
}

/** Starts and finds threads. Does not need the code of the agents. */
export class LonghaulClient {
  readonly taskQueue: string;
  readonly artifacts?: Artifacts;

  constructor(
    readonly temporal: Client,
    readonly options: ClientOptions = {},
  ) {
    const config = readConfig();
    this.taskQueue = options.taskQueue ?? config.taskQueue ?? defaultTaskQueue;
    const store = options.artifacts ?? (config.artifacts === undefined ? undefined : artifactsAt(config.artifacts));
    if (store) this.artifacts = new Artifacts(store, undefined, outputKeys(options.encoding ?? configuredEncoding()));
  }

  /**
   * Connects to the server that the standard Temporal environment variables name. `connection` and `namespace` override them.
   * @throws LonghaulError `unreachable`, within about 5 s
   */
  static async connect(
    options: ClientOptions & { connection?: ConnectionOptions | undefined; namespace?: string | undefined } = {},
  ): Promise<LonghaulClient> {
    const { connection, namespace, ...rest } = options;
    const [unknown] = unknownFields(rest, Object.keys(clientOptions));
    if (unknown) throw new TypeError(`LonghaulClient.connect: ${unknown}`);
    const encoding = rest.encoding ?? configuredEncoding();
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
      const client = new Client({
        connection: temporal,
        namespace: namespace ?? environment.namespace ?? 'default',
        dataConverter: { payloadCodecs: payloadCodecs(encoding) },
      });
      return new LonghaulClient(client, { ...rest, encoding });
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
   * Starts a thread. Safe to repeat with the same `id`. Needs no running worker: the thread begins when one is available.
   * @throws LonghaulError `invalid-input`, `thread-exists` (a thread with this id was started with a different request), `unreachable`
   */
  async start(agent: string | { name: string }, input: Content, options: StartOptions = {}): Promise<Thread> {
    const { id = `thread_${randomUUID().slice(0, 13)}`, taskQueue = this.taskQueue, ...settings } = options;
    const name = typeof agent === 'string' ? agent : agent.name;
    const request: ThreadInput = { agent: name, input, ...settings };
    const wrong = checkThreadId(id) ?? checkThreadInput(request);
    if (wrong) throw new LonghaulError('invalid-input', `The thread was not started: ${wrong}`);
    const digest = digestOf(request);
    const task = textOf(input) || '(no text)';
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
   * Returns the thread with this id. Sends no request: if the thread does not exist, its first request rejects.
   * @throws LonghaulError `invalid-input` (the id is blank)
   */
  attach(id: string): Thread {
    const wrong = checkGivenId("the thread's id", id);
    if (wrong) throw new LonghaulError('invalid-input', `attach: ${wrong}`);
    return new Thread(this, id);
  }

  /**
   * Reopens a closed conversation: it has its transcript, settings and sums again, and its events continue. Resolves when it accepts messages.
   * Safe to repeat: a conversation that is open stays as it is.
   * @throws LonghaulError `thread-not-found` (also after the namespace's retention period), `not-reopenable`, `no-worker`
   */
  reopen(id: string, options: ReopenOptions = {}): Promise<Thread> {
    return reopen(this, id, options);
  }

  /**
   * Lists threads, newest first. `query` is a list filter of Temporal, and is combined with the filter for threads. `limit`: default 50.
   * @throws LonghaulError `invalid-input` (the filter is blank, or the server did not understand it), `search-attributes-missing`
   */
  async list({ query, limit = 50 }: { query?: string | undefined; limit?: number | undefined } = {}): Promise<ThreadSummary[]> {
    const found = await listThreads(this, { what: 'list', limit, ...(query !== undefined && { filter: query }) });
    const began = await beginningsOf(
      this,
      'list',
      found.map(({ workflowId }) => workflowId),
    );
    return Promise.all(found.map((info) => summaryOf(info, began.get(info.workflowId))));
  }

  /**
   * Finds a thread by its id, by the id of a run, or by the correlation id of a suspension. The latter two are looked up in Temporal's index. The
   * index lags by a moment, has only the newest run of each thread, and can't find an id with a double quote or a backslash.
   * @throws LonghaulError `run-not-found`, `invalid-input` (the id is blank), `search-attributes-missing`
   */
  findThread(id: string): Promise<Thread> {
    return findThread(this, id);
  }

  /** Cancels a run, by its id or the id of its thread. @throws LonghaulError `run-not-found`, and the errors of `Thread.cancel` */
  async cancel(id: string, request: Omit<CancelRequest, 'runId'> & Once = {}): Promise<Receipt> {
    const thread = await findThread(this, id);
    const runId = await runMeant(thread, id);
    return thread.cancel({ ...request, ...(runId && { runId }) });
  }

  /**
   * Replies to a suspended run, which then continues.
   * @throws LonghaulError `run-not-found` (no thread waits for this reply), `invalid-input` (several threads do, or the id is blank), `search-attributes-missing`
   */
  async reply(correlationId: string, input: Content, options: Omit<SendOptions, 'correlationId'> = {}): Promise<Receipt> {
    const thread = await findSuspended(this, correlationId);
    return thread.send(input, { ...options, correlationId });
  }

  /**
   * Lists everything in all threads that waits for a person or a reply, oldest first. Temporal's index says which threads wait; each of them is
   * queried for its pending calls. A thread whose worker is not running is listed without `call`, with a note.
   * @throws LonghaulError `invalid-input` (a name in the filter is blank), `search-attributes-missing`
   */
  pending(filter: InboxFilter = {}): Promise<InboxItem[]> {
    return readInbox(this, filter);
  }

  /** Closes the connection. Pending event readers and `result()` calls reject. */
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

async function summaryOf(info: ListedThread, began = info.startTime): Promise<ThreadSummary> {
  const status = wordOf(info, 'status');
  const pendingTool = wordOf(info, 'pendingTool');
  return {
    id: info.workflowId,
    agent: await agentOf(info),
    execution: info.status,
    ...(status && { status }),
    ...(pendingTool && { pendingTool }),
    startedAt: began,
    ...(info.closeTime && { closedAt: info.closeTime }),
  };
}

/** Identifies a request, independent of the order of its keys. */
function digestOf(value: unknown): string {
  return createHash('sha256')
    .update(sortedJson(value) ?? '')
    .digest('hex')
    .slice(0, 32);
}
