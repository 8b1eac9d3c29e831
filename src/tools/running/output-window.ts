import { headAndTail } from './output-cap';

/** Collects unlimited output in bounded memory: keeps the first and the last bytes, at most `max` together. */
export class OutputWindow {
  readonly #half: number;
  readonly #head: Buffer[] = [];
  #headBytes = 0;
  #tail: Buffer[] = [];
  #tailBytes = 0;
  #total = 0;

  constructor(max: number) {
    this.#half = Math.floor(max / 2);
  }

  add(chunk: Buffer): void {
    this.#total += chunk.length;
    const room = this.#half - this.#headBytes;
    if (room > 0) {
      const first = chunk.subarray(0, room);
      this.#head.push(first);
      this.#headBytes += first.length;
    }
    const rest = chunk.subarray(Math.max(room, 0));
    if (rest.length === 0) return;
    this.#tail.push(rest);
    this.#tailBytes += rest.length;
    while (this.#tail.length > 0 && this.#tailBytes - (this.#tail[0]?.length ?? 0) >= this.#half)
      this.#tailBytes -= this.#tail.shift()?.length ?? 0;
  }

  text(): string {
    const head = Buffer.concat(this.#head);
    const tail = Buffer.concat(this.#tail);
    const last = tail.subarray(Math.max(0, tail.length - this.#half));
    if (head.length + last.length === this.#total) return Buffer.concat([head, last]).toString('utf8');
    return headAndTail(head, last, this.#total);
  }
}
