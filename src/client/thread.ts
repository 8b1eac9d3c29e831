import { createHash, randomBytes } from 'node:crypto';
import type { QueryDefinition } from '@temporalio/client';
import type { LonghaulClient } from '../client';
import { queries, type Receipt, type updates } from '../contract/requests';
import type { MessagesPage, StatusView, ThreadResult, UsageView } from '../contract/thread';
import { callDecidedBy, type SignableRequest } from '../core/attestation';
import type { ContextView } from '../core/context/view';
import { type AgentEvent, endStatus, type PendingCall } from '../core/event';
import type { Content, Message } from '../core/message';
import type { ToolQuestion } from '../core/questions';
import type { AnswerRequest, CancelRequest, CloseRequest, DecisionRequest, PauseRequest, SendRequest } from '../core/requests';
import { outcomeMark } from '../core/settling';
import type { MessageReceipt } from '../core/state';
import type { ToolOutput } from '../core/tool';
import { type Audit, auditOf } from './audit';
import { callToSign } from './call-to-sign';
import { checkedStatus, mustLead } from './checked-answers';
import { grpc, grpcCode, LonghaulError } from './errors';
import { type EventsOptions, readEvents } from './event-feed';
import { readLog } from './log-pages';
import { checkSchema, type ParsedResult, parsed, type StandardSchema } from './parse-output';
import { persist, persistForWorker } from './persist';
import { askWorkflow } from './query';
import { awaitResult, type ResultOptions } from './result';
import { signed } from './signer';
import { isClosed, whyStuck } from './stuck';
import { explain, noWorker, passesByItself } from './thread-errors';
import { type WholeOutput, wholeOutput } from './whole-output';

export interface Once {
  /**
   * Your own id for the request (letters, digits and `._:-`, at most 128). A request that is repeated under the same id is carried out once and
   * returns the same receipt; with different content it is refused. The thread remembers its newest 1,000 requests.
   */
  id?: string | undefined;
}

/** Who answers. */
export type Answer = Once & Pick<DecisionRequest, 'by' | 'groups'>;
export type Decision = Answer & Pick<DecisionRequest, 'reason'>;

/**
 * What the decision is about: the call as `pending` or `status` returned it, or its `digest` (to settle an outcome: `digest@since`). If something else
 * waits, the decision is refused.
 */
export interface Expecting {
  /** With a signer, give the call: then exactly what it says is signed, whatever the thread says meanwhile. */
  expect?: PendingCall | string | undefined;
}

export type Approval = Decision & Expecting & Pick<DecisionRequest, 'arguments' | 'remember' | 'more'>;
/** An answer to the question of a call. */
export type QuestionReply = Answer & Pick<AnswerRequest, 'action' | 'content'> & { question?: Pick<ToolQuestion, 'id'> | undefined };
export type Settling = Decision &
  Expecting &
  ({ outcome: 'done'; output: unknown } | { outcome: 'not-done' } | { outcome: 'failed'; reason: string });
export type Refusal = Decision & Expecting & Pick<DecisionRequest, 'stop'>;
/** `id` is the message's id: letters, digits and `._:-`, at most 128. */
export type SendOptions = Omit<SendRequest, 'input'>;

const lines = new Map<string, Promise<unknown>>();

/**
 * Sends the large requests of this process to a thread one after another. The answer of a workflow task repeats each request that arrived for it, and has
 * at most 4 MB: a worker could not answer several of them at once.
 */
async function oneByOne<T>(threadId: string, send: () => Promise<T>): Promise<T> {
  const sent = (lines.get(threadId) ?? Promise.resolve()).then(send);
  const over = sent.then(
    () => undefined,
    () => undefined,
  );
  lines.set(threadId, over);
  try {
    return await sent;
  } finally {
    if (lines.get(threadId) === over) lines.delete(threadId);
  }
}

/** One thread. Every method may be called from any process, at any time. */
export class Thread {
  constructor(
    readonly client: LonghaulClient,
    readonly id: string,
  ) {}

  /**
   * Sends a message. By default the run takes it in at its next turn. `delivery: 'now'` aborts the current model call; `'after-run'` begins the
   * next run of a conversation, and only then may the options override that run's model, settings, limits and tools. With `id`, the message is
   * taken in exactly once.
   */
  send(input: Content, options: SendOptions = {}): Promise<Receipt> {
    return this.#request('sendMessage', { input, ...options }, 'send');
  }

  /** The receipt of the message with this id. Null if no such message arrived, or if 200 others arrived after it. */
  receipt(id: string): Promise<MessageReceipt | null> {
    return this.#read('receipt', queries.receipt, { id });
  }

