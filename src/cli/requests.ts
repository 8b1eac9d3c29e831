import { text as readAll } from 'node:stream/consumers';
import type { LonghaulClient, Thread } from '../client';
import type { Receipt } from '../contract/requests';
import { isObject } from '../core/json';
import { withClient } from './connect';
import { UsageError } from './exit';
import { note } from './output';

// Each asks something of a thread and says that it was accepted, in words of its own or as `done` has it; a refusal says why, and exits with 1.

interface By {
  by?: string;
  reason?: string;
}

interface Who {
  by?: string;
  group?: string[];
}

interface Decision extends By, Who {}

export function send(threadId: string, words: string, options: { now?: boolean; afterRun?: boolean; id?: string }): Promise<void> {
  const { now, afterRun, id } = options;
  const delivery = now ? ('now' as const) : afterRun ? ('after-run' as const) : undefined;
  return request(threadId, 'The message was taken in.', async (thread) =>
    thread.send(await given(words), { ...(delivery && { delivery }), ...(id && { id }) }),
  );
}

export function reply(correlationId: string, words: string, { id }: { id?: string }): Promise<void> {
  return ask('The reply was taken in.', async (client) => client.reply(correlationId, await given(words), { ...(id && { id }) }));
}

export async function approve(
  threadId: string,
  call: string,
  { arguments: json, remember, more, ...decision }: Decision & { arguments?: string; remember?: 'thread' | 'agent'; more?: number },
): Promise<void> {
  const edited = json === undefined ? undefined : objectOf(json);
  await request(threadId, `${call} is approved.`, async (thread) => {
    const receipt = await thread.approve(call, {
      ...decisionOf(decision),
      ...(edited && { arguments: edited }),
      ...(remember && { remember }),
      ...(more && { more }),
    });
    const outstanding = decision.by ? await outstandingOf(thread, call) : 0;
    return outstanding > 0 ? `${decision.by} agrees to ${call}; ${outstanding} more must.` : receipt;
  });
}

/** How many more people must agree to a call that this decision did not settle. A thread that is over needs nobody. */
async function outstandingOf(thread: Thread, id: string): Promise<number> {
  const pending = await thread.pending().catch(() => []);
  const { approvers = 1, votes = [] } = pending.find(({ toolCallId, kind }) => toolCallId === id && kind === 'approval') ?? {};
  return votes.length === 0 ? 0 : approvers - votes.length;
}

export function reject(threadId: string, call: string, { stop, ...decision }: Decision & { stop?: boolean }): Promise<void> {
  return request(threadId, `${call} is refused.`, (thread) => thread.reject(call, { ...decisionOf(decision), ...(stop && { stop }) }));
}

export function answer(threadId: string, call: string, words: string, who: Who): Promise<void> {
  return request(threadId, `${call} is answered.`, async (thread) => {
    const text = await given(words);
    // Mostly a variable of a script that nobody has set.
    if (text.trim() === '') throw new UsageError('the answer is blank; nothing was answered');
    return thread.answer(call, text, whoOf(who));
  });
}

export async function submit(
  threadId: string,
  call: string,
  output: string,
  { error, text, ...who }: Who & { error?: boolean; text?: boolean },
): Promise<void> {
  const words = await given(output);
  const value = text ? words : outputOf(words);
  await request(threadId, `The output of ${call} was taken in.`, (thread) =>
    thread.submitToolOutputs([{ toolCallId: call, output: value, ...(error && { isError: true }) }], whoOf(who)),
  );
}

/** By the id of the thread, or of the run. */
export function cancel(id: string, by: By): Promise<void> {
  return ask('The run is being cancelled.', (client) => client.cancel(id, by));
}

export function pause(threadId: string, by: By): Promise<void> {
  return request(threadId, 'Nothing new begins until it is resumed.', (thread) => thread.pause(by));
}

export function resume(threadId: string, by: By): Promise<void> {
  return request(threadId, 'It goes on.', (thread) => thread.resume(by));
}

export function compact(threadId: string, by: By): Promise<void> {
  return request(threadId, 'The transcript is being shortened.', (thread) => thread.compact(by));
}

export function close(threadId: string, options: By & { cancel?: boolean }): Promise<void> {
  return request(threadId, 'The thread takes no more messages.', (thread) => thread.close(options));
}

function request(threadId: string, done: string, what: (thread: Thread) => Promise<Receipt | string>): Promise<void> {
  return ask(done, (client) => what(client.attach(threadId)));
}

function ask(done: string, what: (client: LonghaulClient) => Promise<Receipt | string>): Promise<void> {
  return withClient({}, async (client) => {
    const told = await what(client);
    note(typeof told === 'string' ? told : done);
  });
}

function whoOf({ by, group }: Who): { by?: string; groups?: string[] } {
  return { ...(by && { by }), ...(group && { groups: group }) };
}

function decisionOf({ reason, ...who }: Decision): By & { groups?: string[] } {
  return { ...whoOf(who), ...(reason && { reason }) };
}

async function given(words: string): Promise<string> {
  return words === '-' ? await readAll(process.stdin) : words;
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
