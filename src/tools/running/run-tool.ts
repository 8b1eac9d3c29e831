import { resolve } from 'node:path';
import { bounds } from '../../core/bounds';
import type { Content, ToolCall } from '../../core/message';
import { textOf } from '../../core/message';
import { shortText } from '../../core/text';
import type { ToolError, ToolOutcome } from '../../core/tool';
import { boundedContent } from '../../core/write-json';
import type { Dependencies, Tool, ToolContext } from '../defining/define-tool';
import { isSuspended } from '../defining/suspend';
import { errorContent, errorFacts } from '../defining/thrown';
import { isToolFailure, ToolTimeoutError } from '../defining/tool-failure';
import { type KeepBytes, type RawOutput, shownOutput } from './keep-output';
import { capContent, maxOutputBytes } from './output-cap';
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
  /** Stores outputs. Without it, what the model does not see of an output is lost. */
  keep?: KeepBytes;
  dependencies?: Dependencies;
  now?(): Date;
}

export interface Execution {
  outcome: ToolOutcome;
  threw: boolean;
}

/** An outcome whose content is not shortened yet. */
type RawOutcome = Omit<ToolOutcome, 'content' | 'outputRef'> & { content: RawOutput };

interface RawExecution {
  outcome: RawOutcome;
  threw: boolean;
}

type End = { kind: 'value'; value: unknown } | { kind: 'thrown'; error: unknown } | { kind: 'abandoned' };

/** After an abort, a tool gets this time to return its last output. After that its result is ignored. */
const graceMs = 3_000;

/**
 * Runs a tool with validated arguments, and stores its output. Never throws. The tool is abandoned `graceMs` after the timeout or the cancel;
 * storing is bounded by `host.keep`.
 */
export async function runTool(tool: Tool, call: ToolCall, args: unknown, host: ToolHost & { timeoutMs: number }): Promise<Execution> {
  const started = performance.now();
  const { outcome, threw } = await execute(tool, call, args, host);
  const durationMs = Math.round(performance.now() - started);
  try {
    return { outcome: { ...outcome, ...(await shownOutput(outcome.content, host.keep)), durationMs }, threw };
  } catch (error) {
    // Parts of a result may be objects with getters, which throw only now.
    return { outcome: { ...failed(unwritable(tool, error)), durationMs }, threw: false };
  }
}

async function execute(tool: Tool, call: ToolCall, args: unknown, host: ToolHost & { timeoutMs: number }): Promise<RawExecution> {
  const { execute: run } = tool;
  if (!run) {
    const error = { name: 'ToolNotExecutableError', message: `Tool '${tool.name}' has no execute: its output comes from outside.` };
    return { outcome: rawFailure(error), threw: false };
  }
  const controller = new AbortController();
  const cancel = () => controller.abort(host.signal.reason);
  if (host.signal.aborted) return { outcome: cut(tool), threw: false };
  host.signal.addEventListener('abort', cancel, { once: true });
  const timer = setTimeout(() => controller.abort(new ToolTimeoutError(tool.name, host.timeoutMs)), host.timeoutMs);
  const context = toolContext(call, host, controller.signal);
  try {
    const work = settle(() => run(args, context.ctx));
    const end = await untilAbandoned<End>(work, controller.signal, graceMs, () => ({ kind: 'abandoned' }));
    if (!controller.signal.aborted) return finished(tool, end, written(host));
    const { reason } = controller.signal;
    return { outcome: cut(tool, end, reason instanceof ToolTimeoutError ? reason : undefined), threw: false };
  } catch (error) {
    // The thrown or returned value can't be read: a `ToolFailure` of another copy of the package with invalid content, for example.
    return { outcome: rawFailure(errorFacts(error)), threw: false };
  } finally {
    context.close();
    clearTimeout(timer);
    host.signal.removeEventListener('abort', cancel);
  }
}

/** An outcome with an error. The model receives `Error: <message>`, or `content` if given. */
export function failed(error: ToolError, more: { status?: ToolOutcome['status']; content?: Content } = {}): ToolOutcome {
  return { ...rawFailure(error, more), content: capContent(more.content ?? errorWords(error)) };
}

function rawFailure(error: ToolError, more: { status?: ToolOutcome['status']; content?: Content } = {}): RawOutcome {
  const { status = 'failed', content = errorWords(error) } = more;
  // The message is recorded in events, which must stay small.
  return { status, content, error: { name: shortText(error.name, 100), message: shortText(error.message, 1_000) } };
}

function errorWords({ message }: ToolError): string {
  return `Error: ${message}`;
}

function unwritable(tool: Tool, error: unknown): ToolError {
  const message = `Tool '${tool.name}' returned a value that can't be written as JSON: ${errorFacts(error).message}`;
  return { name: 'UnserializableToolResultError', message };
}

/** Returns how a result is converted: no more of it than is shown or stored. */
function written({ keep }: ToolHost): (value: unknown) => RawOutput {
  const most = keep && { chars: bounds.keptJsonChars, parts: bounds.keptParts };
  return (value) => (value instanceof Uint8Array ? value : boundedContent(value, most));
}

function finished(tool: Tool, end: End, write: (value: unknown) => RawOutput): RawExecution {
  if (end.kind === 'thrown') {
    const { error } = end;
    if (isToolFailure(error)) {
      const { status = 'failed' } = error.details;
      return { outcome: rawFailure(errorFacts(error), { status, content: boundedContent(error.content) }), threw: false };
    }
    return { outcome: rawFailure(errorFacts(error), { content: errorContent(error) }), threw: true };
  }
  const value = end.kind === 'value' ? end.value : undefined;
  try {
    const [result, more] = isSuspended(value) ? [value.result, { suspend: value.suspension }] : [value, {}];
    return { outcome: { status: 'success', content: write(result), ...more }, threw: false };
  } catch (error) {
    return { outcome: rawFailure(unwritable(tool, error)), threw: false };
  }
}

/** The outcome of an aborted call, with the last output of the tool. */
function cut(tool: Tool, end?: End, timeout?: ToolTimeoutError): RawOutcome {
  const error = timeout ?? { name: 'CancelledError', message: `Tool '${tool.name}' was cancelled${end ? '' : ' before it started'}.` };
  const partial = end ? lastWords(end) : '';
  const content = `Error: ${error.message}${partial === '' ? '' : `\n${partial}`}`;
  return rawFailure(error, { status: timeout ? 'timed-out' : 'cancelled', content });
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