  /**
   * Approves a waiting call. `arguments` replace the model's arguments and are checked first. With `remember`, similar calls need no approval from
   * now on. With `expect`, the approval counts only if the waiting call is the expected one. For a limit: grants `more` of it, by default the
   * same amount again.
   */
  approve(toolCallId: string, decision: Approval = {}): Promise<Receipt> {
    return this.#decideOnCall({ toolCallId, approved: true, ...decision });
  }

  /** Rejects a waiting call. The rejection and its reason are sent to the model; with `stop` the run ends. For a limit: the limit takes effect. */
  reject(toolCallId: string, decision: Refusal = {}): Promise<Receipt> {
    return this.#decideOnCall({ toolCallId, approved: false, ...decision }, 'reject');
  }

  /** Answers a question. */
  answer(toolCallId: string, text: string, who: Answer = {}): Promise<Receipt> {
    return this.#decide({ name: 'submitToolOutputs', content: { outputs: [{ toolCallId, output: text }], ...who } }, 'answer');
  }

  /**
   * Answers the question of a call (`kind: 'tool-question'`): `accept`, the default, with the `content` of its form; `decline`; or `cancel`. With
   * `question`, as `pending` returned it, the answer counts only if the call still asks that.
   */
  answerQuestion(toolCallId: string, { question, ...answer }: QuestionReply = {}): Promise<Receipt> {
    const questionId = question?.id;
    return this.#decide({ name: 'answerQuestion', content: { toolCallId, ...answer, ...(questionId !== undefined && { questionId }) } });
  }

