import { ActivityFailure, ApplicationFailure, isCancellation, proxyActivities, sleep, TimeoutFailure } from '@temporalio/workflow';
import { type Activities, failureTypes, type RunToolRequest, type ToolStep } from '../contract/activities';
import { probeAgainMs } from '../core/probing';
import { canBeUnknown, type ToolOutcome, type Verdict } from '../core/tool';
import { toolSummary } from '../core/views';
import { runToolOptions, type StepOptions } from './activity-options';
import { grow, timerEvents } from './growth';
import { type StepContext, scheduleStep } from './schedule-step';

export type Runs = Extract<Verdict, { kind: 'run' }>;

/** A tool call as an activity takes it. */
export interface ToolCallStep {
  request: RunToolRequest;
  verdict: Runs;
}

export type ToolAttempt = Partial<ToolStep> & { outcome: ToolOutcome; cancelled?: unknown };

/** Runs a tool call, and asks its probe again if the outcome is unknown and the tool wants that. Never rejects. */
export function runToolStep(workflow: StepContext, step: ToolCallStep): Promise<ToolAttempt> {
  return step.verdict.onUnknown === 'probe-again' ? probeAgain(workflow, step) : scheduleTool(workflow, step);
}

async function probeAgain(workflow: StepContext, step: ToolCallStep): Promise<ToolAttempt> {
  const again: ToolCallStep = { ...step, request: { ...step.request, begun: true } };
  let end = await scheduleTool(workflow, step);
  for (const waitMs of probeAgainMs) {
    if (end.outcome.status !== 'unknown') return end;
    try {
      await sleep(waitMs, { summary: `waits before the probe of ${step.request.call.name} is asked again`.slice(0, 200) });
    } catch (cancelled) {
      return { ...end, cancelled };
    }
    grow(workflow.growth, timerEvents);
    end = await scheduleTool(workflow, again);
  }
  return end;
}

/** Schedules the activity that runs a tool call. Never rejects. */
function scheduleTool(workflow: StepContext, { request, verdict }: ToolCallStep): Promise<ToolAttempt> {
  const { name, arguments: args } = request.call;
  const options = runToolOptions(verdict);
  const { runTool } = proxyActivities<Activities>(options);
  const summary = toolSummary(name, args);
  const schedule = (timed: StepOptions, asked: RunToolRequest) => runTool.executeWithOptions({ ...timed, summary }, [asked]);
  return scheduleStep(workflow, options, request, schedule).catch((error) => ({
    outcome: outcomeOfLost(name, verdict, error),
    ...(isCancellation(error) && { cancelled: error }),
  }));
}

/** The outcome of a call whose activity failed. */
function outcomeOfLost(name: string, { effect }: Runs, error: unknown): ToolOutcome {
  if (isCancellation(error)) return { status: 'cancelled', content: 'Error: cancelled while it ran; it may have had effects already.' };
  const cause = error instanceof ActivityFailure ? error.cause : undefined;
  const lost = cause instanceof TimeoutFailure || (cause instanceof ApplicationFailure && cause.type === failureTypes.workerShutdown);
  if (lost && canBeUnknown[effect]) {
    const content = `Error: the worker was lost while ${name} ran. It may have been carried out or not; check before you call it again.`;
    return { status: 'unknown', content, error: { name: 'OutcomeUnknownError', message: content } };
  }
  const message = lost ? `the worker was lost repeatedly while ${name} ran` : (cause?.message ?? (error as Error).message);
  return { status: 'failed', content: `Error: ${message}`, error: { name: 'ToolInfrastructureError', message } };
}
