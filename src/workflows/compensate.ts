import { proxyActivities } from '@temporalio/workflow';
import type { Activities, CompensateRequest } from '../contract/activities';
import { runOf } from '../core/calls';
import type { RunEnd } from '../core/decide';
import type { SagaCall } from '../core/sagas';
import { messageOfThrown } from '../core/thrown';
import { unreachable } from '../core/unreachable';
import { toolSummary } from '../core/views';
import { compensateOptions, type StepOptions } from './activity-options';
import { scheduleStep } from './schedule-step';
import type { ThreadContext } from './thread-context';

/**
 * Compensates the `saga` calls of a run that did not succeed, one after another, the newest first. A compensation that fails for good does not stop
 * the others. It is called outside the run's scope, so that a cancel does not stop it.
 */
export async function compensate(thread: ThreadContext, end: RunEnd): Promise<void> {
  if (!isUndone(end)) return;
  for (const saga of [...(runOf(thread.state).sagas ?? [])].reverse()) await compensateCall(thread, saga);
}

/** Whether a run that ends so is compensated. At a limit, the run keeps what it has done, as its model knows it. */
function isUndone({ type }: RunEnd): boolean {
  switch (type) {
    case 'failed':
    case 'cancelled':
    case 'expired':
      return true;
    case 'completed':
    case 'incomplete':
      return false;
    default:
      return unreachable(type);
  }
}

async function compensateCall(thread: ThreadContext, saga: SagaCall): Promise<void> {
  const { record } = thread;
  const about = { toolCallId: saga.id, name: saga.name };
  record('agent.tool.compensation.started', about);
  const options = compensateOptions(saga);
  const { compensateTool } = proxyActivities<Activities>(options);
  const summary = toolSummary(`compensate ${saga.name}`, saga.arguments);
  const schedule = (timed: StepOptions, asked: CompensateRequest) => compensateTool.executeWithOptions({ ...timed, summary }, [asked]);
  try {
    const { failed, attempts, durationMs } = await scheduleStep(thread, options, requestOf(thread, saga), schedule);
    if (failed === undefined) record('agent.tool.compensation.completed', { ...about, attempts, durationMs });
    else record('agent.tool.compensation.failed', { ...about, message: failed, attempts });
  } catch (error) {
    record('agent.tool.compensation.failed', { ...about, message: messageOfThrown((error as Error).cause ?? error) });
  }
}

function requestOf({ state }: ThreadContext, { id, name, arguments: args, output, editedBy, signed }: SagaCall): CompensateRequest {
  return {
    agent: state.agent,
    runId: runOf(state).id,
    call: { id, name, arguments: args },
    ...(output !== undefined && { output }),
    ...(editedBy && { edited: editedBy }),
    ...(signed && { signed }),
    ...(state.rules.length > 0 && { rules: state.rules }),
  };
}
