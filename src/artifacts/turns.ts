/** Runs work one at a time. Threads take turns, so that one with a hundred requests delays each request of another by one of them. */
export class Turns {
  #last: Promise<void> = Promise.resolve();
  readonly #lastOf = new Map<string, Promise<void>>();

  run<T>(threadId: string, work: () => Promise<T>): Promise<T> {
    const mine = (this.#lastOf.get(threadId) ?? Promise.resolve()).then(() => this.#next(work));
    const over = ended(mine).then(() => {
      if (this.#lastOf.get(threadId) === over) this.#lastOf.delete(threadId);
    });
    this.#lastOf.set(threadId, over);
    return mine;
  }

  #next<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#last.then(work);
    this.#last = ended(mine);
    return mine;
  }
}

function ended(work: Promise<unknown>): Promise<void> {
  return work.then(
    () => undefined,
    () => undefined,
  );
}
