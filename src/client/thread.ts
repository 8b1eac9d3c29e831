import { createHash, randomBytes } from 'node:crypto';
import type { QueryDefinition } from '@temporalio/client';
import type { LonghaulClient } from '../client';
import { queries, type Receipt, type updates } from '../contract/requests';
import type { MessagesPage, StatusView, ThreadResult, UsageView } from '../contract/thread';
import type { SignableRequest } from '../core/attestation';
import { type AgentEvent, endStatus, type PendingCall } from '../core/event';
import type { Content, Message } from '../core/message';
import type { CancelRequest, CloseRequest, DecisionRequest, PauseRequest, SendRequest } from '../core/requests';
import type { MessageReceipt } from '../core/state';
import type { ToolOutput } from '../core/tool';
import { type Audit, auditOf } from './audit';
import { LonghaulError } from './errors';
import { type EventsOptions, readEvents } from './event-feed';
import { readLog } from './log-pages';
import { checkSchema, type ParsedResult, parsed, type StandardSchema } from './parse-output';
import { persist, persistForWorker } from './persist';
import { askWorkflow } from './query';
import { awaitResult, type ResultOptions } from './result';
import { signed } from './signer';
import { explain, noWorker, passesByItself } from './thread-errors';

export interface Once {
  /**
   * Of your own (letters, digits and `._:-`, at most 128): asked again under the same id, it is carried out once and answered alike; with
   * another content it is refused. Remembered among the newest 1,000 requests of the thread.
   */
  id?: string;
}

/** Who answers for it. */
export type Answer = Once & Pick<DecisionRequest, 'by' | 'groups'>;
export type Decision = Answer & Pick<DecisionRequest, 'reason'>;
export type Approval = Decision & Pick<DecisionRequest, 'arguments' | 'remember' | 'more' | 'expect'>;
export type Refusal = Decision & Pick<DecisionRequest, 'stop' | 'expect'>;
/** `id` is the message's own: letters, digits and `._:-`, at most 128. */
export type SendOptions = Omit<SendRequest, 'input'>;

/** One thread. Every method may be called from any process, at any time. */
export class Thread {
  constructor(
    readonly client: LonghaulClient,
    readonly id: string,
  ) {}

  /**
   * Says something. By `delivery`: at the run's next turn (default), `now`, which gives the model call under way up, or `after-run`, as the
   * next run of a conversation; only the last may say what that run is to do differently. With `id`, exactly once.
   */
  send(input: Content, options: SendOptions = {}): Promise<Receipt> {
    return this.#request('sendMessage', { input, ...options }, 'send');
  }

  /** What became of a message, by its id; null where none of this id came, or 200 other messages since. */
  receipt(id: string): Promise<MessageReceipt | null> {
    return this.#read('receipt', queries.receipt, { id });
  }

  /**
   * Lets a waiting call run; with `arguments`, with other ones than the model's, which are checked first; with `remember`, calls like it
   * need no approval any more; with `expect`, only what the pending call's `digest` stood for, also where another waits under that id by now.
   * Of a limit that is asked about: grants `more` of it, or as much again.
   */
  approve(toolCallId: string, decision: Approval = {}): Promise<Receipt> {
    return this.#decide({ name: 'approve', content: { toolCallId, approved: true, ...decision } });
  }

  /** Refuses a waiting call. The model is told, with the reason; with `stop` the run ends. Of a limit: it is at its end. */
  reject(toolCallId: string, decision: Refusal = {}): Promise<Receipt> {
    return this.#decide({ name: 'approve', content: { toolCallId, approved: false, ...decision } }, 'reject');
  }

  /** Answers a question. */
  answer(toolCallId: string, text: string, who: Answer = {}): Promise<Receipt> {
    return this.#decide({ name: 'submitToolOutputs', content: { outputs: [{ toolCallId, output: text }], ...who } }, 'answer');
  }

  /** Answers calls of tools that are executed outside. */
  submitToolOutputs(outputs: ToolOutput[], who: Answer = {}): Promise<Receipt> {
    return this.#decide({ name: 'submitToolOutputs', content: { outputs, ...who } });
  }

