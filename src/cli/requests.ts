import { text as readAll } from 'node:stream/consumers';
import type { Thread } from '../client';
import type { Receipt } from '../contract/requests';
import { isObject } from '../core/json';
import { withClient } from './connect';
import { UsageError } from './exit';
import { note } from './output';

// Each asks something of a thread and says that it was accepted; a refusal says why, and exits with 1.

interface Decision {
  by?: string;
  reason?: string;
}

export function send(threadId: string, words: string): Promise<void> {
  return request(threadId, 'The message was taken in.', (thread) => thread.send(words));
}

export function approve(
  threadId: string,
  call: string,
  { arguments: json, ...decision }: Decision & { arguments?: string },
): Promise<void> {
  const edited = json === undefined ? undefined : objectOf(json);
  return request(threadId, `${call} is approved.`, (thread) => thread.approve(call, { ...decision, ...(edited && { arguments: edited }) }));
}

export function reject(threadId: string, call: string, decision: Decision): Promise<void> {
  return request(threadId, `${call} is refused.`, (thread) => thread.reject(call, decision));
}

export async function submit(threadId: string, call: string, given: string, options: { error?: boolean; text?: boolean }): Promise<void> {
  const words = given === '-' ? await readAll(process.stdin) : given;
  const output = options.text ? words : outputOf(words);
  await request(threadId, `The output of ${call} was taken in.`, (thread) =>
    thread.submitToolOutputs([{ toolCallId: call, output, ...(options.error && { isError: true }) }]),
  );
}

export function cancel(threadId: string, decision: Decision): Promise<void> {
  return request(threadId, 'The run is being cancelled.', (thread) => thread.cancel(decision));
}

export function close(threadId: string): Promise<void> {
  return request(threadId, 'The thread takes no more messages.', (thread) => thread.close());
}

function request(threadId: string, done: string, ask: (thread: Thread) => Promise<Receipt>): Promise<void> {
  return withClient({}, async (client) => {
    await ask(client.attach(threadId));
    note(done);
  });
}

function objectOf(json: string): Record<string, unknown> {
  const value = parse(json, '--arguments');
  if (!isObject(value)) throw new UsageError(`--arguments must be a JSON object, such as '{"path":"a.txt"}'; it is ${json}`);
  return value;
}

/** Text is the usual output, so only what sets out to be JSON has to be right. */
function outputOf(words: string): unknown {
  if (/^\s*[[{]/.test(words)) return parse(words, 'the output (--text sends it as it is)');
  try {
    return JSON.parse(words);
  } catch {
    return words;
  }
}

function parse(json: string, what: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    throw new UsageError(`${what} is no valid JSON: ${(error as Error).message}`);
  }
}
