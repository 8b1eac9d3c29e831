import type { Content } from '../../core/message';
import type { OneRingUsage } from './shapes';

export interface OneRingStreamPayloads {
  'response.created': { model: string; created_at: number };
  'response.output_text.delta': { item_id: string; output_index: number; content_index: number; delta: string; sequence_number: number };
  /** The final text, if it differs from the streamed text. */
  'response.output_text.done': { item_id: string; output_index: number; text: string };
  'response.tool_call.start': { item_id: string; tool_call_id: string; tool_name: string };
  'response.tool_call_arguments.delta': {
    item_id: string;
    tool_call_id: string;
    tool_name: string;
    delta: string;
    sequence_number: number;
  };
  /** `incomplete`: the answer was cut at its maximum length. */
  'response.tool_call_arguments.done': { tool_call_id: string; tool_name: string; arguments: string; incomplete?: true };
  'response.tool_execution.start': { tool_call_id: string; tool_name: string; arguments: unknown };
  'response.tool_execution.done': {
    tool_call_id: string;
    tool_name: string;
    result: Content;
    execution_time_ms: number;
    error?: string;
  };
  /** Everything since the last `response.created` is void and is sent again. */
  'response.retry': { attempt: number; max_attempts?: number; reason: string; delay_ms: number };
  'response.iteration.complete': { iteration: number; tool_calls_count: number; has_more_iterations: boolean };
  'response.complete': { status: 'completed' | 'incomplete'; usage: OneRingUsage; iterations: number; duration_ms: number };
  'response.error': { error: { type: 'execution_error' | 'cancelled'; message: string; code?: string }; recoverable: false };
}

/** One item of OneRingAI's stream. `response_id` is always the execution's id. */
export type OneRingStreamEvent = {
  [K in keyof OneRingStreamPayloads]: { type: K; response_id: string } & OneRingStreamPayloads[K];
}[keyof OneRingStreamPayloads];

export type EmitStream = <K extends keyof OneRingStreamPayloads>(type: K, payload: OneRingStreamPayloads[K]) => void;
