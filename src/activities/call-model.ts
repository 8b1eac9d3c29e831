import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { ApplicationFailure } from '@temporalio/activity';
import type { Agent } from '../agents/define-agent';
import { type Activities, type CallModelRequest, failureTypes, type ModelStep, type StepProgress } from '../contract/activities';
import { bounds } from '../core/bounds';
import { type CallIds, callIds } from '../core/call-ids';
import { type Message, noUsage, type ToolCall, type Usage } from '../core/message';
import { grownText } from '../core/text';
import { factsOfThrown, messageOfThrown } from '../core/thrown';
import type { Verdict } from '../core/tool';
import { addWaste, charactersOf } from '../core/waste';
import type { ModelAnswer, ModelDelta, ModelFailure } from '../models/model';
import { soundAnswer, soundFailure } from '../models/sound-answer';
import type { Toolbox } from '../tools/toolbox';
import { agentOf } from './agent-of';
import { answerCap } from './answer-cap';
import { askThread } from './ask-thread';
import { withDigest } from './call-digest';
import type { ActivityDependencies } from './dependencies';
import { runStep, type Step } from './step';
import { type Tally, tally } from './tally';
import { judgeFailure, toFailure } from './to-failure';

/** One attempt at a call, while it goes on. */
interface Attempt {
  step: Step;
  progress: StepProgress;
  spent: Tally;
  /** Shows readers what arrives, and counts it. */
  show: ((delta: ModelDelta) => void) & { count: number };
}

/** One request to the model: finds the transcript, streams the answer, judges its calls. Temporal retries it, with the waits that failures name. */
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
      const toolbox = await toolsOf(agent, step);
      const messages = await transcript(deps, request, step);
      const ids = callIds(messages, request.transcript.epoch, () => randomBytes(6).toString('hex'));
      const instructions = await instructionsOf(agent, step);
      spent = tally(step.before, step.attempt, (usage) => costOf(deps, request.model, usage));
      const attempt: Attempt = { step, progress, spent, show: deltas(request, ids, step, progress) };
      const started = performance.now();
      try {
        const answer = await ask(deps, agent, toolbox, request, { instructions, messages }, attempt);
        const durationMs = Math.round(performance.now() - started);
        const workspace = resolve(agent.workspace ?? deps.workspace);
        const calls = await judge(agent, toolbox, request, workspace, ids.assign(answer.toolCalls), step);
        const token = randomBytes(4).toString('hex');
        if (!request.closing) deposit(deps, request, answer, calls, token, step);
        const { text, refusal, finishReason, usage, opaque } = answer;
        const wasted = spent.wasted();
        const costUsd = costOf(deps, request.model, usage);
        const problems = agent.answer && !request.closing && calls.length === 0 ? await agent.answer.problems(text) : [];
        return {
          text,
          ...(refusal && { refusal }),
          calls,
          finishReason,
          usage,
          ...(costUsd !== undefined && { costUsd }),
          ...(problems.length > 0 && { problems }),
          ...(opaque && { opaque }),
          attempt: step.attempt,
          token,
          ...(failed.length > 0 && { failed }),
          ...(wasted && { wasted }),
          durationMs,
        };
      } catch (error) {
        if (step.signal.aborted) throw error;
        if (isModelFailure(error)) throw fail(agent, request, attempt, soundFailure(error));
        // Nobody said that it passes: as it is, and at once.
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
    message: `The transcript could not be had from the thread's workflow (from message ${found.missingFrom} on)`,
    type: failureTypes.transcriptUnavailable,
    // Not for the same input: the workflow passes what is missing with the next.
    nonRetryable: true,
    details: [found.missingFrom],
  });
}

async function ask(
  deps: ActivityDependencies,
  agent: Agent,
  toolbox: Toolbox,
  request: CallModelRequest,
  { instructions: own, messages }: { instructions: string; messages: Message[] },
  { step, spent, show }: Attempt,
): Promise<ModelAnswer> {
  const { provider, model } = deps.models.resolve(request.model);
  const { closing, instructions: more, extraTools } = request;
  const cap = answerCap(step.signal);
  const prompt: Message[] = closing ? [{ id: request.messageId, role: 'user', content: closing.prompt }] : [];
  const instructions = more ? `${own}\n\n${more}` : own;
  const tools = closing ? [] : toolbox.specs(extraTools);
  const asked = provider.call(
    {
      model,
      instructions,
      messages: closing ? [...messages, ...prompt] : messages,
      tools,
      ...(agent.answer && !closing && { answer: agent.answer.schema }),
      settings: { ...agent.settings, ...request.settings },
    },
    {
      signal: cap.signal,
      onDelta(delta) {
        cap.count(delta);
        spent.heard(delta);
        show(delta);
      },
    },
  );
  spent.asked(() => instructions.length + charactersOf([...messages, ...prompt]) + JSON.stringify(tools).length);
  const answer = soundAnswer(await (agent.emptyRetries === undefined ? asked : asked.catch(orEmpty)));
  spent.told(answer.usage);
  return answer;
}

