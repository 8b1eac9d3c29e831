import type { AgentEvent } from '../../core/event';
import { CodeliaItems } from './items';
import { type CodeliaCallUsage, type CodeliaEvent, usageWords } from './words';

export interface SessionHistory {
  /** The number of runs that the events belong to. */
  runs: number;
  /** In order, numbered from 0 within each run. */
  events: { run_id: string; seq: number; event: CodeliaEvent }[];
  /** Whether older events were left out. */
  truncated: boolean;
}

/**
 * codelia's `session.history`: the newest events of the newest runs, with the user's messages as `hidden_user_message`. The beginning of the oldest
 * included run may be missing.
 */
export function sessionHistory(
  events: Iterable<AgentEvent>,
  { maxRuns = 20, maxEvents = 1_500 }: { maxRuns?: number; maxEvents?: number } = {},
): SessionHistory {
  const items = new CodeliaItems();
  const runs = new Map<string, CodeliaEvent[]>();
  for (const event of events) {
    for (const item of items.push(event)) {
      if (item.kind === 'start') runs.set(item.runId, []);
      if (item.kind === 'input') runs.get(item.runId)?.push({ type: 'hidden_user_message', content: item.content });
      if (item.kind === 'event') runs.get(item.runId)?.push(item.event);
    }
  }
  let room = Math.max(0, maxEvents);
  const kept: { run_id: string; told: CodeliaEvent[] }[] = [];
  for (const [run_id, all] of [...runs].reverse()) {
    if (kept.length >= maxRuns || room === 0) break;
    const told = all.slice(Math.max(0, all.length - room));
    room -= told.length;
    kept.unshift({ run_id, told });
  }
  const replayed = kept.flatMap(({ run_id, told }) => told.map((event, seq) => ({ run_id, seq, event })));
  const total = [...runs.values()].reduce((sum, all) => sum + all.length, 0);
  return { runs: kept.length, events: replayed, truncated: kept.length < runs.size || replayed.length < total };
}

interface Totals {
  calls: number;
  input_tokens: number;
  cached_input_tokens: number;
  output_tokens: number;
  total_tokens: number;
  /** The cost of the calls whose price is known. Null if no call's price is known. */
  cost_usd: number | null;
}

export interface CodeliaUsage {
  total_calls: number;
  total_tokens: number;
  total_input_tokens: number;
  total_cached_input_tokens: number;
  total_output_tokens: number;
  /** The cost in US dollars of the calls whose price is known. */
  total_cost_usd: number;
  by_model: Record<string, Totals>;
}

/** The usage of a thread's model calls by model, including the calls for closing summaries and for compactions. */
export function codeliaUsage(events: Iterable<AgentEvent>): CodeliaUsage {
  const models = new Map<string, Totals>();
  const count = (
    { model, input_tokens, input_cached_tokens, output_tokens, total_tokens }: CodeliaCallUsage,
    costUsd: number | undefined,
  ) => {
    const of = models.get(model) ?? nothing;
    models.set(model, {
      calls: of.calls + 1,
      input_tokens: of.input_tokens + input_tokens,
      cached_input_tokens: of.cached_input_tokens + input_cached_tokens,
      output_tokens: of.output_tokens + output_tokens,
      total_tokens: of.total_tokens + total_tokens,
      cost_usd: costUsd === undefined ? of.cost_usd : (of.cost_usd ?? 0) + costUsd,
    });
  };
  const items = new CodeliaItems();
  for (const event of events) {
    for (const item of items.push(event)) if (item.kind === 'response') count(item.usage, item.costUsd);
    const compacts = event.type === 'thread.context.compacted' || event.type === 'thread.context.kept';
    if (compacts && event.data.spent) count(usageWords(event.data.spent.model, event.data.spent.usage), event.data.spent.costUsd);
  }
  const sum = (of: (totals: Totals) => number) => [...models.values()].reduce((total, totals) => total + of(totals), 0);
  return {
    total_calls: sum((m) => m.calls),
    total_tokens: sum((m) => m.total_tokens),
    total_input_tokens: sum((m) => m.input_tokens),
    total_cached_input_tokens: sum((m) => m.cached_input_tokens),
    total_output_tokens: sum((m) => m.output_tokens),
    total_cost_usd: sum((m) => m.cost_usd ?? 0),
    by_model: Object.fromEntries(models),
  };
}

const nothing: Totals = { calls: 0, input_tokens: 0, cached_input_tokens: 0, output_tokens: 0, total_tokens: 0, cost_usd: null };
