import { bounds } from './bounds';
import { findCall } from './calls';
import type { DurableEvent } from './event';
import { addUsage, noUsage } from './message';
import type { Metrics, RunState } from './state';
import { outcomes } from './tool';
import { addWaste } from './waste';

/** Counts an event, before it is applied to the state. The counts stay when the events themselves are no longer in the state. */
export function measure(metrics: Metrics, event: DurableEvent, run: RunState | null): void {
  switch (event.type) {
    case 'agent.run.summarized':
    case 'thread.context.compacted':
    case 'thread.context.kept':
    case 'thread.message.incomplete':
    case 'thread.message.completed': {
      const told = 'spent' in event.data ? event.data.spent : 'usage' in event.data ? event.data : undefined;
      if (!told) return;
      const { model, durationMs, attempts = [], wasted } = told;
      const { usage, costUsd = 0 } = addWaste(told, wasted) ?? told;
      const spent = known(metrics.models, model) ?? { calls: 0, usage: noUsage, costUsd: 0, durationMs: 0, retries: 0, waitedMs: 0 };
      metrics.models = put(metrics.models, model, {
        calls: spent.calls + 1,
        usage: addUsage(spent.usage, usage),
        costUsd: spent.costUsd + costUsd,
        durationMs: spent.durationMs + durationMs,
        retries: spent.retries + attempts.length,
        waitedMs: spent.waitedMs + attempts.reduce((sum, { waitMs = 0 }) => sum + waitMs, 0),
      });
      return;
    }
    case 'agent.tool.execution.completed':
    case 'agent.tool.background.completed': {
      // Calls that never ran are not counted. A background call counts when it is over, not with its placeholder.
      const { name, status, durationMs = 0 } = event.data;
      if ('background' in event.data || !outcomes[status].ran) return;
      const spent = known(metrics.tools, name) ?? { calls: 0, failed: 0, timedOut: 0, durationMs: 0 };
      metrics.tools = put(metrics.tools, name, {
        calls: spent.calls + 1,
        failed: spent.failed + (status === 'success' ? 0 : 1),
        timedOut: spent.timedOut + (status === 'timed-out' ? 1 : 0),
        durationMs: spent.durationMs + durationMs,
      });
      return;
    }
    case 'agent.hook.completed': {
      const { hook, durationMs, errors = [] } = event.data;
      const spent = known(metrics.hooks, hook) ?? { calls: 0, errors: 0, durationMs: 0 };
      metrics.hooks[hook] = {
        calls: spent.calls + 1,
        errors: spent.errors + errors.length,
        durationMs: spent.durationMs + durationMs,
      };
      return;
    }
    case 'agent.approval.decided': {
      const call = findCall(run, event.data.toolCallId);
      // A decision about a limit is no approval.
      if (!call) return;
      const since = call.ask?.since;
      metrics.approvals[event.data.approved ? 'approved' : 'refused'] += 1;
      if (since !== undefined) metrics.approvals.waitedMs += Date.parse(event.timestamp) - since;
      return;
    }
  }
}

/** Reads own properties only: a tool may be named `constructor`, and a model `__proto__`. */
function known<T>(counts: Record<string, T>, name: string): T | undefined {
  return Object.hasOwn(counts, name) ? counts[name] : undefined;
}

/** A computed key, unlike an assignment, makes `__proto__` an ordinary key. Beyond `countedNames` names, new ones are not counted. */
function put<T>(counts: Record<string, T>, name: string, value: T): Record<string, T> {
  const full = Object.keys(counts).length >= bounds.countedNames && !Object.hasOwn(counts, name);
  return full ? counts : { ...counts, [name]: value };
}
