import type { Random } from './random';

/** Facts about a tool, for the checker, the model and the tools themselves. Uses no engine code, because the checker reads it. */
export interface ToolFacts {
  effect: 'pure' | 'keyed' | 'once' | 'verify' | 'saga';
  /** It may begin only after this many people approved it, or a deadline or a remembered rule did. */
  approvers?: number;
  /** Its deadline approves it. */
  approvesItself?: true;
  /** Answered from outside; the engine never runs it. */
  outside?: true;
  background?: true;
  /** How long a call takes, in milliseconds: minimum and maximum. */
  ms: [number, number];
  /** How often the model calls it, relative to the others. */
  weight: number;
}

export const tools: Readonly<Record<string, ToolFacts>> = {
  look: { effect: 'pure', ms: [1, 40], weight: 8 },
  slow_look: { effect: 'pure', ms: [500, 4_000], weight: 1 },
  write: { effect: 'keyed', ms: [1, 40], weight: 8 },
  slow_write: { effect: 'keyed', ms: [500, 4_000], weight: 2 },
  flaky: { effect: 'keyed', ms: [1, 20], weight: 2 },
  pay: { effect: 'once', ms: [1, 40], weight: 10 },
  slow_pay: { effect: 'once', ms: [500, 4_000], weight: 2 },
  transfer: { effect: 'verify', ms: [1, 40], weight: 6 },
  slow_transfer: { effect: 'verify', ms: [500, 4_000], weight: 2 },
  book: { effect: 'saga', ms: [1, 40], weight: 6 },
  fails: { effect: 'pure', ms: [1, 10], weight: 1 },
  pay_asked: { effect: 'once', approvers: 1, ms: [1, 60], weight: 3 },
  pay_two: { effect: 'once', approvers: 2, ms: [1, 60], weight: 2 },
  write_late: { effect: 'keyed', approvers: 1, approvesItself: true, ms: [1, 60], weight: 1 },
  pay_denied: { effect: 'once', approvers: 1, ms: [1, 60], weight: 1 },
  outside: { effect: 'once', outside: true, ms: [0, 0], weight: 1 },
  outside_late: { effect: 'once', outside: true, ms: [0, 0], weight: 1 },
  ask_human: { effect: 'once', outside: true, ms: [0, 0], weight: 1 },
  behind: { effect: 'keyed', background: true, ms: [200, 2_500], weight: 1 },
  behind_once: { effect: 'once', background: true, ms: [200, 2_500], weight: 1 },
  book_behind: { effect: 'saga', background: true, ms: [200, 2_500], weight: 1 },
  sleeps: { effect: 'keyed', ms: [1, 20], weight: 1 },
  shell: { effect: 'once', ms: [0, 0], weight: 1 },
  dump: { effect: 'pure', ms: [1, 40], weight: 1 },
};

/** The window of the model of the agents in threads of kind `forgetting`, in tokens. */
export const smallWindow = { windowTokens: 10_000, reserveTokens: 2_000 };
/** The most messages in a request of the agent with a sliding window. */
export const maxMessages = 12;

export type ToolName = keyof typeof tools & string;

/** Which tools the model of a kind of thread calls. */
const liked: Readonly<Record<string, (name: string) => boolean>> = {
  quick: (name) => ['look', 'write', 'pay', 'slow_pay', 'slow_write', 'flaky', 'fails', 'transfer', 'slow_transfer', 'book'].includes(name),
  asking: (name) => /asked|two|late|denied|outside|ask_human/.test(name) || name === 'pay',
  behind: (name) => /behind|look|pay$/.test(name),
  sleeping: (name) => ['sleeps', 'pay', 'write', 'book'].includes(name),
  shelling: (name) => ['shell', 'pay'].includes(name),
  booking: (name) => ['book', 'book_behind', 'fails'].includes(name),
  forgetting: (name) => ['dump', 'pay', 'write', 'behind'].includes(name),
};

export function pickTool(rng: Random, kind: string): string {
  const fits = liked[kind] ?? (() => true);
  return rng.weigh(Object.fromEntries(Object.entries(tools).flatMap(([name, { weight }]) => (fits(name) ? [[name, weight]] : []))));
}
