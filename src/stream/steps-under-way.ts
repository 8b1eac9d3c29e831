import type { EphemeralEvent } from '../core/event';
import { grownText } from '../core/text';

type Delta = EphemeralEvent<'thread.message.delta'>;
type Progress = EphemeralEvent<'agent.tool.progress'>;

/** Minimum number of characters that are kept of the end of a long text. */
const longestText = 16_000;

/** The text so far of each running step, for readers that join later. */
export class StepsUnderWay {
  readonly #threads = new Map<string, Map<string, Delta | Progress>>();

  add(event: EphemeralEvent): void {
    if (event.type === 'thread.message.delta') this.#put(event.data.messageId, this.#grown(event as Delta));
    else if (event.type === 'agent.tool.progress') this.#put(event.data.toolCallId, event as Progress);
  }

  end(threadId: string, step: string): void {
    const steps = this.#threads.get(threadId);
    if (steps?.delete(step) && steps.size === 0) this.#threads.delete(threadId);
  }

  of(threadId: string): EphemeralEvent[] {
    return [...(this.#threads.get(threadId)?.values() ?? [])];
  }

  #put(step: string, event: Delta | Progress | undefined): void {
    if (!event) return;
    const steps = this.#threads.get(event.threadId) ?? new Map<string, Delta | Progress>();
    this.#threads.set(event.threadId, steps.set(step, event));
  }

  /** Returns the text so far as one delta; undefined for a delta of an attempt that a later one has replaced. */
  #grown(event: Delta): Delta | undefined {
    const { messageId, turn, attempt, index, contentChunk, reasoningChunk } = event.data;
    const known = this.#threads.get(event.threadId)?.get(messageId) as Delta | undefined;
    if (known && known.data.attempt > attempt) return undefined;
    const before = known?.data.attempt === attempt ? known.data : undefined;
    const text = joined(before?.contentChunk, contentChunk);
    const reasoning = joined(before?.reasoningChunk, reasoningChunk);
    return {
      ...event,
      data: {
        messageId,
        turn,
        attempt,
        index,
        ...(text !== undefined && { contentChunk: text }),
        ...(reasoning !== undefined && { reasoningChunk: reasoning }),
        // A reader that joins now may have seen an earlier attempt.
        ...(attempt > 1 && { restart: true }),
        snapshot: true,
      },
    };
  }
}

function joined(before: string | undefined, chunk: string | undefined): string | undefined {
  return before === undefined && chunk === undefined ? undefined : grownText(before ?? '', chunk ?? '', longestText);
}
