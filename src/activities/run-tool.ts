import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import { ApplicationFailure, Context } from '@temporalio/activity';
import type { Activities, StepProgress } from '../contract/activities';
import { bounds } from '../core/bounds';
import { excerpt } from '../core/json';
import type { Content } from '../core/message';
import { shortText } from '../core/text';
import { isError, type ToolOutcome } from '../core/tool';
import { agentOf } from './agent-of';
import type { ActivityDependencies } from './dependencies';
import { interrupted, isInterrupted, runStep } from './step';

/** One tool call. What comes of it is an outcome, also when it fails; an exception means that it was lost, or that it is worth another attempt. */
export function runTool(deps: ActivityDependencies): Activities['runTool'] {
  return async ({ agent: agentName, runId, call, unasked, rules = [], edited, once, earlier }) => {
    const progress: StepProgress = { runId, toolCallId: call.id, name: call.name, attempt: 1 };
    return runStep(deps, { progress: () => progress, once, earlier }, async (step) => {
      // Attempts that died with their worker are no failures of the tool: its throws are counted apart, and handed on.
      Object.assign(progress, { attempt: step.attempt, throws: step.before?.throws ?? 0 });
      // Its retry policy has one attempt; an operator may have given it more.
      if (once && Context.current().info.attempt > 1) return { messageId: newMessageId(), outcome: unknownOutcome(call.name) };
      const agent = agentOf(deps.agents, agentName, step);
      const toolbox = await agent.toolsFor({ threadId: step.threadId });
      const workspace = resolve(agent.workspace ?? deps.workspace);
      if (unasked && !(await toolbox.isFree(call, { rules, workspace }))) {
        return { messageId: newMessageId(), outcome: step.attempt > 1 ? unknownOutcome(call.name) : notFreeAnyMore(call.name) };
      }
      const { outcome, threw } = await toolbox.execute(call, {
        signal: step.signal,
        idempotencyKey: `${step.threadId}/${runId}/${call.id}`,
        threadId: step.threadId,
        runId,
        attempt: step.attempt,
        workspace,
        dependencies: deps.dependencies,
        progress(said) {
          const message = shortText(said, bounds.progressChars);
          progress.text = message;
          step.publish('agent.tool.progress', runId, { toolCallId: call.id, name: call.name, attempt: step.attempt, message });
        },
      });
      // Nobody cancelled it: another attempt may do it, or, of a `once` tool, nobody knows how far it came. What is reset would begin anew.
      if (outcome.status === 'cancelled' && isInterrupted()) {
        if (once && Context.current().cancellationDetails?.reset) return { messageId: newMessageId(), outcome: unknownOutcome(call.name) };
        throw interrupted();
      }
      progress.throws = (progress.throws ?? 0) + (threw ? 1 : 0);
      if (threw && progress.throws < (toolbox.get(call.name)?.retry?.maxAttempts ?? 1)) {
        const { throws } = progress;
        throw ApplicationFailure.retryable(outcome.error?.message ?? 'The tool threw', outcome.error?.name, { throws });
      }

      const told: ToolOutcome = {
        ...outcome,
        ...(edited && { content: withNote(edited, outcome.content, call.arguments) }),
        ...(step.attempt > 1 && { attempts: step.attempt }),
      };
      const id = newMessageId();
      deps.transcripts.deposit(step.threadId, {
        id,
        role: 'tool',
        toolCallId: call.id,
        name: call.name,
        content: told.content,
        isError: isError(told),
      });
      return { messageId: id, outcome: told };
    });
  };
}

function newMessageId(): string {
  return `msg_${randomUUID().replaceAll('-', '').slice(0, 16)}`;
}

function unknownOutcome(name: string): ToolOutcome {
  const content = `Error: ${name} was interrupted. It may have been carried out or not; check before you call it again.`;
  return { status: 'unknown', content, error: { name: 'OutcomeUnknownError', message: content } };
}

/** Of a call that no attempt has begun: what ran since it was judged, such as another call of the same answer, changed what it would do. */
function notFreeAnyMore(name: string): ToolOutcome {
  const message = `${name} was not run: since it was judged, something changed what it would do, and it needs an approval now.`;
  return {
    status: 'denied',
    content: `Error: ${message} Call it again, and a person is asked.`,
    error: { name: 'PermissionDeniedError', message },
  };
}

/** The model must know that its call ran with other arguments than its own. */
function withNote(by: 'person' | 'hook', content: Content, args: string): Content {
  const note = `[A ${by} edited the arguments before the call: ${excerpt(args, 2_000)}]\n`;
  return typeof content === 'string' ? note + content : [{ type: 'text', text: note }, ...content];
}
