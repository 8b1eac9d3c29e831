import { createInterface } from 'node:readline/promises';
import { setImmediate as turn } from 'node:timers/promises';
import { type Styled, styled } from '../views/styled';

/** There is no answer, because the input was closed or the caller withdrew the question. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

/**
 * Asks a person, one question at a time. Input that was typed before a question was on the screen is discarded. After a withdrawn question, whose
 * answer may be half typed, the next question is asked only after the person confirms.
 */
export interface Prompt {
  /** Resolves when a question may be asked: immediately, or after the person confirms that a question was withdrawn. Rejects as `ask` does. */
  ready(signal?: AbortSignal): Promise<void>;
  /** Asks a question. Rejects with `NoAnswer` when the input ends, or when `signal` fires, which withdraws the question. */
  ask(question: Styled, signal?: AbortSignal): Promise<string>;
  /** Asks a question before the open one, which is asked again afterwards. */
  askFirst(question: Styled): Promise<string>;
  /** Withdraws the open question and every later one. */
  close(): void;
}

export interface PromptStreams {
  input: NodeJS.ReadableStream;
  output: NodeJS.WritableStream;
  /** Called for Ctrl-C while a question is open: the terminal is then in raw mode, and no signal arrives. */
  onInterrupt?: () => void;
}

export function createPrompt(streams: PromptStreams): Prompt {
  const closing = new AbortController();
  let preempt = new AbortController();
  let open: Promise<unknown> = Promise.resolve();
  let urgent: Promise<unknown> | undefined;
  let withdrawn = false;

  /** The reader of a question must be closed before the next one begins: closing it later would close the input of the newer one. */
  const next = (question: Styled, signal: AbortSignal): Promise<string> => {
    const answer = open.then(() => askOnce(streams, question, signal));
    open = answer.catch(() => undefined);
    return answer;
  };

  const ask = async (question: Styled, signal?: AbortSignal): Promise<string> => {
    for (;;) {
      await urgent;
      const preempted = preempt.signal;
      try {
        return await next(question, AbortSignal.any([closing.signal, preempted, ...(signal ? [signal] : [])]));
      } catch (error) {
        withdrawn ||= signal?.aborted === true;
        if (!preempted.aborted || closing.signal.aborted || signal?.aborted) throw error;
      }
    }
  };
  const ready = async (signal?: AbortSignal): Promise<void> => {
    while (withdrawn) withdrawn = (await ask(goOn, signal)).trim().toLowerCase() !== 'next';
  };

  return {
    ready,
    async ask(question, signal) {
      await ready(signal);
      return ask(question, signal);
    },
    askFirst(question) {
      preempt.abort();
      preempt = new AbortController();
      const answer = next(question, closing.signal);
      // The caller acts on the answer before the other question is asked again.
      urgent = open.then(() => new Promise((resolve) => setImmediate(resolve)));
      return answer;
    },
    close: () => closing.abort(),
  };
}

/** `next` does not answer any question, so a late answer to the previous question does not count as a confirmation. */
const goOn = styled`That question is already settled, and an answer to it is discarded. Type "next" for the next question: `;

async function askOnce({ input, output, onInterrupt }: PromptStreams, question: Styled, signal: AbortSignal): Promise<string> {
  if (!signal.aborted) await throwAway(input, onInterrupt);
  const lines = createInterface({ input, output, terminal: (output as NodeJS.WriteStream).isTTY === true });
  lines.on('SIGINT', () => onInterrupt?.());
  try {
    const ended = new Promise<never>((_, reject) => {
      lines.once('close', () => reject(new NoAnswer('the input has ended')));
    });
    return await Promise.race([lines.question(question.text, { signal }), ended]);
  } catch (error) {
    if (signal.aborted) output.write('\n');
    throw (error as Error).name === 'NoAnswer' ? error : new NoAnswer('the question was withdrawn', { cause: error });
  } finally {
    lines.close();
  }
}

/** Reads and discards everything that was typed so far, including an unfinished line. */
async function throwAway(input: NodeJS.ReadableStream, onInterrupt?: () => void): Promise<void> {
  const terminal = input as NodeJS.ReadStream;
  // A terminal delivers only complete lines, unless it is in raw mode.
  if (terminal.isTTY) terminal.setRawMode(true);
  const interrupted = (typed: Buffer | string) => {
    if (typed.includes('\u0003')) onInterrupt?.();
  };
  input.on('data', interrupted);
  // After two turns of the event loop, the available input has been read.
  await turn();
  await turn();
  input.off('data', interrupted);
  input.pause();
  if (!terminal.readableEnded) return;
  if (terminal.isTTY) terminal.setRawMode(false);
  throw new NoAnswer('the input has ended');
}
