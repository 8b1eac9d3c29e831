import { createInterface } from 'node:readline/promises';
import { setImmediate as turn } from 'node:timers/promises';
import { type Styled, styled } from './styled';

/** The input was closed, or the caller gave up: there is no answer. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

/**
 * Asks a person, one question at a time. What was typed before a question stood on the screen is no answer to it and is thrown away; and
 * after a question that was withdrawn, whose answer may be half typed or on its way, the next one is asked only of whoever says so.
 */
export interface Prompt {
  /** Until a question may be put: at once, or when whoever was asked one that was withdrawn says so. Rejects as `ask` does. */
  ready(signal?: AbortSignal): Promise<void>;
  /** Rejects with `NoAnswer` when the input ends or `signal` fires, which withdraws the question. */
  ask(question: Styled, signal?: AbortSignal): Promise<string>;
  /** Comes before a question that is open, which is asked again afterwards. */
  askFirst(question: Styled): Promise<string>;
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
  let withdrawn = false;

  /** A question's reader must be gone before the next begins: closing it would take the input away from the newer one. */
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
      // Whoever hears the answer acts on it before the other question is asked again.
      urgent = open.then(() => new Promise((resolve) => setImmediate(resolve)));
      return answer;
    },
    close: () => closing.abort(),
  };
}

/** No word that answers anything: a late answer to the question before does not pass for it. */
const goOn = styled`That is settled by now, and an answer to it is thrown away. Type "next" for the next question: `;

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
    throw (error as Error).name === 'NoAnswer' ? error : new NoAnswer('the question was taken back', { cause: error });
  } finally {
    lines.close();
  }
}

/** Whatever was typed so far, also in a line without an end: it is read, and nobody gets it. */
async function throwAway(input: NodeJS.ReadableStream, onInterrupt?: () => void): Promise<void> {
  const terminal = input as NodeJS.ReadStream;
  // A terminal keeps a line to itself until its end, unless it is raw.
  if (terminal.isTTY) terminal.setRawMode(true);
  const interrupted = (typed: Buffer | string) => {
    if (typed.includes('\u0003')) onInterrupt?.();
  };
  input.on('data', interrupted);
  // After two turns of the event loop, what was there has been read.
  await turn();
  await turn();
  input.off('data', interrupted);
  input.pause();
  if (!terminal.readableEnded) return;
  if (terminal.isTTY) terminal.setRawMode(false);
  throw new NoAnswer('the input has ended');
}
