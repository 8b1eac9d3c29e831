import type { Content } from '../../core/message';
import { hasMark } from './mark';

const mark = Symbol.for('longhaul.ToolFailure');

/**
 * Throw it from `execute` for an expected failure. The model receives `content` unchanged, without `Error: ` in front, and the call is not
 * retried.
 */
export class ToolFailure extends Error {
  override readonly name: string = 'ToolFailure';
  readonly [mark] = true;

  constructor(
    readonly content: Content,
    /** `name`: the error's name in the event. `message`: one line for people; default: the last line of `content`. */
    readonly details: { status?: 'failed' | 'timed-out'; name?: string; message?: string } = {},
  ) {
    super(details.message ?? lastLine(content));
    if (details.name) this.name = details.name;
  }
}

/** Not `instanceof`, which fails across two copies of the package or a test runner's realms. */
export function isToolFailure(error: unknown): error is ToolFailure {
  return hasMark(error, mark);
}

/** The reason of `ctx.signal` at the tool's timeout. */
export class ToolTimeoutError extends Error {
  override readonly name = 'ToolTimeoutError';

  constructor(
    readonly toolName: string,
    readonly timeoutMs: number,
  ) {
    super(`Tool '${toolName}' timed out after ${timeoutMs} ms.`);
  }
}

function lastLine(content: Content): string {
  const text = typeof content === 'string' ? content : content.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
  return text.trimEnd().split('\n').at(-1) || 'The tool failed.';
}
