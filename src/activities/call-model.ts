import { createHash, randomBytes } from 'node:crypto';
import { ApplicationFailure } from '@temporalio/activity';
import type { Agent } from '../agents/define-agent';
import { type Activities, type CallModelRequest, failureTypes, type StepProgress } from '../contract/activities';
import { bounds } from '../core/bounds';
import { type CallIds, callIds } from '../core/call-ids';
import { type AnswerPart, countedUsage, type Message, noUsage, type ToolCall, textOf, toolCallsOf, type Usage } from '../core/message';
import { grownText } from '../core/text';
import { factsOfThrown, messageOfThrown } from '../core/thrown';
import type { Verdict } from '../core/tool';
import { addWaste, charactersOf } from '../core/waste';
import type { ModelAnswer, ModelDelta, ModelFailure } from '../models/model';
import { soundAnswer, soundFailure } from '../models/sound-answer';
import type { Toolbox } from '../tools/running/toolbox';
import { untilAbandoned } from '../tools/running/until-abandoned';
import { agentOf } from './steps/agent-of';
import { answerCap } from './steps/answer-cap';
import { archive } from './steps/archive';
import { askThread } from './steps/ask-thread';
import { withDigest } from './steps/call-digest';
import type { ActivityDependencies } from './steps/dependencies';
import { contextOf, type ModelInput, modelInput } from './steps/model-input';
import { runStep, type Step } from './steps/step';
import { withoutMedia, withStoredMedia } from './steps/stored-media';
import { type Tally, tally } from './steps/tally';
import { judgeFailure, toFailure } from './steps/to-failure';
import { workspaceOf } from './steps/workspace-of';

/** What readers see of an answer while it is streamed. */
type ShownDelta = Exclude<ModelDelta, { type: 'compaction' }>;

/** One attempt at a model call while it runs. */
interface Attempt {
  step: Step;
  progress: StepProgress;
  spent: Tally;
  /** Publishes each delta to readers, and counts the deltas. */
  show: ((delta: ShownDelta) => void) & { count: number };
}

/** Makes one request to the model: reads the transcript, streams the answer, judges its calls. Temporal retries it after each failure's wait. */
export function callModel(deps: ActivityDependencies): Activities['callModel'] {
  return async (request) => {
    const progress: StepProgress = { runId: request.runId, messageId: request.messageId, turn: request.turn, attempt: 1 };
    let spent: Tally | undefined;
    return runStep(deps, { progress: () => ({ ...progress, ...spent?.soFar() }), earlier: request.earlier }, async (step) => {
      const failed = step.before?.failed ?? [];
      Object.assign(progress, { attempt: step.attempt, began: step.before?.began ?? Date.now(), ...(failed.length > 0 && { failed }) });
      const before = addWaste(step.before?.wasted, step.before?.spending);
      if (before) progress.wasted = before;
      const agent = agentOf(deps.agents, request.agent, step);
      progress.maxAttempts = agent.retry.maxAttempts;
      const toolbox = await toolsOf(deps, agent, step);
      const messages = await withStoredMedia(await transcript(deps, request, step), step.threadId, deps.artifacts);
      const ids = callIds(messages, request.transcript.epoch, () => randomBytes(6).toString('hex'));
      const workspace = await workspaceOf(agent, deps, step.threadId);
      const instructions = await instructionsOf(agent, step, workspace, messages);
      spent = tally(step.before, step.attempt, (usage) => costOf(deps, request.model, usage));
      const attempt: Attempt = { step, progress, spent, show: deltas(request, ids, step, progress) };
      const started = performance.now();
      try {
        const input = modelInput(deps, agent, toolbox, request, { instructions, messages });
        const answer = await askWithoutRefusedMedia(agent, input, request, attempt);
        const durationMs = Math.round(performance.now() - started);
        const parts = withIds(answer.parts, ids);
        const calls = toolCallsOf(parts);
        const sent = input.tools.map(({ name }) => name);
        const verdicts = await judge(agent, toolbox, { ...request, sent }, workspace, calls, step);
        const token = randomBytes(4).toString('hex');
        const { isTurn } = input;
        if (isTurn) deposit(deps, request, parts, token, step);
        const { finishReason, usage } = answer;
        const wasted = spent.wasted();
        const costUsd = costOf(deps, request.model, usage);
        const problems = agent.answer && isTurn && calls.length === 0 ? await agent.answer.problems(textOf(parts)) : [];
        const archiveRef = request.summary
          ? await archive(deps.artifacts, toolbox, messages.slice(0, request.summary.end), step.threadId)
          : undefined;
        return {
          parts,
          verdicts,
          finishReason,
          usage: countedUsage(usage),
          ...(costUsd !== undefined && { costUsd }),
          ...(isTurn && { context: contextOf(input, answer) }),
          ...(archiveRef && { archiveRef }),
          ...(problems.length > 0 && { problems }),
          ...(step.attempt > 1 && { attempt: step.attempt }),
          token,
          ...(failed.length > 0 && { failed }),
          ...(wasted && { wasted }),
          durationMs,
        };
      } catch (error) {
        if (step.signal.aborted || error instanceof ApplicationFailure) throw error;
        const failure = modelFailureOf(error);
        if (failure) throw fail(agent, request, attempt, failure);
        // An unknown error is not known to be temporary, so it is not retried.
        throw unclassified(error);
      }
    });
  };
}

