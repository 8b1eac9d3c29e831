import type { DurableEvent } from '../../core/event';
import { excerpt } from '../../core/json';
import type { Content, Message, OutputRef, Usage } from '../../core/message';
import { type CodeliaCallUsage, type CodeliaEvent, type CodeliaStatus, kindOf, providerOf } from './words';

/** One output item of codelia. Each of its projections selects the items that it needs. `at` is ISO 8601, UTC. */
export type Item = { runId: string; threadId: string; at: string } & Said;

export type Said =
  | { kind: 'start'; input: Message[]; model?: string }
  /** A user's message joined the conversation. */
  | { kind: 'input'; content: string }
  | { kind: 'event'; event: CodeliaEvent }
  | { kind: 'status'; status: CodeliaStatus; message?: string }
  | { kind: 'context'; percent: number }
  /** `messages`: those that earlier calls did not have. */
  | { kind: 'request'; seq: number; model?: string; messages: Message[] }
  | {
      kind: 'response';
      seq: number;
      requestedAt: string;
      messages: Message[];
      stopReason: string;
      usage: CodeliaCallUsage;
      costUsd?: number;
    }
  | { kind: 'output'; tool: string; toolCallId: string; content: Content; isError: boolean; outputRef?: OutputRef }
  | { kind: 'error'; error: CodeliaRunError }
  | { kind: 'end'; outcome: 'completed' | 'error' | 'cancelled'; final?: string; usage: Usage };

/** Why a run ended in an error. The text is safe to show and has no cause and no stack. */
export interface CodeliaRunError {
  name: string;
  message: string;
  provider?: string;
  kind?: string;
  status?: number;
  attempts?: number;
  max_attempts?: number;
}

export function said(event: CodeliaEvent): Said {
  return { kind: 'event', event };
}

const atLimit = /^\[Max Iterations Reached\]\s*/;

/** codelia's final text of a run that ended because a person rejected a call. */
export const stoppedWords = 'Permission request was denied. Turn stopped. Please send your next input to continue.';

/** codelia ends a run at its turn limit with a normal `final`, whose text gives the reason. */
export function finalOf(event: DurableEvent<'thread.run.completed' | 'thread.run.incomplete'>): string {
  if (event.type === 'thread.run.completed') return event.data.output.trim();
  // Logs of the first release have no output in this event.
  const { output = '', message, limit } = event.data;
  const words = output.trim() || message;
  return limit === 'turns' ? `[Max Iterations Reached]\n\n${words.replace(atLimit, '')}` : words;
}

export function errorOf(event: DurableEvent<'thread.run.failed' | 'thread.run.expired'>, model: string | undefined): CodeliaRunError {
  const message = excerpt(event.data.message, 500);
  if (event.type === 'thread.run.expired') return { name: 'RunExpiredError', message };
  const { code, details } = event.data;
  const kind = kindOf(code);
  if (!kind) return { name: code, message };
  const { status, attempts, maxAttempts } = details ?? {};
  return {
    name: 'ProviderFailureError',
    message,
    provider: providerOf(model),
    kind,
    ...(status !== undefined && { status }),
    ...(attempts && { attempts: attempts.length }),
    ...(maxAttempts && { max_attempts: maxAttempts }),
  };
}
