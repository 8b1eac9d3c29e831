import type { Content } from '../core/message';
import { hasMark } from './mark';

const mark = Symbol.for('longhaul.ToolFailure');

/**
 * Throw it from `execute` when the call came to a considered end that is not a success: the model sees `content` word for word,
 * without an `Error: ` in front, and no further attempt is made.
 */
export class ToolFailure extends Error {
  override readonly name: string = 'ToolFailure';
  readonly [mark] = true;

  constructor(
    readonly content: Content,
    /** `name`: what the event calls the error. `message`: one line for people; default is the text's last line. */
    readonly details: { status?: 'failed' | 'timed-out'; name?: string; message?: string } = {},
  ) {
    super(details.message ?? lastLine(content));
    if (details.name) this.name = details.name;
  }
}

/** Not `instanceof`: two copies of the package, or a test runner's realms, would make it lie. */
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
