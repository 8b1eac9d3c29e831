import { bounds } from '../../core/bounds';
import type { Json } from '../../core/json';
import type { Content, ToolCall } from '../../core/message';
import { textOf } from '../../core/message';
import type { ToolQuestion } from '../../core/questions';
import { fits } from '../../core/sagas';
import { shortText } from '../../core/text';
import type { ToolError, ToolOutcome } from '../../core/tool';
import { unreachable } from '../../core/unreachable';
import { boundedContent } from '../../core/write-json';
import { isCallQuestion } from '../defining/call-question';
import type { Tool } from '../defining/define-tool';
import { isSuspended } from '../defining/suspend';
import { errorContent, errorFacts } from '../defining/thrown';
import { isToolFailure, ToolTimeoutError } from '../defining/tool-failure';
import { isFoundTools } from '../search/found-tools';
import { type RawOutput, shownOutput } from './keep-output';
import { capContent } from './output-cap';
import { doneUnreadably, probeTool, undecided } from './probe-tool';
import { type End, runWithin, type ToolHost } from './run-within';

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

/**
 * Runs a tool with validated arguments, and stores its output. Throws only what `host.mayStart` throws. The tool is abandoned a moment after the timeout or the cancel;
 * storing is bounded by `host.keep`.
 */
export async function runTool(tool: Tool, call: ToolCall, args: unknown, host: ToolHost & { timeoutMs: number }): Promise<Execution> {
  // After everything that takes time, and with no await between, so that a frozen process asks again.
  const waits = host.mayStart?.();
  if (waits !== undefined) await waits;
  const started = performance.now();
  const { outcome, threw } = await execute(tool, call, args, host);
  const durationMs = Math.round(performance.now() - started);
  return shown(tool, host, { outcome: { ...outcome, durationMs }, threw });
}

/** Stores what is too long to show, and shortens it. */
async function shown(tool: Tool, { keep, mediaBytes }: ToolHost, { outcome, threw }: RawExecution): Promise<Execution> {
  try {
    return { outcome: { ...outcome, ...(await shownOutput(outcome.content, keep, mediaBytes)) }, threw };
  } catch (error) {
    // Parts of a result may be objects with getters, which throw only now.
    const { durationMs } = outcome;
    return { outcome: { ...failed(unwritable(tool, error)), ...(durationMs !== undefined && { durationMs }) }, threw: false };
  }
}

/**
 * Asks the probe of a `verify` tool about an earlier attempt at a call. Returns the call's outcome, or undefined if the call was not carried out and
 * is to run. Never throws.
 */
export async function probedOutcome(tool: Tool, call: ToolCall, args: unknown, host: ToolHost): Promise<Execution | undefined> {
  const probed = await probeTool(tool, call, args, host);
  switch (probed.status) {
    case 'not-done':
      return undefined;
    case 'unknown':
      return { outcome: undecided(tool.name, probed.reason), threw: false };
    case 'stopped':
      return { outcome: failed(cancelled(tool, ' before its probe answered'), { status: 'cancelled' }), threw: false };
    case 'done':
      return doneBefore(tool, host, probed.output);
    default:
      return unreachable(probed);
  }
}

/** The execution of a call that an earlier attempt carried out. It never counts as failed: a model repeats what failed. */
async function doneBefore(tool: Tool, host: ToolHost, output: unknown): Promise<Execution> {
  const execution = await shown(tool, host, finished(tool, { kind: 'value', value: output }, written(host)));
  const { status, error } = execution.outcome;
  return status === 'success' ? execution : { outcome: doneUnreadably(tool.name, error), threw: false };
}

async function execute(tool: Tool, call: ToolCall, args: unknown, host: ToolHost & { timeoutMs: number }): Promise<RawExecution> {
  const { execute: run } = tool;
  if (!run) {
    const error = { name: 'ToolNotExecutableError', message: `Tool '${tool.name}' has no execute: its output comes from outside.` };
    return { outcome: rawFailure(error), threw: false };
  }
  try {
    const { end, aborted } = await runWithin(call, host, { timeoutMs: host.timeoutMs, run: (ctx) => run(args, ctx) });
    if (end && aborted === undefined) return finished(tool, end, written(host));
    return { outcome: cut(tool, end, aborted instanceof ToolTimeoutError ? aborted : undefined), threw: false };
  } catch (error) {
    // The thrown or returned value can't be read: a `ToolFailure` of another copy of the package with invalid content, for example.
    return { outcome: rawFailure(errorFacts(error)), threw: false };
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
    if (isCallQuestion(error)) return { outcome: asking(tool, error.question), threw: false };
    if (isToolFailure(error)) {
      const { status = 'failed' } = error.details;
      return { outcome: rawFailure(errorFacts(error), { status, content: boundedContent(error.content) }), threw: false };
    }
    return { outcome: rawFailure(errorFacts(error), { content: errorContent(error) }), threw: true };
  }
  const value = end.kind === 'value' ? end.value : undefined;
  try {
    const { result, ...more } = readReturned(value);
    const content = write(result);
    const kept = tool.effect === 'saga' ? resultOf(result, content) : undefined;
    return { outcome: { status: 'success', content, ...more, ...(kept !== undefined && { result: kept }) }, threw: false };
  } catch (error) {
    return { outcome: rawFailure(unwritable(tool, error)), threw: false };
  }
}

/** Separates a tool's result from what else it wants to happen. */
function readReturned(value: unknown): { result: unknown } & Pick<ToolOutcome, 'suspend' | 'found'> {
  if (isSuspended(value)) return { result: value.result, suspend: value.suspension };
  return isFoundTools(value) ? { result: value.result, found: [...value.tools] } : { result: value };
}

/** What a compensation will get. `content`: the value as text, which is bounded, whereas the value may be anything. */
function resultOf(value: unknown, content: RawOutput): Json | undefined {
  if (typeof content === 'string' && content.length > bounds.sagaOutputBytes) return undefined;
  if (content instanceof Uint8Array || value === undefined) return undefined;
  const result: Json = JSON.parse(JSON.stringify(value));
  return fits(result) ? result : undefined;
}

/** The outcome of a call that ends at a question. Its content is for callers that can't ask. */
function asking({ name }: Tool, question: ToolQuestion): RawOutcome {
  const message = `Tool '${name}' asks a person a question, and can't go on without the answer.`;
  return { ...rawFailure({ name: 'QuestionAskedError', message }), asks: question };
}

/** The outcome of an aborted call, with the last output of the tool. */
function cut(tool: Tool, end?: End, timeout?: ToolTimeoutError): RawOutcome {
  const error = timeout ?? cancelled(tool, end ? '' : ' before it started');
  const partial = end ? lastWords(end) : '';
  const content = `Error: ${error.message}${partial === '' ? '' : `\n${partial}`}`;
  return rawFailure(error, { status: timeout ? 'timed-out' : 'cancelled', content });
}

function cancelled({ name }: Tool, when: string): ToolError {
  return { name: 'CancelledError', message: `Tool '${name}' was cancelled${when}.` };
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
