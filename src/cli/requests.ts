import type { LonghaulClient, Thread } from '../client';
import type { Receipt } from '../contract/requests';
import type { PendingCall } from '../core/event';
import { isObject } from '../core/json';
import { commandLine } from './answer-hint';
import { agreedWords } from './approvals';
import { withClient } from './connect';
import { UsageError } from './exit';
import { givenText } from './given-text';
import { questionParts, whomWords } from './render-people';
import { paint, Styled, styled } from './styled';
import { note } from './terminal';

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

export async function send(threadId: string, words: string, options: { now?: boolean; afterRun?: boolean; id?: string }): Promise<void> {
  const { now, afterRun, id } = options;
  const delivery = now ? ('now' as const) : afterRun ? ('after-run' as const) : undefined;
  const message = await givenText(words, 'the message');
  await request(threadId, styled`The message was taken in.`, (thread) =>
    thread.send(message, { ...(delivery && { delivery }), ...(id && { id }) }),
  );
}

export async function reply(correlationId: string, words: string, { id }: { id?: string }): Promise<void> {
  const message = await givenText(words, 'the reply');
  await ask(styled`The reply was taken in.`, (client) => client.reply(correlationId, message, { ...(id && { id }) }));
}

type ApproveOptions = Decision & { arguments?: string; remember?: 'thread' | 'agent'; more?: number; expect?: string };

/** Prints what it is about to approve, and approves that or nothing: whatever takes its place in the meantime has another digest. */
export async function approve(
  threadId: string,
  call: string,
  { arguments: json, remember, more, expect, ...decision }: ApproveOptions,
): Promise<void> {
  const edited = json === undefined ? undefined : objectOf(json);
  await request(threadId, styled`${call} is approved.`, async (thread) => {
    const pending = (await thread.pending()).find(({ toolCallId }) => toolCallId === call);
    const shown = expect ?? (pending ? pending.digest : nothingShown);
    // What is refused need not be read first.
    if (pending && (expect === undefined || expect === pending.digest)) note(aboutTo(threadId, pending, edited));
    const receipt = await thread.approve(call, {
      ...decisionOf(decision),
      ...(edited && { arguments: edited }),
      ...(remember && { remember }),
      ...(more && { more }),
      ...(shown !== undefined && { expect: shown }),
    });
    const { by } = decision;
    const open = by ? await openAfter(thread, call) : undefined;
    if (receipt.warning) note(styled`${paint.yellow('warning:')} ${receipt.warning}`);
    return by && open ? agreedWords(by, open) : receipt;
  });
}

/** No digest is like it: what was not there to be shown is not approved either. The thread says why it does not wait. */
const nothingShown = 'nothing was shown';

function aboutTo(threadId: string, call: PendingCall, edited: Record<string, unknown> | undefined): Styled {
  const whom = [whomWords(call), call.digest ?? ''].filter(Boolean).join(' · ');
  const all = commandLine('show', [threadId], { options: ' --json' });
  const what = edited ? { ...call, arguments: JSON.stringify(edited) } : call;
  const about = questionParts(what, all, { lines: 200, chars: 20_000 }).map((part) => styled`\n    ${part}`);
  return styled`Approving ${paint.bold(call.name)}${edited ? ' with other arguments' : ''}${whom && paint.dim(` (${whom})`)}${Styled.join(about)}`;
}

/** The call that this decision did not settle, where others must agree, too. A thread that is over needs nobody. */
async function openAfter(thread: Thread, id: string): Promise<PendingCall | undefined> {
  const pending = await thread.pending().catch(() => []);
  return pending.find(({ toolCallId, kind, votes = [] }) => toolCallId === id && kind === 'approval' && votes.length > 0);
}

export function reject(threadId: string, call: string, { stop, ...decision }: Decision & { stop?: boolean }): Promise<void> {
  return request(threadId, styled`${call} is refused.`, (thread) =>
    thread.reject(call, { ...decisionOf(decision), ...(stop && { stop }) }),
  );
}

export async function answer(threadId: string, call: string, words: string, who: Who): Promise<void> {
  const text = await givenText(words, 'the answer');
  await request(threadId, styled`${call} is answered.`, (thread) => thread.answer(call, text, whoOf(who)));
}

export async function submit(
  threadId: string,
  call: string,
  output: string,
  { error, text, ...who }: Who & { error?: boolean; text?: boolean },
): Promise<void> {
  const words = await givenText(output, 'the output');
  const value = text ? words : outputOf(words);
  await request(threadId, styled`The output of ${call} was taken in.`, (thread) =>
    thread.submitToolOutputs([{ toolCallId: call, output: value, ...(error && { isError: true }) }], whoOf(who)),
  );
}

/** By the id of the thread, or of the run. */
export function cancel(id: string, by: By): Promise<void> {
  return ask(styled`The run is being cancelled.`, (client) => client.cancel(id, by));
}

export function pause(threadId: string, by: By): Promise<void> {
  return request(threadId, styled`Nothing new begins until it is resumed.`, (thread) => thread.pause(by));
}

export function resume(threadId: string, by: By): Promise<void> {
  return request(threadId, styled`It goes on.`, (thread) => thread.resume(by));
}

export function compact(threadId: string, by: By): Promise<void> {
  return request(threadId, styled`The transcript is being shortened.`, (thread) => thread.compact(by));
}

export function close(threadId: string, options: By & { cancel?: boolean }): Promise<void> {
  return request(threadId, styled`The thread takes no more messages.`, (thread) => thread.close(options));
}

function request(threadId: string, done: Styled, what: (thread: Thread) => Promise<Receipt | Styled>): Promise<void> {
  return ask(done, (client) => what(client.attach(threadId)));
}

function ask(done: Styled, what: (client: LonghaulClient) => Promise<Receipt | Styled>): Promise<void> {
  return withClient({}, async (client) => {
    const told = await what(client);
    note(told instanceof Styled ? told : done);
  });
}

function whoOf({ by, group }: Who): { by?: string; groups?: string[] } {
  return { ...(by && { by }), ...(group && { groups: group }) };
}

function decisionOf({ reason, ...who }: Decision): By & { groups?: string[] } {
  return { ...whoOf(who), ...(reason && { reason }) };
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
