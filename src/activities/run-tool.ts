import { randomUUID } from 'node:crypto';
import { ApplicationFailure } from '@temporalio/activity';
import type { Activities, StepProgress } from '../contract/activities';
import { excerpt } from '../core/json';
import type { Content } from '../core/message';
import { isError, type ToolOutcome } from '../core/tool';
import type { ActivityDependencies } from './dependencies';
import { isShuttingDown, runStep, workerShutdown } from './step';

/** One tool call. What comes of it is an outcome, also when it fails; an exception means that it was lost, or that it is worth another attempt. */
export function runTool(deps: ActivityDependencies): Activities['runTool'] {
  return async ({ agent: agentName, runId, call, edited }) => {
    const progress: StepProgress = { runId, toolCallId: call.id, name: call.name, attempt: 1 };
    return runStep(
      deps.bus,
      () => progress,
      async (step) => {
        // Attempts that died with their worker are no failures of the tool: its throws are counted apart, and handed on.
        Object.assign(progress, { attempt: step.attempt, throws: step.before?.throws ?? 0 });
        const agent = deps.agents.get(agentName);
        const toolbox = await agent.toolsFor({ threadId: step.threadId });
        const { outcome, threw } = await toolbox.execute(call, {
          signal: step.signal,
          idempotencyKey: `${step.threadId}/${runId}/${call.id}`,
          threadId: step.threadId,
          runId,
          attempt: step.attempt,
          workspace: agent.workspace ?? deps.workspace,
          dependencies: deps.dependencies,
          progress(message) {
            progress.text = message;
            step.publish('agent.tool.progress', runId, { toolCallId: call.id, name: call.name, attempt: step.attempt, message });
          },
        });
        // Stopped because the worker is, not because anyone wants it stopped: another worker may do it, or nobody knows how far it came.
        if (outcome.status === 'cancelled' && isShuttingDown()) throw workerShutdown();
        progress.throws = (progress.throws ?? 0) + (threw ? 1 : 0);
        if (threw && progress.throws < (toolbox.get(call.name)?.retry?.maxAttempts ?? 1)) {
          step.beat();
          throw ApplicationFailure.retryable(outcome.error?.message ?? 'The tool threw', outcome.error?.name);
        }

        const told: ToolOutcome = {
          ...outcome,
          ...(edited && { content: withNote(edited, outcome.content, call.arguments) }),
          ...(step.attempt > 1 && { attempts: step.attempt }),
        };
        const id = `msg_${randomUUID().replaceAll('-', '').slice(0, 16)}`;
        deps.transcripts.deposit(step.threadId, {
          id,
          role: 'tool',
          toolCallId: call.id,
          name: call.name,
          content: told.content,
          isError: isError(told),
        });
        return { messageId: id, outcome: told };
      },
    );
  };
}

/** The model must know that its call ran with other arguments than its own. */
function withNote(by: 'person' | 'hook', content: Content, args: string): Content {
  const note = `[A ${by} edited the arguments before the call: ${excerpt(args, 2_000)}]\n`;
  return typeof content === 'string' ? note + content : [{ type: 'text', text: note }, ...content];
}
