import { ApplicationFailure } from '@temporalio/activity';
import type { Agent } from '../agents/agent';
import { type Activities, failureTypes, type HooksStep, type RunHooksRequest, type StepProgress } from '../contract/activities';
import type { HookAnswer, HookInput, HookName, HookReport } from '../core/hooks';
import type { Message, ToolCall } from '../core/message';
import type { CheckedCall } from '../core/tool';
import type { Hooks } from '../hooks/define-hooks';
import type { HookHost } from '../hooks/run-registered';
import type { ToolContext } from '../tools/define-tool';
import { capContent } from '../tools/output-cap';
import { agentOf } from './agent-of';
import { askThread, eventsOf } from './ask-thread';
import { callDigest, checkedBy, withDigest } from './call-digest';
import type { ActivityDependencies } from './dependencies';
import { runStep, type Step } from './step';

type Needed = Pick<ActivityDependencies, 'agents' | 'bus' | 'transcripts' | 'workspace' | 'dependencies' | 'liveTextMs' | 'takeoverMs'>;

/** How often a thread that could not be asked for its transcript is asked anew before that counts as the hook's error. */
const tries = 3;

/** The hooks of one name. What goes wrong in them is in the reports, but for hooks whose failure ends the run, and for lost infrastructure. */
export function runHooks(deps: Needed): Activities['runHooks'] {
  return <N extends HookName>(request: RunHooksRequest<N>): Promise<HooksStep<N>> => {
    const progress: StepProgress = { runId: request.runId, turn: request.turn, attempt: 1 };
    return runStep(deps, { progress: () => progress, earlier: request.earlier }, async (step) => {
      progress.attempt = step.attempt;
      const agent = agentOf(deps.agents, request.agent, step);
      if (!agent.hooks?.ids()[request.hook]) return nobodyToAsk(request);
      const told = await ask(deps, agent.hooks, request, step);
      const checked = await checkedArguments(agent, request, told.answer, step);
      return { ...told, ...(checked && { checked }) };
    });
  };
}

/** The agent was registered with such hooks when the run began, and this worker's has none. A permission that can't be asked for is not given. */
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
    cap: capContent,
  };
  const { answer, reports } = await hooks.run(request.hook, request.input, host);
  if (lost && step.attempt < tries && reports.some(({ error }) => error !== undefined)) throw unavailable();
  // What was recorded can't be taken back, so whoever listens to it can't end the run: its failure is only reported.
  const fatal = request.hook === 'on:event' ? [] : reports.filter(({ error, mode }) => error !== undefined && mode === 'fail');
  if (fatal.length > 0) throw hookFailed(request.hook, fatal, reports);
  return { answer, reports };
}

/** Of arguments that a hook puts in the place of the model's, before somebody is asked about them: what they are shown. */
async function checkedArguments(
  agent: Agent,
  { hook, input }: RunHooksRequest,
  answer: HookAnswer[HookName],
  { threadId }: Step,
): Promise<CheckedCall | undefined> {
  if (hook !== 'approve:tool' || !('args' in answer) || !answer.args) return undefined;
  const call = { ...(input as HookInput['approve:tool']).call, arguments: JSON.stringify(answer.args) };
  try {
    const verdict = await (await agent.toolsFor({ threadId })).judge(call, { mayBeAsked: true });
    if (verdict.kind !== 'reject') return checkedBy(withDigest(threadId, call, verdict, true));
  } catch {
    // Tools that can't be had are told of where they are needed.
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
  return ApplicationFailure.retryable("The transcript could not be had from the thread's workflow", failureTypes.transcriptUnavailable);
}

/** What the worker was created with, as tools reach it: made once for the hooks of the step. */
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
    workspace: agents.get(agent).workspace ?? workspace,
    progress: () => undefined,
    resolve,
    now: () => new Date(),
  };
  return resolve;
}