async function transcript(deps: ActivityDependencies, request: CallModelRequest, step: Step): Promise<Message[]> {
  for (const message of request.said ?? []) deps.transcripts.deposit(step.threadId, message);
  const found = await deps.transcripts.read(step.threadId, request.transcript, askThread(step.threadId, step.execution), request.inline);
  if ('messages' in found) return found.messages;
  throw ApplicationFailure.create({
    message: `The transcript could not be read from the thread's workflow (from message ${found.missingFrom} on)`,
    type: failureTypes.transcriptUnavailable,
    // Not retried with the same input: the workflow schedules the call again with the missing messages.
    nonRetryable: true,
    details: [found.missingFrom],
  });
}

/**
 * If the provider refuses a request with images or files, they are left out and the request is repeated: an image that the provider can't decode,
 * which a tool or a service returned, would otherwise make it refuse every later request of the thread.
 */
async function askWithoutRefusedMedia(agent: Agent, input: ModelInput, request: CallModelRequest, attempt: Attempt): Promise<ModelAnswer> {
  try {
    return await ask(agent, input, request, attempt);
  } catch (error) {
    const failure = modelFailureOf(error);
    const isRefused = failure?.kind === 'bad-request' && attempt.show.count === 0 && !attempt.step.signal.aborted;
    const messages = isRefused && withoutMedia(input.messages, () => 'the provider refused the request with it');
    if (!messages) throw error;
    return ask(agent, { ...input, messages }, request, attempt);
  }
}

async function ask(
  agent: Agent,
  { isTurn, instructions, messages, tools, answer: answerSchema, settings, maxOutputTokens, compaction, to }: ModelInput,
  { summary }: CallModelRequest,
  { step, spent, show }: Attempt,
): Promise<ModelAnswer> {
  const cap = answerCap(step.signal);
  const asked = to.provider.call(
    {
      model: to.model,
      instructions,
      messages,
      tools,
      ...(agent.hostedTools.length > 0 && isTurn && { hostedTools: agent.hostedTools }),
      ...(answerSchema && { answer: answerSchema }),
      settings,
      ...(maxOutputTokens !== undefined && { maxOutputTokens }),
      ...(compaction && { compaction }),
      cacheKey: cacheKeyOf(step.threadId),
    },
    {
      signal: cap.signal,
      onDelta(delta) {
        cap.count(delta);
        spent.heard(delta);
        // Readers would take the text for the assistant's.
        if (!summary && delta.type !== 'compaction') show(delta);
      },
    },
  );
  spent.asked(() => instructions.length + charactersOf(messages) + JSON.stringify(tools).length);
  const answered = untilAbandoned(asked, cap.signal, graceMs, () => {
    throw cap.signal.reason;
  });
  const answer = soundAnswer(await (agent.emptyRetries === undefined ? answered : answered.catch(orEmpty)));
  spent.told(answer.usage);
  return answer;
}

/** The thread's id, if it is not longer than OpenAI accepts. */
function cacheKeyOf(threadId: string): string {
  return threadId.length <= 64 ? threadId : createHash('sha256').update(threadId).digest('hex');
}

/** How long a provider may take to stop after its signal is aborted. One of the user's may ignore it: the run must be cancelled all the same. */
const graceMs = 1_000;

/** For agents with `emptyRetries`: an empty stream is an empty answer, not a failure. */
function orEmpty(error: unknown): ModelAnswer {
  if (!isModelFailure(error) || error.kind !== 'empty') throw error;
  return { parts: [], finishReason: 'stop', usage: noUsage };
}

function costOf({ models, catalog }: ActivityDependencies, name: string, usage: Usage): number | undefined {
  const { model, providerName } = models.resolve(name);
  const cost = catalog.cost(model, providerName, usage);
  // The catalog may be user code: an invalid number would spoil every later sum.
  return cost !== undefined && cost >= 0 && cost <= bounds.answerUsd ? cost : undefined;
}

/** Returns the agent's tools. User code may supply them; if it throws, the attempt is retried. */
async function toolsOf({ outputTools = [] }: ActivityDependencies, agent: Agent, { threadId }: Step): Promise<Toolbox> {
  try {
    return await agent.toolsFor({ threadId, outputTools });
  } catch (cause) {
    const words = messageOfThrown(cause);
    // A tool registry that is down may be available again for a later attempt.
    throw ApplicationFailure.retryable(`The tools of agent '${agent.name}' could not be loaded: ${words}`, 'tools-unavailable');
  }
}

