import { parseObject, sortedJson } from './json';
import type { ToolCall } from './message';

/** Few enough for a person to compare. */
const digits = 16;

/**
 * Returns a digest of one call of one thread with exactly these arguments, in any order of keys: the first 16 hexadecimal digits of the SHA-256
 * over the JSON list of thread, call, tool and arguments, with sorted keys.
 */
export function digestOfCall(threadId: string, { id, name, arguments: args }: ToolCall, sha256: (text: string) => string): string {
  const parsed = parseObject(args.trim() === '' ? '{}' : args) ?? args;
  return sha256(sortedJson([threadId, id, name, parsed]) ?? '').slice(0, digits);
}
