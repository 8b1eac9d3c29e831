import type { AgentFacts } from './agent';
import type { DurableEvent, DurableEventData } from './event';
import { endStatus, isTerminal } from './event';
import { strip } from './log';
import { addUsage, type Message, noUsage } from './message';
import type { CallState, RunState, ThreadState } from './state';
import type { Verdict } from './tool';
import { extendHash, tokenOf } from './transcript';

/** What the workflow knows beyond the event itself, and no reader needs: kept out of the log, folded into the state. */
export interface Extra {
  /** With a run's creation: what its agent is. */
  facts?: AgentFacts;
  /** The messages as they stand after the transcript was rewritten. */
  transcript?: { messages: Message[]; hash: string };
  /** With an answer: what is to happen with each of its calls, in the model's order. */
  verdicts?: Verdict[];
}

/**
 * Folds an event into the state, in place: the state belongs to the one thread that records, and copying a transcript for each event
 * would make a turn's cost grow with its age. The event joins the log as a record that points at its messages.
 */
export function evolve(state: ThreadState, event: DurableEvent, extra: Extra = {}): void {
  apply(state, event, extra);
  state.log.push({
    seq: event.seq,
    type: event.type,
    at: Date.parse(event.timestamp),
    runId: event.runId,
    data: strip(event.type, event.data),
  });
  state.nextSeq = event.seq + 1;
}

function apply(state: ThreadState, event: DurableEvent, extra: Extra): void {
  const run = state.run;
  switch (event.type) {
    case 'agent.run.created':
      if (extra.facts) state.facts = extra.facts;
      state.run = newRun(event, (state.run?.number ?? 0) + 1);
      return;
    case 'agent.run.status.changed':
      if (run) run.status = event.data.status;
      return;
    case 'agent.run.step.created':
      if (run) run.turn = event.data.turn;
      return;
    case 'thread.message.queued':
      if (event.data.message.role === 'user') state.queue.push(event.data.message);
      return;
    case 'thread.message.created':
      if (event.data.inProgress) return void (run && (run.shell = event.data.message.id));
      state.queue = state.queue.filter((m) => m.id !== event.data.message.id);
      if (event.data.message.role === 'tool' && run) {
        const { toolCallId } = event.data.message;
        run.calls = run.calls.filter((call) => call.id !== toolCallId);
      }
      return append(state, event.data.message, event);
    case 'thread.message.completed':
      return answered(state, event, extra.verdicts ?? []);
    case 'agent.approval.requested':
      return setCall(run, event.data.toolCall.id, { phase: 'awaiting-approval' });
    case 'agent.approval.decided': {
      const { toolCallId, approved, editedArguments } = event.data;
      // A refused call stays where it is until its outcome is recorded, in the same breath.
      if (!approved) return;
      const external = run?.calls.find((call) => call.id === toolCallId)?.verdict.kind === 'external';
      return setCall(run, toolCallId, {
        phase: external ? 'awaiting-output' : 'ready',
        ...(editedArguments === undefined ? {} : { editedArguments }),
      });
    }
    case 'agent.tool.execution.started':
      if (run) run.toolCalls += 1;
      return setCall(run, event.data.toolCallId, { phase: 'running' });
    case 'agent.tool.execution.completed': {
      const { toolCallId, messageId, status, output, error, durationMs, attempts } = event.data;
      // A call that is executed outside was never `started` here, and counts all the same.
      const outside = run?.calls.find((call) => call.id === toolCallId)?.verdict.kind === 'external';
      if (run && outside && (status === 'success' || status === 'failed')) run.toolCalls += 1;
      const outcome = {
        status,
        content: output,
        ...(error && { error }),
        ...(durationMs !== undefined && { durationMs }),
        ...(attempts && { attempts }),
      };
      return setCall(run, toolCallId, { phase: 'done', outcome, messageId });
    }
    case 'thread.closed':
      state.closed = true;
      return;
    case 'thread.context.compacted':
      if (extra.transcript) Object.assign(state, extra.transcript);
      state.epoch += 1;
      return;
    default:
      if (isTerminal(event) && run) {
        run.status = endStatus[event.type];
        delete run.shell;
      }
  }
}

function newRun(event: DurableEvent<'agent.run.created'>, number: number): RunState {
  return {
    id: event.runId ?? '',
    number,
    status: 'in_progress',
    turn: 0,
    toolCalls: 0,
    usage: noUsage,
    startedAt: Date.parse(event.timestamp),
    calls: [],
    opening: event.data.initialMessages.map((message) => message.id),
  };
}

function append(state: ThreadState, message: Message, event: { runId: string | null; data: { stepId?: string } }): void {
  const runId = event.runId ?? undefined;
  const { stepId } = event.data;
  state.messages.push({ ...message, ...(runId && { runId }), ...(stepId && { stepId }) });
  state.hash = extendHash(state.hash, tokenOf(message));
}

function answered(state: ThreadState, event: DurableEvent<'thread.message.completed'>, verdicts: Verdict[]): void {
  const { message, usage }: DurableEventData['thread.message.completed'] = event.data;
  append(state, message, event);
  state.usage = addUsage(state.usage, usage);
  if (!state.run) return;
  delete state.run.shell;
  state.run.usage = addUsage(state.run.usage, usage);
  state.run.calls = message.toolCalls.map((call, i) => {
    const verdict = verdicts[i] ?? { kind: 'external' };
    const waits = verdict.kind === 'external' && !verdict.approval;
    return { id: call.id, name: call.name, verdict, phase: waits ? 'awaiting-output' : 'ready' };
  });
}

function setCall(run: RunState | null, id: string, change: object): void {
  if (!run) return;
  run.calls = run.calls.map((call) => (call.id === id ? ({ ...call, ...change } as CallState) : call));
}
