import { createHash, randomUUID } from 'node:crypto';
import { Client, Connection, type ConnectionOptions, type QueryDefinition, type WorkflowExecutionInfo } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { grpc, grpcCode, LonghaulError, wordsOf } from './client/errors';
import { type EventsOptions, readEvents } from './client/event-feed';
import { persist } from './client/persist';
import { askWorkflow } from './client/query';
import { awaitResult } from './client/result';
import { explain } from './client/thread-errors';
import { readConfig } from './config';
import { queries, type Receipt, type updates } from './contract/requests';
import {
  defaultTaskQueue,
  type MessagesPage,
  type StatusView,
  type ThreadInput,
  type ThreadResult,
  type UsageView,
  workflowType,
} from './contract/thread';
import type { AgentEvent, PendingCall } from './core/event';
import { excerpt } from './core/json';
import { type Content, type Message, textOf } from './core/message';
import { checkThreadInput } from './core/thread-input';
import type { ToolOutput } from './core/tool';
import type { StreamBus } from './stream/stream-bus';

export { LonghaulError, type LonghaulErrorCode } from './client/errors';
export type { EventsOptions } from './client/event-feed';

export interface ClientOptions {
  /** Where threads are started. Default LONGHAUL_TASK_QUEUE, else `longhaul`. */
  taskQueue?: string;
  /** The worker's own bus, where it is in this process: deltas then come at once instead of about twice a second. */
  bus?: StreamBus;
  /** How long a request may wait for a worker. Milliseconds, default 10,000. */
  requestTimeoutMs?: number;
}

export interface StartOptions extends Omit<ThreadInput, 'agent' | 'input'> {
  /** The thread's id. The same id with the same request attaches to the thread there is; with another it is refused. */
  id?: string;
  taskQueue?: string;
}

export interface Decision {
  by?: string;
  reason?: string;
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
    try {
      const temporal = await Connection.connect({ connectTimeout: '5s', ...connectionOptions });
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
    const wrong = checkThreadInput(request);
    if (wrong) throw new LonghaulError('invalid-input', `The thread was not started: ${wrong}`);
    const digest = digestOf(request);
    const task = textOf(input) || '(image)';
    try {
      await persist(this.temporal.connection, 'start', () =>
        this.temporal.workflow.start(workflowType, {
          workflowId: id,
          taskQueue,
          args: [request],
          memo: { agent: name, request: digest },
          staticSummary: excerpt(`${name}: ${task.replace(/\s+/g, ' ')}`, 180),
          ...(task.length > 160 && { staticDetails: excerpt(task, 4_000) }),
          workflowIdReusePolicy: 'REJECT_DUPLICATE',
          workflowTaskTimeout: '5s',
        }),
      );
    } catch (error) {
      if ((error as Error).name !== 'WorkflowExecutionAlreadyStartedError') throw error;
      await this.#mustBeSame(id, digest);
    }
    return this.attach(id);
  }

  /** A thread by its id. Asks nobody: one that does not exist is told by the first request. */
  attach(id: string): Thread {
    return new Thread(this, id);
  }

  /**
   * Threads, newest first. `query` is Temporal's list filter, added to ours.
   * @throws LonghaulError `invalid-input` (the server did not understand the filter)
   */
  async list({ query, limit = 50 }: { query?: string; limit?: number } = {}): Promise<ThreadSummary[]> {
    const filter = [`WorkflowType = '${workflowType}'`, ...(query ? [`(${query})`] : [])].join(' AND ');
    try {
      return await persist(this.temporal.connection, 'list', async () => {
        const threads: ThreadSummary[] = [];
        for await (const info of this.temporal.workflow.list({ query: filter, pageSize: Math.min(limit, 200) })) {
          threads.push(summaryOf(info));
          if (threads.length >= limit) break;
        }
        return threads;
      });
    } catch (cause) {
      if (grpcCode(cause) !== grpc.invalidArgument) throw cause;
      throw new LonghaulError('invalid-input', `list: the server did not understand the filter: ${wordsOf(cause)}`, undefined, { cause });
    }
  }

  async close(): Promise<void> {
    await this.temporal.connection.close();
  }

  async #mustBeSame(id: string, digest: string): Promise<void> {
    const { memo } = await persist(this.temporal.connection, 'start', () => this.temporal.workflow.getHandle(id).describe());
    if (memo?.request === digest) return;
    throw new LonghaulError(
      'thread-exists',
      `Thread "${id}" exists already and was started with another request. Choose another id, or attach to it.`,
    );
  }
}

