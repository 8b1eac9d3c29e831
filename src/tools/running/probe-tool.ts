import { setTimeout } from 'node:timers/promises';
import { isObject } from '../../core/json';
import type { ToolCall } from '../../core/message';
import { probing } from '../../core/probing';
import { shortText } from '../../core/text';
import type { ToolError, ToolOutcome } from '../../core/tool';
import type { Tool } from '../defining/define-tool';
import { errorFacts } from '../defining/thrown';
import type { ProbeAnswer } from '../defining/tool-definition';
import { type Ended, runWithin, type ToolHost } from './run-within';

/** `stopped`: the run was cancelled, or the worker shuts down. */
export type Probed = ProbeAnswer | { status: 'stopped' };

/** Asks a `verify` tool what became of an earlier attempt at a call. A probe that throws or takes too long is asked again. Never rejects. */
export async function probeTool({ probe }: Tool, call: ToolCall, args: unknown, host: ToolHost): Promise<Probed> {
  if (!probe) return { status: 'unknown', reason: 'the tool has no probe' };
  const { idempotencyKey, signal } = host;
  const { tries, timeoutMs, waitMs } = probing;
  for (let tried = 1; ; tried++) {
    const ended = await runWithin(call, host, { timeoutMs, run: (ctx) => probe({ idempotencyKey, args }, ctx) });
    if (signal.aborted) return { status: 'stopped' };
    const answer = answerIn(ended);
    if (typeof answer !== 'string') return answer;
    if (tried === tries) return { status: 'unknown', reason: `its probe failed ${tries} times, at last because ${answer}` };
    await setTimeout(waitMs, undefined, { signal }).catch(() => undefined);
  }
}

/** Returns the answer, or why there is none. */
function answerIn({ end, aborted }: Ended): ProbeAnswer | string {
  if (aborted !== undefined) return errorFacts(aborted).message;
  if (end?.kind === 'thrown') return errorFacts(end.error).message;
  try {
    return readAnswer(end?.kind === 'value' ? end.value : undefined) ?? noAnswer;
  } catch (error) {
    return errorFacts(error).message;
  }
}

const noAnswer = "it returned something other than { status: 'done', output }, { status: 'not-done' } or { status: 'unknown' }";

/** Reads each field once: fields may be getters, which throw or change their mind. */
function readAnswer(answer: unknown): ProbeAnswer | undefined {
  if (!isObject(answer)) return undefined;
  const { status } = answer;
  if (status === 'done') return { status, output: answer.output };
  if (status === 'not-done') return { status };
  return status === 'unknown' ? { status, ...reasonIn(answer.reason) } : undefined;
}

/** Probes pass on what they caught, so a reason may be an error or any other value. */
function reasonIn(given: unknown): { reason?: string } {
  return given === undefined || given === null ? {} : { reason: errorFacts(given).message };
}

/** The outcome of a call that was carried out, as its probe says, with an output that can't be shown. */
export function doneUnreadably(name: string, why: ToolError | undefined): ToolOutcome {
  const content = `${name} was carried out, but the output that its probe gave can't be shown: ${why?.message ?? 'it is not readable'}`;
  return { status: 'success', content };
}

/** The outcome of a call about which its probe can't tell. */
export function undecided(name: string, reason: string | undefined): ToolOutcome {
  const why = reason ? ` (${shortText(reason, 500)})` : '';
  const content = `Error: an attempt at ${name} was interrupted, and its probe can't tell whether it was carried out${why}. Check before you call it again.`;
  return { status: 'unknown', content, error: { name: 'OutcomeUnknownError', message: content } };
}
