import type { AgentFacts } from './agent';
import { bounds } from './bounds';
import { findCall, whyTooMuch } from './calls';
import { checkName, checkWords, show } from './check-input';
import { type Checked, no, refused, yes } from './checked';
import { bytesOf } from './context/carry';
import { isObject } from './json';
import { checkPerson, cleanName, earlierNames, sameName } from './people';
import { type Refusal, type RefusalCode, refusal } from './refusal';
import type { DecisionRequest, SubmitRequest } from './requests';
import { activeRun, type CallState, type RunState, type ThreadState } from './state';
import { type AskPolicy, type ToolOutput, toContent } from './tool';
import { askPolicyOf, checkedCall } from './views';

/** Checks a `submitToolOutputs` request. `verified`: who signed it. Without it, a signed request is not checked for who may answer. */
export function checkSubmit(state: ThreadState, payload: unknown, verified?: Verified): Checked<SubmitRequest> {
  const outputs: unknown = isObject(payload) ? payload.outputs : payload;
  if (!Array.isArray(outputs) || outputs.length === 0) {
    return no(`submitToolOutputs takes { outputs: [{ toolCallId, output }] }; it was given ${show(payload)}`);
  }
  const who = checkDecider(state, 'submitToolOutputs', isObject(payload) ? payload : {}, verified);
  if (!who.ok) return who;
  if (state.facts?.signedDecisions && outputs.length > 1) {
    return no('submitToolOutputs: signed outputs must be submitted one per request');
  }
  const seen = new Set<string>();
  const accepted: ToolOutput[] = [];
  for (const [i, item] of outputs.entries()) {
    // Accepted because the Assistants API uses tool_call_id.
    const id: unknown = isObject(item) ? (item.toolCallId ?? item.tool_call_id) : undefined;
    if (!isObject(item) || typeof id !== 'string') return no(`submitToolOutputs: outputs[${i}] has no toolCallId`);
    if (!('output' in item)) return no(`submitToolOutputs: outputs[${i}] ("${id}") has no output`);
    if (item.isError !== undefined && typeof item.isError !== 'boolean')
      return no(`submitToolOutputs: outputs[${i}].isError must be true or false`);
    if (seen.has(id)) return no(`submitToolOutputs: "${id}" is answered twice; each pending call is answered exactly once`);
    const wrong = notWaitingFor(state, id, 'awaiting-output') ?? notEntitled(state, id, who.request, verified);
    if (wrong) return refused(of('submitToolOutputs', wrong));
    seen.add(id);
    accepted.push({ toolCallId: id, output: item.output, ...(item.isError ? { isError: true } : {}) });
  }
  // Measured as the model will see them: values that are not text become JSON, and JSON within JSON is longer.
  const bytes = bytesOf(accepted.map(({ output }) => toContent(output)));
  if (bytes > bounds.messageBytes)
    return no(`submitToolOutputs: the outputs are larger than ${bounds.messageBytes} bytes; store them elsewhere and submit a reference`);
  const tooMuch = whyTooMuch(state.run, bytes);
  if (tooMuch) return no(`submitToolOutputs: ${tooMuch}`);
  return yes({ outputs: accepted, ...who.request });
}

function editedBytes(run: RunState | null): number {
  return (run?.calls ?? []).reduce((sum, { editedArguments = '' }) => sum + editedArguments.length, 0);
}

