import { randomUUID } from 'node:crypto';
import { ApplicationFailure } from '@temporalio/activity';
import type { Agent } from '../agents/define-agent';
import { type Activities, type CallModelRequest, failureTypes, type ModelStep, type StepProgress } from '../contract/activities';
import { type Message, noUsage, type ToolCall, type Usage } from '../core/message';
import type { Verdict } from '../core/tool';
import { type ModelAnswer, type ModelDelta, ModelFailure } from '../models/model';
import type { Toolbox } from '../tools/toolbox';
import { askThread } from './ask-thread';
import type { ActivityDependencies } from './dependencies';
import { runStep, type Step } from './step';
import { judgeFailure, toFailure } from './to-failure';

/** One request to the model: finds the transcript, streams the answer, judges its calls. Temporal retries it, with the waits that failures name. */
export function callModel(deps: ActivityDependencies): Activities['callModel'] {
  return async (request) => {
    const progress: StepProgress = { runId: request.runId, messageId: request.messageId, turn: request.turn, attempt: 1 };
    return runStep(
      deps.bus,
      () => progress,
      async (step) => {
        const failed = step.before?.failed ?? [];
        Object.assign(progress, { attempt: step.attempt, began: step.before?.began ?? Date.now(), ...(failed.length > 0 && { failed }) });
        const agent = deps.agents.get(request.agent);
        progress.maxAttempts = agent.retry.maxAttempts;
        const toolbox = await toolsOf(agent, step);
        const messages = await transcript(deps, request, step);
        const started = performance.now();
        try {
          const answer = await ask(deps, agent, toolbox, request, messages, step, progress);
          const durationMs = Math.round(performance.now() - started);
          const calls = await judge(toolbox, request, distinct(answer.toolCalls, messages));
          if (!request.closing) deposit(deps, request, answer, calls, step);
          const { text, refusal, finishReason, usage, opaque } = answer;
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
            ...(failed.length > 0 && { failed }),
            durationMs,
          };
        } catch (error) {
          if (step.signal.aborted) throw error;
          if (isModelFailure(error)) throw fail(agent, request, step, progress, error);
          // Nobody said that it passes: as it is, and at once.
          throw unclassified(error);
        }
      },
    );
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
  messages: Message[],
  step: Step,
  progress: StepProgress,
): Promise<ModelAnswer> {
  const { provider, model } = deps.models.resolve(request.model);
  const { closing, instructions: more, extraTools } = request;
  const text = await instructionsOf(agent, step);
  const prompt: Message[] = closing ? [{ id: request.messageId, role: 'user', content: closing.prompt }] : [];
  const answer = provider.call(
    {
      model,
      instructions: more ? `${text}\n\n${more}` : text,
      messages: closing ? [...messages, ...prompt] : messages,
      tools: closing ? [] : toolbox.specs(extraTools),
      ...(agent.answer && !closing && { answer: agent.answer.schema }),
      settings: { ...agent.settings, ...request.settings },
    },
    { signal: step.signal, onDelta: deltas(request, step, progress) },
  );
  return agent.emptyRetries === undefined ? answer : answer.catch(orEmpty);
}

/** Where an agent takes an empty answer for one, a stream with nothing in it is no failure. */
function orEmpty(error: unknown): ModelAnswer {
  if (!isModelFailure(error) || error.kind !== 'empty') throw error;
  return { text: '', toolCalls: [], finishReason: 'stop', usage: noUsage };
}

function costOf({ models, prices }: ActivityDependencies, name: string, usage: Usage): number | undefined {
  const { model, providerName = '' } = models.resolve(name);
  return prices.cost(model, providerName, usage);
}

/** Code of the user's, as the instructions are. */
async function toolsOf(agent: Agent, { threadId }: Step): Promise<Toolbox> {
  try {
    return await agent.toolsFor({ threadId });
  } catch (cause) {
    const words = (cause as Error | undefined)?.message ?? String(cause);
    // A registry that is down for a moment is up again for one of the next attempts.
    throw ApplicationFailure.retryable(`The tools of agent '${agent.name}' could not be had: ${words}`, 'tools-unavailable');
  }
}

