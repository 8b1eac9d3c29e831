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
  let urgent: Promise<unknown> | undefined;

  const ask = async (question: string, signal?: AbortSignal): Promise<string> => {
    for (;;) {
      await urgent?.catch(() => undefined);
      const preempted = preempt.signal;
      try {
        return await askOnce(streams, question, AbortSignal.any([closing.signal, preempted, ...(signal ? [signal] : [])]));
      } catch (error) {
        if (!preempted.aborted || closing.signal.aborted || signal?.aborted) throw error;
      }
    }
  };

  return {
    ask,
    askFirst(question) {
      preempt.abort();
      preempt = new AbortController();
      const answer = askOnce(streams, question, closing.signal);
      urgent = answer.finally(() => {
        urgent = undefined;
      });
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
