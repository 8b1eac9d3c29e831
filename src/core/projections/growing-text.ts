import type { EphemeralEventData } from '../event';

/** What a piece of live text adds. `restarted`: what was given of the message so far is void, and `added` begins it anew. */
export interface Growth {
  added: string;
  restarted: boolean;
}

const nothing: Growth = { added: '', restarted: false };

/**
 * The text of the message that a model is writing, as increments, whether it comes as pieces, as snapshots of all so far, in two attempts,
 * or only when it is whole: all `added` since the last `restarted` together are its text.
 */
export class GrowingText {
  #messageId = '';
  #attempt = 1;
  #text = '';

  /** A message was announced. Pieces of any other are late, and add nothing. */
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

  /** The message is whole: what of its text was not given yet. Closes it. */
  finish(text: string): Growth {
    const sent = this.#text;
    this.#messageId = '';
    this.#text = '';
    if (text.startsWith(sent)) return { added: text.slice(sent.length), restarted: false };
    return { added: text, restarted: true };
  }

  /** The message will not be whole. */
  drop(): void {
    this.#messageId = '';
    this.#text = '';
  }

  /** What follows in a snapshot after what is known; of a long text it holds only the end, in which what is known must be found. */
  #newIn(snapshot: string): string {
    if (snapshot.startsWith(this.#text)) return snapshot.slice(this.#text.length);
    const known = this.#text.slice(-200);
    const at = snapshot.lastIndexOf(known);
    // Not found: there is a gap, and `finish` will tell the text anew.
    return at === -1 ? '' : snapshot.slice(at + known.length);
  }
}
