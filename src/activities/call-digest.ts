import { createHash } from 'node:crypto';
import { parseObject, sortedJson } from '../core/json';
import type { ToolCall } from '../core/message';
import type { CheckedCall, Verdict } from '../core/tool';

/** As many digits as a person can compare. */
const digits = 16;

/**
 * Stands for one call of one thread with just these arguments, whatever the order of their keys: the first 16 hexadecimal digits of the
 * SHA-256 over the JSON list of thread, call, tool and arguments, whose keys are sorted.
 */
export function callDigest(threadId: string, { id, name }: ToolCall, args: string): string {
  const parsed = parseObject(args.trim() === '' ? '{}' : args) ?? args;
  return createHash('sha256')
    .update(sortedJson([threadId, id, name, parsed]) ?? '')
    .digest('hex')
    .slice(0, digits);
}

/** The verdict on a call, with what stands for the call where somebody is, or may be, asked about it. */
export function withDigest(threadId: string, call: ToolCall, verdict: Verdict, mayBeAsked: boolean): Verdict {
  if (verdict.kind !== 'run' && verdict.kind !== 'external') return verdict;
  if (!verdict.approval && !mayBeAsked) return verdict;
  return { ...verdict, digest: callDigest(threadId, call, verdict.arguments ?? call.arguments) };
}

/** What a verdict says of what a person is shown. */
export function checkedBy(verdict: Verdict): CheckedCall {
  if (verdict.kind !== 'run' && verdict.kind !== 'external') return {};
  const { arguments: args, digest } = verdict;
  return { ...(args !== undefined && { arguments: args }), ...(digest && { digest }) };
}
