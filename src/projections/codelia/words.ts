import type { FailureKind } from '../../core/failure';
import { type JsonObject, parseObject } from '../../core/json';
import {
  type Content,
  fileWords,
  type Message,
  type OutputRef,
  refusalOf,
  type ToolCall,
  textOf,
  toolCallsOf,
  type Usage,
} from '../../core/message';

/** codelia's `AgentEvent`. Times are milliseconds since 1970, durations whole milliseconds. */
export type CodeliaEvent =
  | { type: 'text' | 'reasoning'; content: string; timestamp: number }
  | {
      type: 'llm.retry';
      provider: string;
      failure_kind: CodeliaRetryKind;
      next_attempt: number;
      max_attempts: number;
      delay_ms: number;
      delay_source: 'retry-after' | 'backoff';
      status?: number;
    }
  | { type: 'step_start'; step_id: string; title: string; step_number: number }
  | { type: 'tool_call'; tool: string; args: Record<string, unknown>; raw_args?: string; tool_call_id: string }
  | { type: 'tool_result'; tool: string; result: string; tool_call_id: string; is_error?: true }
  | { type: 'step_complete'; step_id: string; status: 'completed' | 'error'; duration_ms: number }
  | ({ type: 'permission.preview'; tool: string; tool_call_id: string } & Preview)
  | { type: 'permission.ready'; tool: string; tool_call_id: string }
  | { type: 'compaction_start'; timestamp: number }
  | { type: 'compaction_complete'; timestamp: number; compacted: boolean }
  /** A user's message. Only in a history. */
  | { type: 'hidden_user_message'; content: string }
  | { type: 'final'; content: string };

export type CodeliaStatus = 'running' | 'awaiting_ui' | 'completed' | 'error' | 'cancelled';
export type CodeliaRetryKind = 'rate_limit' | 'overloaded' | 'timeout' | 'network' | 'provider';

export interface Preview {
  file_path?: string;
  diff?: string;
  summary?: string;
  truncated?: true;
}

/** codelia's names for failures of a provider. Only the first five are retried. */
const kinds: Record<FailureKind, CodeliaRetryKind | 'auth' | 'permission' | 'validation' | 'hard_quota'> = {
  'rate-limit': 'rate_limit',
  overloaded: 'overloaded',
  timeout: 'timeout',
  connection: 'network',
  'truncated-stream': 'network',
  server: 'provider',
  empty: 'provider',
  auth: 'auth',
  permission: 'permission',
  'bad-request': 'validation',
  'context-length': 'validation',
  'not-found': 'validation',
  'content-filter': 'validation',
  'too-large': 'validation',
  quota: 'hard_quota',
};

/** codelia's name for a failure code. Undefined if the code is not a failure of a provider. */
export function kindOf(code: string): string | undefined {
  return Object.hasOwn(kinds, code) ? kinds[code as FailureKind] : undefined;
}

export function retryKindOf(code: string): CodeliaRetryKind {
  const kind = kindOf(code);
  return kind === 'rate_limit' || kind === 'overloaded' || kind === 'timeout' || kind === 'network' ? kind : 'provider';
}

export function providerOf(model: string | undefined): string {
  return model?.includes('/') ? model.slice(0, model.indexOf('/')) : 'unknown';
}

/** The arguments of a call. If they are not a JSON object, `raw_args` has the model's text. */
export function argumentsOf({ arguments: raw }: ToolCall): { args: Record<string, unknown>; raw_args?: string } {
  const args = parseObject(raw);
  return args ? { args } : { args: { _raw: raw }, raw_args: raw };
}

/** The whole output of a tool, as text. */
export function wholeText(content: Content): string {
  if (typeof content === 'string') return content;
  return content.map((part) => (part.type === 'text' ? part.text : part.type === 'image' ? '[image]' : fileWords(part))).join('\n');
}

/** The maximum size of a view: 50 KiB of UTF-8. */
const viewBytes = 51_200;

/** The view of a tool's output for readers: its first lines, and a reference to the whole output. A long first line is cut. */
export function viewOf(text: string, ref: string): string {
  let bytes = 0;
  let lineEnd = 0;
  for (let at = 0; at < text.length; ) {
    const code = text.codePointAt(at) ?? 0;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    if (bytes > viewBytes) return `${text.slice(0, lineEnd || at)}\n\n[tool output truncated; ref=${ref}]`;
    if (code === 10) lineEnd = at;
    at += code < 0x10000 ? 1 : 2;
  }
  return text;
}

const previewLines = 120;

/** The preview of a call that a person sees before a decision. Undefined if there is nothing to show. */
export function previewOf(call: ToolCall, reason: string | undefined): Preview | undefined {
  const args = parseObject(call.arguments) ?? {};
  const text = (...names: string[]) => names.map((name) => args[name]).find((value) => typeof value === 'string') as string | undefined;
  const path = text('path', 'file_path');
  const diff = diffOf(call.name, text);
  const lines = diff?.split('\n') ?? [];
  const summary = reason ?? text('command');
  if (diff === undefined && summary === undefined) return undefined;
  return {
    ...(path !== undefined && { file_path: path }),
    ...(diff !== undefined && { diff: lines.slice(0, previewLines).join('\n') }),
    ...(summary !== undefined && { summary }),
    ...(lines.length > previewLines && { truncated: true }),
  };
}

function diffOf(tool: string, text: (...names: string[]) => string | undefined): string | undefined {
  const marked = (mark: string, words = '') => words.split('\n').map((line) => `${mark}${line}`);
  if (tool === 'apply_patch') return text('patch', 'input');
  if (tool === 'write_file' || tool === 'write') return marked('+', text('content')).join('\n');
  if (tool !== 'edit' && tool !== 'edit_file') return undefined;
  return [...marked('-', text('old_string', 'oldText', 'old')), ...marked('+', text('new_string', 'newText', 'new'))].join('\n');
}

export function usageWords(model: string, { inputTokens, cachedInputTokens, outputTokens }: Usage): CodeliaCallUsage {
  return {
    model,
    input_tokens: inputTokens,
    input_cached_tokens: cachedInputTokens,
    output_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
  };
}

/** The token usage of one model call. */
export interface CodeliaCallUsage {
  model: string;
  input_tokens: number;
  input_cached_tokens: number;
  output_tokens: number;
  total_tokens: number;
}

/** Where the whole output of a tool is. */
export type CodeliaOutputRef = { id: string; byte_size: number; line_count: number };

export function refWords({ id, bytes, lines }: OutputRef): CodeliaOutputRef {
  return { id, byte_size: bytes, line_count: lines };
}

/** A message in the format of a provider's API, with the arguments as the model wrote them. */
export function messageWords(message: Message): JsonObject {
  if (message.role === 'user') return { role: 'user', content: message.content as JsonObject | string };
  if (message.role === 'tool') {
    const { toolCallId, name, content, outputRef } = message;
    const ref = outputRef && { output_ref: refWords(outputRef), ...(outputRef.trimmed && { trimmed: true }) };
    return { role: 'tool', tool_call_id: toolCallId, tool_name: name, content: textOf(content), ...ref };
  }
  const refusal = refusalOf(message.content);
  const tool_calls = toolCallsOf(message.content).map(({ id, name, arguments: words }) => ({
    id,
    type: 'function',
    function: { name, arguments: words },
  }));
  return { role: 'assistant', content: textOf(message.content), ...(refusal && { refusal }), ...(tool_calls.length > 0 && { tool_calls }) };
}
