import { type Limits, limitNames, type StopPolicy } from './agent';
import { runOf } from './calls';
import type { FailureDetails } from './event';
import { type FinishReason, textOf } from './message';
import { type Reached, reached } from './spent';
import type { SentBack, ThreadState } from './state';
import { unreachable } from './unreachable';

/** How a run ends. */
export type RunEnd =
  /** `output`: if it is not the model's last text. */
  | { type: 'completed'; output?: string }
  | { type: 'failed'; code: string; message: string; details?: FailureDetails }
  /** `summarize`: one more model call without tools writes a summary. */
  | ({ type: 'incomplete'; summarize?: true; output?: string } & Reached)
  | { type: 'cancelled'; reason?: string; by?: string; stopped?: true }
  | { type: 'expired'; message: string };

/** An answer that does not end the run: the prompt that the model gets, and the counter to increase. */
export interface SendBack {
  type: 'send-back';
  prompt: string;
  count: keyof SentBack;
  /** Milliseconds before the next model call. */
  waitMs?: number;
}

/** What each limit is checked before. Limits of calls and rounds are checked against the calls of an answer (workflows/limit-calls.ts). */
const checkedBefore: Record<keyof Limits, readonly ('turn' | 'call')[]> = {
  turns: ['turn'],
  toolRounds: [],
  toolCalls: [],
  tokens: ['turn', 'call'],
  costUsd: ['turn', 'call'],
  wallClockMs: ['turn', 'call'],
  contextTokens: ['turn'],
};
const limitsBefore = {
  turn: limitNames.filter((limit) => checkedBefore[limit].includes('turn')),
  call: limitNames.filter((limit) => checkedBefore[limit].includes('call')),
};

/** Returns the limit that forbids the next model call, or undefined. `now`: milliseconds since 1970. */
export function beforeTurn(state: ThreadState, now: number): Reached | undefined {
  return reached(state, now, limitsBefore.turn);
}

/** Returns the limit on tokens, cost or time that forbids a tool call, or undefined. Limits of calls and rounds are checked separately. */
export function beforeCall(state: ThreadState, now: number): Reached | undefined {
  return reached(state, now, limitsBefore.call);
}

/** Describes a reached limit in a sentence. */
export function limitWords({ limit, max, scope }: Reached): string {
  const what = {
    turns: `${max} turns`,
    toolRounds: `${max} rounds of tool calls`,
    toolCalls: `${max} tool calls`,
    tokens: `${max} tokens`,
    costUsd: `${max} USD`,
    wallClockMs: `${max / 1_000} s of work`,
    contextTokens: `${max} tokens of context`,
  }[limit];
  return `The ${scope} reached its limit of ${what}.`;
}

export function limitFailure(at: Reached): RunEnd {
  return { type: 'failed', code: 'limit_exceeded', message: limitWords(at), details: { limit: at.limit } };
}

/**
 * Decides whether an answer ends its run or is sent back. Returns undefined if its calls are to run. Calls run with any finish reason (some
 * servers send `stop`), unless the answer was cut, because its arguments may be incomplete.
 */
export function afterAnswer(
  state: ThreadState,
  answer: { finishReason: FinishReason; calls: number; text: string; problems?: string[] },
): RunEnd | SendBack | undefined {
  const { finishReason, calls, text, problems = [] } = answer;
  if (finishReason === 'length') return failedFinish('the answer was cut at its maximum length (finish reason "length"); raise maxTokens');
  if (finishReason === 'content_filter') return failedFinish("the provider's content filter stopped the answer");
  // After a provider's `pause`, the model continues with the next request.
  if (calls > 0 || finishReason === 'pause') return undefined;
  if (finishReason === 'tool_calls') return failedFinish('the model announced tool calls and sent none');
  const { facts } = state;
  const { sentBack } = runOf(state);
  if (text.trim() === '' && sentBack.empty < (facts?.emptyRetries ?? 0)) {
    const waitMs = Math.min(1_000 * 2 ** sentBack.empty, 5_000);
    return { type: 'send-back', prompt: 'Your answer was empty. Answer, or call a tool.', count: 'empty', waitMs };
  }
  if (problems.length > 0) {
    if (sentBack.output >= (facts?.outputRetries ?? 0)) {
      const attempts = sentBack.output === 0 ? '1 attempt' : `${sentBack.output + 1} attempts`;
      const message = `The answer does not fit the output that the agent wants, after ${attempts}: ${problems.join('; ')}`;
      return { type: 'failed', code: 'output_invalid', message };
    }
    return { type: 'send-back', prompt: outputPrompt(problems), count: 'output' };
  }
  return byStopPolicy(state, facts?.stop ?? { kind: 'immediate' });
}

function byStopPolicy(state: ThreadState, stop: StopPolicy): RunEnd | SendBack {
  const { sentBack } = runOf(state);
  switch (stop.kind) {
    case 'done-tool':
      return { type: 'send-back', prompt: stop.nudge ?? defaultNudge, count: 'nudge' };
    case 'verify':
      return sentBack.verify < stop.rounds && sentBack.verifyInAll < stop.max
        ? { type: 'send-back', prompt: stop.prompt ?? verifyPrompt(taskOf(state)), count: 'verify' }
        : { type: 'completed' };
    case 'immediate':
      return { type: 'completed' };
    default:
      return unreachable(stop);
  }
}

const defaultNudge = 'Go on until the task is done. When it is, call the tool `done` with a message that says what came of it.';

function outputPrompt(problems: readonly string[]): string {
  return `Your answer does not fit the required output:\n${problems.map((problem) => `- ${problem}`).join('\n')}\nAnswer again, with JSON that fits and nothing else.`;
}

function verifyPrompt(task: string): string {
  return `<system-reminder>
Before this counts as done, verify it. The task, word for word:

${task}

- Go through its requirements one by one: is each met?
- Check by running, reading and looking at what is there; do not rely on memory.
- Think of edge cases, and of what you changed besides.

If anything is missing or wrong, do it now, with tools. Nobody can answer questions: choose what is reasonable.
If all is verified, give your final answer.
</system-reminder>`;
}

/** The task of the run: the text of the messages that it began with. */
function taskOf({ run, messages }: ThreadState): string {
  return messages
    .filter((m) => m.role === 'user' && run?.opening.includes(m.id))
    .map((m) => textOf(m.content))
    .join('\n');
}

function failedFinish(why: string): RunEnd {
  return { type: 'failed', code: 'llm_finish_reason_error', message: `The run failed: ${why}.` };
}
