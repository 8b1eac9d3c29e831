const windowMs = 10_000;

/** Counts what a server sends, so that it can't keep the worker from other work. */
export class Rate {
  #began = performance.now();
  #count = 0;

  /** `max`: how many there may be within ten seconds. */
  constructor(private readonly max: number) {}

  /** Counts one more. Returns false if there are too many. */
  add(): boolean {
    const now = performance.now();
    if (now - this.#began > windowMs) {
      this.#began = now;
      this.#count = 0;
    }
    this.#count += 1;
    return this.#count <= this.max;
  }
}
