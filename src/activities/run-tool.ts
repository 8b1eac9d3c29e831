import { randomUUID } from 'node:crypto';
import { ApplicationFailure, Context } from '@temporalio/activity';
import type { Activities, StepProgress } from '../contract/activities';
import { withoutSignature } from '../core/attestation';
import { bounds } from '../core/bounds';
import { excerpt } from '../core/json';
import type { Content, ToolCall } from '../core/message';
import { shortText } from '../core/text';
import { isError, type ToolError, type ToolOutcome } from '../core/tool';
import type { ToolHost } from '../tools/running/run-within';
import type { Toolbox } from '../tools/running/toolbox';
import { agentOf } from './steps/agent-of';
import { callDigest } from './steps/call-digest';
import type { ActivityDependencies } from './steps/dependencies';
import { whyNotApproved } from './steps/signed-approvals';
import { interrupted, isInterrupted, runStep } from './steps/step';
import { workspaceOf } from './steps/workspace-of';

/** Runs one tool call. Returns an outcome, also if the tool failed. Throws only if the attempt was interrupted or is to be retried. */
export function runTool(deps: ActivityDependencies): Activities['runTool'] {
  return async (request) => {
    const {
      agent: agentName,
      runId,
      call,
      unasked,
      rules = [],
      digest,
      signed,
      edited,
      once,
      verify,
      begun,
      earlier,
      threadId,
      answers,
      plan,
      mediaBytes,
    } = request;
    const progress: StepProgress = { runId, toolCallId: call.id, name: call.name, attempt: 1 };
    return runStep(deps, { progress: () => progress, once, earlier, threadId }, async (step) => {
      // Attempts that died with their worker are not failures of the tool, so its throws are counted separately and passed to the next attempt.
      Object.assign(progress, { attempt: step.attempt, throws: step.before?.throws ?? 0 });
      // The retry policy allows one attempt, but an operator may have changed it.
      if (once && Context.current().info.attempt > 1) return { messageId: newMessageId(), outcome: unknownOutcome(call.name) };
      const mayHaveBegun = begun || step.attempt > 1;
      const agent = agentOf(deps.agents, agentName, step);
      const { artifacts, outputTools = [] } = deps;
      const toolbox = await agent.toolsFor({ threadId: step.threadId, calling: call.name, outputTools });
      const tool = toolbox.get(call.name);
      const workspace = await workspaceOf(agent, deps, step.threadId);
      const own = rules.map(withoutSignature);
      if (unasked && !(await toolbox.isFree(call, { rules: own, workspace, threadId: step.threadId }))) {
        return { messageId: newMessageId(), outcome: mayHaveBegun ? unknownOutcome(call.name) : notFreeAnyMore(call.name) };
      }
      if (deps.verifier) {
        const claimed = { threadId: step.threadId, runId, call, rules, workspace, ...(edited && { edited }), ...(signed && { signed }) };
        const why = await whyNotApproved({ agent, toolbox, verifier: deps.verifier }, claimed).catch(notVerified(call.name));
        if (why) return { messageId: newMessageId(), outcome: mayHaveBegun ? unknownOutcome(call.name) : notApproved(why) };
      }
      if (digest && (await digestNow(step.threadId, toolbox, call)) !== digest) {
        return { messageId: newMessageId(), outcome: mayHaveBegun ? unknownOutcome(call.name) : notAsShown(call.name) };
      }
      // Pages of a stored output are not stored again.
      const isPage = tool !== undefined && outputTools.includes(tool);
      const host: ToolHost = {
        signal: step.signal,
        idempotencyKey: `${step.threadId}/${runId}/${call.id}`,
        threadId: step.threadId,
        runId,
        attempt: step.attempt,
        mayStart: step.mayStart,
        workspace,
        dependencies: deps.dependencies,
        ...(answers && { answers }),
        ...(plan !== undefined && { plan }),
        ...(mediaBytes !== undefined && { mediaBytes }),
        ...(artifacts && !isPage && { keep: (bytes, mediaType) => artifacts.keep(step.threadId, bytes, mediaType) }),
        progress(said) {
          const message = shortText(said, bounds.progressChars);
          progress.text = message;
          step.publish('agent.tool.progress', runId, { toolCallId: call.id, name: call.name, attempt: step.attempt, message });
        },
      };
      const probed = verify && mayHaveBegun ? await toolbox.probe(call, host) : undefined;
      const { outcome, threw } = probed ?? (await toolbox.execute(call, host));
      // Interrupted, not cancelled: another attempt may run it. The outcome of a `once` tool is unknown; after a reset, it would run again.
      if (outcome.status === 'cancelled' && isInterrupted()) {
        if (once && Context.current().cancellationDetails?.reset) return { messageId: newMessageId(), outcome: unknownOutcome(call.name) };
        throw interrupted();
      }
      progress.throws = (progress.throws ?? 0) + (threw ? 1 : 0);
      if (threw && !once && progress.throws < (tool?.retry?.maxAttempts ?? 1)) {
        const { throws } = progress;
        throw ApplicationFailure.retryable(outcome.error?.message ?? 'The tool threw', outcome.error?.name, { throws });
      }

      // Nothing is deposited: the call has no result yet.
      if (outcome.asks) return { messageId: newMessageId(), outcome };
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
        ...(told.outputRef && { outputRef: told.outputRef }),
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

/** For a call that has not begun: something that ran since its verdict, such as another call of the same answer, changed what it would do. */
function notFreeAnyMore(name: string): ToolOutcome {
  const message = `${name} was not run: something changed what the call would do after its permissions were checked, and it needs an approval now.`;
  return {
    status: 'denied',
    content: `Error: ${message} Call it again, and a person is asked.`,
    error: { name: 'PermissionDeniedError', message },
  };
}

function notVerified(name: string): (error: unknown) => ToolError {
  return (error) => ({
    name: 'SignatureRequiredError',
    message: `${name} was not run: its signed approvals could not be verified: ${shortText(String((error as Error)?.message ?? error), 500)}.`,
  });
}

/** For a call that has not begun, on a worker with a verifier. */
function notApproved(error: ToolError): ToolOutcome {
  const status = error.name === 'InvalidToolArgumentsError' || error.name === 'ToolNotFoundError' ? 'rejected' : 'denied';
  const hint = error.name === 'SignatureRequiredError' ? ' Call it again, and a person is asked.' : '';
  return { status, content: `Error: ${error.message}${hint}`, error };
}

/** Returns the digest of what people would be shown of a call now. */
async function digestNow(threadId: string, toolbox: Toolbox, call: ToolCall): Promise<string> {
  return callDigest(threadId, call, (await toolbox.shown(call)) ?? call.arguments);
}

/** For a call that has not begun: the tool, such as its defaults, changed while people were being asked. */
function notAsShown(name: string): ToolOutcome {
  const message = `${name} was not run: the tool now interprets the arguments differently from what was approved.`;
  return {
    status: 'denied',
    content: `Error: ${message} Call it again, and a person is asked.`,
    error: { name: 'PermissionDeniedError', message },
  };
}

/** Tells the model that its call ran with edited arguments. */
function withNote(by: 'person' | 'hook', content: Content, args: string): Content {
  const note = `[A ${by} edited the arguments before the call: ${excerpt(args, 2_000)}]\n`;
  return typeof content === 'string' ? note + content : [{ type: 'text', text: note }, ...content];
}