/** Checks an `approve` request. `verified`: as for `checkSubmit`. */
export function checkDecision(state: ThreadState, payload: unknown, verified?: Verified): Checked<DecisionRequest> {
  const request = typeof payload === 'string' ? { toolCallId: payload } : payload;
  if (!isObject(request) || typeof request.toolCallId !== 'string') {
    return no(`approve takes { toolCallId, approved?, by?, reason?, arguments?, expect? }; it was given ${show(payload)}`);
  }
  const { toolCallId, approved = true, reason, arguments: edited, remember, stop, more, expect } = request;
  if (typeof approved !== 'boolean') return no(`approve: \`approved\` must be true or false; it is ${show(approved)}`);
  const who = checkDecider(state, 'approve', request, verified);
  if (!who.ok) return who;
  const words = checkWords({ reason });
  if (words) return no(`approve: ${words}`);
  if (edited !== undefined && !isObject(edited)) return no(`approve: \`arguments\` must be an object; it is ${show(edited)}`);
  if (edited !== undefined && !approved) return no('approve: a refusal has no arguments to edit');
  if (edited !== undefined && remember !== undefined && state.facts?.judgesDecisions) {
    return no(
      "approve: the rules to remember apply to the model's own arguments; send either edited arguments or `remember`",
      'not-rememberable',
    );
  }
  // In an activity's input they are JSON within JSON, which at worst doubles their size.
  if (edited !== undefined && bytesOf(JSON.stringify(edited)) > bounds.editedBytes) {
    return no(`approve: the edited arguments are larger than ${bounds.editedBytes} bytes; store what is large where the tool can read it`);
  }
  const edits = edited === undefined ? 0 : editedBytes(state.run) + bytesOf(edited);
  if (edits > bounds.answerEditsBytes && bytesOf(edited) > bounds.smallResultBytes) {
    return no(
      `approve: the arguments that were edited for this answer have ${edits} bytes; together they may have ${bounds.answerEditsBytes}`,
    );
  }
  if (remember !== undefined && remember !== 'thread' && remember !== 'agent')
    return no(`approve: \`remember\` must be "thread" or "agent"; it is ${show(remember)}`);
  const offered = findCall(activeRun(state), toolCallId);
  if (editsWhatOthersApproved(offered, edited))
    return no('approve: where several people must agree, none of them can edit the arguments', 'edit-refused');
  if (editsWhatOthersApproved(offered, remember))
    return no('approve: where several people must agree, none of them can have it remembered', 'not-rememberable');
  const policy = offered && askPolicyOf(offered.verdict, offered.phase);
  if (remember !== undefined && policy?.remember?.length === 0) {
    const why =
      policy.users || policy.groups
        ? `"${toolCallId}" (${offered?.name}) is one of those that certain people agree to each time`
        : `there is no rule by which calls like "${toolCallId}" (${offered?.name}) could be told apart from others`;
    return no(`approve: ${why}; approve it without \`remember\``, 'not-rememberable');
  }
  if (remember !== undefined && !approved) return no('approve: `remember` belongs to an approval');
  if (stop !== undefined && typeof stop !== 'boolean') return no(`approve: \`stop\` must be true or false; it is ${show(stop)}`);
  if (stop && approved) return no('approve: `stop` belongs to a refusal');
  if (more !== undefined && !(typeof more === 'number' && Number.isFinite(more) && more > 0))
    return no(`approve: \`more\` must be a number above 0; it is ${show(more)}`);
  const ofLimit = activeRun(state)?.limitAsk?.id === toolCallId;
  if (more !== undefined && !ofLimit) return no('approve: `more` is for a limit that a person is asked about; this is a call');
  if (ofLimit && edited) return no('approve: a limit has no arguments; say how much more of it with `more`');
  const wrong = ofLimit
    ? undefined
    : (notWaitingFor(state, toolCallId, 'awaiting-approval') ?? notEntitled(state, toolCallId, who.request, verified));
  const other = wrong ?? notExpected(offered, toolCallId, expect);
  if (other) return refused(of('approve', other));
  return yes({
    toolCallId,
    approved,
    ...who.request,
    ...(reason ? { reason: reason as string } : {}),
    ...(edited ? { arguments: edited } : {}),
    ...(remember ? { remember } : {}),
    ...(stop ? { stop } : {}),
    ...(more ? { more: more as number } : {}),
    ...(expect !== undefined ? { expect: expect as string } : {}),
  });
}

/** Puts the request's name in front of the reason, for readers who see only the log. */
export function of(request: string, { reason, code }: Refusal): Refusal {
  return { code, reason: `${request}: ${reason}` };
}

/** Returns a refusal if the waiting call is not the one that the decider was shown (`expect`). */
function notExpected(call: CallState | undefined, id: string, expect: unknown): Refusal | undefined {
  if (expect === undefined) return undefined;
  if (typeof expect !== 'string') return refusal(`\`expect\` must be a string; it is ${show(expect)}`);
  const { digest } = call ? checkedCall(call) : {};
  if (expect === digest) return undefined;
  return refusal(
    digest
      ? `what waits as "${id}" (${call?.name}) has the digest ${digest}, and ${show(expect)} was expected; look at it again before you decide`
      : `"${id}" has no digest, so nothing can be expected of it; look at it, and leave \`expect\` out`,
    'not-as-expected',
  );
}

/** Whether `edited` is given although several people must approve the call: some may have approved it without that. */
function editsWhatOthersApproved(call: CallState | undefined, edited: unknown): boolean {
  return edited !== undefined && call !== undefined && (askPolicyOf(call.verdict, call.phase)?.approvers ?? 1) > 1;
}

export interface Decider {
  by?: string;
  groups?: string[];
  signature?: string;
}

/** Who signed a request, and their groups, according to the worker's verifier. */
export type Verified = Pick<Decider, 'by' | 'groups'>;

