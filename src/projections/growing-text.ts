import type { EphemeralEventData } from '../core/event';

/** The effect of a piece of live text. `restarted`: the message's earlier text is void, and `added` starts it again. */
export interface Growth {
  added: string;
  restarted: boolean;
}

const nothing: Growth = { added: '', restarted: false };

/**
 * Converts the text of a message to increments, whether it arrives in pieces, as snapshots of the text so far, in several attempts, or only when it is
 * complete. All `added` since the last `restarted` together are the message's text.
 */
export class GrowingText {
  #messageId = '';
  #attempt = 1;
  #text = '';

  /** A message was announced. Pieces of other messages are late and add nothing. */
  begin(messageId: string): void {
    this.#messageId = messageId;
    this.#attempt = 1;
    this.#text = '';
  }

  push({ messageId, attempt, contentChunk = '', snapshot, restart }: EphemeralEventData['thread.message.delta']): Growth {
    if (messageId !== this.#messageId || attempt < this.#attempt) return nothing;
    const restarted = (restart === true || attempt > this.#attempt) && this.#text !== '';
    if (restart || attempt > this.#attempt) this.#text = '';
    this.#attempt = attempt;
    const added = snapshot ? this.#newIn(contentChunk) : contentChunk;
    this.#text += added;
    return { added, restarted };
  }

  /** The message is complete: returns the part of its text that was not returned yet, and closes the message. */
  finish(text: string): Growth {
    const sent = this.#text;
    this.#messageId = '';
    this.#text = '';
    if (text.startsWith(sent)) return { added: text.slice(sent.length), restarted: false };
    return { added: text, restarted: true };
  }

  /** The message will not be completed. */
  drop(): void {
    this.#messageId = '';
    this.#text = '';
  }

  /** The part of a snapshot after the known text. The snapshot of a long text has only its end, in which the known text must be found. */
  #newIn(snapshot: string): string {
    if (snapshot.startsWith(this.#text)) return snapshot.slice(this.#text.length);
    const known = this.#text.slice(-200);
    const at = snapshot.lastIndexOf(known);
    // Not found: there is a gap, and `finish` restarts the text.
    return at === -1 ? '' : snapshot.slice(at + known.length);
  }
}
