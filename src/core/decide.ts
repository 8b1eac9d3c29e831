import type { StopPolicy } from './agent';
import type { FailureDetails } from './event';
import { type FinishReason, textOf } from './message';
import { type Reached, reached } from './spent';
import type { RunState, SentBack, ThreadState } from './state';

/** How a run ends, or that it doesn't. */
export type RunEnd =
  /** `output`: where it is not what the model said last. */
  | { type: 'completed'; output?: string }
  | { type: 'failed'; code: string; message: string; details?: FailureDetails }
  /** `summarize`: a model call without tools is to say the last words. */
  | ({ type: 'incomplete'; summarize?: true; output?: string } & Reached)
  | { type: 'cancelled'; reason?: string; by?: string; stopped?: true }
  | { type: 'expired'; message: string };

/** An answer that is not the end: what the model is told instead, and what is counted. */
export interface SendBack {
  type: 'send-back';
  prompt: string;
  count: keyof SentBack;
  /** Before the model is asked again. */
  waitMs?: number;
}

const beforeModel = ['turns', 'tokens', 'costUsd', 'wallClockMs', 'contextTokens'] as const;

/** Asked before each model call: the limit that forbids it. `now`: milliseconds since 1970. */
export function beforeTurn(state: ThreadState, now: number): Reached | undefined {
  return reached(state, now, beforeModel);
}

/** Asked before each tool call, beside the limits of calls and rounds. */
export function beforeCall(state: ThreadState, now: number): Reached | undefined {
  return reached(state, now, ['tokens', 'costUsd', 'wallClockMs']);
}

/** What a limit is, in words for a person. */
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
 * What an answer means for its run. Calls are followed whatever the reason given with them (some servers say `stop`),
 * unless the answer was cut: the arguments of a cut answer can't be trusted. `undefined`: the calls are to run.
 */
export function afterAnswer(
  state: ThreadState,
  answer: { finishReason: FinishReason; calls: number; text: string; problems?: string[] },
): RunEnd | SendBack | undefined {
  const { finishReason, calls, text, problems = [] } = answer;
  if (finishReason === 'length') return failedFinish('the answer was cut at its maximum length (finish reason "length"); raise maxTokens');
  if (finishReason === 'content_filter') return failedFinish("the provider's content filter stopped the answer");
  if (calls > 0) return undefined;
  if (finishReason === 'tool_calls') return failedFinish('the model announced tool calls and sent none');
  const { facts } = state;
  const { sentBack } = state.run as RunState;
  if (text.trim() === '' && sentBack.empty < (facts?.emptyRetries ?? 0)) {
    const waitMs = Math.min(1_000 * 2 ** sentBack.empty, 5_000);
    return { type: 'send-back', prompt: 'Your answer was empty. Answer, or call a tool.', count: 'empty', waitMs };
  }
  if (problems.length > 0) {
    if (sentBack.output >= (facts?.outputRetries ?? 0)) {
      const message = `The answer does not fit the output that the agent wants, after ${sentBack.output + 1} attempts: ${problems.join('; ')}`;
      return { type: 'failed', code: 'output_invalid', message };
    }
    return { type: 'send-back', prompt: outputPrompt(problems), count: 'output' };
  }
  return byStopPolicy(state, facts?.stop ?? { kind: 'immediate' });
}

function byStopPolicy(state: ThreadState, stop: StopPolicy): RunEnd | SendBack {
  const { sentBack } = state.run as RunState;
  switch (stop.kind) {
    case 'done-tool':
      return { type: 'send-back', prompt: stop.nudge ?? defaultNudge, count: 'nudge' };
    case 'verify':
      return sentBack.verify < stop.rounds && sentBack.verifyInAll < stop.max
        ? { type: 'send-back', prompt: stop.prompt ?? verifyPrompt(taskOf(state)), count: 'verify' }
        : { type: 'completed' };
    default:
      return { type: 'completed' };
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

/** What the run is for: the words it began with. */
function taskOf({ run, messages }: ThreadState): string {
  return messages
    .filter((m) => m.role === 'user' && run?.opening.includes(m.id))
    .map((m) => textOf(m.content))
    .join('\n');
}

function failedFinish(why: string): RunEnd {
  return { type: 'failed', code: 'llm_finish_reason_error', message: `The run failed: ${why}.` };
}
