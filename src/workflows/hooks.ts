import { ApplicationFailure, isCancellation, proxyActivities } from '@temporalio/workflow';
import type { Activities, RunHooksRequest } from '../contract/activities';
import { countErrors, defaultHookErrors } from '../core/hook-errors';
import type { HookAnswer, HookInput, HookName, HookReport } from '../core/hooks';
import { transcriptRef } from '../core/state';
import type { CheckedCall } from '../core/tool';
import { runHooksOptions } from './activity-options';
import { scheduleStep } from './schedule-step';
import type { Thread } from './thread';

const { runHooks } = proxyActivities<Activities>(runHooksOptions);

/** Whether there is anything to run. To be asked before `runHook` where every turn comes by: a promise in workflow code is dear. */
export function hasHook({ state }: Thread, hook: HookName): boolean {
  return state.facts?.hooks?.[hook] !== undefined;
}

/**
 * Runs the hooks of a name, where the agent has some, and returns their answer. What they changed and where they failed is recorded.
 * Throws where they end the run. `ignored` says what of the answer is not followed, and why.
 */
export async function runHook<N extends HookName>(
  thread: Thread,
  hook: N,
  input: HookInput[N],
  toolCallId?: string,
  ignored: (answer: HookAnswer[N]) => string | undefined = () => undefined,
): Promise<HookAnswer[N] | undefined> {
  const { state } = thread;
  const { hooks, hookErrors: most = defaultHookErrors } = state.facts ?? {};
  const ids = hooks?.[hook] ?? [];
  // Permission is never granted by leaving out who would have refused it.
  const disabled = hook === 'approve:tool' ? [] : ids.filter((id) => (state.hookErrors[id] ?? 0) >= most);
  if (ids.length === disabled.length) return undefined;
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
  { state, record }: Thread,
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
  // Were every delivery of events an event, there would be no end of them.
  if (hook === 'on:event' && errors.length === 0 && !changed) return;
  // What a hook says no to is nothing that it changed.
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

/**
 * Tells `on:compaction` of the compactions in this execution's log that it has not been told of: before the next model call, and at the end
 * of a run. One that continue-as-new made stands in the log of the execution that began with it.
 */
export async function tellCompactions(thread: Thread): Promise<void> {
  if (!hasHook(thread, 'on:compaction')) return;
  const untold = thread.state.log.filter(({ type, seq }) => type === 'thread.context.compacted' && seq > thread.compactionTold);
  for (const { seq, data } of untold) {
    thread.compactionTold = seq;
    await runHook(thread, 'on:compaction', data as HookInput['on:compaction']);
  }
}

/** Hands what was recorded since the last time to `on:event`. Whatever comes of it, the run goes on. */
export async function deliverEvents(thread: Thread): Promise<void> {
  const { state } = thread;
  const from = thread.delivered + 1;
  const to = state.nextSeq - 1;
  if (!state.facts?.hooks?.['on:event'] || to < from) return;
  try {
    await runHook(thread, 'on:event', { from, to });
  } catch (error) {
    // Nobody may have got them: they are in the next delivery, at the run's end.
    if (isCancellation(error)) return;
  }
  thread.delivered = to;
}