/** Checks who answers a request, and that the request is signed if it must be. */
export function checkDecider(
  { facts }: ThreadState,
  name: string,
  { by: claimed, groups: claimedGroups, signature }: Record<string, unknown>,
  verified?: Verified,
): Checked<Decider> {
  const { by, groups } = facts?.signedDecisions ? { by: claimed, ...verified } : { by: claimed, groups: claimedGroups };
  const words = checkWords({ by });
  if (words) return no(`${name}: ${words}`);
  if (
    groups !== undefined &&
    !(Array.isArray(groups) && groups.length <= bounds.groups && groups.every((g) => checkName('a group', g) === undefined))
  ) {
    return no(
      `${name}: \`groups\` must be a list of at most ${bounds.groups} names, each of at most ${bounds.nameChars} characters; it is ${show(groups)}`,
    );
  }
  const who: Decider = { ...(by ? { by: by as string } : {}), ...(groups ? { groups: groups as string[] } : {}) };
  const clean = facts?.sameNames ? cleanDecider(name, who, facts.sameNames === 'as-seen' ? checkPerson : earlierNames.check) : yes(who);
  if (!facts?.signedDecisions || !clean.ok) return clean;
  const only = `${name}: this thread takes signed ${name === 'submitToolOutputs' || name === 'answerQuestion' ? 'answers and outputs' : 'decisions'} only`;
  if (!clean.request.by) return no(`${only}; say who you are with \`by\``, 'signature-refused');
  if (signature === undefined || signature === '') {
    return no(`${only}; sign it: set LONGHAUL_SIGNING_KEY, or give the client a signer`, 'signature-refused');
  }
  return typeof signature === 'string' && signature.length <= bounds.signatureChars
    ? yes({ ...clean.request, signature })
    : no(`${only}; its signature must be a string of at most ${bounds.signatureChars} characters`);
}

function cleanDecider(name: string, { by, groups }: Decider, check: typeof checkPerson): Checked<Decider> {
  const wrong = (by === undefined ? undefined : check('by', by)) ?? groups?.map((group) => check('a group', group)).find(Boolean);
  if (wrong) return no(`${name}: ${wrong}`);
  return yes({ ...(by !== undefined && { by: cleanName(by) }), ...(groups && { groups: groups.map(cleanName) }) });
}

/** Returns a refusal if someone may not answer for a waiting call, or has already done so. */
export function notEntitled(state: ThreadState, id: string, { by, groups = [] }: Decider, verified?: Verified): Refusal | undefined {
  if (state.facts?.signedDecisions && !verified) return undefined;
  const call = findCall(activeRun(state), id);
  if (!call) return undefined;
  const policy = askPolicyOf(call.verdict, call.phase);
  const { users = [], approvers = 1 } = policy ?? {};
  const among = amongNames(state);
  const asked = call.ask?.groups ?? policy?.groups ?? [];
  if (!isAsked({ users, groups: asked }, { by, groups }, among)) {
    const who = [...users, ...asked.map((group) => `members of "${group}"`)].join(', ');
    const you = by
      ? `"${by}"${groups.length > 0 ? ` (${groups.join(', ')})` : ''} is none of them`
      : 'say who you are with `by`, and `groups`';
    return refusal(`"${id}" (${call.name}) is for ${who} to answer; ${you}`, 'not-entitled');
  }
  if (call.phase !== 'awaiting-approval' || approvers === 1) return undefined;
  if (!by) return refusal(`"${id}" (${call.name}) needs ${approvers} people to agree; say who you are with \`by\``, 'not-entitled');
  if (!call.ask || !among(call.ask.votes, by)) return undefined;
  const reason = `"${by}" has agreed to "${id}" (${call.name}) already; ${approvers - call.ask.votes.length} more must`;
  return refusal(reason, 'already-decided');
}

type Among = (names: readonly string[], name: string) => boolean;

function amongNames({ facts }: ThreadState): Among {
  const same = namesCompared(facts?.sameNames);
  return (names, name) => names.some((one) => same(one, name));
}

/** Whether a decider is among the people asked. If a policy names nobody, anyone may answer. `among`: how names are compared. */
export function isAsked(
  { users = [], groups: asked = [] }: AskPolicy,
  { by, groups = [] }: { by?: string; groups?: readonly string[] },
  among: Among = (names, name) => names.some((one) => sameName(one, name)),
): boolean {
  if (users.length + asked.length === 0) return true;
  return (by !== undefined && among(users, by)) || asked.some((group) => among(groups, group));
}

/**
 * Returns why someone who may approve a call may not approve it with their edited arguments, or undefined. `edited` is the policy of the edited
 * call. If it names the same people as the policy of the original call, the edit is allowed, even after an escalation to other people.
 */
