import { bounds } from '../../core/bounds';
import { excerpt } from '../../core/json';
import { shortText } from '../../core/text';
import { factsOfThrown } from '../../core/thrown';
import type { ToolError } from '../../core/tool';
import { writeJson } from '../../core/write-json';

/** Fields in which libraries keep the server's response; the first with content is sent to the model. */
const dataFields = ['data', 'body', 'error', 'details'] as const;

/** Name and message of a thrown value, with the cause if the message alone is too general ("fetch failed"). */
export function errorFacts(thrown: unknown): ToolError {
  const { name, message, cause } = factsOfThrown(thrown);
  const because = causeOf(cause);
  return { name: shortText(name, 100), message: because && !message.includes(because) ? `${message} (cause: ${because})` : message };
}

/** `Error: <message>`, then the data the error carries, such as the body of an HTTP answer. */
export function errorContent(thrown: unknown): string {
  const { message } = errorFacts(thrown);
  const data = carriedBy(thrown);
  return data === undefined || message.includes(data) ? `Error: ${message}` : `Error: ${message}\n${data}`;
}

function carriedBy(thrown: unknown): string | undefined {
  try {
    return thrown instanceof Error || hasMessage(thrown) ? carried(thrown) : undefined;
  } catch {
    // A proxy, or a getter that throws.
    return undefined;
  }
}

function hasMessage(thrown: unknown): thrown is { message: string } {
  return typeof thrown === 'object' && thrown !== null && typeof (thrown as { message?: unknown }).message === 'string';
}

function carried(error: object): string | undefined {
  const { response } = error as { response?: unknown };
  for (const place of [error, response]) {
    if (typeof place !== 'object' || place === null) continue;
    for (const field of dataFields) {
      const text = written((place as Record<string, unknown>)[field]);
      if (text !== undefined) return text;
    }
  }
  return undefined;
}

/**
 * Text or JSON of a value with content; `undefined` for an empty value, for `{}` (what a stream or a socket looks like), and for values that
 * JSON can't represent.
 */
function written(value: unknown): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value;
  if (typeof value !== 'object' || value === null) return undefined;
  if (Buffer.isBuffer(value)) return value.length === 0 ? undefined : value.toString('utf8', 0, bounds.outputChars);
  const prototype = Object.getPrototypeOf(value) as { constructor?: { name?: string } } | null;
  // By name, because a test runner's realm has its own Object and Array.
  if (prototype !== null && !['Object', 'Array'].includes(prototype.constructor?.name ?? '')) return undefined;
  try {
    const { text } = writeJson(value, bounds.outputChars) ?? { text: '{}' };
    return text === '{}' || text === '[]' ? undefined : text;
  } catch {
    return undefined;
  }
}

function causeOf(cause: unknown): string | undefined {
  if (typeof cause !== 'object' || cause === null) return typeof cause === 'string' && cause !== '' ? cause : undefined;
  try {
    const { message, code } = cause as { message?: unknown; code?: unknown };
    if (typeof message === 'string' && message !== '') return excerpt(message, 300);
    return typeof code === 'string' ? code : undefined;
  } catch {
    // A proxy, or a getter that throws.
    return undefined;
  }
}
