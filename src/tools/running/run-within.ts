import { resolve } from 'node:path';
import { bounds } from '../../core/bounds';
import type { ToolCall } from '../../core/message';
import type { QuestionAnswer } from '../../core/questions';
import type { Dependencies, ToolContext } from '../defining/define-tool';
import { ToolTimeoutError } from '../defining/tool-failure';
import type { KeepBytes } from './keep-output';
import { maxOutputBytes } from './output-cap';
import { untilAbandoned } from './until-abandoned';

/** What the caller of a tool supplies for the `ToolContext`. */
export interface ToolHost {
  /** Aborted when the run is cancelled or the worker shuts down. */
  signal: AbortSignal;
  idempotencyKey: string;
  threadId: string;
  runId: string;
  /** 1 for the first attempt. */
  attempt: number;
  workspace: string;
  progress?(message: string): void;
  /** Stores outputs. Without it, what the model does not see of an output is lost. */
  keep?: KeepBytes;
  dependencies?: Dependencies;
  /** Called right before the tool begins. Returns a promise if that must wait, which rejects if the attempt is over. */
  mayStart?(): Promise<unknown> | undefined;
  /** How many bytes of images and files the result may contain. Default: what one result may. */
  mediaBytes?: number;
  /** The answers to earlier questions of the call. Absent: it can't ask people. */
  answers?: readonly QuestionAnswer[];
  /** The tools for files are not confined to the workspace. */
  fullAccess?: true;
  /** The thread's plan. */
  plan?: string;
  now?(): Date;
}

export type End = { kind: 'value'; value: unknown } | { kind: 'thrown'; error: unknown } | { kind: 'abandoned' };

/** After an abort, a tool gets this time to return its last output. After that its result is ignored. */
const graceMs = 3_000;

/** How a function of a tool ended. `aborted`: why it was stopped before; then `end` is what it said last, or absent if it never began. */
export interface Ended {
  end?: End;
  aborted?: unknown;
}

/** Runs a function of a tool with a context. It is abandoned `graceMs` after the timeout or the cancel. Never rejects. */
export async function runWithin(
  call: ToolCall,
  host: ToolHost,
  { timeoutMs, run }: { timeoutMs: number; run: (ctx: ToolContext) => unknown },
): Promise<Ended> {
  if (host.signal.aborted) return { aborted: host.signal.reason };
  const controller = new AbortController();
  const cancel = () => controller.abort(host.signal.reason);
  host.signal.addEventListener('abort', cancel, { once: true });
  const timer = setTimeout(() => controller.abort(new ToolTimeoutError(call.name, timeoutMs)), timeoutMs);
  const { ctx, close } = toolContext(call, host, controller.signal);
  const work = settle(() => run(ctx));
  const end = await untilAbandoned<End>(work, controller.signal, graceMs, () => ({ kind: 'abandoned' }));
  close();
  clearTimeout(timer);
  host.signal.removeEventListener('abort', cancel);
  return { end, ...(controller.signal.aborted && { aborted: controller.signal.reason }) };
}

/** Never rejects, so that a tool that fails after it was abandoned causes no unhandled rejection. */
async function settle(run: () => unknown): Promise<End> {
  try {
    return { kind: 'value', value: await run() };
  } catch (error) {
    return { kind: 'thrown', error };
  }
}

function toolContext(call: ToolCall, host: ToolHost, signal: AbortSignal): { ctx: ToolContext; close(): void } {
  const made = new Map<string, Promise<unknown>>();
  const dependencies = host.dependencies ?? {};
  let open = true;
  const ctx: ToolContext = {
    signal,
    idempotencyKey: host.idempotencyKey,
    threadId: host.threadId,
    runId: host.runId,
    toolCallId: call.id,
    attempt: host.attempt,
    workspace: resolve(host.workspace),
    now: host.now ?? (() => new Date()),
    ...(host.answers && { answers: host.answers }),
    ...(host.plan !== undefined && { plan: host.plan }),
    ...(host.fullAccess && { fullAccess: true as const }),
    maxOutputBytes: host.keep ? bounds.collectedBytes : maxOutputBytes,
    progress(message) {
      // An abandoned tool may still report progress; its call is over.
      if (open) host.progress?.(String(message));
    },
    resolve<T>(name: string): Promise<T> {
      const make = Object.hasOwn(dependencies, name) ? dependencies[name] : undefined;
      if (!make) {
        const known = Object.keys(dependencies).join(', ') || 'none';
        return Promise.reject(new Error(`Unknown dependency '${name}'. The worker was created with: ${known}.`));
      }
      let dependency = made.get(name);
      if (!dependency) {
        dependency = Promise.resolve().then(() => make(ctx));
        made.set(name, dependency);
      }
      return dependency as Promise<T>;
    },
  };
  return {
    ctx,
    close: () => {
      open = false;
    },
  };
}