/** Returns the agent's instructions. User code may supply them; if it throws, the call fails without retries, because it would throw again. */
async function instructionsOf(
  { name, instructions }: Agent,
  { threadId }: Step,
  workspace: string,
  messages: readonly Message[],
): Promise<string> {
  try {
    if (typeof instructions === 'string') return instructions;
    const toolCalls = messages.flatMap((message) => (message.role === 'assistant' ? toolCallsOf(message.content) : []));
    return await instructions({ threadId, now: new Date(), workspace, toolCalls });
  } catch (cause) {
    const { name: type, message: words } = factsOfThrown(cause);
    // The error's name becomes the code of the failed run.
    throw ApplicationFailure.nonRetryable(`The instructions of agent '${name}' could not be made: ${words}`, type);
  }
}

/** Minimum number of characters of a long text's end that heartbeats contain, for readers. */
const longestSnapshot = 16_000;

function deltas({ runId, messageId, turn }: CallModelRequest, ids: CallIds, step: Step, progress: StepProgress): Attempt['show'] {
  const { attempt } = step;
  const show = (delta: ShownDelta) => {
    const index = show.count++;
    if (delta.type === 'text') progress.text = grownText(progress.text ?? '', delta.text, longestSnapshot);
    step.publish('thread.message.delta', runId, {
      messageId,
      turn,
      attempt,
      index,
      ...(index === 0 && attempt > 1 && { restart: true }),
      ...content(delta, ids),
    });
  };
  show.count = 0;
  return show;
}

function content(delta: ShownDelta, ids: CallIds): object {
  if (delta.type === 'text') return { contentChunk: delta.text };
  if (delta.type === 'reasoning') return { reasoningChunk: delta.text };
  const { type: _, id, ...chunk } = delta;
  return { toolCallsChunk: [{ ...chunk, ...(id !== undefined && { id: ids.of(id) }) }] };
}

/** Gives the calls of the answer ids that are unique in the thread. */
function withIds(parts: readonly AnswerPart[], ids: CallIds): AnswerPart[] {
  const calls = ids.assign(toolCallsOf(parts)).values();
  return parts.map((part) => (part.type === 'tool-call' ? { ...part, ...(calls.next().value as ToolCall) } : part));
}

function judge(
  agent: Agent,
  toolbox: Toolbox,
  { rules, extraTools, sent }: CallModelRequest & { sent: string[] },
  workspace: string,
  calls: ToolCall[],
  { threadId }: Step,
): Promise<Verdict[]> {
  const mayBeAsked = agent.hooks?.ids()['approve:tool'] !== undefined;
  const repositories = new Map<string, boolean>();
  const options = { threadId, mayBeAsked, workspace, sent, repositories, ...(rules && { rules }), ...(extraTools && { extraTools }) };
  return Promise.all(calls.map(async (call) => withDigest(threadId, call, await toolbox.judge(call, options), mayBeAsked)));
}

/** Adds the answer to the cache, for the next model call on this worker. */
function deposit(
  deps: ActivityDependencies,
  { messageId, model }: CallModelRequest,
  content: AnswerPart[],
  token: string,
  step: Step,
): void {
  deps.transcripts.deposit(step.threadId, {
    id: messageId,
    role: 'assistant',
    content,
    model,
    attempt: step.attempt,
    token,
  });
}

function fail(
  agent: Agent,
  { model, runId, turn }: CallModelRequest,
  { step, progress, spent, show }: Attempt,
  failure: ModelFailure,
): ApplicationFailure {
  spent.failed(failure);
  const before = progress.failed ?? [];
  // Counted from the first attempt, not from scheduling: waiting for a worker does not use up the retry window.
  const elapsedMs = Date.now() - (progress.began ?? Date.now());
  const judged = judgeFailure(failure, { policy: agent.retry, before, elapsedMs, random: Math.random(), partial: show.count > 0 });
  if (judged.again) {
    progress.failed = [...before, judged.attempt];
    delete progress.text;
    step.publish('agent.llm.retry', runId, {
      turn,
      nextAttempt: before.length + 2,
      maxAttempts: agent.retry.maxAttempts,
      delayMs: judged.attempt.waitMs ?? 0,
      delaySource: judged.attempt.waitSource ?? 'backoff',
      failureKind: failure.kind,
      message: failure.message,
    });
  }
  const { wasted, spending } = spent.soFar();
  return toFailure(judged, { before, model, wasted: addWaste(wasted, spending) });
}

function unclassified(thrown: unknown): ApplicationFailure {
  const { name, message, stack = '' } = factsOfThrown(thrown);
  return Object.assign(ApplicationFailure.nonRetryable(message, name), { stack });
}

/** `undefined` for another error, also for one whose fields throw when they are read. */
function modelFailureOf(error: unknown): ModelFailure | undefined {
  try {
    return isModelFailure(error) ? soundFailure(error) : undefined;
  } catch {
    return undefined;
  }
}

/** Recognized by name, because a user's provider may contain its own copy of the class. */
function isModelFailure(error: unknown): error is ModelFailure {
  return factsOfThrown(error).name === 'ModelFailure';
}
