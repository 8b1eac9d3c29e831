import type { AgentEvent, DurableEvent, DurableEventData, PendingCall, RunStatus } from '../../core/event';
import { finalKinds, retryableKinds } from '../../core/failure';
import type { JsonObject } from '../../core/json';
import {
  type Content,
  fileWords,
  type Message,
  type Part,
  shownContent,
  type ToolCall,
  textOf,
  toolCallsOf,
  type Usage,
} from '../../core/message';

/**
 * An event of AgentB (`@ulifeai/agentb`), with its names, fields and order. docs/projections.md describes `data` for each type.
 * `timestamp` is ISO 8601, UTC.
 */
export type AgentBEvent<T extends AgentBEventType = AgentBEventType> = {
  [K in T]: { type: K; timestamp: string; runId: string; threadId: string; data: AgentBEventData[K] };
}[T];

export interface AgentBEventData {
  'agent.run.created': { status: 'in_progress'; initialMessages: AgentBLLMMessage[] };
  'agent.run.status.changed': { previousStatus?: AgentBStatus; currentStatus: AgentBStatus; details?: string };
  'agent.run.step.created': { stepId: string; details: { turn: number; iterationInLoop: number } };
  /** With `metadata.inProgress` the message is still empty, and the model is about to write it. The same event again restarts the message. */
  'thread.message.created': { message: AgentBMessage };
  'thread.message.delta': { messageId: string; delta: { contentChunk: string } | { toolCallsChunk: AgentBToolCall[] } };
  'thread.message.completed': { message: AgentBMessage };
  /** Not an event of AgentB, which never closes such a message. */
  'thread.message.incomplete': { messageId: string; reason: string };
  'thread.run.step.tool_call.created': { stepId: string; toolCall: AgentBToolCall };
  'thread.run.step.tool_call.completed_by_llm': { stepId: string; toolCall: AgentBToolCall };
  /**
   * `status` distinguishes a pause (`requires_action`) from the notice that tools are about to run (`in_progress`). `pending` is an addition: everything
   * that waits, including what no tool output answers.
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
  /** Not an event of AgentB, which ends a cancelled run without an event. */
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

/** The equivalent status in AgentB, which has no pause without required action. */
export function statusOf(status: RunStatus): AgentBStatus {
  if (status === 'paused') return 'in_progress';
  if (status === 'suspended') return 'requires_action';
  return status === 'incomplete' ? 'failed' : status;
}

type Trouble = DurableEvent<'thread.run.failed' | 'thread.run.incomplete' | 'thread.run.expired'>;

/** The error of a run in AgentB's format. Every failure of a model provider is an `LLMError`. */
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
  const calls = message.role === 'assistant' ? toolCallsOf(message.content) : [];
  if (calls.length > 0) metadata.tool_calls = calls.map(toolCallOf);
  if (message.role === 'tool') {
    metadata.tool_call_id = message.toolCallId;
    metadata.name = message.name;
  }
  const content = contentOf(shownContent(message));
  return { id: message.id, threadId, role: message.role, content, createdAt: timestamp, metadata };
}

export function toolCallOf({ id, name, arguments: words }: ToolCall): AgentBToolCall {
  return { id, type: 'function', function: { name, arguments: words } };
}

export function contentOf(content: Content): AgentBContent {
  if (typeof content === 'string') return content;
  return content.map(partOf);
}

function partOf(part: Part): Extract<AgentBContent, unknown[]>[number] {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text };
    case 'image':
      return { type: 'image_url', image_url: { url: part.url, ...(part.detail && { detail: part.detail }) } };
    case 'file':
      return { type: 'text', text: fileWords(part) };
  }
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
