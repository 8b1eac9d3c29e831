import type { Evidence, LogEvent } from './evidence';

/** The model's mark of each call that is in the ledger, by thread and the call's id. */
export type Marks = ReadonlyMap<string, string>;

const keyOf = (thread: string, call: string) => JSON.stringify([thread, call]);

export function marksOf({ ledger, effects }: Pick<Evidence, 'ledger' | 'effects'>): Marks {
  return new Map([...ledger, ...effects].map(({ thread, call, n }) => [keyOf(thread, call), n]));
}

export interface Called {
  call: string;
  name: string;
  /** The model's mark in the arguments. */
  n: string;
}

/**
 * The tool call that an event records, if any. After a compaction the log no longer has its arguments; then the mark is taken from the ledger
 * by the call's id. A call that is not in the ledger has no mark.
 */
export function calledIn({ type, threadId, data }: LogEvent, marks: Marks = new Map()): Called | undefined {
  if (type !== 'thread.run.step.tool_call.completed_by_llm') return undefined;
  const { id, name, arguments: text } = data.toolCall as { id: string; name: string; arguments: string };
  return { call: id, name, n: markIn(text) ?? marks.get(keyOf(threadId, id)) ?? '' };
}

function markIn(text: string): string | undefined {
  try {
    const { n } = JSON.parse(text) as { n?: unknown };
    return n === undefined ? undefined : String(n);
  } catch {
    return undefined;
  }
}
