import { type AgentEvent, isTerminal } from '../../core/event';
import { addUsage, noUsage } from '../../core/message';
import { type AgentBError, type AgentBStatus, type AgentBUsage, errorOf, statusOf, usageOf } from './words';

/** AgentB's record of a run (`IAgentRun`). Times are ISO 8601, UTC. */
export interface AgentBRun {
  id: string;
  threadId: string;
  agentType: string;
  status: AgentBStatus;
  createdAt: string;
  startedAt?: string;
  completedAt?: string;
  expiresAt?: string;
  lastError?: AgentBError;
  /** The model's name, once it has answered. Never contains a key. */
  config: { model?: string };
  metadata: { turns: number; usage: AgentBUsage };
}

/**
 * The record of the run with this id, by default of the thread's last run; undefined if there is none. Its status is `queued` until the first turn
 * begins. Unlike AgentB's own record, it has `requires_action` only while the run waits, and it has the run's end as soon as the log has it.
 */
export function agentbRunRecord(events: Iterable<AgentEvent>, runId?: string, agentType = 'BaseAgent'): AgentBRun | undefined {
  let run: AgentBRun | undefined;
  let usage = noUsage;
  let provider: string | undefined;
  for (const event of events) {
    if (event.type === 'agent.run.created' && (runId === undefined || event.runId === runId)) {
      usage = noUsage;
      const { runId: id, threadId, timestamp: createdAt } = event;
      run = { id: id ?? '', threadId, agentType, status: 'queued', createdAt, config: {}, metadata: { turns: 0, usage: usageOf(usage) } };
      continue;
    }
    if (!run || event.runId !== run.id) continue;
    if (event.type === 'agent.run.step.created') {
      run.startedAt ??= event.timestamp;
      run.status = 'in_progress';
      run.metadata.turns = event.data.turn;
    } else if (event.type === 'agent.run.status.changed') {
      run.status = statusOf(event.data.status);
    } else if (event.type === 'agent.run.suspended') {
      run.expiresAt = event.data.expiresAt;
    } else if (event.type === 'thread.message.completed' || event.type === 'agent.run.summarized') {
      usage = addUsage(usage, event.data.usage);
      run.metadata.usage = usageOf(usage);
      if (event.data.model) run.config.model = event.data.model;
      provider = event.data.model.includes('/') ? event.data.model.split('/')[0] : provider;
    } else if (event.type === 'thread.context.compacted' || event.type === 'thread.context.kept') {
      if (event.data.spent) usage = addUsage(usage, event.data.spent.usage);
      run.metadata.usage = usageOf(usage);
    } else if (isTerminal(event)) {
      run.completedAt = event.timestamp;
      if (event.type === 'thread.run.completed') run.status = 'completed';
      else if (event.type === 'thread.run.cancelled') run.status = 'cancelled';
      else {
        run.status = event.type === 'thread.run.expired' ? 'expired' : 'failed';
        run.lastError = errorOf(event, provider);
      }
    }
  }
  return run;
}