  /**
   * Ends the run, aborting what it is doing; with `runId`, only if it is this one. Where no worker is up to take it, the server keeps it for
   * the next, and the receipt has `seq` 0.
   */
  async cancel({ id = randomId(), ...words }: CancelRequest & Once = {}): Promise<Receipt> {
    const request = { ...words, id };
    try {
      return await this.#request('cancel', request);
    } catch (error) {
      if ((error as LonghaulError).code !== 'no-worker') throw error;
      // Who cancels wants it to hold, also where nobody is up to take it: the server keeps a signal for the next worker. Under the same id:
      // the update may reach that worker, too.
      const { temporal, options } = this.client;
      const signal = () => temporal.workflow.getHandle(this.id).signal('cancel', request);
      await persist(temporal.connection, 'cancel', signal, { awayMs: options.serverAwayMs });
      return { accepted: true, seq: 0 };
    }
  }

  /** Nothing new begins, neither a model call nor a tool, until it is resumed. What is under way ends. */
  pause(request: PauseRequest & Once = {}): Promise<Receipt> {
    return this.#request('pause', request);
  }

  resume(request: PauseRequest & Once = {}): Promise<Receipt> {
    return this.#request('resume', request);
  }

  /** Shortens the transcript: before the run's next turn, or at rest by a run that does nothing else. */
  compact(request: PauseRequest & Once = {}): Promise<Receipt> {
    return this.#request('compact', request);
  }

  /** Ends a conversation once its run is over; with `cancel` the run, too. */
  close(request: CloseRequest & Once = {}): Promise<Receipt> {
    return this.#request('close', request);
  }

