import { ApplicationFailure } from '@temporalio/activity';
import type { Agent } from '../../agents/define-agent';
import { type CallModelRequest, failureTypes, type SummaryRequest } from '../../contract/activities';
import type { ModelSettings } from '../../core/agent';
import { type ContextMeasure, defaultReserve } from '../../core/context/budget';
import { compactionIn, type Message } from '../../core/message';
import type { ModelInfo } from '../../models/catalog/model-info';
import type { ModelAnswer, ModelRequest } from '../../models/model';
import { forModel } from '../../models/own-data';
import type { ResolvedModel } from '../../models/registry';
import { schemaWords } from '../../models/schema-words';
import type { Toolbox } from '../../tools/running/toolbox';
import type { ActivityDependencies } from './dependencies';
import { mustTakeTools, withinLimit, withoutUnreadable } from './known-limits';
import { countTokens, measureContext } from './measure-context';
import { summaryInput } from './summary-input';

/** What one model call sends. */
export interface ModelInput
  extends Pick<ModelRequest, 'instructions' | 'messages' | 'tools' | 'answer' | 'settings' | 'maxOutputTokens' | 'compaction'> {
  /** Whether the answer joins the transcript. Otherwise it is a closing text or a summary. */
  isTurn: boolean;
  to: ResolvedModel;
  window: Window;
}

type Window = Pick<ContextMeasure, 'windowTokens' | 'reserveTokens'>;

/** Returns what a call sends. Throws if the model takes no tools, or if the instructions and tools alone don't fit into its window. */
export function modelInput(
  deps: ActivityDependencies,
  agent: Agent,
  toolbox: Toolbox,
  request: CallModelRequest,
  { instructions: own, messages }: { instructions: string; messages: readonly Message[] },
): ModelInput {
  const { closing, summary, messageId: id } = request;
  const to = deps.models.resolve(request.model);
  const info = deps.catalog.describe(to.model, to.providerName);
  const { maxOutputTokens } = info;
  const instructions = request.instructions ? `${own}\n\n${request.instructions}` : own;
  const settings = withinLimit({ ...agent.settings, ...request.settings }, info);
  const window = windowOf(info, agent, to, settings);
  const always = { to, window, ...(maxOutputTokens !== undefined && { maxOutputTokens }) };
  const aside = { ...always, instructions, tools: [], isTurn: false };
  if (summary) {
    const input = summaryInput(messages, summary, { id, windowTokens: window.windowTokens, wanted: agent.context?.prompt });
    return { ...aside, messages: input, settings: withinLimit(summarySettings(settings, summary, to, info), info) };
  }
  const asked = {
    provider: to.providerName,
    family: to.family,
    tellOtherReasoning: settings.otherReasoning === 'text',
    readsCompactions: to.provider.compactsFrom?.(to.model) !== undefined,
  };
  const seen = withoutUnreadable(forModel(messages, asked, deps.models), to.model, info);
  if (closing) return { ...aside, messages: [...seen, { id, role: 'user', content: closing.prompt }], settings };
  const { toolChoice } = settings;
  const forced = typeof toolChoice === 'object' ? toolChoice.tool : undefined;
  const tools = toolbox.specs(request.extraTools, { loaded: request.loadedTools, forced });
  if (tools.length > 0) mustTakeTools(agent.name, to, info);
  mustFit(agent.name, { instructions, tools }, to.model, window);
  const compaction = compactionBy(to, agent, window);
  return {
    ...always,
    ...answerFormat(agent, instructions, info),
    messages: seen,
    tools,
    settings,
    isTurn: true,
    ...(compaction && { compaction }),
  };
}

/** Measures how full the model's window was at a call. */
export function contextOf({ instructions, tools, messages, to, window, compaction }: ModelInput, answer: ModelAnswer): ContextMeasure {
  const sent = { instructions, tools: tools.length > 0 ? JSON.stringify(tools) : '', messages };
  const measure = measureContext(to.model, sent, answer, window);
  if (!compaction) return measure;
  const missed = answer.usage.inputTokens > compaction.atTokens && !compactionIn(answer.parts);
  return { ...measure, compactsAt: compaction.atTokens, ...(missed && { uncompacted: true }) };
}

/** The schema that the answer must fit, for a model that is known not to take schemas in its instructions. */
function answerFormat({ answer }: Agent, instructions: string, { capabilities }: ModelInfo): Pick<ModelInput, 'instructions' | 'answer'> {
  if (!answer) return { instructions };
  if (capabilities.structuredOutput !== false) return { instructions, answer: answer.schema };
  return { instructions: [instructions, schemaWords(answer.schema)].filter(Boolean).join('\n\n') };
}

/** Where the window is not known. */
const usualCompactionTokens = 150_000;

/** When the provider is to compact the conversation; undefined if the agent doesn't want that, or if the provider can't for this model and window. */
function compactionBy({ provider, model }: ResolvedModel, { context }: Agent, window: Window): ModelRequest['compaction'] {
  const least = provider.compactsFrom?.(model);
  if (least === undefined || context?.compaction !== 'provider' || !context.auto) return undefined;
  const { windowTokens, reserveTokens = 0 } = window;
  const room = windowTokens === undefined ? Number.POSITIVE_INFINITY : windowTokens - reserveTokens;
  if (room < least) return undefined;
  const wanted = windowTokens === undefined ? usualCompactionTokens : Math.floor(room * context.compactAt);
  return { atTokens: Math.max(least, wanted), ...(context.prompt !== undefined && { prompt: context.prompt }) };
}

function windowOf(info: ModelInfo, { context }: Agent, { provider, model }: ResolvedModel, settings: ModelSettings): Window {
  const windowTokens = context?.windowTokens ?? info.windowTokens;
  if (windowTokens === undefined) return {};
  const answerTokens = provider.answerTokens?.(model, settings, info.maxOutputTokens) ?? settings.maxTokens;
  return { windowTokens, reserveTokens: context?.reserveTokens ?? defaultReserve(windowTokens, answerTokens) };
}

/** What a model that reasons may write in addition to the summary itself. */
const reasoningTokens = 16_000;

function summarySettings(
  { toolChoice: _, ...settings }: ModelSettings,
  { maxTokens }: SummaryRequest,
  { provider, model }: ResolvedModel,
  { capabilities }: ModelInfo,
): ModelSettings {
  const reasons = provider.reasons?.(model, settings) ?? capabilities.reasoning ?? false;
  return { ...settings, maxTokens: maxTokens + (reasons ? reasoningTokens : 0) };
}

function mustFit(agent: string, { instructions, tools }: Pick<ModelInput, 'instructions' | 'tools'>, model: string, window: Window): void {
  const { windowTokens = Number.POSITIVE_INFINITY } = window;
  // A token has at least one character in nearly all texts, so most requests need no count.
  const toolsJson = JSON.stringify(tools);
  if (instructions.length + toolsJson.length < windowTokens) return;
  const [ofInstructions, ofTools] = [countTokens(instructions, model), countTokens(toolsJson, model)];
  if (ofInstructions + ofTools < windowTokens) return;
  throw ApplicationFailure.nonRetryable(
    `The instructions (about ${ofInstructions} tokens) and the tools (about ${ofTools}) of agent '${agent}' don't fit into the context window of model '${model}' (${windowTokens}). Shorten them, or use a model with a larger window; if its window is not ${windowTokens}, set context.windowTokens.`,
    failureTypes.windowTooSmall,
  );
}
