import { type AgentEvent, type DurableEvent, isDurable } from '../../core/event';
import { executionIdOf } from './shapes';

/** One entry of OneRingAI's audit trail. */
export interface AuditEntry {
  /** ISO 8601, UTC. */
  timestamp: string;
  executionId: string | null;
  type: 'hook_executed' | 'tool_modified' | 'tool_skipped' | 'tool_approved' | 'tool_rejected' | 'execution_paused' | 'execution_resumed';
  hookName?: string;
  toolName?: string;
  details?: object;
}

const keptEntries = 1_000;

/** OneRingAI's audit trail: who changed, skipped, allowed or rejected what, and which hooks ran. Contains the newest thousand entries. */
export function oneringaiAudit(events: Iterable<AgentEvent>): AuditEntry[] {
  const entries: AuditEntry[] = [];
  const names = new Map<string, string>();
  const refused = new Set<string>();
  for (const event of events) {
    if (!isDurable(event)) continue;
    if (event.type === 'thread.run.step.tool_call.created') names.set(event.data.toolCall.id, event.data.toolCall.name);
    const executionId = event.runId === null ? null : executionIdOf(event.runId);
    const found = entriesOf(event, names, refused).map((entry) => ({ timestamp: event.timestamp, executionId, ...entry }));
    entries.push(...found);
    if (entries.length > 2 * keptEntries) entries.splice(0, entries.length - keptEntries);
  }
  return entries.slice(-keptEntries);
}

type Entry = Omit<AuditEntry, 'timestamp' | 'executionId'>;

function entriesOf(event: DurableEvent, names: ReadonlyMap<string, string>, refused: Set<string>): Entry[] {
  switch (event.type) {
    case 'agent.hook.completed':
      return hookEntries(event.data, event.data.toolCallId === undefined ? undefined : names.get(event.data.toolCallId));
    case 'agent.approval.decided': {
      const { toolCallId, approved, editedArguments, ...details } = event.data;
      if (!approved) refused.add(toolCallId);
      const toolName = names.get(toolCallId);
      const of = { ...(toolName && { toolName }), details };
      const edited: Entry[] = editedArguments === undefined ? [] : [{ type: 'tool_modified', ...of, details: { editedArguments } }];
      return [{ type: approved ? 'tool_approved' : 'tool_rejected', ...of }, ...edited];
    }
    case 'agent.tool.execution.completed': {
      // A rule or a hook rejected the call without a person's decision.
      const { status, toolCallId, name, error } = event.data;
      if (status !== 'denied' || refused.has(toolCallId)) return [];
      return [{ type: 'tool_rejected', toolName: name, details: { reason: error?.message ?? '' } }];
    }
    case 'agent.run.paused':
      return [{ type: 'execution_paused', details: event.data }];
    case 'agent.run.resumed':
      return [{ type: 'execution_resumed', details: event.data }];
    default:
      return [];
  }
}

function hookEntries(
  { hook, durationMs, answered = [], errors }: DurableEvent<'agent.hook.completed'>['data'],
  toolName?: string,
): Entry[] {
  const of = { hookName: hook, ...(toolName && { toolName }) };
  const executed: Entry = { type: 'hook_executed', ...of, details: { durationMs, answered, ...(errors && { errors }) } };
  const modified = answered.includes('args') || (hook === 'after:tool' && answered.includes('content'));
  const skipped = hook === 'before:tool' && answered.includes('skip');
  return [
    executed,
    ...(modified ? [{ type: 'tool_modified' as const, ...of }] : []),
    ...(skipped ? [{ type: 'tool_skipped' as const, ...of }] : []),
  ];
}
