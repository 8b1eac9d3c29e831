import { createHash } from 'node:crypto';
import { digestOfCall } from '../../core/call-digest';
import type { ToolCall } from '../../core/message';
import type { CheckedCall, Verdict } from '../../core/tool';

/** `args`: the arguments as people are shown them. */
export function callDigest(threadId: string, call: ToolCall, args: string): string {
  return digestOfCall(threadId, { ...call, arguments: args }, (text) => createHash('sha256').update(text).digest('hex'));
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
