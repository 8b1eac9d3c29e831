import { resolve } from 'node:path';
import type { Content, ToolCall } from '../../core/message';
import { textOf } from '../../core/message';
import { shortText } from '../../core/text';
import type { ToolError, ToolOutcome } from '../../core/tool';
import { boundedContent } from '../../core/write-json';
import type { Dependencies, Tool, ToolContext } from '../defining/define-tool';
import { isSuspended } from '../defining/suspend';
import { errorContent, errorFacts } from '../defining/thrown';
import { isToolFailure, ToolTimeoutError } from '../defining/tool-failure';
import { capContent } from './output-cap';
import { untilAbandoned } from './until-abandoned';

/** What the caller of `runTool` supplies for the `ToolContext`. */
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
  dependencies?: Dependencies;
  now?(): Date;
}

export interface Execution {
  outcome: ToolOutcome;
  threw: boolean;
}

type End = { kind: 'value'; value: unknown } | { kind: 'thrown'; error: unknown } | { kind: 'abandoned' };

/** After an abort, a tool gets this time to return its last output. After that its result is ignored. */
const graceMs = 3_000;

/** Runs a tool with validated arguments. Never throws. Returns at most `graceMs` after the timeout or the cancel. */
export async function runTool(tool: Tool, call: ToolCall, args: unknown, host: ToolHost & { timeoutMs: number }): Promise<Execution> {
  const started = performance.now();
  const took = (outcome: ToolOutcome): ToolOutcome => ({ ...outcome, durationMs: Math.round(performance.now() - started) });
  const { execute } = tool;
  if (!execute) {
    const error = { name: 'ToolNotExecutableError', message: `Tool '${tool.name}' has no execute: its output comes from outside.` };
    return { outcome: took(failed(error)), threw: false };
  }
  const controller = new AbortController();
  const cancel = () => controller.abort(host.signal.reason);
  if (host.signal.aborted) return { outcome: took(cut(tool)), threw: false };
  host.signal.addEventListener('abort', cancel, { once: true });
  const timer = setTimeout(() => controller.abort(new ToolTimeoutError(tool.name, host.timeoutMs)), host.timeoutMs);
  const context = toolContext(call, host, controller.signal);
  try {
    const work = settle(() => execute(args, context.ctx));
    const end = await untilAbandoned<End>(work, controller.signal, graceMs, () => ({ kind: 'abandoned' }));
    if (!controller.signal.aborted) return finished(tool, end, took);
    const { reason } = controller.signal;
    return { outcome: took(cut(tool, end, reason instanceof ToolTimeoutError ? reason : undefined)), threw: false };
  } catch (error) {
    // The thrown or returned value can't be read: a `ToolFailure` of another copy of the package with invalid content, for example.
    return { outcome: took(failed(errorFacts(error))), threw: false };
  } finally {
    context.close();
    clearTimeout(timer);
    host.signal.removeEventListener('abort', cancel);
  }
}

/** An outcome with an error. The model receives `Error: <message>`, or `content` if given. */
export function failed(error: ToolError, more: { status?: ToolOutcome['status']; content?: Content } = {}): ToolOutcome {
  const { status = 'failed', content = `Error: ${error.message}` } = more;
  // The message is recorded in events, which must stay small.
  return { status, content: capContent(content), error: { name: shortText(error.name, 100), message: shortText(error.message, 1_000) } };
}

function finished(tool: Tool, end: End, took: (outcome: ToolOutcome) => ToolOutcome): Execution {
  if (end.kind === 'thrown') {
    const { error } = end;
    if (isToolFailure(error)) {
      const { status = 'failed' } = error.details;
      return { outcome: took(failed(errorFacts(error), { status, content: boundedContent(error.content) })), threw: false };
    }
    return { outcome: took(failed(errorFacts(error), { content: errorContent(error) })), threw: true };
  }
  const value = end.kind === 'value' ? end.value : undefined;
  try {
    const [result, more] = isSuspended(value) ? [value.result, { suspend: value.suspension }] : [value, {}];
    return { outcome: took({ status: 'success', content: capContent(boundedContent(result)), ...more }), threw: false };
  } catch (error) {
    const message = `Tool '${tool.name}' returned a value that can't be written as JSON: ${errorFacts(error).message}`;
    return { outcome: took(failed({ name: 'UnserializableToolResultError', message })), threw: false };
  }
}

/** The outcome of an aborted call, with the last output of the tool. */
function cut(tool: Tool, end?: End, timeout?: ToolTimeoutError): ToolOutcome {
  const error = timeout ?? { name: 'CancelledError', message: `Tool '${tool.name}' was cancelled${end ? '' : ' before it started'}.` };
  const partial = end ? lastWords(end) : '';
  const content = `Error: ${error.message}${partial === '' ? '' : `\n${partial}`}`;
  return failed(error, { status: timeout ? 'timed-out' : 'cancelled', content });
}

function lastWords(end: End): string {
  if (end.kind === 'thrown') return isToolFailure(end.error) ? textOf(end.error.content) : '';
  if (end.kind === 'abandoned' || end.value === undefined || end.value === null) return '';
  try {
    // An aborted call can't suspend the run; only its result is used.
    return textOf(boundedContent(isSuspended(end.value) ? end.value.result : end.value));
  } catch {
    return '';
  }
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
