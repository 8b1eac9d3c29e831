import { ApplicationFailure, isCancellation, proxyActivities } from '@temporalio/workflow';
import { type Activities, failureTypes, type RunHooksRequest } from '../contract/activities';
import { bounds } from '../core/bounds';
import { bytesOf } from '../core/context/carry';
import { noteDelivered } from '../core/evolve';
import { countErrors, defaultHookErrors } from '../core/hook-errors';
import type { HookAnswer, HookInput, HookName, HookReport } from '../core/hooks';
import { transcriptRef } from '../core/state';
import type { CheckedCall } from '../core/tool';
import { runHooksOptions } from './activity-options';
import { weightOf } from './growth';
import { scheduleStep } from './schedule-step';
import type { ThreadContext } from './thread-context';

const { runHooks } = proxyActivities<Activities>(runHooksOptions);

/** Whether the agent has hooks of this name. Check it before `runHook` on every turn's path: a promise in workflow code is expensive. */
export function hasHook({ state }: ThreadContext, hook: HookName): boolean {
  return state.facts?.hooks?.[hook] !== undefined;
}

/** Why hooks can't be sent an input: the server would end the workflow. Undefined if they can. */
export function tooLargeForHooks(input: HookInput[HookName]): string | undefined {
  // What is small by the estimate is not measured exactly, which takes longer.
  const bytes = weightOf(input) * 6 > bounds.hookInputBytes ? bytesOf(input) : 0;
  return bytes > bounds.hookInputBytes ? `${bytes} bytes of JSON, and hooks can be sent ${bounds.hookInputBytes}` : undefined;
}

/**
 * Runs the hooks of a name, if the agent has any, and returns their merged answer. Records what they changed and which of them failed.
 * Throws if they end the run. `ignored` returns which part of the answer is not applied, and why.
 */
export async function runHook<N extends HookName>(
  thread: ThreadContext,
  hook: N,
  input: HookInput[N],
  toolCallId?: string,
  ignored: (answer: HookAnswer[N]) => string | undefined = () => undefined,
): Promise<HookAnswer[N] | undefined> {
  const { state } = thread;
  const { hooks, hookErrors: most = defaultHookErrors } = state.facts ?? {};
  const ids = hooks?.[hook] ?? [];
  // Hooks that may refuse a call are never disabled, because without them the call would be allowed.
  const disabled = hook === 'approve:tool' ? [] : ids.filter((id) => (state.hookErrors[id] ?? 0) >= most);
  if (ids.length === disabled.length) return undefined;
  const tooLarge = tooLargeForHooks(input);
  if (tooLarge !== undefined)
    throw ApplicationFailure.nonRetryable(`The input of the hook '${hook}' has ${tooLarge}.`, failureTypes.hookFailed);
  const request: RunHooksRequest<N> = {
    agent: state.agent,
    hook,
    input,
    runId: state.run?.id ?? '',
    turn: state.run?.turn ?? 0,
    ...(disabled.length > 0 && { disabled }),
    transcript: transcriptRef(state),
  };
  const { answer, reports, checked } = await scheduleStep(thread, runHooksOptions, request, (options, asked) =>
    runHooks.executeWithOptions({ ...options, summary: hook }, [asked]),
  );
  tell(thread, hook, answer, reports, most, { toolCallId, checked, ignored: ignored(answer) });
  const block = 'block' in answer ? answer.block : undefined;
  if (block !== undefined) throw ApplicationFailure.nonRetryable(block, 'blocked_by_hook');
  return answer;
}

function tell(
  { state, record }: ThreadContext,
  hook: HookName,
  answer: HookAnswer[HookName],
  reports: readonly HookReport[],
  most: number,
  { toolCallId, checked, ignored }: { toolCallId: string | undefined; checked: CheckedCall | undefined; ignored: string | undefined },
): void {
  const { errors: counts, disabled } = countErrors(state.hookErrors, reports, most, hook);
  const errors = reports.flatMap(({ id, error, mode }) =>
    error === undefined || mode === 'ignore'
      ? []
      : [{ id, message: error, consecutive: counts[id] ?? 1, ...(disabled.includes(id) && { disabled: true as const }) }],
  );
  const changed = JSON.stringify(counts) !== JSON.stringify(state.hookErrors);
  // A delivery of events is not recorded as an event, because that event would need another delivery.
  if (hook === 'on:event' && errors.length === 0 && !changed) return;
  // `false` means that the hook changed nothing, except for `approved`.
  const answered = Object.entries(answer).flatMap(([key, value]) =>
    value === undefined || (value === false && key !== 'approved') ? [] : [key],
  );
  const args = 'args' in answer && answer.args ? JSON.stringify(answer.args) : undefined;
  record(
    'agent.hook.completed',
    {
      hook,
      ...(toolCallId && { toolCallId }),
      durationMs: reports.reduce((sum, { durationMs }) => sum + durationMs, 0),
      ...(answered.length > 0 && { answered }),
      ...(args !== undefined && { editedArguments: args }),
      ...(checked && { checked }),
      ...(ignored !== undefined && { ignored }),
      ...(errors.length > 0 && { errors }),
    },
    changed ? { hookErrors: counts } : {},
  );
}

/** Passes the events recorded since the last delivery to `on:event`. The run continues even if the hook fails. */
export async function deliverEvents(thread: ThreadContext): Promise<void> {
  const { state } = thread;
  const from = state.delivered.events + 1;
  const to = state.nextSeq - 1;
  if (!state.facts?.hooks?.['on:event'] || to < from) return;
  try {
    await runHook(thread, 'on:event', { from, to });
  } catch (error) {
    // The hooks may not have received them: they are part of the next delivery, at the run's end.
    if (isCancellation(error)) return;
  }
  noteDelivered(state, { events: to });
}
