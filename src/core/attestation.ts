import { sortedJson } from './json';
import type { DecisionRequest, SubmitRequest } from './requests';

/** Statement and signature of a decision, stored in the log. Anyone who has the signer's public key can verify it later. */
export interface Attestation {
  /** JSON with sorted keys; see `statementOf`. */
  statement: string;
  /** Over the UTF-8 bytes of the statement, in the signer's encoding. */
  signature: string;
}

/** A request that can be signed; `name` is the name of its signal and update. */
export type SignableRequest = { name: 'approve'; content: DecisionRequest } | { name: 'submitToolOutputs'; content: SubmitRequest };

export interface SignedIn {
  threadId: string;
  /** The run's id, which tells the thread from an earlier one with the same thread id. */
  runId: string;
  /** The digest of the waiting call, if it has one. It identifies the call's arguments. */
  digest?: string;
}

const version = 'longhaul-decision-1';

/**
 * Returns the text that is signed: thread, run and call, who decides, and the exact decision. Contents that may be large are included as the
 * SHA-256 of their JSON with sorted keys. The signer and the verifier each build the statement from their own data, so neither trusts the other's.
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

/** A signed submission has one output, because the event of each answered call stores the whole statement. */
function submitted({ outputs: [answer] }: SubmitRequest, hash: (value: unknown) => string): object {
  return { toolCallId: answer?.toolCallId, output: hash(answer?.output ?? null), isError: answer?.isError || undefined };
}