/** Code of the user's: where it throws, another attempt would only throw again. */
async function instructionsOf({ name, instructions }: Agent, { threadId }: Step): Promise<string> {
  try {
    return typeof instructions === 'string' ? instructions : await instructions({ threadId, now: new Date() });
  } catch (cause) {
    const words = (cause as Error | undefined)?.message ?? String(cause);
    throw new ModelFailure('bad-request', `The instructions of agent '${name}' could not be made: ${words}`, {}, { cause });
  }
}

/** What heartbeats carry of a long text: its end, for whoever watches it grow. */
const longestSnapshot = 32_000;

function deltas({ runId, messageId, turn }: CallModelRequest, step: Step, progress: StepProgress): (delta: ModelDelta) => void {
  const { attempt } = step;
  let index = 0;
  return (delta) => {
    if (delta.type === 'text') progress.text = ((progress.text ?? '') + delta.text).slice(-longestSnapshot);
    step.publish('thread.message.delta', runId, {
      messageId,
      turn,
      attempt,
      index,
      ...(index === 0 && attempt > 1 && { restart: true }),
      ...content(delta),
    });
    index += 1;
  };
}

function content(delta: ModelDelta): object {
  if (delta.type === 'text') return { contentChunk: delta.text };
  if (delta.type === 'reasoning') return { reasoningChunk: delta.text };
  const { type: _, ...chunk } = delta;
  return { toolCallsChunk: [chunk] };
}

/**
 * Ids that no other call of the thread has. Some servers send none, or begin at `call_1` with every answer; an approval or an output
 * must name one call and no other.
 */
function distinct(calls: readonly ToolCall[], messages: readonly Message[]): ToolCall[] {
  const taken = new Set(messages.flatMap((m) => (m.role === 'assistant' ? m.toolCalls.map((call) => call.id) : [])));
  return calls.map((call) => {
    const fresh = call.id !== '' && !taken.has(call.id);
    const id = fresh ? call.id : `${call.id || 'call'}_${randomUUID().slice(0, 8)}`;
    taken.add(id);
    return { ...call, id };
  });
}

function judge(
  toolbox: Toolbox,
  { rules, extraTools }: CallModelRequest,
  calls: ToolCall[],
): Promise<{ call: ToolCall; verdict: Verdict }[]> {
  const options = { ...(rules && { rules }), ...(extraTools && { extraTools }) };
  return Promise.all(calls.map(async (call) => ({ call, verdict: await toolbox.judge(call, options) })));
}

/** Leaves the answer where the next model call on this worker finds it. */
function deposit(
  deps: ActivityDependencies,
  { messageId }: CallModelRequest,
  answer: ModelAnswer,
  calls: ModelStep['calls'],
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
  });
}

function fail(
  agent: Agent,
  { model, runId, turn }: CallModelRequest,
  step: Step,
  progress: StepProgress,
  failure: ModelFailure,
): ApplicationFailure {
  const before = progress.failed ?? [];
  // Not from when it was scheduled: a step that waited long for a worker has its whole window still.
  const elapsedMs = Date.now() - (progress.began ?? Date.now());
  const judged = judgeFailure(failure, { policy: agent.retry, before, elapsedMs, random: Math.random() });
  if (judged.again) {
    progress.failed = [...before, judged.attempt];
    delete progress.text;
    // The failures so far reach the next attempt, on whatever worker, in the heartbeat.
    step.beat();
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
  return toFailure(judged, before, model);
}

function unclassified(thrown: unknown): ApplicationFailure {
  const { name, message } = (typeof thrown === 'object' && thrown !== null ? thrown : {}) as Partial<Error>;
  return ApplicationFailure.create({
    message: message || String(thrown),
    type: name || 'Error',
    nonRetryable: true,
    ...(thrown instanceof Error && { cause: thrown }),
  });
}

/** By its shape: a provider of the user's may come with a copy of the class of its own. */
function isModelFailure(error: unknown): error is ModelFailure {
  return error instanceof ModelFailure || (error as Error | undefined)?.name === 'ModelFailure';
}
