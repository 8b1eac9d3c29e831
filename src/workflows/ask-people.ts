import { ApplicationFailure, condition, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '../contract/activities';
import { actionAt, lateDecision, lateOutputs } from '../core/deadlines';
import type { Extra } from '../core/evolve';
import { excerpt } from '../core/json';
import { checkDecision, checkSubmit, type DecisionRequest, type SubmitRequest } from '../core/requests';
import { type AskState, type CallState, inForce, type RunState, stepIdOf } from '../core/state';
import { type AskPolicy, type PermissionRule, toContent } from '../core/tool';
import { askPolicyOf, checkedCall, pendingCalls, waitSummary } from '../core/views';
import { checkArgumentsOptions, rememberRulesOptions } from './activity-options';
import { type Attested, attest } from './attest';
import { whereAgentIs } from './await-agent';
import { callOf, finishCall, refuseCall } from './finish-call';
import { throwIfCancelled } from './gates';
import { activityEvents, grow } from './growth';
import { oneOfFew } from './one-of-few';
import { publishStatus } from './search-attributes';
import { cancelRun, changeStatus } from './status';
import type { Thread } from './thread';

const { checkArguments } = proxyActivities<Activities>(checkArgumentsOptions);
const { rememberRules } = proxyActivities<Activities>(rememberRulesOptions);

/** Asks people to agree to a call. From here on it waits for them, for as long as its policy says. */
export function requestApproval(thread: Thread, id: string, policy: AskPolicy): void {
  const { deadlineMs, onDeadline: _, ...asked } = policy;
  const run = thread.state.run as RunState;
  const call = run.calls.find((one) => one.id === id) as CallState;
  const edited = call.editedArguments !== undefined && { arguments: call.editedArguments };
  thread.record(
    'agent.approval.requested',
    { stepId: stepIdOf(run), toolCall: callOf(thread, id), ...edited, ...checkedCall(call), ...asked, ...due(deadlineMs) },
    { approval: policy },
  );
}

/** Until a call waits for nobody any more: someone answered, what the policy says for the deadline has been done, or all is `over`. */
export async function awaitPeople(thread: Thread, id: string, over: () => boolean): Promise<void> {
  const now = () => thread.state.run?.calls.find((call) => call.id === id);
  while (!over()) {
    // A deadline may have cancelled the run; the call then waits still, until the run's end.
    throwIfCancelled();
    const call = now();
    if (call?.phase !== 'awaiting-approval' && call?.phase !== 'awaiting-output') return;
    const { phase, ask } = call;
    const moved = () => over() || now()?.phase !== phase || now()?.ask?.dueAt !== ask?.dueAt;
    if (ask?.dueAt === undefined) await condition(moved);
    else if (ask.dueAt <= Date.now() || !(await condition(moved, ask.dueAt - Date.now(), shownAs(thread, id))))
      passDeadline(thread, call, ask);
  }
}

/** The timer stands in the history for as long as it is waited for. */
function shownAs({ state }: Thread, id: string): { summary?: string } {
  const pending = pendingCalls(state).find(({ toolCallId }) => toolCallId === id);
  return pending ? { summary: waitSummary(pending) } : {};
}

function passDeadline(thread: Thread, { id, name, verdict, phase }: CallState, { passed }: AskState): void {
  const { record } = thread;
  const policy = askPolicyOf(verdict, phase) ?? {};
  const action = actionAt(policy.onDeadline ?? [], passed);
  if (action === 'ask-again' || typeof action === 'object') {
    record('agent.approval.escalated', {
      toolCallId: id,
      ...(typeof action === 'object' && { groups: action.escalate }),
      ...due(policy.deadlineMs),
    });
    if (thread.state.run?.status === 'requires_action') publishStatus(thread.state, 'rests');
    return;
  }
  if (action === 'cancel') return cancelRun(thread, { reason: `nobody answered for ${name} ("${id}") in time` });
  if (phase === 'awaiting-output') {
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

/** A run that rested for this goes on; where more is waited for it will say so again. */
function goOn(thread: Thread, details: string): void {
  if (thread.state.run?.status === 'requires_action') changeStatus(thread, 'in_progress', details);
}

export function acceptOutputs(thread: Thread, asked: SubmitRequest, extra: Extra): void | Promise<void> {
  if (!thread.state.facts?.signedDecisions) return takeOutputs(thread, asked, extra);
  return attest(thread, { name: 'submitToolOutputs', content: asked }).then((attested) => {
    const still = checkSubmit(thread.state, asked, attested);
    const reason = still.ok ? lateOutputs(thread.state, asked, Date.now()) : still.reason;
    if (reason !== undefined) refuseRequest(reason);
    takeOutputs(thread, { ...asked, ...attested }, extra);
  });
}

function takeOutputs(thread: Thread, { outputs, by, signed }: SubmitRequest & Partial<Attested>, extra: Extra): void {
  goOn(thread, 'Continuing run with tool results.');
  for (const { toolCallId, output, isError = false } of outputs) {
    const status = isError ? 'failed' : 'success';
    finishCall(thread, toolCallId, { status, output: toContent(output), ...(by && { by }), ...(signed && { signed }) }, extra);
  }
}

type Decided = DecisionRequest & Partial<Attested>;

/**
 * Returns what of an accepted decision did not succeed. All in one function, with the waits that it has: another between a decision and its answer
 * would make the answer, in history, change places with what the run does next.
 */
export async function acceptDecision(thread: Thread, request: DecisionRequest, extra: Extra): Promise<string | undefined> {
  const { state, record } = thread;
  const { toolCallId, arguments: edited } = request;
  const attested = state.facts?.signedDecisions ? await attest(thread, { name: 'approve', content: request }) : undefined;
  const asked: Decided = { ...request, ...attested };
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
    refuseRequest(`approve: agent ${state.agent} has no store to remember it in; remember it for the thread. The call still waits`);
  }
  const editedArguments = edited && JSON.stringify(edited);
  const digest = editedArguments === undefined ? undefined : await mustFit(thread, asked, editedArguments);
  const remembered = asked.remember && (await rememberFirst(thread, asked, remember));
  // In the same breath as the decision: what two deciders had looked up may have come in one go.
  mustStillWait(thread, asked);
  goOnAfter(thread, () =>
    record(
      'agent.approval.decided',
      {
        toolCallId,
        approved: true,
        ...(by && { by }),
        ...words,
        ...(editedArguments !== undefined && { editedArguments, ...(digest && { digest }) }),
        ...(remembered && { remembered }),
      },
      extra,
    ),
  );
  return forAgent && remembers ? await rememberForAgent(thread, remember) : undefined;
}

/** How many more must agree after this one, and what may be remembered. */
function askedOf({ state }: Thread, id: string): { outstanding: number; remember: PermissionRule[] } {
  const call = state.run?.calls.find((one) => one.id === id) as CallState;
  const { approvers = 1, remember = [{ tool: call.name }] } = askPolicyOf(call.verdict, call.phase) ?? {};
  return { outstanding: approvers - (call.ask?.votes.length ?? 0) - 1, remember };
}

/** The decision stands in the log before the run goes on for it. */
function goOnAfter(thread: Thread, decide: () => void): void {
  decide();
  goOn(thread, 'Continuing run.');
}

/** Returns what stands for the edited call. */
async function mustFit(thread: Thread, asked: Decided, editedArguments: string): Promise<string | undefined> {
  const { state } = thread;
  const { name } = callOf(thread, asked.toolCallId);
  const { tools } = inForce(state);
  const request = {
    agent: state.agent,
    call: { id: asked.toolCallId, name, arguments: editedArguments },
    ...(tools && { extraTools: tools }),
  };
  grow(thread.growth, activityEvents, request);
  const { error, digest } = await oneOfFew(thread, 'approve', () => whereAgentIs(thread, () => checkArguments(request)));
  if (error) refuseRequest(`approve: the edited arguments do not fit ${name}: ${error.message}; the call still waits`);
  mustStillWait(thread, asked);
  return digest;
}

/** Once the decision stands: what is kept for every thread of the agent was approved. Returns why it is not kept. */
async function rememberForAgent(thread: Thread, rules: PermissionRule[]): Promise<string | undefined> {
  grow(thread.growth, activityEvents, rules);
  try {
    await whereAgentIs(thread, () => rememberRules({ agent: thread.state.agent, rules }));
    return;
  } catch (error) {
    const why = `approve: the call is approved, and calls like it in this thread; for agent ${thread.state.agent} it could not be remembered: ${causeOf(error)}`;
    const reason = excerpt(why, 1_000);
    thread.record('agent.request.rejected', { request: 'approve', reason });
    return reason;
  }
}

/** In runs that began with earlier code, what is for the agent is kept before the decision. */
async function rememberFirst(thread: Thread, asked: Decided, rules: PermissionRule[]): Promise<PermissionRule[]> {
  if (asked.remember === 'thread' || thread.state.facts?.remembers !== undefined) return rules;
  grow(thread.growth, activityEvents, rules);
  try {
    await whereAgentIs(thread, () => rememberRules({ agent: thread.state.agent, rules }));
  } catch (error) {
    refuseRequest(`approve: it could not be remembered for agent ${thread.state.agent}: ${causeOf(error)}; the call still waits`);
  }
  mustStillWait(thread, asked);
  return rules;
}

function causeOf(error: unknown): string {
  return ((error as { cause?: Error }).cause ?? (error as Error)).message;
}

/** Someone else may have decided, or the run may have ended, while an activity was asked. */
function mustStillWait({ state }: Thread, asked: Decided): void {
  const still = checkDecision(state, asked, asked.signed && asked);
  const reason = still.ok ? lateDecision(state, asked, Date.now()) : still.reason;
  if (reason !== undefined) refuseRequest(reason);
}

function refuseRequest(reason: string): never {
  throw ApplicationFailure.nonRetryable(reason, 'InvalidRequest');
}

function decideLimit(thread: Thread, { toolCallId, approved = true, by, signed, reason, more }: Decided, extra: Extra): void {
  const { state, record } = thread;
  const { limit, max, scope } = (state.run as RunState).limitAsk as { limit: 'turns'; max: number; scope: 'run' };
  const words = { ...(by && { by }), ...(signed && { signed }), ...(reason && { reason }) };
  goOnAfter(thread, () =>
    approved
      ? record('agent.limit.extended', { id: toolCallId, limit, max: max + (more ?? (max > 0 ? max : 1)), scope, ...words }, extra)
      : record('agent.approval.decided', { toolCallId, approved, ...words }, extra),
  );
}
