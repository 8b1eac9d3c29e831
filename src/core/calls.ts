import { bounds } from './bounds';
import { fixedBytes } from './context/carry';
import type { ToolMessage } from './message';
import type { ToolQuestion } from './questions';
import type { AskState, CallState, RunState, ThreadState } from './state';
import type { Verdict } from './tool';
import { unreachable } from './unreachable';

/** Returns the active run, or the last one. Throws if the thread has had none, because it is called only within a run. */
export function runOf({ threadId, run }: ThreadState): RunState {
  if (!run) throw new Error(`Thread "${threadId}" has no run yet. This is a defect of the engine.`);
  return run;
}

/** Finds a call of the last answer. A `CallState` is replaced when it changes, so one found before an `await` may be outdated. */
export function findCall(run: RunState | null | undefined, id: string): CallState | undefined {
  return run?.calls.find((call) => call.id === id);
}

/** As `findCall`, but throws if there is no such call. */
export function callById(run: RunState | null | undefined, id: string): CallState {
  const call = findCall(run, id);
  if (!call) throw new Error(`The last answer has no call "${id}". This is a defect of the engine.`);
  return call;
}

/** A change of a call. A call that is done has its outcome and the id of its result message. */
type CallChange = Partial<
  Pick<CallState, 'verdict' | 'editedArguments' | 'editedBy' | 'checked' | 'approved' | 'signed' | 'unknown' | 'again' | 'answers'>
> & {
  /** `undefined`: people are no longer asked. */
  ask?: AskState | undefined;
  question?: ToolQuestion | undefined;
} & ({ phase?: Exclude<CallState['phase'], 'done'> } | Pick<Extract<CallState, { phase: 'done' }>, 'phase' | 'outcome' | 'messageId'>);

/** Replaces a call by a changed copy. Does nothing if there is no such call. */
export function changeCall(run: RunState | null, id: string, change: CallChange): void {
  if (!run) return;
  run.calls = run.calls.map((call) => {
    if (call.id !== id) return call;
    const { ask, question, ...changed } = { ...call, ...change };
    return { ...changed, ...(ask && { ask }), ...(question && { question }) } as CallState;
  });
}

/** Whether a call waits for an approval, for an output from outside, for an answer to its question, or for someone to settle it. */
export function waits({ phase }: CallState): boolean {
  return waitsIn[phase];
}

const waitsIn: Record<CallState['phase'], boolean> = {
  ready: false,
  'awaiting-approval': true,
  'awaiting-output': true,
  'awaiting-answer': true,
  running: false,
  unsettled: true,
  done: false,
};

/** Whether a call is executed, by the worker or outside; other calls get their outcome without being executed. */
export function isCarriedOut(verdict: Verdict): verdict is Extract<Verdict, { kind: 'run' | 'external' }> {
  switch (verdict.kind) {
    case 'run':
    case 'external':
      return true;
    case 'reject':
    case 'done':
      return false;
    default:
      return unreachable(verdict);
  }
}

/** Returns the message with which the result of a finished call joins the transcript. */
export function resultOf({ id, name, messageId, outcome }: Extract<CallState, { phase: 'done' }>): ToolMessage {
  const { content, status, outputRef } = outcome;
  return { id: messageId, role: 'tool', toolCallId: id, name, content, isError: status !== 'success', ...(outputRef && { outputRef }) };
}

/** The results of a run's calls so far, in bytes of JSON. */
function resultBytes(run: RunState | null): number {
  return (run?.calls ?? []).reduce((sum, call) => sum + (call.phase === 'done' ? fixedBytes(call.outcome) : 0), 0);
}

/** Why a result from outside is not accepted, or undefined. */
export function whyTooMuch(run: RunState | null, bytes: number): string | undefined {
  const before = resultBytes(run);
  if (bytes <= bounds.smallResultBytes || before + bytes <= bounds.answerResultsBytes) return undefined;
  return `the results of this answer's calls have ${before} bytes, and this one ${bytes}; together they may have ${bounds.answerResultsBytes}. Store it elsewhere and give a reference`;
}
