import type { AgentFacts, Limits, ModelSettings } from './agent';
import { endStatus, type RunStatus } from './event';
import type { LogRecord } from './log';
import { type Message, noUsage, type Usage, type UserMessage } from './message';
import type { ToolOutcome, ToolStrategy, Verdict } from './tool';
import { emptyHash, type TranscriptRef, tokenOf } from './transcript';

/** A tool call of the current turn on its way to its outcome. */
export type CallState = { id: string; name: string; verdict: Verdict; editedArguments?: string } & (
  | { phase: 'ready' | 'awaiting-approval' | 'awaiting-output' | 'running' }
  | { phase: 'done'; outcome: ToolOutcome; messageId: string }
);

export interface RunState {
  id: string;
  /** From 1 within the thread. */
  number: number;
  status: RunStatus;
  /** Model calls begun. */
  turn: number;
  toolCalls: number;
  usage: Usage;
  startedAt: number;
  /** The calls of the last answer, in the model's order; empty once their results are in the transcript. */
  calls: CallState[];
  /** Ids of the messages it began with. */
  opening: string[];
  /** The answer's id while the model writes it. */
  shell?: string;
}

/** What a run was asked to do differently from its agent. */
export interface Overrides {
  model?: string;
  settings?: ModelSettings;
  limits?: Limits;
  strategy?: ToolStrategy;
}

/**
 * All that a thread is, as plain JSON: it crosses continue-as-new as it stands.
 * It changes in `evolve` and nowhere else.
 */
export interface ThreadState {
  format: 1;
  threadId: string;
  agent: string;
  mode: 'one-shot' | 'conversation';
  overrides: Overrides;
  facts: AgentFacts | null;
  /** The run under way, or the last one. */
  run: RunState | null;
  /** Messages that wait to be taken in. */
  queue: UserMessage[];
  messages: Message[];
  epoch: number;
  hash: string;
  usage: Usage;
  /** Of this execution of the workflow; what came before stands in the executions before it. */
  log: LogRecord[];
  nextSeq: number;
  /** Temporal's run id of the execution before this one, where the log goes on backwards. */
  previousExecution?: string;
  /** A conversation that takes no more messages. */
  closed: boolean;
}

export function newThread(seed: Pick<ThreadState, 'threadId' | 'agent' | 'mode' | 'overrides' | 'queue'>): ThreadState {
  return {
    format: 1,
    ...seed,
    facts: null,
    run: null,
    messages: [],
    epoch: 0,
    hash: emptyHash,
    usage: noUsage,
    log: [],
    nextSeq: 1,
    closed: false,
  };
}

export function isOver(run: RunState): boolean {
  return (Object.values(endStatus) as RunStatus[]).includes(run.status);
}

/** The run that is going on, if one is. */
export function activeRun(state: ThreadState): RunState | undefined {
  return state.run && !isOver(state.run) ? state.run : undefined;
}

export function stepIdOf(run: RunState): string {
  return `${run.id}-turn-${run.turn}`;
}

/** An answer has seldom so many calls that their results don't fit; where it has, a cache asks for what it could have placed. */
const mostRecent = 40;

export function transcriptRef(state: ThreadState): TranscriptRef {
  const { messages, epoch, hash } = state;
  // What came since the last model call: its answer, the results, what was said. A worker that made them can place them by this.
  const since = messages.findLastIndex((m) => m.role === 'assistant');
  const recent = messages.slice(Math.max(since, messages.length - mostRecent, 0)).map(tokenOf);
  return { epoch, length: messages.length, hash, recent };
}
