import { ApplicationFailure } from '@temporalio/activity';
import type { Agent } from '../agents/agent';
import { type Activities, failureTypes, type HooksStep, type RunHooksRequest, type StepProgress } from '../contract/activities';
import type { HookAnswer, HookInput, HookName, HookReport } from '../core/hooks';
import type { Message, ToolCall } from '../core/message';
import type { CheckedCall } from '../core/tool';
import type { Hooks } from '../hooks/define-hooks';
import type { HookHost } from '../hooks/run-registered';
import { threadWorkspace } from '../tools/built-in/thread-workspace';
import type { ToolContext } from '../tools/defining/define-tool';
import { capContent, maxOutputBytes } from '../tools/running/output-cap';
import { agentOf } from './steps/agent-of';
import { askThread, eventsOf } from './steps/ask-thread';
import { callDigest, checkedBy, withDigest } from './steps/call-digest';
import type { ActivityDependencies } from './steps/dependencies';
import { runStep, type Step } from './steps/step';

type Needed = Pick<
  ActivityDependencies,
  'outputTools' | 'agents' | 'bus' | 'transcripts' | 'workspace' | 'dependencies' | 'liveTextMs' | 'takeoverMs'
>;

/** More than a tool's output has, so that a hook that adds a note to an output does not have it cut a second time. */
const hookOutputBytes = maxOutputBytes + 16 * 1024;

/** Attempts at a step whose transcript can't be read. After that, it counts as the hook's error. */
const tries = 3;

/** Runs the hooks of one name. Their errors are in the reports. Throws only if a hook's failure ends the run, or if infrastructure was lost. */
export function runHooks(deps: Needed): Activities['runHooks'] {
  return <N extends HookName>(request: RunHooksRequest<N>): Promise<HooksStep<N>> => {
    const progress: StepProgress = { runId: request.runId, turn: request.turn, attempt: 1 };
    return runStep(deps, { progress: () => progress, earlier: request.earlier }, async (step) => {
      progress.attempt = step.attempt;
      const agent = agentOf(deps.agents, request.agent, step);
      if (!agent.hooks?.ids()[request.hook]) return nobodyToAsk(request);
      const told = await ask(deps, agent.hooks, request, step);
      const checked = await checkedArguments(deps, agent, request, told.answer, step);
      return { ...told, ...(checked && { checked }) };
    });
  };
}

/** The answer if the agent had such hooks when the run began, but has none on this worker. `approve:tool` then refuses. */
function nobodyToAsk<N extends HookName>({ hook, agent }: RunHooksRequest<N>): HooksStep<N> {
  const reason = `Permission check failed: agent '${agent}' of this worker has no approve:tool hooks, though the run began with some.`;
  return { answer: (hook === 'approve:tool' ? { approved: false, reason } : {}) as HookAnswer[N], reports: [] };
}

async function ask<N extends HookName>(deps: Needed, hooks: Hooks, request: RunHooksRequest<N>, step: Step): Promise<HooksStep<N>> {
  let lost = false;
  let read: Promise<Message[]> | undefined;
  const host: HookHost = {
    agent: request.agent,
    threadId: step.threadId,
    runId: request.runId,
    turn: request.turn,
    signal: step.signal,
    ...(request.disabled && { disabled: request.disabled }),
    messages() {
      read ??= transcript(deps, request, step).catch((error) => {
        lost = true;
        throw error;
      });
      return read;
    },
    events: (from, to) => eventsOf(step.threadId, step.execution, from, to),
    resolve: resolver(deps, request, step),
    cap: (content) => capContent(content, { max: hookOutputBytes }),
  };
  const { answer, reports } = await hooks.run(request.hook, request.input, host);
  if (lost && step.attempt < tries && reports.some(({ error }) => error !== undefined)) throw unavailable();
  // Events are already recorded, so a failed `on:event` can't end the run and is only reported.
  const fatal = request.hook === 'on:event' ? [] : reports.filter(({ error, mode }) => error !== undefined && mode === 'fail');
  if (fatal.length > 0) throw hookFailed(request.hook, fatal, reports);
  return { answer, reports };
}

/** Returns what people who may be asked about the call are shown of arguments that `approve:tool` edited. */
async function checkedArguments(
  { outputTools = [] }: Needed,
  agent: Agent,
  { hook, input }: RunHooksRequest,
  answer: HookAnswer[HookName],
  { threadId }: Step,
): Promise<CheckedCall | undefined> {
  if (hook !== 'approve:tool' || !('args' in answer) || !answer.args) return undefined;
  const call = { ...(input as HookInput['approve:tool']).call, arguments: JSON.stringify(answer.args) };
  try {
    const verdict = await (await agent.toolsFor({ threadId, outputTools })).judge(call, { threadId, mayBeAsked: true });
    if (verdict.kind !== 'reject') return checkedBy(withDigest(threadId, call, verdict, true));
  } catch {
    // Tools that can't be loaded are reported when they are needed.
  }
  return { digest: callDigest(threadId, call, call.arguments) };
}

function hookFailed(hook: HookName, fatal: readonly HookReport[], reports: readonly HookReport[]): ApplicationFailure {
  const words = fatal.map(({ id, error }) => `Hook '${id}' of ${hook} failed: ${error}`).join('; ');
  return ApplicationFailure.nonRetryable(words, failureTypes.hookFailed, { hook, reports });
}

async function transcript(deps: Needed, { transcript: ref }: RunHooksRequest, step: Step): Promise<Message[]> {
  const found = await deps.transcripts.read(step.threadId, ref, askThread(step.threadId, step.execution));
  if ('messages' in found) return found.messages;
  throw unavailable();
}

function unavailable(): ApplicationFailure {
  return ApplicationFailure.retryable("The transcript could not be read from the thread's workflow", failureTypes.transcriptUnavailable);
}

/** Returns `ctx.resolve`: the worker's dependencies as tools get them, each made once per step. */
function resolver({ dependencies, agents, workspace }: Needed, request: RunHooksRequest, step: Step): HookHost['resolve'] {
  const made = new Map<string, Promise<unknown>>();
  const { hook, runId, turn, input, agent } = request;
  const call = (input as { call?: ToolCall }).call?.id ?? '';
  const resolve = <T>(name: string): Promise<T> => {
    const make = Object.hasOwn(dependencies, name) ? dependencies[name] : undefined;
    if (!make) {
      const known = Object.keys(dependencies).join(', ') || 'none';
      return Promise.reject(new Error(`Unknown dependency '${name}'. The worker was created with: ${known}.`));
    }
    const dependency = made.get(name) ?? Promise.resolve().then(() => make(ctx));
    made.set(name, dependency);
    return dependency as Promise<T>;
  };
  const ctx: ToolContext = {
    signal: step.signal,
    idempotencyKey: [step.threadId, runId, turn, hook, ...(call === '' ? [] : [call])].join('/'),
    threadId: step.threadId,
    runId,
    toolCallId: call,
    attempt: step.attempt,
    workspace: threadWorkspace(agents.get(agent).workspace ?? workspace, step.threadId),
    progress: () => undefined,
    resolve,
    now: () => new Date(),
    maxOutputBytes,
  };
  return resolve;
}
