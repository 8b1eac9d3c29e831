import type { AgentEvent } from '../event';

/**
 * Our events told in another system's words: give it each event in the order of the log, live ones between them, and pass on what it
 * returns. It knows no clock and makes up no ids, so the same events always give the same output. One projection reads one thread.
 */
export interface Projection<Out> {
  push(event: AgentEvent): Out[];
  /** What is left to say when no more events come; not for a run that only rests. */
  end?(): Out[];
}

/** The whole of a log at once. */
export function project<Out>(projection: Projection<Out>, events: Iterable<AgentEvent>): Out[] {
  const out: Out[] = [];
  for (const event of events) out.push(...projection.push(event));
  out.push(...(projection.end?.() ?? []));
  return out;
}
