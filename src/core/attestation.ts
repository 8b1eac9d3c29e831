import { sortedJson } from './json';
import type { DecisionRequest, SubmitRequest } from './requests';

/** What a decision was signed with, kept in the log: whoever has the signer's public key can check it at any time. */
export interface Attestation {
  /** JSON with sorted keys; see `statementOf`. */
  statement: string;
  /** Over the UTF-8 of the statement, as the signer wrote it. */
  signature: string;
}

/** A request that can be signed, under the name of its signal and update. */
export type SignableRequest = { name: 'approve'; content: DecisionRequest } | { name: 'submitToolOutputs'; content: SubmitRequest };

export interface SignedIn {
  threadId: string;
  /** Of the run: never that of another thread which had the same id before. */
  runId: string;
  /** Of the call that waits, where it has one: stands for its arguments. */
  digest?: string;
}

const version = 'longhaul-decision-1';

/**
 * What a signature is made over: which thread, run and call, who decides, and what exactly. Contents that may be large are in it as the
 * SHA-256 of their JSON with sorted keys. The signer and the verifier each make it from what they know, so nothing in it is taken on trust.
 */
export function statementOf({ name, content }: SignableRequest, at: SignedIn, sha256: (text: string) => string): string {
  const { threadId, runId, digest } = at;
  const hash = (value: unknown) => `sha256:${sha256(sortedJson(value) ?? '')}`;
  const what = name === 'approve' ? decided(content, hash) : submitted(content, hash);
  return sortedJson({ version, request: name, threadId, runId, digest, by: content.by, ...what }) as string;
}

function decided(content: DecisionRequest, hash: (value: unknown) => string): object {
  const { toolCallId, approved = true, reason, arguments: edited, remember, stop, more } = content;
  return {
    toolCallId,
    approved,
    reason: reason || undefined,
    arguments: edited && hash(edited),
    remember: remember || undefined,
    stop: stop || undefined,
    more: more || undefined,
  };
}

/** One output: the event of each answered call keeps the whole statement. */
function submitted({ outputs: [answer] }: SubmitRequest, hash: (value: unknown) => string): object {
  return { toolCallId: answer?.toolCallId, output: hash(answer?.output ?? null), isError: answer?.isError || undefined };
}
