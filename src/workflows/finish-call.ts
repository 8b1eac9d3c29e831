import { ApplicationFailure } from '@temporalio/workflow';
import type { Attestation } from '../core/attestation';
import { callById, findCall } from '../core/calls';
import { turnsOf } from '../core/context/budget';
import type { DurableEventData } from '../core/event';
import type { Extra } from '../core/evolve';
import type { Json } from '../core/json';
import { load, type ToolSize } from '../core/loaded-tools';
import type { ToolCall } from '../core/message';
import { type CallState, stepIdOf } from '../core/state';
import type { Suspension } from '../core/tool';
import { argumentsOf } from '../core/views';
import { newId } from './record';
import type { ThreadContext } from './thread-context';

export type Finished = Pick<
  DurableEventData['agent.tool.execution.completed'],
  'status' | 'output' | 'outputRef' | 'error' | 'durationMs' | 'attempts' | 'background' | 'by' | 'signed'
> & { messageId?: string; suspend?: Suspension; found?: ToolSize[]; result?: Json };

/** Records the outcome of a call of the current turn. A call that is done keeps its first outcome. */
export function finishCall(thread: ThreadContext, id: string, { suspend, found, result, ...outcome }: Finished, extra: Extra = {}): void {
  const { state, record } = thread;
  const run = state.run;
  const call = findCall(run, id);
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
    { ...extra, ...(suspend && { suspend }), ...(result !== undefined && { result }) },
  );
  if (found) loadTools(thread, id, found);
}

/** What the model gets instead of a result that hooks did not check. `why`: it is too large for them. */
export function withheldWords(name: string, status: string, why = ''): string {
  const sizes = why && ` The call and its result have ${why}.`;
  return `[${name} has run (${status}); its result is withheld.${sizes}]`;
}

/** Loads the tools that a call found. */
function loadTools({ state, record }: ThreadContext, toolCallId: string, found: readonly ToolSize[]): void {
  const { loadedTools: before = [], facts } = state;
  const loadedTools = load(before, found, { turn: turnsOf(state), most: facts?.loadedTools, windowTokens: facts?.contextWindow });
  const [known, now] = [before, loadedTools].map((tools) => new Set(tools.map(({ name }) => name)));
  const tools = found.flatMap(({ name }) => (now?.has(name) ? [name] : []));
  const unloaded = [...(known ?? [])].filter((name) => !now?.has(name));
  record('agent.tools.loaded', { toolCallId, tools, ...(unloaded.length > 0 && { unloaded }) }, { loadedTools });
}

/** The failure for a call that can never get an outcome. Without it, the call would be looked at endlessly, with its hooks run each time. */
export function noProgress({ id, name, phase }: CallState): ApplicationFailure {
  const words = `The call "${id}" (${name}) is ${phase}, and nothing is running that would complete it. This is a defect of the engine.`;
  return ApplicationFailure.nonRetryable(words, 'no_progress');
}

/**
 * Records the outcome of every call that is neither done nor running and that `which` selects: `unknown` if nobody settled it, `cancelled` if nobody
 * answered its question, otherwise `skipped`.
 */
export function skipCalls(thread: ThreadContext, why: string, which: (call: CallState) => boolean = () => true): void {
  for (const call of thread.state.run?.calls ?? []) {
    if (call.phase === 'done' || call.phase === 'running' || !which(call)) continue;
    if (call.phase === 'unsettled') {
      const { unknown: message = `the outcome of ${call.name} is unknown` } = call;
      finishCall(thread, call.id, { status: 'unknown', output: message, error: { name: 'OutcomeUnknownError', message } });
      continue;
    }
    if (call.phase === 'awaiting-answer') {
      const output = `Error: ${call.name} asked a person a question, and was cancelled before an answer, because ${why}.`;
      finishCall(thread, call.id, { status: 'cancelled', output });
      continue;
    }
    finishCall(thread, call.id, { status: 'skipped', output: `Error: not executed, because ${why}.` });
  }
}

/** Records that a person, a deadline or a hook refused a call. The model gets the reason. With `stop`, the run ends. */
export function refuseCall(
  thread: ThreadContext,
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

/** A call as it will run: with the latest edited arguments, if any. */
export function callOf({ state }: ThreadContext, id: string): ToolCall {
  const { name } = callById(state.run, id);
  return { id, name, arguments: argumentsOf(state, id) };
}
