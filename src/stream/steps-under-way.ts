import type { EphemeralEvent } from '../core/event';
import { grownText } from '../core/text';

type Delta = EphemeralEvent<'thread.message.delta'>;
type Progress = EphemeralEvent<'agent.tool.progress'>;

/** Minimum number of characters that are kept of the end of a long text. */
const longestText = 16_000;

/** The text so far of each running step, for readers that join later. */
export class StepsUnderWay {
  readonly #threads = new Map<string, Map<string, Written | Progress>>();

  add(event: EphemeralEvent): void {
    if (event.type === 'thread.message.delta') this.#grow(event as Delta);
    else if (event.type === 'agent.tool.progress') this.#put(event.threadId, event.data.toolCallId, event as Progress);
  }

  end(threadId: string, step: string): void {
    const steps = this.#threads.get(threadId);
    if (steps?.delete(step) && steps.size === 0) this.#threads.delete(threadId);
  }

  of(threadId: string): EphemeralEvent[] {
    return [...(this.#threads.get(threadId)?.values() ?? [])].map((step) => ('newest' in step ? snapshot(step) : step));
  }

  #put(threadId: string, step: string, state: Written | Progress): void {
    const steps = this.#threads.get(threadId) ?? new Map<string, Written | Progress>();
    this.#threads.set(threadId, steps.set(step, state));
  }

  /** Appends a delta, in place, because this runs for each of them. A delta of an attempt that a later one has replaced is ignored. */
  #grow(newest: Delta): void {
    const { messageId, attempt, contentChunk, reasoningChunk } = newest.data;
    const known = this.#threads.get(newest.threadId)?.get(messageId) as Written | undefined;
    if (known && known.newest.data.attempt > attempt) return;
    if (known?.newest.data.attempt !== attempt) {
      return this.#put(newest.threadId, messageId, {
        newest,
        text: joined(undefined, contentChunk),
        reasoning: joined(undefined, reasoningChunk),
      });
    }
    known.newest = newest;
    known.text = joined(known.text, contentChunk);
    known.reasoning = joined(known.reasoning, reasoningChunk);
  }
}

/** The text of a model's answer so far. */
interface Written {
  newest: Delta;
  text: string | undefined;
  reasoning: string | undefined;
}

/** Returns the text so far as one delta. */
function snapshot({ newest, text, reasoning }: Written): Delta {
  const { messageId, turn, attempt, index } = newest.data;
  return {
    ...newest,
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

function joined(before: string | undefined, chunk: string | undefined): string | undefined {
  return before === undefined && chunk === undefined ? undefined : grownText(before ?? '', chunk ?? '', longestText);
}
