import type { Attestation } from '../core/attestation';
import type { DurableEventData } from '../core/event';
import type { Extra } from '../core/evolve';
import type { ToolCall } from '../core/message';
import { type CallState, type RunState, stepIdOf } from '../core/state';
import type { Suspension } from '../core/tool';
import { argumentsOf } from '../core/views';
import { newId } from './record';
import type { Thread } from './thread';

export type Finished = Pick<
  DurableEventData['agent.tool.execution.completed'],
  'status' | 'output' | 'error' | 'durationMs' | 'attempts' | 'background' | 'by' | 'signed'
> & { messageId?: string; suspend?: Suspension };

/** Records what came of a call of the current turn; once, whatever comes later. */
export function finishCall({ state, record }: Thread, id: string, { suspend, ...outcome }: Finished, extra: Extra = {}): void {
  const run = state.run;
  const call = run?.calls.find((c) => c.id === id);
  if (!run || !call || call.phase === 'done') return;
  record(
    'agent.tool.execution.completed',
    {
      stepId: stepIdOf(run),
      toolCallId: id,
      name: call.name,
      isError: outcome.status !== 'success',
      ...outcome,
      messageId: outcome.messageId ?? newId('msg'),
    },
    { ...extra, ...(suspend && { suspend }) },
  );
}

/** Gives every call that will not run its outcome. */
export function skipCalls(thread: Thread, why: string, which: (call: CallState) => boolean = () => true): void {
  for (const call of thread.state.run?.calls ?? []) {
    if (call.phase === 'done' || call.phase === 'running' || !which(call)) continue;
    finishCall(thread, call.id, { status: 'skipped', output: `Error: not executed, because ${why}.` });
  }
}

/** A call that someone, or something, said no to: the model is told, with the reason. With `stop` the run ends. */
export function refuseCall(
  thread: Thread,
  id: string,
  words: { reason?: string; by?: string; signed?: Attestation; stop?: boolean; source?: 'deadline' | 'hook' },
  extra: Extra = {},
): void {
  const { reason, by, signed, stop, source } = words;
  thread.record(
    'agent.approval.decided',
    {
      toolCallId: id,
      approved: false,
      ...(by && { by }),
      ...(signed && { signed }),
      ...(reason && { reason }),
      ...(source && { source }),
      ...(stop && { stop: true }),
    },
    extra,
  );
  const who = source === 'hook' ? '' : source === 'deadline' ? ' by its deadline' : by ? ` by ${by}` : '';
  const output =
    source === 'hook'
      ? `Error: Permission denied: ${reason}. Do not call it again with the same arguments.`
      : `Error: the call was refused${who}${reason ? `: ${reason}` : ''}. Do not call it again with the same arguments.`;
  finishCall(thread, id, { status: 'denied', output, error: { name: 'ApprovalDeniedError', message: reason ?? 'refused' } });
  if (stop) skipCalls(thread, 'a refusal ended the run');
}

/** A call as it will run: with the arguments of whoever edited them last. */
export function callOf({ state }: Thread, id: string): ToolCall {
  const { name } = (state.run as RunState).calls.find((call) => call.id === id) as CallState;
  return { id, name, arguments: argumentsOf(state, id) };
}
