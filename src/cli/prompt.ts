import { createInterface } from 'node:readline/promises';

/** The input was closed, or the caller gave up: there is no answer. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

/** Asks a person, one question at a time. */
export interface Prompt {
  /** Rejects with `NoAnswer` when the input ends or `signal` fires. */
  ask(question: string, signal?: AbortSignal): Promise<string>;
  /** Comes before a question that is open, which is asked again afterwards. */
  askFirst(question: string): Promise<string>;
  /** Takes the open question, and every later one, back. */
  close(): void;
}

export interface PromptStreams {
  input: NodeJS.ReadableStream;
  output: NodeJS.WritableStream;
  /** Ctrl-C while a question is open: the terminal is then ours, and no signal comes. */
  onInterrupt?: () => void;
}

export function createPrompt(streams: PromptStreams): Prompt {
  const closing = new AbortController();
  let preempt = new AbortController();
  let open: Promise<unknown> = Promise.resolve();
  let urgent: Promise<unknown> | undefined;

  /** A question's reader must be gone before the next begins: closing it would take the input away from the newer one. */
  const next = (question: string, signal: AbortSignal): Promise<string> => {
    const answer = open.then(() => askOnce(streams, question, signal));
    open = answer.catch(() => undefined);
    return answer;
  };

  return {
    async ask(question, signal) {
      for (;;) {
        await urgent;
        const preempted = preempt.signal;
        try {
          return await next(question, AbortSignal.any([closing.signal, preempted, ...(signal ? [signal] : [])]));
        } catch (error) {
          if (!preempted.aborted || closing.signal.aborted || signal?.aborted) throw error;
        }
      }
    },
    askFirst(question) {
      preempt.abort();
      preempt = new AbortController();
      const answer = next(question, closing.signal);
      // Whoever hears the answer acts on it before the other question is asked again.
      urgent = open.then(() => new Promise((resolve) => setImmediate(resolve)));
      return answer;
    },
    close: () => closing.abort(),
  };
}

async function askOnce({ input, output, onInterrupt }: PromptStreams, question: string, signal: AbortSignal): Promise<string> {
  const lines = createInterface({ input, output, terminal: (output as NodeJS.WriteStream).isTTY === true });
  lines.on('SIGINT', () => onInterrupt?.());
  try {
    const ended = new Promise<never>((_, reject) => {
      lines.once('close', () => reject(new NoAnswer('the input has ended')));
    });
    return await Promise.race([lines.question(question, { signal }), ended]);
  } catch (error) {
    if (signal.aborted) output.write('\n');
    throw (error as Error).name === 'NoAnswer' ? error : new NoAnswer('the question was taken back', { cause: error });
  } finally {
    lines.close();
  }
}