  /**
   * Settles a call whose outcome is unknown: `done` with what the tool would have returned; `not-done`, and it runs again with the same key; or
   * `failed` with a reason for the model. With `expect`, only if what waits is what was shown.
   */
  settle(toolCallId: string, { expect, ...settlement }: Settling): Promise<Receipt> {
    const shown = typeof expect === 'object' ? expect : undefined;
    const mark = typeof expect === 'object' ? outcomeMark(expect) : expect;
    return this.#decide(
      { name: 'settle', content: { toolCallId, ...settlement, ...(mark !== undefined && { expect: mark }) } },
      'settle',
      shown,
    );
  }

  /** Submits the outputs of tool calls that are executed outside. */
  submitToolOutputs(outputs: ToolOutput[], who: Answer = {}): Promise<Receipt> {
    return this.#decide({ name: 'submitToolOutputs', content: { outputs, ...who } });
  }

  /**
   * Cancels the run and aborts its running steps; with `runId`, only if it is the current run. If no worker is running, the server keeps the request
   * for the next worker, and the receipt has `seq` 0.
   */
  async cancel({ id = randomId(), ...words }: CancelRequest & Once = {}): Promise<Receipt> {
    const request = { ...words, id };
    try {
      return await this.#request('cancel', request);
    } catch (error) {
      if ((error as LonghaulError).code !== 'no-worker') throw error;
      // A cancel must take effect even if no worker is running now: the server keeps a signal for the next worker. It has the same id, because
      // the update may reach that worker, too.
      const { temporal, options } = this.client;
      const signal = () => temporal.workflow.getHandle(this.id).signal('cancel', request);
      await persist(temporal.connection, 'cancel', signal, { awayMs: options.serverAwayMs });
      return { accepted: true, seq: 0 };
    }
  }

  /** Pauses the run: no new model call or tool call begins until `resume`. Steps that are running finish. */
  pause(request: PauseRequest & Once = {}): Promise<Receipt> {
    return this.#request('pause', request);
  }

  resume(request: PauseRequest & Once = {}): Promise<Receipt> {
    return this.#request('resume', request);
  }

  /** Shortens the transcript: before the run's next turn or, between runs, in a separate run. */
  compact(request: PauseRequest & Once = {}): Promise<Receipt> {
    return this.#request('compact', request);
  }

  /** Ends a conversation once its run has ended. With `cancel` it also cancels the run. */
  close(request: CloseRequest & Once = {}): Promise<Receipt> {
    return this.#request('close', request);
  }

  /** Ends the thread and its run. It is not an error if the thread has already ended. From then on `send` rejects with `thread-closed`. */
  async destroy(request: Omit<CloseRequest, 'cancel'> & Once = {}): Promise<void> {
    try {
      await this.close({ ...request, cancel: true });
    } catch (error) {
      if (codeOf(error) === 'thread-closed') return;
      if ((error as LonghaulError).refusal !== 'already-closed') throw error;
      // The thread is closed, but its last run may still be in progress.
      if (await this.isRunning()) await this.cancel(request).catch((late) => this.#unlessOver(late));
    }
  }

  /** Yields events as they arrive, from any seq on. Ends with the run. See `EventsOptions`. */
  events(options: EventsOptions = {}): AsyncGenerator<AgentEvent> {
    return readEvents({ client: this.client.temporal, threadId: this.id, bus: this.client.options.bus }, options);
  }

  async status(): Promise<StatusView> {
    const status = checkedStatus(this.id, await this.#read('status', queries.status));
    return { ...status, pending: status.pending.map((call) => ({ ...call, agent: status.agent })) };
  }

  /** Whether the thread has a run that has not ended, including one that is about to begin, waits or is paused. */
  async isRunning(): Promise<boolean> {
    if (!(await this.#isOpen())) return false;
    const { status } = await this.status();
    return status !== 'idle' && !(Object.values(endStatus) as string[]).includes(status);
  }

  async isPaused(): Promise<boolean> {
    return (await this.#isOpen()) && (await this.status()).paused !== undefined;
  }

  /** The calls that wait for a person or another program. */
  async pending(): Promise<PendingCall[]> {
    return (await this.status()).pending;
  }

  /** Usage by model, tool and hook, and what is left of each limit. Also works after the thread has ended. */
  usage(): Promise<UsageView> {
    return this.#read('usage', queries.usage);
  }

  /** How full the model's context window is, what takes how much of it, and what would be shortened next. */
  context(): Promise<ContextView> {
    return this.#read('context', queries.context);
  }

  /**
   * Lists what was done and decided, oldest first: each model call with its usage, retries and their waits, each tool call, who decided what and
   * why, pauses, limits, errors. Also works after the thread has ended, as long as the server retains it. `limit`: the number of newest entries,
   * default 1,000.
   */
  async audit({ limit = 1_000 }: { limit?: number | undefined } = {}): Promise<Audit> {
    const { temporal, options } = this.client;
    const { events, missing } = await readLog(temporal, this.id, options.serverAwayMs);
    return auditOf(events, { limit, missing });
  }

  /**
   * The transcript as the model sees it, without the instructions. With `archived`, all messages of the thread as they were before any compaction,
   * read from the log: as long as the server retains the thread's earlier executions.
   */
  async messages({ archived = false }: { archived?: boolean | undefined } = {}): Promise<Message[]> {
    if (archived) return this.#archived();
    const all: Message[] = [];
    for (let from = 0; ; ) {
      const page: MessagesPage = await this.#read('messages', queries.messages, { from });
      all.push(...page.messages);
      if (!page.more) return all;
      mustLead(this.id, 'messages', page, from);
      from = page.next;
    }
  }

  /**
   * The whole output of a call: from the events if it is short, else from the artifact store.
   * @throws LonghaulError `output-unavailable`
   */
  async output(toolCallId: string): Promise<WholeOutput> {
    const { temporal, options, artifacts } = this.client;
    const { events } = await readLog(temporal, this.id, options.serverAwayMs);
    return wholeOutput(this.id, toolCallId, events, artifacts);
  }

  /** Deletes the outputs of the thread from the artifact store. The rest of the thread stays. */
  async deleteOutputs(): Promise<void> {
    await this.client.artifacts?.store.deleteThread(this.id);
  }

  /**
   * Waits for the end of a one-shot thread, or of the current run of a conversation. If a conversation is idle or has ended, returns the result of
   * its last run. Waits for an unavailable Temporal server without a limit. With `schema`, such as `agent.output`, also returns the parsed output.
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

  async #archived(): Promise<Message[]> {
    const { temporal, options } = this.client;
    const { events } = await readLog(temporal, this.id, options.serverAwayMs);
    return events.flatMap((event): Message[] => {
      if (event.type === 'thread.message.completed') return [event.data.message];
      return event.type === 'thread.message.created' && !event.data.inProgress ? [event.data.message] : [];
    });
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

  /**
   * A worker may show a state that the server then does not accept, because its workflow task completed too late and is repeated. A call that was
   * shown as waiting is then refused as not waiting yet, so the request is tried once more.
   */
  async #decide(request: SignableRequest, method?: string, shown?: PendingCall): Promise<Receipt> {
    try {
      return await this.#decideOnce(request, method, shown);
    } catch (error) {
      if ((error as LonghaulError).refusal !== 'not-waiting') throw error;
      const waiting = await this.pending().catch(() => []);
      if (!waiting.some(({ toolCallId }) => callsOf(request).includes(toolCallId))) throw error;
      return this.#decideOnce(request, method, shown);
    }
  }

  #decideOnCall({ expect, ...decision }: Omit<DecisionRequest, 'expect'> & Expecting, method?: string): Promise<Receipt> {
    const shown = typeof expect === 'object' ? expect : undefined;
    const digest = typeof expect === 'object' ? expect.digest : expect;
    return this.#decide({ name: 'approve', content: { ...decision, ...(digest !== undefined && { expect: digest }) } }, method, shown);
  }

  /**
   * With a signer, the request is signed for the current run and for the call that was shown, or for the one that waits now if none is given. A
   * signature for something else that was shown, such as a limit, names no call, and so approves none.
   */
  async #decideOnce(request: SignableRequest, method: string = request.name, shown?: PendingCall): Promise<Receipt> {
    const { name, content } = request;
    const { signer } = this.client.options;
    if (!signer) return this.#request(name, content, method);
    const { agent, runId, pending } = await this.status();
    const at = { threadId: this.id, agent: shown?.agent ?? agent, runId: runId ?? '' };
    if (name === 'answerQuestion') {
      const { question } = pending.find((call) => call.toolCallId === content.toolCallId) ?? {};
      const answer = { ...content, questionId: content.questionId ?? question?.id ?? '' };
      return this.#request(name, await signed(signer, { name, content: answer }, at), method);
    }
    const decided = callDecidedBy(request);
    const waiting =
      decided && (shown ? [shown] : pending).find((call) => call.kind === decided.kind && call.toolCallId === decided.toolCallId);
    const call = waiting && callToSign(this.id, waiting, name === 'approve' || name === 'settle' ? content.expect : undefined);
    return this.#request(name, await signed(signer, request, { ...at, ...(call && { call }) }), method);
  }

  /** `method`: the method name that error messages use. */
  async #request(name: keyof typeof updates, payload: object, method: string = name): Promise<Receipt> {
    const { temporal, options } = this.client;
    const json = JSON.stringify(payload) ?? '';
    const bytes = Buffer.byteLength(json);
    if (bytes > largestRequest) {
      throw new LonghaulError(
        'request-refused',
        `${method} was not sent to thread "${this.id}": it has ${bytes} bytes, and Temporal accepts at most 2 MiB. Store the content elsewhere and send a reference.`,
      );
    }
    // All tries have one id: if a request was accepted but its response was lost, neither the server nor (after continue-as-new) the thread
    // carries it out twice. If the caller gave an id, the update id also covers the content: the server answers a known update id without asking
    // the thread, but only the thread can refuse different content.
    // It is short because the history contains it five times.
    const updateId = (payload as Once).id ? createHash('sha256').update(`${name} ${json}`).digest('base64url').slice(0, 16) : randomId();
    const update = () => temporal.workflow.getHandle(this.id).executeUpdate<Receipt, [unknown]>(name, { args: [payload], updateId });
    const patience = { patienceMs: options.requestTimeoutMs ?? 10_000, awayMs: options.serverAwayMs, passes: passesByItself };
    try {
      const send = () => persistForWorker(temporal.connection, method, update, patience);
      return await (bytes > largeRequest ? oneByOne(this.id, send) : send());
    } catch (error) {
      throw await this.#explained(method, error, { asked: true });
    }
  }

  async #read<T, Args extends unknown[]>(what: string, query: QueryDefinition<T, Args>, ...args: Args): Promise<T> {
    const { temporal, options } = this.client;
    const patience = { patienceMs: options.requestTimeoutMs ?? 10_000, awayMs: options.serverAwayMs };
    try {
      return await askWorkflow(temporal, { threadId: this.id, query, args, what, ...patience });
    } catch (error) {
      throw await this.#explained(what, error);
    }
  }

  /** As `explain`. If no worker answers, asks the server whether workers fail. */
  async #explained(what: string, error: unknown, { asked = false } = {}): Promise<unknown> {
    const why = explain(this.id, what, error);
    const isUnanswered = codeOf(why) === 'no-worker';
    if (!isUnanswered && grpcCode(error) !== grpc.failedPrecondition) return why;
    const failure = await whyStuck({ client: this.client.temporal, threadId: this.id });
    if (!isUnanswered && failure === undefined) return why;
    const closed = await isClosed({ client: this.client.temporal, threadId: this.id });
    return noWorker(this.id, what, { cause: error, failure, asked, closed });
  }
}

/** The server answers a larger update with a failed workflow task and an unhelpful message. */
const largestRequest = 2_000_000;
/** A request of which a worker can answer ten in one workflow task, which is as many as a server passes on at the same time. */
const largeRequest = 300_000;

function randomId(): string {
  return randomBytes(9).toString('base64url');
}

function callsOf({ name, content }: SignableRequest): string[] {
  return name === 'submitToolOutputs' ? content.outputs.map(({ toolCallId }) => toolCallId) : [content.toolCallId];
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown } | undefined)?.code;
}
