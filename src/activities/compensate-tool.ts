import { ApplicationFailure } from '@temporalio/activity';
import type { Activities, StepProgress } from '../contract/activities';
import { compensationRetry } from '../core/sagas';
import { agentOf } from './steps/agent-of';
import type { ActivityDependencies } from './steps/dependencies';
import { whyNotApproved } from './steps/signed-approvals';
import { interrupted, runStep } from './steps/step';
import { workspaceOf } from './steps/workspace-of';

/**
 * Compensates one call of a `saga` tool. Returns whether it failed for good. Throws if the attempt was interrupted or is to be retried. With a
 * verifier, the call must have been approved as for its execution: otherwise someone could make up a call to have it undone.
 */
export function compensateTool(deps: ActivityDependencies): Activities['compensateTool'] {
  return async ({ agent: agentName, runId, call, output, rules = [], signed, edited, earlier }) => {
    // Without the call's id: a step with one is stopped by a cancel of its run, and a compensation is not.
    const progress: StepProgress = { runId, name: call.name, attempt: 1 };
    return runStep(deps, { progress: () => progress, earlier }, async (step) => {
      Object.assign(progress, { attempt: step.attempt, throws: step.before?.throws ?? 0 });
      const { threadId, attempt: attempts } = step;
      const agent = agentOf(deps.agents, agentName, step);
      const toolbox = await agent.toolsFor({ threadId, calling: call.name, outputTools: deps.outputTools ?? [] });
      const workspace = await workspaceOf(agent, deps, threadId);
      if (deps.verifier) {
        const claimed = { threadId, runId, call, rules, workspace, ...(edited && { edited }), ...(signed && { signed }) };
        const why = await whyNotApproved({ agent, toolbox, verifier: deps.verifier }, claimed);
        if (why) return { failed: why.message, attempts, durationMs: 0 };
      }
      const began = performance.now();
      const ended = await toolbox.compensate(call, output, {
        signal: step.signal,
        idempotencyKey: `${threadId}/${runId}/${call.id}/compensate`,
        threadId,
        runId,
        attempt: attempts,
        workspace,
        dependencies: deps.dependencies,
      });
      const durationMs = Math.round(performance.now() - began);
      if (ended.status === 'done') return { attempts, durationMs };
      if (ended.status === 'stopped') throw interrupted();
      progress.throws = (progress.throws ?? 0) + 1;
      const { throws } = progress;
      const most = compensationRetry(toolbox.get(call.name)?.retry).maxAttempts;
      if (ended.final || throws >= most) return { failed: ended.message, attempts, durationMs };
      throw ApplicationFailure.retryable(ended.message, 'CompensationFailed', { throws });
    });
  };
}
