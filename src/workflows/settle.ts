import { ApplicationFailure } from '@temporalio/workflow';
import type { Extra } from '../core/evolve';
import type { Json } from '../core/json';
import type { SettleRequest } from '../core/requests';
import { checkSettle } from '../core/settling';
import { type ToolOutcome, toContent } from '../core/tool';
import { unreachable } from '../core/unreachable';
import { type Attested, attest } from './attest';
import { finishCall } from './finish-call';
import { failureOf } from './refuse';
import { changeStatus } from './status';
import type { ThreadContext } from './thread-context';
import type { Runs } from './tool-step';

/**
 * Does with a call whose outcome is unknown what its tool wants. Returns whether that is all: the call waits for a person. Throws if the run is to
 * fail. Otherwise the model is told.
 */
export function leaveUnsettled(
  thread: ThreadContext,
  call: { id: string; name: string },
  { onUnknown }: Runs,
  outcome: ToolOutcome,
): boolean {
  const message = outcome.error?.message ?? `the outcome of ${call.name} is unknown`;
  switch (onUnknown) {
    case undefined:
    case 'tell-model':
      return false;
    case 'ask-person':
    case 'probe-again':
      thread.record('agent.tool.outcome.unknown', { toolCallId: call.id, name: call.name, message });
      return true;
    case 'fail-run': {
      const { content, ...rest } = outcome;
      finishCall(thread, call.id, { output: content, ...rest });
      throw ApplicationFailure.nonRetryable(`Tool '${call.name}' has an unknown outcome. ${message}`, 'outcome_unknown');
    }
    default:
      return unreachable(onUnknown);
  }
}

export function acceptSettlement(thread: ThreadContext, asked: SettleRequest, extra: Extra): void | Promise<void> {
  if (!thread.state.facts?.signedDecisions) return settle(thread, asked, extra);
  return attest(thread, { name: 'settle', content: asked }).then((attested) => {
    const still = checkSettle(thread.state, asked, attested);
    if (!still.ok) throw failureOf(still);
    settle(thread, { ...asked, ...attested }, extra);
  });
}

function settle(thread: ThreadContext, request: SettleRequest & Partial<Attested>, extra: Extra): void {
  const { toolCallId, outcome, output, reason, by, signed } = request;
  const who = { ...(by && { by }), ...(signed && { signed }) };
  thread.record('agent.tool.outcome.settled', { toolCallId, outcome, ...who, ...(reason && { reason }) }, extra);
  switch (outcome) {
    case 'not-done':
      break;
    case 'done':
      finishCall(thread, toolCallId, { status: 'success', output: toContent(output), result: output as Json, ...who });
      break;
    case 'failed': {
      const error = { name: 'SettledAsFailedError', message: reason ?? 'the call failed' };
      finishCall(thread, toolCallId, { status: 'failed', output: `Error: ${error.message}`, error, ...who });
    }
  }
  if (thread.state.run?.status === 'requires_action') changeStatus(thread, 'in_progress', 'Continuing run.');
}