export function notEntitledToEdit(state: ThreadState, id: string, edited: AskPolicy | undefined, who: Decider): string | undefined {
  const call = findCall(activeRun(state), id);
  if (!call || !edited) return undefined;
  const people = ({ users = [], groups = [] }: AskPolicy = {}) => JSON.stringify([users, groups]);
  const { approvers = 1 } = edited;
  const isEnough = people(edited) === people(askPolicyOf(call.verdict, call.phase)) || isAsked(edited, who, amongNames(state));
  if (isEnough && approvers === 1) return undefined;
  const named = [...(edited.users ?? []), ...(edited.groups ?? []).map((group) => `members of "${group}"`)].join(', ');
  const whose = `${approvers > 1 ? `${approvers} people` : 'others'}${named ? ` (${named})` : ''}`;
  return `with the edited arguments ${call.name} is for ${whose} to agree to; refuse the call with the arguments as the reason, so that the model makes that call`;
}

function namesCompared(how: AgentFacts['sameNames']): typeof sameName {
  if (how === 'as-seen') return sameName;
  return how ? earlierNames.same : (one, other) => one === other;
}

/** What a call waits for in a phase, if it is not an approval. */
const awaited = {
  'awaiting-output': 'an answer or an output',
  'awaiting-answer': 'an answer to its question',
  unsettled: 'someone to settle it',
};

/** Returns a refusal if a call does not wait in `phase`: `already-decided` if it did before, otherwise `not-waiting`. */
export function notWaitingFor(state: ThreadState, id: string, phase: CallState['phase']): Refusal | undefined {
  const calls = activeRun(state)?.calls ?? [];
  const call = calls.find((c) => c.id === id);
  if (call?.phase === phase) return undefined;
  const what = awaited[phase as keyof typeof awaited] ?? 'an approval';
  const waiting = calls.filter((c) => c.phase === phase).map((c) => `"${c.id}" (${c.name})`);
  const hint =
    waiting.length > 0
      ? `; ${waiting.join(', ')} ${waiting.length === 1 ? 'waits' : 'wait'} for ${what}`
      : `; nothing in thread "${state.threadId}" waits for ${what}`;
  if (!call) {
    const answered = state.messages.some((m) => m.role === 'tool' && m.toolCallId === id);
    return answered
      ? refusal(`"${id}" was answered already${byWhom(state, id)}`, 'already-decided')
      : refusal(`"${id}" does not wait for ${what}${hint}`, 'not-waiting');
  }
  const output = call.verdict.kind === 'external' && call.verdict.question ? 'an answer' : 'its output';
  const was: Record<CallState['phase'], [string, RefusalCode]> = {
    done: ['has its outcome already', 'already-decided'],
    running: [phase === 'unsettled' ? 'is running' : 'was decided already and is running', 'already-decided'],
    unsettled: ['has an unknown outcome, which someone has to settle (settle)', 'not-waiting'],
    ready: ['was decided already', 'already-decided'],
    'awaiting-approval': [`waits for an approval, not for ${what}`, 'not-waiting'],
    'awaiting-output': [`waits for ${output}, not for ${what}`, 'not-waiting'],
    'awaiting-answer': [`waits for an answer to the question of its tool (answerQuestion), not for ${what}`, 'not-waiting'],
  };
  const [words, code] = was[call.phase];
  return refusal(`"${id}" (${call.name}) ${words}${byWhom(state, id)}${hint}`, code);
}

/** Says who decided, answered or settled a call last, so that a late decider knows whom to contact. */
function byWhom({ log }: ThreadState, id: string): string {
  const acts = log.flatMap((record) => (record.data.toolCallId === id && actOf(record)) || []);
  const last = acts.at(-1);
  // A settlement is followed by the outcome of the call, with the same name.
  const act = last?.isOutcome && acts.at(-2)?.settles ? acts.at(-2) : last;
  return act ? ` (${act.words}, ${new Date(act.at).toISOString()})` : '';
}

interface Act {
  words: string;
  at: number;
  isOutcome?: boolean;
  settles?: boolean;
}

function actOf({ type, data, at }: ThreadState['log'][number]): Act | undefined {
  const who = data.by ? ` by ${data.by}` : data.source === 'deadline' ? ' by its deadline' : '';
  switch (type) {
    case 'agent.approval.decided':
      return { words: `${data.approved ? 'approved' : 'rejected'}${who}`, at };
    case 'agent.tool.question.answered':
      return { words: `answered${who}`, at };
    case 'agent.tool.outcome.settled':
      return { words: `settled as ${data.outcome}${who}`, at, settles: data.outcome !== 'not-done' };
    case 'agent.tool.execution.completed':
      return data.by ? { words: `answered${who}`, at, isOutcome: true } : undefined;
    default:
      return undefined;
  }
}
