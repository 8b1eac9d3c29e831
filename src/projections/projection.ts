import type { AgentEvent } from '../core/event';

/**
 * Converts events to another system's format. Call `push` with each event in the order of the log, with live events in between, and pass on what it
 * returns. It uses no clock and generates no random ids, so the same events always give the same output. One projection reads one thread.
 */
export interface Projection<Out> {
  push(event: AgentEvent): Out[];
  /** Returns the remaining output when no more events follow. Do not call it for a run that only waits. */
  end?(): Out[];
}

/** Projects a whole log. */
export function project<Out>(projection: Projection<Out>, events: Iterable<AgentEvent>): Out[] {
  const out: Out[] = [];
  for (const event of events) out.push(...projection.push(event));
  out.push(...(projection.end?.() ?? []));
  return out;
}
