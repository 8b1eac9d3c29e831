import type { AgentEvent, DurableEvent, DurableEventData, PendingCall, RunStatus } from '../event';
import { finalKinds, retryableKinds } from '../failure';
import type { JsonObject } from '../json';
import { type Content, type Message, type ToolCall, textOf, type Usage } from '../message';

/**
 * An event of AgentB (`@ulifeai/agentb`): its names, its fields, its order. `data` is that of docs/projections.md, by type.
 * `timestamp` is ISO 8601, UTC.
 */
export type AgentBEvent<T extends AgentBEventType = AgentBEventType> = {
  [K in T]: { type: K; timestamp: string; runId: string; threadId: string; data: AgentBEventData[K] };
}[T];

export interface AgentBEventData {
  'agent.run.created': { status: 'in_progress'; initialMessages: AgentBLLMMessage[] };
  'agent.run.status.changed': { previousStatus?: AgentBStatus; currentStatus: AgentBStatus; details?: string };
  'agent.run.step.created': { stepId: string; details: { turn: number; iterationInLoop: number } };
  /** With `metadata.inProgress` the shell of the message that the model is about to write; the same shell again begins it anew. */
  'thread.message.created': { message: AgentBMessage };
  'thread.message.delta': { messageId: string; delta: { contentChunk: string } | { toolCallsChunk: AgentBToolCall[] } };
  'thread.message.completed': { message: AgentBMessage };
  /** Not of AgentB, which left such a shell open for ever. */
  'thread.message.incomplete': { messageId: string; reason: string };
  'thread.run.step.tool_call.created': { stepId: string; toolCall: AgentBToolCall };
  'thread.run.step.tool_call.completed_by_llm': { stepId: string; toolCall: AgentBToolCall };
  /**
   * `status` tells a pause (`requires_action`) from the notice that tools are about to run by themselves (`in_progress`). `pending` is ours:
   * whatever waits, also what no tool output answers.
   */
  'thread.run.requires_action': {
    status: 'requires_action' | 'in_progress';
    required_action: { type: 'submit_tool_outputs'; submit_tool_outputs: { tool_calls: AgentBToolCall[] } };
    pending?: PendingCall[];
  };
  'agent.tool.execution.started': { stepId: string; toolCallId: string; toolName: string; input: Record<string, unknown> };
  'agent.tool.execution.completed': { stepId: string; toolCallId: string; toolName: string; result: AgentBToolResult };
  'thread.run.completed': { status: 'completed'; finalMessages: AgentBMessage[]; usage: AgentBUsage };
  'thread.run.failed': { status: 'failed' | 'expired'; error: AgentBError; usage: AgentBUsage };
  /** Not of AgentB, which ended a cancelled run without a word. */
  'thread.run.cancelled': { status: 'cancelled'; reason?: string; by?: string };
}

export type AgentBEventType = keyof AgentBEventData;
export type AgentBStatus = 'queued' | 'in_progress' | 'requires_action' | 'cancelling' | 'cancelled' | 'failed' | 'completed' | 'expired';
export type AgentBContent =
  | string
  | ({ type: 'text'; text: string } | { type: 'image_url'; image_url: { url: string; detail?: string } })[];

export interface AgentBToolCall {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
}

export interface AgentBLLMMessage {
  role: Message['role'];
  content: AgentBContent;
}

export interface AgentBMessage extends AgentBLLMMessage {
  id: string;
  threadId: string;
  createdAt: string;
  metadata: {
    runId: string;
    stepId?: string;
    inProgress?: true;
    tool_calls?: AgentBToolCall[];
    tool_call_id?: string;
    name?: string;
  };
}

export interface AgentBToolResult {
  success: boolean;
  data?: AgentBContent;
  error?: string;
  metadata: { toolName: string; status: string; errorName?: string; durationMs?: number; attempts?: number; background?: true };
}

export interface AgentBUsage {
  promptTokens: number;
  completionTokens: number;
  totalTokens: number;
}

export interface AgentBError {
  code: string;
  message: string;
  details?: JsonObject;
}

/** AgentB's word for a status. It knows no pause that asks for nothing. */
export function statusOf(status: RunStatus): AgentBStatus {
  if (status === 'paused') return 'in_progress';
  if (status === 'suspended') return 'requires_action';
  return status === 'incomplete' ? 'failed' : status;
}

type Trouble = DurableEvent<'thread.run.failed' | 'thread.run.incomplete' | 'thread.run.expired'>;

/** Why a run ended without an answer, as AgentB says it: a model provider's failure is an `LLMError`, whatever its kind. */
export function errorOf(event: Trouble, provider: string | undefined): AgentBError {
  if (event.type === 'thread.run.failed') {
    const { code, message, details } = event.data;
    const ofProvider = ([...retryableKinds, ...finalKinds] as string[]).includes(code);
    if (!ofProvider) return { code, message, ...(details && { details: { ...details } as unknown as JsonObject }) };
    const { status, model = '', ...rest } = details ?? {};
    const from = model.includes('/') ? model.slice(0, model.indexOf('/')) : provider;
    const known = { ...(status !== undefined && { statusCode: status }), ...(from && { provider: from }), errorType: code, ...rest };
    return { code: 'LLMError', message, details: known as unknown as JsonObject };
  }
  if (event.type === 'thread.run.incomplete') {
    const { limit, max, message } = event.data;
    return { code: 'limit_reached', message, details: { limit, max } };
  }
  return { code: event.data.reason, message: event.data.message };
}

export function usageOf({ inputTokens, outputTokens }: Usage): AgentBUsage {
  return { promptTokens: inputTokens, completionTokens: outputTokens, totalTokens: inputTokens + outputTokens };
}

export function messageOf({ timestamp, runId, threadId }: AgentEvent, message: Message, stepId: string | undefined): AgentBMessage {
  const metadata: AgentBMessage['metadata'] = { runId: runId ?? '', ...(stepId && { stepId }) };
  if (message.role === 'assistant' && message.toolCalls.length > 0) metadata.tool_calls = message.toolCalls.map(toolCallOf);
  if (message.role === 'tool') {
    metadata.tool_call_id = message.toolCallId;
    metadata.name = message.name;
  }
  const content = contentOf(message.role === 'assistant' ? message.refusal || message.content : message.content);
  return { id: message.id, threadId, role: message.role, content, createdAt: timestamp, metadata };
}

export function toolCallOf({ id, name, arguments: words }: ToolCall): AgentBToolCall {
  return { id, type: 'function', function: { name, arguments: words } };
}

export function contentOf(content: Content): AgentBContent {
  if (typeof content === 'string') return content;
  return content.map((part) =>
    part.type === 'text'
      ? { type: 'text', text: part.text }
      : { type: 'image_url', image_url: { url: part.url, ...(part.detail && { detail: part.detail }) } },
  );
}

export function resultOf(data: DurableEventData['agent.tool.execution.completed']): AgentBToolResult {
  const { name, status, output, error, durationMs, attempts, background, isError } = data;
  const metadata = {
    toolName: name,
    status,
    ...(error && { errorName: error.name }),
    ...(durationMs !== undefined && { durationMs }),
    ...(attempts && { attempts }),
    ...(background && { background }),
  };
  if (!isError) return { success: true, data: contentOf(output), metadata };
  return { success: false, error: error?.message ?? textOf(output).replace(/^Error: /, ''), metadata };
}

export function required(tool_calls: AgentBToolCall[]): AgentBEventData['thread.run.requires_action']['required_action'] {
  return { type: 'submit_tool_outputs', submit_tool_outputs: { tool_calls } };
}