  /** Ends the thread and what it is doing. One that has ended already is no error. From then on `send` is refused as `thread-closed`. */
  async destroy(request: Omit<CloseRequest, 'cancel'> & Once = {}): Promise<void> {
    try {
      await this.close({ ...request, cancel: true });
    } catch (error) {
      if (codeOf(error) === 'thread-closed') return;
      if (codeOf(error) !== 'request-refused') throw error;
      // Closed already, and its last run may go on.
      if (await this.isRunning()) await this.cancel(request).catch((late) => this.#unlessOver(late));
    }
  }

  /** Events as they come, from any seq; ends with the run. See `EventsOptions`. */
  events(options: EventsOptions = {}): AsyncGenerator<AgentEvent> {
    return readEvents({ client: this.client.temporal, threadId: this.id, bus: this.client.options.bus }, options);
  }

  status(): Promise<StatusView> {
    return this.#read('status', queries.status);
  }

  /** Whether a run is under way or about to begin, at work or at rest. */
  async isRunning(): Promise<boolean> {
    if (!(await this.#isOpen())) return false;
    const { status } = await this.status();
    return status !== 'idle' && !(Object.values(endStatus) as string[]).includes(status);
  }

  async isPaused(): Promise<boolean> {
    return (await this.#isOpen()) && (await this.status()).paused !== undefined;
  }

  /** What waits for a person or another program. */
  pending(): Promise<PendingCall[]> {
    return this.#read('pending', queries.pending);
  }

  /** What was spent, by model, tool and hook, and what is left of each limit; also when the thread is over. */
  usage(): Promise<UsageView> {
    return this.#read('usage', queries.usage);
  }

  /**
   * What was done and decided, oldest first: each model call with its usage, retries and their waits, each tool call, who decided what and
   * why, pauses, limits, errors. Also when the thread is over, for as long as the server keeps it. `limit`: the newest so many, default 1,000.
   */
  async audit({ limit = 1_000 }: { limit?: number } = {}): Promise<Audit> {
    const { temporal, options } = this.client;
    const { events, missing } = await readLog(temporal, this.id, options.serverAwayMs);
    return auditOf(events, { limit, missing });
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
   * Waits for the end of a one-shot thread, or of the run that a conversation is in; of one that rests or is over, its last run's. Waits out
   * a Temporal server that is away, however long. With `schema`, such as `agent.output`, the output comes parsed, too.
   * @throws LonghaulError `run-failed` (with `runCode`), `run-cancelled`, `run-expired`, `thread-terminated`, `no-worker`; with `schema` also
   * `output-invalid` (the output does not fit it)
   */
  result<Value>(options: ResultOptions & { schema: StandardSchema<Value> }): Promise<ParsedResult<Value>>;
  result(options?: ResultOptions): Promise<ThreadResult>;
  async result({ schema, ...options }: ResultOptions & { schema?: StandardSchema<unknown> } = {}): Promise<ThreadResult> {
    if (schema) checkSchema(schema);
    const result = await awaitResult(this, options);
    return schema ? parsed(this.id, schema, result) : result;
  }

  async #unlessOver(error: unknown): Promise<void> {
    if (codeOf(error) !== 'thread-closed' && (await this.isRunning())) throw error;
  }

  async #isOpen(): Promise<boolean> {
    const { temporal, options } = this.client;
    try {
      const describe = () => temporal.workflow.getHandle(this.id).describe();
      const { status } = await persist(temporal.connection, 'status', describe, { awayMs: options.serverAwayMs });
      return status.name === 'RUNNING';
    } catch (error) {
      throw explain(this.id, 'status', error);
    }
  }

  /** With a signer, what is sent is signed for the run as it is now, and for the call that was expected, else as it is now. */
  async #decide(request: SignableRequest, method: string = request.name): Promise<Receipt> {
    const { name, content } = request;
    const { signer } = this.client.options;
    if (!signer) return this.#request(name, content, method);
    const { runId, pending } = await this.status();
    const shown = () => (name === 'approve' ? pending.find(({ toolCallId }) => toolCallId === content.toolCallId)?.digest : undefined);
    const digest = (name === 'approve' && content.expect) || shown();
    const at = { threadId: this.id, runId: runId ?? '', ...(digest && { digest }) };
    return this.#request(name, await signed(signer, request, at), method);
  }

  /** `method`: by whose name errors speak of it. */
  async #request(name: keyof typeof updates, payload: object, method: string = name): Promise<Receipt> {
    const { temporal, options } = this.client;
    const json = JSON.stringify(payload) ?? '';
    const bytes = Buffer.byteLength(json);
    if (bytes > largestRequest) {
      throw new LonghaulError(
        'request-refused',
        `${method} was not sent to thread "${this.id}": it has ${bytes} bytes, of which Temporal takes 2 MiB. Store it elsewhere and send a reference.`,
      );
    }
    // One id for all tries: a request that was accepted while its answer got lost is not carried out twice, by the server nor, where the
    // thread went on in a new execution meanwhile, by the thread. With an id of the caller's it stands for the content, too: the server
    // answers an update whose id it knows without asking the thread, which refuses another content.
    // Short, because the history has it five times.
    const updateId = (payload as Once).id ? createHash('sha256').update(`${name} ${json}`).digest('base64url').slice(0, 16) : randomId();
    const update = () => temporal.workflow.getHandle(this.id).executeUpdate<Receipt, [unknown]>(name, { args: [payload], updateId });
    const patience = { patienceMs: options.requestTimeoutMs ?? 10_000, awayMs: options.serverAwayMs, passes: passesByItself };
    try {
      return await persistForWorker(temporal.connection, method, update, patience);
    } catch (error) {
      const why = explain(this.id, method, error);
      throw codeOf(why) === 'no-worker' ? noWorker(this.id, method, error, { asked: true }) : why;
    }
  }

  async #read<T, Args extends unknown[]>(what: string, query: QueryDefinition<T, Args>, ...args: Args): Promise<T> {
    const { temporal, options } = this.client;
    const patience = { patienceMs: options.requestTimeoutMs ?? 10_000, awayMs: options.serverAwayMs };
    try {
      return await askWorkflow(temporal, { threadId: this.id, query, args, what, ...patience });
    } catch (error) {
      throw explain(this.id, what, error);
    }
  }
}

/** The server answers a larger update with a failed workflow task, and in words that help nobody. */
const largestRequest = 2_000_000;

function randomId(): string {
  return randomBytes(9).toString('base64url');
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown } | undefined)?.code;
}
