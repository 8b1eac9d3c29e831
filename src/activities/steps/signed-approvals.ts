import { createHash } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import type { Agent } from '../../agents/define-agent';
import { type ApprovalStatement, type Attestation, hashOfValue, type RememberedRule, statementVersion } from '../../core/attestation';
import { isAsked } from '../../core/decisions';
import { isObject, parseObject, sortedJson } from '../../core/json';
import type { ToolCall } from '../../core/message';
import { nameKey } from '../../core/people';
import type { AskPolicy, PermissionRule, ToolError } from '../../core/tool';
import type { Toolbox } from '../../tools/running/toolbox';
import type { DecisionVerifier, Signatory } from '../verify-decision';

/** What a signed statement must be about. */
interface Where {
  threadId: string;
  agent: string;
}

/** A call that is about to run, and what the thread says about its approval. */
export interface ClaimedCall {
  threadId: string;
  runId: string;
  call: ToolCall;
  edited?: 'person' | 'hook';
  signed?: readonly Attestation[];
  rules?: readonly RememberedRule[];
  workspace: string;
}

/**
 * Returns why a worker with a verifier does not run a call, or undefined if it may run. The worker judges the call again and verifies the
 * signatures itself: whoever may complete steps, or continue a workflow of their own as a thread, can make up what the thread's state says.
 * Only the thread knows whether a deadline has passed and what a hook decided, so an approving deadline and hooks on `approve:tool` are taken
 * from its state, and so are arguments that a `before:tool` hook edited.
 */
export async function whyNotApproved(
  { agent, toolbox, verifier }: { agent: Agent; toolbox: Toolbox; verifier: DecisionVerifier },
  claimed: ClaimedCall,
): Promise<ToolError | undefined> {
  const { call, workspace } = claimed;
  const at = { threadId: claimed.threadId, agent: agent.name };
  const rules = await signedRules(verifier, claimed, at);
  const verdict = await toolbox.judge(call, { rules, workspace, threadId: claimed.threadId });
  if (verdict.kind === 'reject') return verdict.error;
  const policy = verdict.kind === 'run' ? verdict.approval : undefined;
  const hooks = agent.hooks?.ids() ?? {};
  if (!policy || policy.onDeadline?.includes('approve') || hooks['approve:tool']) return undefined;
  const shown = hashOfArguments((verdict.kind === 'run' && verdict.arguments) || call.arguments);
  const isByHook = claimed.edited === 'hook' && hooks['before:tool'] !== undefined;
  const shows = (said: ApprovalStatement) =>
    isByHook || (said.arguments === undefined ? said.shown === shown : said.arguments === hashOfArguments(call.arguments));
  const valid = await approversOf(verifier, claimed, at, (said) => said.tool === call.name && said.toolCallId === call.id && shows(said));
  const needed = policy.approvers ?? 1;
  const count = new Set(valid.filter((who) => isAsked(everAsked(policy), who)).map(({ by }) => nameKey(by))).size;
  return count >= needed ? undefined : notSigned(call.name, needed, count);
}

/** Whether a signed decision remembers exactly these rules for all threads of the agent. */
export async function remembersForAgent(
  verifier: DecisionVerifier,
  { rules, signed, ...at }: Where & { rules: readonly PermissionRule[]; signed: Attestation | undefined },
): Promise<boolean> {
  const said = signed && statementIn(signed);
  if (!said || !isFrom(said, at) || said.remember?.for !== 'agent') return false;
  const isSame = sortedJson(said.remember.rules) === sortedJson(rules);
  return isSame && (await verified(verifier, signed as Attestation, said)) !== undefined;
}

/** The rules of the thread that a signed decision in this thread remembers. */
async function signedRules(verifier: DecisionVerifier, { rules = [] }: ClaimedCall, at: Where): Promise<PermissionRule[]> {
  const kept: PermissionRule[] = [];
  for (const { signed, ...rule } of rules) {
    const said = signed && statementIn(signed);
    const isIn = said?.remember?.rules.some((one) => sortedJson(one) === sortedJson(rule));
    if (signed && said && isFrom(said, at) && isIn && (await verified(verifier, signed, said))) kept.push(rule);
  }
  return kept;
}

async function approversOf(
  verifier: DecisionVerifier,
  { runId, signed = [] }: ClaimedCall,
  at: Where,
  isAbout: (said: ApprovalStatement) => boolean,
): Promise<Signatory[]> {
  const approvers: Signatory[] = [];
  for (const one of signed) {
    const said = statementIn(one);
    if (!said || !isFrom(said, at) || said.runId !== runId || !isAbout(said)) continue;
    const who = await verified(verifier, one, said);
    if (who) approvers.push(who);
  }
  return approvers;
}

function isFrom(said: ApprovalStatement, { threadId, agent }: Where): boolean {
  return said.threadId === threadId && said.agent === agent;
}

/** The statement of a signed approval, or undefined if it is another one. */
function statementIn({ statement }: Attestation): ApprovalStatement | undefined {
  const said = parseObject(statement) as Partial<ApprovalStatement> | undefined;
  const isApproval = said?.version === statementVersion && said.request === 'approve' && said.approved === true;
  const { remember } = said ?? {};
  const isWhole = remember === undefined || (isObject(remember) && Array.isArray(remember.rules));
  return isApproval && isWhole && typeof said.by === 'string' ? (said as ApprovalStatement) : undefined;
}

const mostTries = 5;

/** Who signed, or undefined if the signature is not valid. Tries again while the verifier can't check it. */
async function verified(verifier: DecisionVerifier, signed: Attestation, { by }: ApprovalStatement): Promise<Signatory | undefined> {
  for (let tries = 1; ; tries++) {
    try {
      return await verifier.verify({ ...signed, by });
    } catch (error) {
      if (tries === mostTries) throw error;
      await setTimeout(100 * 2 ** tries);
    }
  }
}

/** The policy with everyone who may be asked before its last deadline. */
function everAsked({ users, groups = [], onDeadline = [] }: AskPolicy): AskPolicy {
  if (!users && groups.length === 0) return {};
  const escalated = onDeadline.flatMap((action) => (typeof action === 'object' ? action.escalate : []));
  return { ...(users && { users }), groups: [...groups, ...escalated] };
}

function hashOfArguments(args: string): string {
  return hashOfValue(parseObject(args) ?? args, (text) => createHash('sha256').update(text).digest('hex'));
}

function notSigned(name: string, needed: number, count: number): ToolError {
  return {
    name: 'SignatureRequiredError',
    message: `${name} was not run: it needs ${needed === 1 ? 'a signed approval' : `${needed} signed approvals`} of this call, and has ${count === 0 ? 'none' : count} that this worker accepts.`,
  };
}
