import fc from 'fast-check';
import type { AgentEvent, DurableEvent } from '../../src/core/event';

/** A live event as it might come: right or wrong, of any attempt, also of a message, a turn or a call that is over or unknown. */
const piece = fc.record({
  kind: fc.constantFrom('text' as const, 'retry' as const, 'progress' as const),
  attempt: fc.integer({ min: 1, max: 3 }),
  turn: fc.integer({ min: 1, max: 3 }),
  words: fc.string(),
  restart: fc.boolean(),
  snapshot: fc.boolean(),
  reasoning: fc.boolean(),
  old: fc.boolean(),
});

type Piece = typeof piece extends fc.Arbitrary<infer T> ? T : never;

/** What comes behind each event, over and over. */
export const livePieces = fc.array(fc.array(piece, { maxLength: 4 }), { minLength: 1, maxLength: 4 });

export function withLive(events: readonly DurableEvent[], pieces: readonly Piece[][]): AgentEvent[] {
  const messages: string[] = [];
  const calls: string[] = [];
  return events.flatMap((event, i): AgentEvent[] => {
    if (event.type === 'thread.message.created' && event.data.inProgress) messages.push(event.data.message.id);
    if (event.type === 'agent.tool.execution.started') calls.push(event.data.toolCallId);
    const { timestamp, threadId, runId } = event;
    const between = (pieces[i % pieces.length] ?? []).map(({ kind, attempt, turn, words, ...of }, index) => {
      const at = of.old ? -2 : -1;
      const text = of.reasoning ? { reasoningChunk: words } : { contentChunk: words };
      const flags = { ...(of.restart && { restart: true as const }), ...(of.snapshot && { snapshot: true as const }) };
      const told = {
        text: { type: 'thread.message.delta', data: { messageId: messages.at(at) ?? 'none', turn, attempt, index, ...text, ...flags } },
        retry: {
          type: 'agent.llm.retry',
          data: { turn, nextAttempt: attempt, maxAttempts: 3, delayMs: 5, delaySource: 'backoff', failureKind: 'server', message: words },
        },
        progress: { type: 'agent.tool.progress', data: { toolCallId: calls.at(at) ?? 'none', name: 'tool', attempt, message: words } },
      }[kind];
      return { timestamp, threadId, runId, ...told } as AgentEvent;
    });
    return [event, ...between];
  });
}
