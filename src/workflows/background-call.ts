import { ApplicationFailure, workflowInfo } from '@temporalio/workflow';
import { failureTypes } from '../contract/activities';
import type { BackgroundInput } from '../contract/thread';
import { decodeFailureOf } from '../contract/undecodable';
import type { ToolOutcome } from '../core/tool';
import { noGrowth } from './growth';
import { stepScope } from './stop-steps';
import { runToolStep } from './tool-step';

/**
 * Runs one background call of a thread. It is a workflow of its own because an activity does not outlive the execution that scheduled it, and
 * the thread must be able to continue as new meanwhile. Returns the outcome, also if the call is cancelled.
 */
export async function backgroundCall(input: BackgroundInput): Promise<ToolOutcome> {
  const wrong = decodeFailureOf(input) ?? whyNotOurs(input);
  if (wrong) throw ApplicationFailure.nonRetryable(`The background call was not started: ${wrong}`, failureTypes.invalidInput);
  const { request, verdict, takeoverMs, lostAfterMs, agentWaitMs, threadId } = input;
  const facts = { ...(takeoverMs !== undefined && { takeoverMs }), ...(lostAfterMs !== undefined && { lostAfterMs }) };
  const waits = agentWaitMs === undefined ? {} : { agentWaitMs };
  const workflow = { state: { facts }, input: waits, growth: { ...noGrowth }, eager: true, alarms: 0 };
  const scope = stepScope({ run: { id: request.runId } }, 'all');
  const { outcome } = await scope.run(() => runToolStep(workflow, { request: { ...request, threadId }, verdict }));
  return outcome;
}

/** A client that may start workflows must not be able to run a tool without its approval, so only a thread can start this workflow. */
function whyNotOurs({ threadId }: BackgroundInput): string | undefined {
  const { parent } = workflowInfo();
  return parent && parent.workflowId === threadId ? undefined : 'only a thread can start one';
}
