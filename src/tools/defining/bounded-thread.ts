import { Worker } from 'node:worker_threads';

export interface ThreadBounds {
  /** The JavaScript file of the thread, which answers one message at a time. Its first message says that it is ready. */
  file: string;
  /** Tells the file that it runs as the thread. */
  name: string;
  /** What it does, for error messages. */
  what: string;
  /** The time for one answer. */
  ms: number;
  mb: number;
}

/**
 * A thread for work that may never end, such as matching a pattern that backtracks: an answer that does not arrive in time ends the thread. It
 * keeps the process alive only while it works.
 */
export class BoundedThread<Asked, Answer> {
  hasEnded = false;
  /** Rejects if the thread can't be started. */
  readonly ready: Promise<Answer>;
  readonly #worker: Worker;
  #waiting: { resolve(answer: Answer): void; reject(error: Error): void } | undefined;

  constructor(private readonly bounds: ThreadBounds) {
    const { file, name, what, mb } = bounds;
    this.#worker = new Worker(file, {
      workerData: name,
      // The thread gets neither the options of this process (such as a loader) nor its environment.
      execArgv: [],
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: mb },
    });
    this.#worker.on('message', (answer: Answer) => this.#waiting?.resolve(answer));
    this.#worker.on('error', (error) => this.end(new Error(`${what} ended early: ${error.message}`)));
    this.#worker.on('exit', () => this.end(new Error(`${what} ended early`)));
    this.ready = this.#next();
  }

  /** Rejects if the answer does not arrive in time, or if the thread dies. */
  async ask(asked: Asked): Promise<Answer> {
    const { what, ms } = this.bounds;
    this.#worker.ref();
    const deadline = setTimeout(() => this.end(new Error(`${what} took more than ${ms / 1_000} s`)), ms);
    try {
      const answer = this.#next();
      this.#worker.postMessage(asked);
      return await answer;
    } finally {
      clearTimeout(deadline);
      this.#worker.unref();
    }
  }

  end(why: Error): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.#waiting?.reject(why);
    void this.#worker.terminate();
  }

  #next(): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
  }
}
