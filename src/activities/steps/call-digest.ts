import { createHash } from 'node:crypto';
import { parseObject, sortedJson } from '../../core/json';
import type { ToolCall } from '../../core/message';
import type { CheckedCall, Verdict } from '../../core/tool';

/** Few enough for a person to compare. */
const digits = 16;

/**
 * Returns a digest of one call of one thread with exactly these arguments, in any order of keys: the first 16 hexadecimal digits of the SHA-256
 * over the JSON list of thread, call, tool and arguments, with sorted keys.
 */
export function callDigest(threadId: string, { id, name }: ToolCall, args: string): string {
  const parsed = parseObject(args.trim() === '' ? '{}' : args) ?? args;
  return createHash('sha256')
    .update(sortedJson([threadId, id, name, parsed]) ?? '')
    .digest('hex')
    .slice(0, digits);
}

/** Adds the call's digest to its verdict, if people are or may be asked about the call. */
export function withDigest(threadId: string, call: ToolCall, verdict: Verdict, mayBeAsked: boolean): Verdict {
  if (verdict.kind !== 'run' && verdict.kind !== 'external') return verdict;
  if (!verdict.approval && !mayBeAsked) return verdict;
  return { ...verdict, digest: callDigest(threadId, call, verdict.arguments ?? call.arguments) };
}

/** Returns what people are shown of a call, from its verdict. */
export function checkedBy(verdict: Verdict): CheckedCall {
  if (verdict.kind !== 'run' && verdict.kind !== 'external') return {};
  const { arguments: args, digest } = verdict;
  return { ...(args !== undefined && { arguments: args }), ...(digest && { digest }) };
}
