import type { z } from 'zod';
import type { Effect, ToolRetry } from '../core/tool';

/** What a tool is given beside its arguments. */
export interface ToolContext {
  /** Aborted on cancel and at the tool's timeout; `reason` says which. */
  signal: AbortSignal;
  /** The same for every attempt at this call, on every worker. */
  idempotencyKey: string;
  threadId: string;
  runId: string;
  toolCallId: string;
  /** 1 for the first. */
  attempt: number;
  /** Says how far it is; shown live, never recorded. */
  progress(message: string): void;
  /** The folder the agent works in, absolute. */
  workspace: string;
  /** Whatever the worker was created with under this name; made once a call, on first use. Throws for an unknown name. */
  resolve<T>(name: string): Promise<T>;
  now(): Date;
}
export type ApprovalRule<Args> = 'never' | 'always' | ((args: Args) => boolean | string | Promise<boolean | string>);
export interface ToolDefinition<Schema extends z.ZodType = z.ZodType> {
  name: string;
  description: string;
  input: Schema;
  effect?: Effect;
  approval?: ApprovalRule<z.output<Schema>>;
  timeoutMs?: number;
  retry?: ToolRetry;
  execute?(args: z.output<Schema>, ctx: ToolContext): unknown;
}