/** Where an agent takes an empty answer for one, a stream with nothing in it is no failure. */
function orEmpty(error: unknown): ModelAnswer {
  if (!isModelFailure(error) || error.kind !== 'empty') throw error;
  return { text: '', toolCalls: [], finishReason: 'stop', usage: noUsage };
}

function costOf({ models, prices }: ActivityDependencies, name: string, usage: Usage): number | undefined {
  const { model, providerName = '' } = models.resolve(name);
  const cost = prices.cost(model, providerName, usage);
  // Prices may be the user's: what can't be added up would stand in every sum from then on.
  return cost !== undefined && cost >= 0 && cost <= bounds.answerUsd ? cost : undefined;
}

/** Code of the user's, as the instructions are. */
async function toolsOf(agent: Agent, { threadId }: Step): Promise<Toolbox> {
  try {
    return await agent.toolsFor({ threadId });
  } catch (cause) {
    const words = messageOfThrown(cause);
    // A registry that is down for a moment is up again for one of the next attempts.
    throw ApplicationFailure.retryable(`The tools of agent '${agent.name}' could not be had: ${words}`, 'tools-unavailable');
  }
}

/** Code of the user's: where it throws, another attempt would only throw again. */
async function instructionsOf({ name, instructions }: Agent, { threadId }: Step): Promise<string> {
  try {
    return typeof instructions === 'string' ? instructions : await instructions({ threadId, now: new Date() });
  } catch (cause) {
    const { name: type, message: words } = factsOfThrown(cause);
    // The name of what was thrown is the code of the failed run.
    throw ApplicationFailure.nonRetryable(`The instructions of agent '${name}' could not be made: ${words}`, type);
  }
}

/** What heartbeats carry of a long text at least: so much of its end, for whoever watches it grow. */
const longestSnapshot = 16_000;

function deltas({ runId, messageId, turn }: CallModelRequest, ids: CallIds, step: Step, progress: StepProgress): Attempt['show'] {
  const { attempt } = step;
  const show = (delta: ModelDelta) => {
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

function content(delta: ModelDelta, ids: CallIds): object {
  if (delta.type === 'text') return { contentChunk: delta.text };
  if (delta.type === 'reasoning') return { reasoningChunk: delta.text };
  const { type: _, id, ...chunk } = delta;
  return { toolCallsChunk: [{ ...chunk, ...(id !== undefined && { id: ids.of(id) }) }] };
}

function judge(
  agent: Agent,
  toolbox: Toolbox,
  { rules, extraTools }: CallModelRequest,
  workspace: string,
  calls: ToolCall[],
  { threadId }: Step,
): Promise<{ call: ToolCall; verdict: Verdict }[]> {
  const mayBeAsked = agent.hooks?.ids()['approve:tool'] !== undefined;
  const options = { mayBeAsked, workspace, ...(rules && { rules }), ...(extraTools && { extraTools }) };
  const judged = calls.map(async (call) => ({ call, verdict: withDigest(threadId, call, await toolbox.judge(call, options), mayBeAsked) }));
  return Promise.all(judged);
}

/** Leaves the answer where the next model call on this worker finds it. */
function deposit(
  deps: ActivityDependencies,
  { messageId }: CallModelRequest,
  answer: ModelAnswer,
  calls: ModelStep['calls'],
  token: string,
  step: Step,
): void {
  const { text, refusal, opaque } = answer;
  deps.transcripts.deposit(step.threadId, {
    id: messageId,
    role: 'assistant',
    content: text,
    toolCalls: calls.map(({ call }) => call),
    ...(refusal && { refusal }),
    ...(opaque && { opaque }),
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
  // Not from when it was scheduled: a step that waited long for a worker has its whole window still.
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

/** By its shape: a provider of the user's may come with a copy of the class of its own. */
function isModelFailure(error: unknown): error is ModelFailure {
  return factsOfThrown(error).name === 'ModelFailure';
}
