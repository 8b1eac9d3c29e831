import type { Attestation } from './attestation';
import { bounds } from './bounds';
import { bytesOf } from './context/carry';
import type { Json } from './json';
import type { CallState, RunState } from './state';
import { outcomes, type ToolError, type ToolOutcome, type ToolRetry } from './tool';

/** A call of a `saga` tool that began, and is compensated if its run does not succeed. */
export interface SagaCall {
  id: string;
  name: string;
  arguments: string;
  /** What `execute` returned. Absent: nothing, too much, or nobody knows. */
  output?: Json;
  timeoutMs: number;
  /** How `compensate` is retried. */
  retry?: ToolRetry;
  editedBy?: 'hook' | 'person';
  signed?: Attestation[];
  compensation?: Compensation;
}

/** How far the compensation of a call is. Absent before it begins. */
export type Compensation = { status: 'running' | 'completed' } | { status: 'failed'; error: string };

/** A compensation as `status` shows it. */
export interface CompensationView {
  toolCallId: string;
  name: string;
  status: 'waiting' | Compensation['status'];
  /** Why it failed for good. */
  error?: string;
}

/** How a compensation is retried if its tool sets nothing: for about ten minutes. */
export function compensationRetry(retry: ToolRetry | undefined): Required<ToolRetry> {
  const { maxAttempts = 15, initialMs = 1_000, maxMs = Math.max(60_000, initialMs) } = retry ?? {};
  return { maxAttempts, initialMs, maxMs };
}

/** Notes a `saga` call that begins. */
export function sagaBegan(run: RunState, { id, name, verdict, editedArguments, editedBy, signed }: CallState, args: string): void {
  if (verdict.kind !== 'run' || verdict.effect !== 'saga' || run.sagas?.some((saga) => saga.id === id)) return;
  const { timeoutMs, retry } = verdict;
  const saga: SagaCall = {
    id,
    name,
    arguments: args,
    timeoutMs,
    ...(retry && { retry }),
    ...(editedArguments !== undefined && { editedBy: editedBy ?? 'person' }),
    ...(signed && { signed }),
  };
  run.sagas = [...(run.sagas ?? []), saga];
}

/** Notes the outcome of a `saga` call. A call that never ran is not compensated; one that failed may have done a part of its work. */
export function sagaEnded(run: RunState | null, id: string, status: ToolOutcome['status'], output: Json | undefined): void {
  if (!run?.sagas?.some((saga) => saga.id === id)) return;
  run.sagas = run.sagas.flatMap((saga) => {
    if (saga.id !== id) return [saga];
    if (!outcomes[status].ran) return [];
    return [{ ...saga, ...(output !== undefined && fits(output) && { output }) }];
  });
}

export function changeCompensation(run: RunState | null, id: string, compensation: Compensation): void {
  if (!run?.sagas) return;
  run.sagas = run.sagas.map((saga) => (saga.id === id ? { ...saga, compensation } : saga));
}

/** The compensations of the run, in the order in which they are made. Absent if none has begun. */
export function compensationsOf(run: RunState | null): CompensationView[] | undefined {
  const { sagas = [] } = run ?? {};
  if (!sagas.some(({ compensation }) => compensation)) return undefined;
  return sagas
    .map(({ id, name, compensation }): CompensationView => ({ toolCallId: id, name, ...(compensation ?? { status: 'waiting' }) }))
    .reverse();
}

/** Whether an output is small enough to be kept for a compensation. */
export function fits(output: Json): boolean {
  return bytesOf(output) <= bounds.sagaOutputBytes;
}

/** Returns why another `saga` call can't begin, or undefined. The state keeps each until the end of the run. */
export function whyNoMoreSagas({ sagas = [] }: RunState, args: string): ToolError | undefined {
  const kept = sagas.map(({ arguments: one, signed = [] }) => bytesOf(one) + bytesOf(signed) + bounds.sagaOutputBytes);
  const bytes = kept.reduce((sum, one) => sum + one, bytesOf(args) + bounds.sagaOutputBytes);
  if (bytes <= bounds.sagaBytes) return undefined;
  const message = `not started, because this run could not keep what is needed to compensate it, after ${sagas.length} such calls. Use shorter arguments, or go on in another run.`;
  return { name: 'TooManyCallsError', message };
}
