import type { PendingCall } from './event';
import { parseObject, sortedJson } from './json';
import type { AnswerRequest, DecisionRequest, SettleRequest, SubmitRequest } from './requests';
import type { PermissionRule } from './tool';
import { unreachable } from './unreachable';

/** Statement and signature of a decision, stored in the log. Anyone who has the signer's public key can verify it later. */
export interface Attestation {
  /** JSON with sorted keys; see `statementOf`. */
  statement: string;
  /** Over the UTF-8 bytes of the statement, in the signer's encoding. */
  signature: string;
}

/** A request that can be signed; `name` is the name of its signal and update. */
export type SignableRequest =
  | { name: 'approve'; content: DecisionRequest }
  | { name: 'submitToolOutputs'; content: SubmitRequest }
  | { name: 'answerQuestion'; content: AnswerRequest }
  | { name: 'settle'; content: SettleRequest };

/** The call that a request decides about, and what it waits for, if the request is signed together with the call; otherwise undefined. */
export function callDecidedBy({ name, content }: SignableRequest): Pick<PendingCall, 'kind' | 'toolCallId'> | undefined {
  switch (name) {
    case 'approve':
      return { kind: 'approval', toolCallId: content.toolCallId };
    case 'settle':
      return { kind: 'outcome', toolCallId: content.toolCallId };
    case 'submitToolOutputs':
    case 'answerQuestion':
      return undefined;
    default:
      return unreachable(name);
  }
}

export interface SignedIn {
  threadId: string;
  /** The thread's agent. Another agent's tool of the same name may do something else. */
  agent: string;
  /** The run's id, which tells the thread from an earlier one with the same thread id. */
  runId: string;
  /** The call that waits for an approval or to be settled, if the request decides about one. */
  call?: SignedCall;
}

export interface SignedCall {
  name: string;
  /** The arguments that people are shown, as JSON. The statement has their whole hash: for a digest a colliding call could be found. */
  arguments: string;
  /** Identifies the arguments for people, who compare it. */
  digest?: string;
  /** What `remember` would allow: the call's suggestion, or, if it has none, all calls of the tool. */
  remember?: readonly PermissionRule[];
  /** Since when an unknown outcome waits to be settled, in ISO 8601: if the call runs again and is lost again, it takes another signature. */
  since?: string;
}

/** A remembered rule, with the signed decision that it comes from if decisions are signed. */
export interface RememberedRule extends PermissionRule {
  signed?: Attestation;
}

export function withoutSignature({ signed: _, ...rule }: RememberedRule): PermissionRule {
  return rule;
}

/** What a statement about an approval contains, after parsing. */
export interface ApprovalStatement extends Omit<SignedIn, 'call'> {
  version: string;
  request: string;
  tool?: string;
  /** `sha256:` and the hash of the arguments that were shown. */
  shown?: string;
  by: string;
  toolCallId: string;
  approved: boolean;
  /** `sha256:` and the hash of the edited arguments. */
  arguments?: string;
  remember?: { for: string; rules: PermissionRule[] };
}

export const statementVersion = 'longhaul-decision-1';

/**
 * Returns the text that is signed: thread, agent, run and call, who decides, and the exact decision. Contents that may be large are included as the
 * SHA-256 of their JSON with sorted keys. The signer and the verifier each build the statement from their own data, so neither trusts the other's.
 */
export function statementOf(request: SignableRequest, at: SignedIn, sha256: (text: string) => string): string {
  const { threadId, agent, runId, call } = at;
  const hash = (value: unknown) => hashOfValue(value, sha256);
  const what = contentOf(request, call, hash);
  const { name, content } = request;
  return sortedJson({ version: statementVersion, request: name, threadId, agent, runId, by: content.by, ...what }) as string;
}

type Hash = (value: unknown) => string;

function contentOf(request: SignableRequest, call: SignedCall | undefined, hash: Hash): object {
  switch (request.name) {
    case 'approve':
      return decided(request.content, call, hash);
    case 'submitToolOutputs':
      return submitted(request.content, hash);
    case 'answerQuestion':
      return answered(request.content, hash);
    case 'settle':
      return settled(request.content, call, hash);
    default:
      return unreachable(request);
  }
}

/** How a statement contains a value that may be large: `sha256:` and the hash of its JSON with sorted keys. */
export function hashOfValue(value: unknown, sha256: (text: string) => string): string {
  return `sha256:${sha256(sortedJson(value) ?? '')}`;
}

function decided(content: DecisionRequest, call: SignedCall | undefined, hash: Hash): object {
  const { toolCallId, approved = true, reason, arguments: edited, remember, stop, more } = content;
  return {
    toolCallId,
    ...shownOf(call, hash),
    approved,
    reason: reason || undefined,
    arguments: edited && hash(edited),
    remember: remember && call ? { for: remember, rules: rulesToRemember(call) } : undefined,
    stop: stop || undefined,
    more: more || undefined,
  };
}

function shownOf(call: SignedCall | undefined, hash: Hash): object {
  return { tool: call?.name, digest: call?.digest, shown: call && hash(parseObject(call.arguments) ?? call.arguments) };
}

function settled({ toolCallId, outcome, output, reason }: SettleRequest, call: SignedCall | undefined, hash: Hash): object {
  const hashed = output === undefined ? undefined : hash(output);
  return { toolCallId, ...shownOf(call, hash), since: call?.since, outcome, output: hashed, reason: reason || undefined };
}

/** The rules that `remember` keeps for a call. */
function rulesToRemember({ name, remember = [{ tool: name }] }: SignedCall): readonly PermissionRule[] {
  return remember;
}

/** A signed submission has one output, because the event of each answered call stores the whole statement. */
function submitted({ outputs: [answer] }: SubmitRequest, hash: Hash): object {
  return { toolCallId: answer?.toolCallId, output: hash(answer?.output ?? null), isError: answer?.isError || undefined };
}

/** The question's id is a hash of what was asked. */
function answered({ toolCallId, questionId, action = 'accept', content }: AnswerRequest, hash: Hash): object {
  return { toolCallId, question: questionId, action, content: content && hash(content) };
}