/** One thread. Every method may be called from any process, at any time. */
export class Thread {
  constructor(
    readonly client: LonghaulClient,
    readonly id: string,
  ) {}

  /** Says something: taken in at the run's next turn, or as the next run of a conversation. With `id`, exactly once. */
  send(input: Content, options: { id?: string } = {}): Promise<Receipt> {
    return this.#request('sendMessage', { input, ...options });
  }

  /** Lets a waiting call run; with `arguments`, with other ones than the model's, which are checked first. */
  approve(toolCallId: string, decision: Decision & { arguments?: Record<string, unknown> } = {}): Promise<Receipt> {
    return this.#request('approve', { toolCallId, approved: true, ...decision });
  }

  /** Refuses a waiting call. The model is told, with the reason. */
  reject(toolCallId: string, decision: Decision = {}): Promise<Receipt> {
    return this.#request('approve', { toolCallId, approved: false, ...decision });
  }

  /** Answers calls of tools that are executed outside. */
  submitToolOutputs(outputs: ToolOutput[]): Promise<Receipt> {
    return this.#request('submitToolOutputs', { outputs });
  }

  /** Ends the run, aborting what it is doing. */
  cancel(request: { reason?: string; by?: string } = {}): Promise<Receipt> {
    return this.#request('cancel', request);
  }

  /** Ends a conversation once its run is over. */
  close(): Promise<Receipt> {
    return this.#request('close');
  }

  /** Events as they come, from any seq; ends with the run. See `EventsOptions`. */
  events(options: EventsOptions = {}): AsyncGenerator<AgentEvent> {
    return readEvents({ client: this.client.temporal, threadId: this.id, bus: this.client.options.bus }, options);
  }

  status(): Promise<StatusView> {
    return this.#read('status', queries.status);
  }

  /** What waits for a person or another program. */
  pending(): Promise<PendingCall[]> {
    return this.#read('pending', queries.pending);
  }

  usage(): Promise<UsageView> {
    return this.#read('usage', queries.usage);
  }

  /** The transcript as the model sees it, without the instructions. */
  async messages(): Promise<Message[]> {
    const all: Message[] = [];
    for (let from = 0; ; ) {
      const page: MessagesPage = await this.#read('messages', queries.messages, { from });
      all.push(...page.messages);
      if (!page.more) return all;
      from = page.next;
    }
  }

  /**
   * Waits for the end of a one-shot thread, or of the run that a conversation is in; of one that rests or is over, its last run's.
   * @throws LonghaulError `run-failed` (with `runCode`), `run-cancelled`, `thread-terminated`, `no-worker`
   */
  result(): Promise<ThreadResult> {
    return awaitResult(this);
  }

  async #request(name: keyof typeof updates, payload?: unknown): Promise<Receipt> {
    const { temporal, options } = this.client;
    const bytes = Buffer.byteLength(JSON.stringify(payload) ?? '');
    if (bytes > largestRequest) {
      throw new LonghaulError(
        'request-refused',
        `${name} was not sent to thread "${this.id}": it has ${bytes} bytes, of which Temporal takes 2 MiB. Store it elsewhere and send a reference.`,
      );
    }
    // One id for all tries: a request that was accepted while its answer got lost is not carried out twice.
    const updateId = randomUUID();
    try {
      return await persist(
        temporal.connection,
        name,
        () => temporal.workflow.getHandle(this.id).executeUpdate<Receipt, [unknown]>(name, { args: [payload], updateId }),
        options.requestTimeoutMs,
      );
    } catch (error) {
      throw explain(this.id, name, error);
    }
  }

  async #read<T, Args extends unknown[]>(what: string, query: QueryDefinition<T, Args>, ...args: Args): Promise<T> {
    const { temporal, options } = this.client;
    try {
      return await askWorkflow(temporal, { threadId: this.id, query, args, what, patienceMs: options.requestTimeoutMs ?? 10_000 });
    } catch (error) {
      throw explain(this.id, what, error);
    }
  }
}

/** The server answers a larger update with a failed workflow task, and in words that help nobody. */
const largestRequest = 2_000_000;

function summaryOf(info: WorkflowExecutionInfo): ThreadSummary {
  const attribute = (name: string) => info.searchAttributes?.[name]?.[0] as string | undefined;
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
  const sorted = JSON.stringify(value, (_, v) =>
    v && typeof v === 'object' && !Array.isArray(v) ? Object.fromEntries(Object.entries(v).sort(([a], [b]) => (a < b ? -1 : 1))) : v,
  );
  return createHash('sha256').update(sorted).digest('hex').slice(0, 32);
}
