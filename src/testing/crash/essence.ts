import type { DurableEvent } from '../../core/event';

/** What another attempt at a step, or another run of the same conversation, changes in an event. */
const volatile = new Set(['attempt', 'token', 'timestamp', 'durationMs', 'attempts', 'wasted', 'usage', 'costUsd', 'digest', 'spent']);

/** Ids that the engine draws: a word and 16 hex digits. */
const drawnId = /\b[a-z]+_[0-9a-f]{16}\b/g;
const isoTime = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;

/**
 * The log without what differs between two runs of the same conversation: one text for each event. Calls that run concurrently end in any order, so
 * events about calls that directly follow each other are in the order of the calls.
 */
export function essenceOf(events: readonly DurableEvent[], threadId: string): string[] {
  const essences: string[] = [];
  let group: { call: string; text: string }[] = [];
  const endGroup = () => {
    essences.push(...group.sort((a, b) => (a.call < b.call ? -1 : a.call > b.call ? 1 : 0)).map(({ text }) => text));
    group = [];
  };
  for (const event of events) {
    const text = textOf(event, threadId);
    if (event.type.startsWith('agent.tool.execution.') && 'toolCallId' in event.data) {
      group.push({ call: String(event.data.toolCallId), text });
    } else {
      endGroup();
      essences.push(text);
    }
  }
  endGroup();
  return essences;
}

function textOf({ type, data, runId }: DurableEvent, threadId: string): string {
  const text = JSON.stringify(data, (key, value) => (volatile.has(key) ? undefined : value));
  const plain = text.replaceAll(threadId, '<thread>').replaceAll(runId ?? '<run>', '<run>');
  return `${type} ${plain.replace(drawnId, '<id>').replace(isoTime, '<time>')}`;
}
