import { condition, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '../contract/activities';
import { checkAnswer } from '../core/answering';
import { askedWith } from '../core/ask-policy';
import type { Attestation } from '../core/attestation';
import { callById, findCall, runOf, waits } from '../core/calls';
import { actionAt, lateAnswer, lateDecision, lateOutputs } from '../core/deadlines';
import { checkDecision, checkSubmit, notEntitledToEdit } from '../core/decisions';
import type { Extra } from '../core/evolve';
import { excerpt } from '../core/json';
import type { ToolCall } from '../core/message';
import type { ToolQuestion } from '../core/questions';
import type { AnswerRequest, DecisionRequest, SubmitRequest } from '../core/requests';
import { type AskState, type CallState, inForce, stepIdOf } from '../core/state';
import { type AskPolicy, type CheckedCall, type PermissionRule, toContent } from '../core/tool';
import { askPolicyOf, checkedCall, pendingCalls, waitSummary } from '../core/views';
import { checkArgumentsOptions, rememberRulesOptions } from './activity-options';
import { type Attested, attest } from './attest';
import { whereAgentIs } from './await-agent';
import { callOf, finishCall, refuseCall } from './finish-call';
import { throwIfCancelled } from './gates';
import { activityEvents, grow } from './growth';
import { hasHook, runHook } from './hooks';
import { oneOfFew } from './one-of-few';
import { failureOf, refuse } from './refuse';
import { publishStatus } from './search-attributes';
import { cancelRun, changeStatus } from './status';
import type { ThreadContext } from './thread-context';

const { checkArguments } = proxyActivities<Activities>(checkArgumentsOptions);
const { rememberRules } = proxyActivities<Activities>(rememberRulesOptions);

/** Records that a call needs an approval. The call then waits until it is decided or its policy's deadline passes. */
export function requestApproval(thread: ThreadContext, id: string, policy: AskPolicy): void {
  const { deadlineMs, onDeadline: _, ...asked } = policy;
  const run = runOf(thread.state);
  const call = callById(run, id);
  const edited = call.editedArguments !== undefined && { arguments: call.editedArguments };
  thread.record(
    'agent.approval.requested',
    { stepId: stepIdOf(run), toolCall: callOf(thread, id), ...edited, ...checkedCall(call), ...asked, ...due(deadlineMs) },
    { approval: policy },
  );
}

/** Records that a call ended at a question of its tool. The call then waits until it is answered or its policy's deadline passes. */
export function requestAnswer({ state, record }: ThreadContext, id: string, question: ToolQuestion): void {
  const { name, verdict } = callById(state.run, id);
  const { users, groups, deadlineMs } = askPolicyOf(verdict, 'awaiting-answer') ?? {};
  const { id: questionId, ...asked } = question;
  const who = { ...(users && { users }), ...(groups && { groups }) };
  record('agent.tool.question.asked', { toolCallId: id, name, questionId, ...asked, ...who, ...due(deadlineMs) });
}

/** Resolves when a call no longer waits: someone answered, the policy's deadline action was carried out, or `over` returns true. */
export async function awaitPeople(thread: ThreadContext, id: string, over: () => boolean): Promise<void> {
  const now = () => findCall(thread.state.run, id);
  while (!over()) {
    // A deadline may have cancelled the run; the call then stays open until the run's end.
    throwIfCancelled();
    const call = now();
    if (!call || !waits(call)) return;
    const { phase, ask } = call;
    const moved = () => over() || now()?.phase !== phase || now()?.ask?.dueAt !== ask?.dueAt;
    if (ask?.dueAt === undefined) await condition(moved);
    else if (ask.dueAt <= Date.now() || !(await condition(moved, ask.dueAt - Date.now(), shownAs(thread, id)))) {
      const inTime = cameBefore(thread, id, ask.dueAt);
      if (inTime.length === 0) passDeadline(thread, call, ask);
      else await Promise.allSettled(inTime);
    }
  }
}

/** Answers that came before the deadline and are still being checked: a call that a person refused must not run because a check was slow. */
function cameBefore({ deciding }: ThreadContext, id: string, dueAt: number): Promise<unknown>[] {
  return [...(deciding.get(id) ?? [])].flatMap(({ at, done }) => (at < dueAt ? [done] : []));
}

/** Registers an answer for `ids` while it is being checked. Returns `done` itself: one more promise would change the order of commands. */
function underWay<T>({ deciding }: ThreadContext, ids: readonly string[], done: Promise<T>): Promise<T> {
  const one = { at: Date.now(), done };
  for (const id of ids) deciding.set(id, (deciding.get(id) ?? new Set()).add(one));
  const over = () => {
    for (const id of ids) deciding.get(id)?.delete(one);
  };
  done.then(over, over);
  return done;
}

/** The summary of the deadline's timer, as the Web UI shows it in the history. */
function shownAs({ state }: ThreadContext, id: string): { summary?: string } {
  const pending = pendingCalls(state).find(({ toolCallId }) => toolCallId === id);
  return pending ? { summary: waitSummary(pending) } : {};
}

function passDeadline(thread: ThreadContext, { id, name, verdict, phase, question }: CallState, { passed }: AskState): void {
  const { record } = thread;
  const policy = askPolicyOf(verdict, phase) ?? {};
  const action = actionAt(policy.onDeadline ?? [], passed);
  if (action === 'ask-again' || typeof action === 'object') {
    record('agent.approval.escalated', {
      toolCallId: id,
      ...(typeof action === 'object' && { groups: action.escalate }),
      ...due(policy.deadlineMs),
    });
    if (thread.state.run?.status === 'requires_action') publishStatus(thread.state, 'waits');
    return;
  }
  if (action === 'cancel') return cancelRun(thread, { reason: `nobody answered for ${name} ("${id}") in time` });
  if (phase === 'awaiting-answer') {
    record('agent.tool.question.answered', { toolCallId: id, questionId: question?.id ?? '', action: 'cancel', source: 'deadline' });
  } else if (phase === 'awaiting-output') {
    record('agent.input.expired', { toolCallId: id });
    finishCall(thread, id, {
      status: 'failed',
      output: `Error: nobody answered ${name} in time.`,
      error: { name: 'DeadlineError', message: 'no answer in time' },
    });
  } else if (action === 'approve') {
    record('agent.approval.decided', { toolCallId: id, approved: true, source: 'deadline' });
  } else {
    refuseCall(thread, id, { reason: 'nobody decided in time', source: 'deadline' });
  }
  goOn(thread, 'Continuing run.');
}

function due(deadlineMs: number | undefined): { dueAt?: string } {
  return deadlineMs === undefined ? {} : { dueAt: new Date(Date.now() + deadlineMs).toISOString() };
}

/** Sets a waiting run to `in_progress`. If it has to wait for more, it records that again. */
function goOn(thread: ThreadContext, details: string): void {
  if (thread.state.run?.status === 'requires_action') changeStatus(thread, 'in_progress', details);
}

export function acceptOutputs(thread: ThreadContext, asked: SubmitRequest, extra: Extra): void | Promise<void> {
  if (!thread.state.facts?.signedDecisions) return takeOutputs(thread, asked, extra);
  const came = Date.now();
  const attesting = attest(thread, { name: 'submitToolOutputs', content: asked }).then((attested) => {
    const still = checkSubmit(thread.state, asked, attested);
    const refused = still.ok ? lateOutputs(thread.state, asked, came) : still;
    if (refused) throw failureOf(refused);
    takeOutputs(thread, { ...asked, ...attested }, extra);
  });
  return underWay(
    thread,
    asked.outputs.map(({ toolCallId }) => toolCallId),
    attesting,
  );
}

function takeOutputs(thread: ThreadContext, { outputs, by, signed }: SubmitRequest & Partial<Attested>, extra: Extra): void {
  goOn(thread, 'Continuing run with tool results.');
  for (const { toolCallId, output, isError = false } of outputs) {
    const status = isError ? 'failed' : 'success';
    finishCall(thread, toolCallId, { status, output: toContent(output), ...(by && { by }), ...(signed && { signed }) }, extra);
  }
}

export function acceptAnswer(thread: ThreadContext, asked: AnswerRequest, extra: Extra): void | Promise<void> {
  if (!thread.state.facts?.signedDecisions) return takeAnswer(thread, asked, extra);
  const came = Date.now();
  const attesting = attest(thread, { name: 'answerQuestion', content: asked }).then((attested) => {
    const still = checkAnswer(thread.state, asked, attested);
    const refused = still.ok ? lateAnswer(thread.state, asked, came) : still;
    if (refused) throw failureOf(refused);
    takeAnswer(thread, { ...asked, ...attested }, extra);
  });
  return underWay(thread, [asked.toolCallId], attesting);
}

function takeAnswer(thread: ThreadContext, answer: AnswerRequest & Partial<Attested>, extra: Extra): void {
  const { toolCallId, action = 'accept', content, by, signed } = answer;
  const { question } = callById(thread.state.run, toolCallId);
  const form = action === 'accept' && question?.schema ? { content: content ?? {} } : {};
  const who = { ...(by && { by }), ...(signed && { signed }) };
  goOnAfter(thread, () =>
    thread.record('agent.tool.question.answered', { toolCallId, questionId: question?.id ?? '', action, ...form, ...who }, extra),
  );
}

/** `came`: when the thread received the decision. A deadline that passes while the decision is being checked does not make it late. */
type Decided = DecisionRequest & Partial<Attested> & { came: number };

export function acceptDecision(thread: ThreadContext, request: DecisionRequest, extra: Extra): Promise<string | undefined> {
  return underWay(thread, [request.toolCallId], decide(thread, request, extra));
}

/**
 * Carries out a decision. Returns a warning if a part of it did not succeed. This stays one function with exactly these awaits: one more between
 * the decision and its answer would swap, in history, the answer and the next command of the run.
 */
async function decide(thread: ThreadContext, request: DecisionRequest, extra: Extra): Promise<string | undefined> {
  const { state, record } = thread;
  const { toolCallId, arguments: edited } = request;
  const came = Date.now();
  const attested = state.facts?.signedDecisions ? await attest(thread, { name: 'approve', content: request }) : undefined;
  const asked: Decided = { ...request, ...attested, came };
  if (attested) mustStillWait(thread, asked);
  if (state.run?.limitAsk?.id === toolCallId) {
    decideLimit(thread, asked, extra);
    return;
  }
  if (asked.approved === false) {
    goOnAfter(thread, () => refuseCall(thread, toolCallId, asked, extra));
    return;
  }
  const { by, reason, signed } = asked;
  const words = { ...(reason && { reason }), ...(signed && { signed }) };
  const { outstanding, remember } = askedOf(thread, toolCallId);
  if (outstanding > 0 && by) {
    record('agent.approval.voted', { toolCallId, by, ...words, outstanding }, extra);
    return;
  }
  const { remembers } = state.facts ?? {};
  const forAgent = asked.remember === 'agent';
  if (forAgent && remembers === false) {
    refuse(
      `approve: agent ${state.agent} has no store to remember it in; remember it for the thread. The call still waits`,
      'not-rememberable',
    );
  }
  const editedArguments = edited && JSON.stringify(edited);
  const edit = editedArguments === undefined ? undefined : await mustFit(thread, asked, editedArguments);
  const remembered = asked.remember && (await rememberFirst(thread, asked, remember));
  // Checked again without an await before the record: the checks of two decisions may complete in the same workflow task.
  mustStillWait(thread, asked);
  goOnAfter(thread, () =>
    record(
      'agent.approval.decided',
      {
        toolCallId,
        approved: true,
        ...(by && { by }),
        ...words,
        ...(editedArguments !== undefined && { editedArguments, ...edit }),
        ...(remembered && { remembered }),
      },
      extra,
    ),
  );
  return forAgent && remembers ? await rememberForAgent(thread, remember, signed) : undefined;
}

/** How many more people must approve after this one, and the rules that may be remembered. */
function askedOf({ state }: ThreadContext, id: string): { outstanding: number; remember: PermissionRule[] } {
  const call = callById(state.run, id);
  const { approvers = 1, remember = [{ tool: call.name }] } = askPolicyOf(call.verdict, call.phase) ?? {};
  return { outstanding: approvers - (call.ask?.votes.length ?? 0) - 1, remember };
}

/** Records the decision before the run continues, so that the log has them in this order. */
function goOnAfter(thread: ThreadContext, decide: () => void): void {
  decide();
  goOn(thread, 'Continuing run.');
}

/** Checks edited arguments against the tool, its policy and the hooks. Returns what people are shown of the edited call. Throws if they are not accepted. */
async function mustFit(thread: ThreadContext, asked: Decided, editedArguments: string): Promise<CheckedCall> {
  const { state } = thread;
  const { name } = callOf(thread, asked.toolCallId);
  const { tools } = inForce(state);
  const request = {
    agent: state.agent,
    call: { id: asked.toolCallId, name, arguments: editedArguments },
    ...(tools && { extraTools: tools }),
  };
  grow(thread.growth, activityEvents, request);
  const {
    error,
    digest,
    arguments: args,
    approval,
  } = await oneOfFew(thread, 'approve', () => whereAgentIs(thread, () => checkArguments(request)));
  if (error) refuse(`approve: the edited arguments do not fit ${name}: ${error.message}; the call still waits`, 'edit-refused');
  const asksHooks = hasHook(thread, 'approve:tool') && state.facts?.judgesDecisions;
  mayEdit(thread, asked, asksHooks ? await passedByHooks(thread, request.call, approval) : approval);
  mustStillWait(thread, asked);
  return { ...(state.facts?.checksEdits && args !== undefined && { arguments: args }), ...(digest && { digest }) };
}

function mayEdit({ state }: ThreadContext, asked: Decided, policy: AskPolicy | undefined): void {
  const why = notEntitledToEdit(state, asked.toolCallId, policy, asked);
  if (why !== undefined) refuse(`approve: ${why}; the call still waits`, 'not-entitled');
}

/** Runs the hooks on edited arguments, since they have seen only the model's. Returns the policy of tool and hooks for the edited call. */
async function passedByHooks(thread: ThreadContext, call: ToolCall, own: AskPolicy | undefined): Promise<AskPolicy | undefined> {
  const input = { call, ...(own && { ask: own }) };
  const answer = await oneOfFew(thread, 'approve', () => runHook(thread, 'approve:tool', input));
  if (answer?.approved === false) {
    refuse(`approve: a hook refuses the edited arguments: ${answer.reason ?? 'no reason was given'}; the call still waits`, 'edit-refused');
  }
  if (answer?.args) refuse('approve: a hook would edit the edited arguments once more; the call still waits', 'edit-refused');
  if (answer?.approved) return undefined;
  return answer?.ask ? askedWith(own, answer.ask) : own;
}

/** Stores rules for all threads of the agent, after the decision is recorded. Returns why they could not be stored, if so. */
async function rememberForAgent(
  thread: ThreadContext,
  rules: readonly PermissionRule[],
  signed: Attestation | undefined,
): Promise<string | undefined> {
  grow(thread.growth, activityEvents, rules);
  try {
    await whereAgentIs(thread, () => rememberRules({ agent: thread.state.agent, rules: [...rules], ...(signed && { signed }) }));
    return;
  } catch (error) {
    const why = `approve: the call is approved, and calls like it in this thread; for agent ${thread.state.agent} it could not be remembered: ${causeOf(error)}`;
    const reason = excerpt(why, 1_000);
    thread.record('agent.request.rejected', { request: 'approve', code: 'failed', reason });
    return reason;
  }
}

/** Returns the rules to remember. In runs that began with earlier code, rules for the agent are stored before the decision. */
async function rememberFirst(thread: ThreadContext, asked: Decided, rules: PermissionRule[]): Promise<PermissionRule[]> {
  if (asked.remember === 'thread' || thread.state.facts?.remembers !== undefined) return rules;
  grow(thread.growth, activityEvents, rules);
  try {
    await whereAgentIs(thread, () => rememberRules({ agent: thread.state.agent, rules, ...(asked.signed && { signed: asked.signed }) }));
  } catch (error) {
    refuse(`approve: it could not be remembered for agent ${thread.state.agent}: ${causeOf(error)}; the call still waits`, 'failed');
  }
  mustStillWait(thread, asked);
  return rules;
}

function causeOf(error: unknown): string {
  return ((error as { cause?: Error }).cause ?? (error as Error)).message;
}

/** Throws if the call no longer waits: someone else may have decided, or the run may have ended, while an activity ran. */
function mustStillWait({ state }: ThreadContext, asked: Decided): void {
  const still = checkDecision(state, asked, asked.signed && asked);
  const refused = still.ok ? lateDecision(state, asked, asked.came) : still;
  if (refused) throw failureOf(refused);
}

function decideLimit(thread: ThreadContext, { toolCallId, approved = true, by, signed, reason, more }: Decided, extra: Extra): void {
  const { state, record } = thread;
  const { limit, max, scope } = runOf(state).limitAsk as { limit: 'turns'; max: number; scope: 'run' };
  const words = { ...(by && { by }), ...(signed && { signed }), ...(reason && { reason }) };
  goOnAfter(thread, () =>
    approved
      ? record('agent.limit.extended', { id: toolCallId, limit, max: max + (more ?? (max > 0 ? max : 1)), scope, ...words }, extra)
      : record('agent.approval.decided', { toolCallId, approved, ...words }, extra),
  );
}
