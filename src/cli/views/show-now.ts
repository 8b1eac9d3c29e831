import type { DurableEvent } from '../../core/event';
import { isTerminal } from '../../core/event';
import { type Part, paint, Styled, styled } from './styled';
import { age, shortArguments } from './words';

/** A call, or a call of the model, that began and has no end in the log. */
export interface RunningCall {
  /** Absent for a call of the model. */
  toolCallId?: string;
  name: string;
  arguments: string;
  /** ISO 8601, UTC. */
  since: string;
}

/** A step that was begun or waits for a worker, as the server knows it. Times are ISO 8601, UTC. */
export interface PendingStep {
  name: string;
  attempt: number;
  /** Since when a worker runs this attempt. Absent: it waits for a worker, or for its next attempt. */
  runningSince?: string;
  waitingSince?: string;
  /** When the worker was last heard of. */
  heartbeatAt?: string;
  /** Why the attempt before ended. */
  lastFailure?: string;
}

/** Finds what is running at the end of a log. */
export function runningCalls(events: readonly DurableEvent[]): RunningCall[] {
  const made = new Map<string, string>();
  const running = new Map<string, RunningCall>();
  for (const event of events) {
    if (isTerminal(event)) running.clear();
    take(event, made, running);
  }
  return [...running.values()];
}

function take(event: DurableEvent, made: Map<string, string>, running: Map<string, RunningCall>): void {
  switch (event.type) {
    case 'thread.run.step.tool_call.completed_by_llm':
      made.set(event.data.toolCall.id, event.data.toolCall.arguments);
      return;
    case 'agent.approval.decided':
    case 'agent.hook.completed': {
      const { toolCallId, editedArguments } = event.data;
      const edited = ('arguments' in event.data ? event.data.arguments : undefined) ?? editedArguments;
      if (toolCallId !== undefined && edited !== undefined) made.set(toolCallId, edited);
      return;
    }
    case 'agent.tool.execution.started': {
      const { toolCallId, name } = event.data;
      running.set(toolCallId, { toolCallId, name, arguments: made.get(toolCallId) ?? '', since: event.timestamp });
      return;
    }
    case 'agent.tool.execution.completed':
      if (!event.data.background) running.delete(event.data.toolCallId);
      return;
    case 'agent.tool.background.completed':
    case 'agent.tool.outcome.unknown':
    case 'agent.tool.question.asked':
      running.delete(event.data.toolCallId);
      return;
    case 'thread.message.created':
      if (event.data.inProgress) running.set(event.data.message.id, { name: 'the model', arguments: '', since: event.timestamp });
      return;
    case 'thread.message.completed':
      running.delete(event.data.message.id);
      return;
    case 'thread.message.incomplete':
      running.delete(event.data.messageId);
      return;
  }
}

/** What runs now, and for how long. `at`: the time of the look, in milliseconds since 1970. */
export function nowLines(calls: readonly RunningCall[], at: number): Styled[] {
  return calls.map(({ toolCallId, name, arguments: args, since }) => {
    const short = shortArguments(args, 80);
    const id = toolCallId === undefined ? '' : paint.dim(styled` (${toolCallId})`);
    return styled`${paint.bold(name)}${short ? ` ${short}` : ''}${id} for ${ago(since, at)}`;
  });
}

/** A step whose last sign of life is older than this is shown, in milliseconds. */
const silentMs = 10_000;

/** What the server knows of the steps, as far as there is more to say than what runs: attempts, and signs that a worker was lost. */
export function stepLines(steps: readonly PendingStep[], calls: readonly RunningCall[] | undefined, at: number): Styled[] {
  return steps
    .filter(({ attempt, runningSince, heartbeatAt }) => {
      const silent = heartbeatAt !== undefined && at - Date.parse(heartbeatAt) > silentMs;
      return calls === undefined || attempt > 1 || runningSince === undefined || silent;
    })
    .map((step) => stepLine(step, at));
}

function stepLine({ name, attempt, runningSince, waitingSince, heartbeatAt, lastFailure }: PendingStep, at: number): Styled {
  const parts: Part[] = [
    `step ${name}, attempt ${attempt}`,
    runningSince
      ? `begun ${ago(runningSince, at)} ago`
      : paint.yellow(`waits for a worker${waitingSince ? `, scheduled ${ago(waitingSince, at)} ago` : ''}`),
    ...(heartbeatAt ? [`last sign of life ${ago(heartbeatAt, at)} ago`] : []),
    ...(lastFailure ? [paint.yellow(`the attempt before: ${lastFailure}`)] : []),
  ];
  return Styled.join(parts, '; ');
}

function ago(iso: string, at: number): string {
  return age(at - Date.parse(iso));
}
