import type { LonghaulClient, Thread } from '../../client';
import type { Receipt } from '../../contract/requests';
import type { PendingCall, Settlement } from '../../core/event';
import { excerpt, isObject, type Json, type JsonObject, parseObject } from '../../core/json';
import { type Content, textOf } from '../../core/message';
import { printableLine } from '../../core/printable';
import type { QuestionSchema } from '../../core/questions';
import { outcomeMark } from '../../core/settling';
import { toContent } from '../../core/tool';
import { UsageError } from '../exit';
import { argumentParts, questionParts, rememberParts, whomWords } from '../views/render-people';
import { type Part, paint, Styled, styled } from '../views/styled';
import { note } from '../views/terminal';
import { answerHint, commandLine } from './answer-hint';
import { agreedWords } from './approvals';
import { valueOfWords } from './ask-form';
import { withClient } from './connect';
import { givenText } from './given-text';

// Each command sends a request to a thread and prints that it was accepted. If it is refused, the command prints why and exits with 1.

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
  await request(threadId, styled`The message was accepted.`, (thread) =>
    thread.send(message, { ...(delivery && { delivery }), ...(id && { id }) }),
  );
}

export async function reply(correlationId: string, words: string, { id }: { id?: string }): Promise<void> {
  const message = await givenText(words, 'the reply');
  await ask(styled`The reply was accepted.`, (client) => client.reply(correlationId, message, { ...(id && { id }) }));
}

type ApproveOptions = Decision & { arguments?: string; remember?: 'thread' | 'agent'; more?: number; expect?: string };

/** Prints what it is about to approve, and approves exactly that or nothing: a call that replaces it meanwhile has another digest. */
export async function approve(
  threadId: string,
  call: string,
  { arguments: json, remember, more, expect, ...decision }: ApproveOptions,
): Promise<void> {
  const edited = json === undefined ? undefined : objectOf(json);
  await request(threadId, styled`${call} is approved.`, async (thread) => {
    const pending = await pendingCall(thread, call);
    // A call with another digest is not printed, because its approval is refused.
    const isShown = pending && (expect === undefined || expect === pending.digest);
    if (isShown) note(aboutTo(threadId, pending, { edited, more, remember }));
    const shown = isShown ? pending : (expect ?? nothingShown);
    const receipt = await answered(threadId, pending, ['approval', 'limit'], () =>
      thread.approve(call, {
        ...decisionOf(decision),
        ...(edited && { arguments: edited }),
        ...(remember && { remember }),
        ...(more && { more }),
        expect: shown,
      }),
    );
    // The call is approved, even if this can't be read now.
    if (edited) await noteEdit(thread, receipt).catch(() => undefined);
    const { by } = decision;
    const open = by ? await openAfter(thread, call) : undefined;
    if (receipt.warning) note(styled`${paint.yellow('warning:')} ${receipt.warning}`.fit(process.stderr.columns));
    return by && open ? agreedWords(by, open) : receipt;
  });
}

/** Prints edited arguments as the tool gets them, if it takes them differently, such as with its defaults. */
async function noteEdit(thread: Thread, { seq }: Receipt): Promise<void> {
  for await (const event of thread.events({ from: seq, live: false })) {
    if (event.type !== 'agent.approval.decided' || event.data.arguments === undefined) return;
    const all = commandLine('show', [thread.id], { options: ' --json' });
    const lines = argumentParts(event.data.arguments, all, { lines: 200, chars: 20_000 }).map((line) => styled`\n    ${line}`);
    return note(styled`The tool gets:${Styled.join(lines)}`.fit(process.stderr.columns));
  }
}

/** A text that is no digest: a call that was not shown is not approved, or settled. The thread's refusal says why the call does not wait. */
const nothingShown = 'nothing was shown';

interface Asked {
  edited: Record<string, unknown> | undefined;
  more: number | undefined;
  remember: 'thread' | 'agent' | undefined;
}

/** What an approval does, before it is sent. */
export function aboutTo(threadId: string, call: PendingCall, { edited, more, remember }: Asked): Styled {
  const what = edited ? { ...call, arguments: JSON.stringify(edited) } : call;
  const words = edited ? ' with other arguments' : more === undefined ? '' : `: ${more} more`;
  const about = aboutCall(threadId, what, remember ? rememberParts(call) : []);
  return styled`Approving ${whatIs(call, words)}${about}`.fit(process.stderr.columns);
}

/** The call, if it still waits because others must approve it, too. Undefined if the thread has ended. */
async function openAfter(thread: Thread, id: string): Promise<PendingCall | undefined> {
  const pending = await thread.pending().catch(() => []);
  return pending.find(({ toolCallId, kind, votes = [] }) => toolCallId === id && kind === 'approval' && votes.length > 0);
}

type RejectOptions = Decision & { stop?: boolean; expect?: string };

/** Prints what it is about to reject, and rejects exactly that or nothing. */
export async function reject(threadId: string, call: string, { stop, expect, ...decision }: RejectOptions): Promise<void> {
  await request(threadId, styled`${call} is rejected.`, async (thread) => {
    const pending = await pendingCall(thread, call);
    const isShown = pending && (expect === undefined || expect === pending.digest);
    if (isShown) note(aboutToReject(threadId, pending));
    const shown = isShown ? pending : expect;
    return answered(threadId, pending, ['approval', 'limit'], () =>
      thread.reject(call, { ...decisionOf(decision), ...(stop && { stop }), ...(shown !== undefined && { expect: shown }) }),
    );
  });
}

/** What a rejection is about, before it is sent. */
function aboutToReject(threadId: string, call: PendingCall): Styled {
  return styled`Rejecting ${whatIs(call)}${aboutCall(threadId, call)}`.fit(process.stderr.columns);
}

/** The call by its name and its agent, and who is asked. */
function whatIs(call: PendingCall, words: Part = ''): Styled {
  const whom = [whomWords(call), call.digest ?? ''].filter(Boolean).join(' · ');
  return styled`${paint.bold(call.name)}${call.agent ? ` of agent ${call.agent}` : ''}${words}${whom && paint.dim(` (${whom})`)}`;
}

function aboutCall(threadId: string, call: PendingCall, more: readonly Styled[] = []): Styled {
  const all = commandLine('show', [threadId], { options: ' --json' });
  const parts = [...questionParts(call, all, { lines: 200, chars: 20_000 }), ...more];
  return Styled.join(parts.map((part) => styled`\n    ${part}`));
}

async function pendingCall(thread: Thread, id: string): Promise<PendingCall | undefined> {
  return (await thread.pending()).find(({ toolCallId }) => toolCallId === id);
}

/** Sends an answer. If it is refused because the call waits for something else, also prints the command that answers the call. */
async function answered(
  threadId: string,
  pending: PendingCall | undefined,
  kinds: readonly PendingCall['kind'][],
  what: () => Promise<Receipt>,
): Promise<Receipt> {
  try {
    return await what();
  } catch (error) {
    if (pending && !kinds.includes(pending.kind) && (error as { code?: string }).code === 'request-refused') {
      note(styled`${pending.toolCallId} is answered with: ${answerHint(threadId)(pending)}`);
    }
    throw error;
  }
}

type AnswerOptions = Who & { decline?: boolean; cancel?: boolean };

/** Answers a question of the agent, or of a call. */
export async function answer(
  threadId: string,
  call: string,
  words: string | undefined,
  { decline, cancel, ...who }: AnswerOptions,
): Promise<void> {
  const action = decline ? 'decline' : cancel ? 'cancel' : undefined;
  if (action && words !== undefined) throw new UsageError(`answer: give either an answer or --${action}`);
  const text = words === undefined ? undefined : await givenText(words, 'the answer');
  await request(threadId, action ? styled`${call} is answered with ${action}.` : styled`${call} is answered.`, async (thread) => {
    const pending = await pendingCall(thread, call);
    const send = (what: () => Promise<Receipt>) => answered(threadId, pending, ['question', 'tool-question', 'output'], what);
    if (pending?.question || action) {
      const content = text === undefined ? undefined : contentOf(pending?.question?.schema, text);
      const { question } = pending ?? {};
      return send(() =>
        thread.answerQuestion(call, {
          ...whoOf(who),
          ...(action && { action }),
          ...(content && { content }),
          ...(question && { question }),
        }),
      );
    }
    if (text === undefined) throw new UsageError('answer: give the answer');
    return send(() => thread.answer(call, text, whoOf(who)));
  });
}

/** Reads an answer to a form: a JSON object, or the value of its only field. */
function contentOf(schema: QuestionSchema | undefined, text: string): JsonObject {
  const object = parseObject(text);
  if (object) return object as JsonObject;
  const fields = Object.entries(schema?.properties ?? {});
  const [only] = fields;
  if (!only || fields.length > 1) throw new UsageError('answer: the form is answered with a JSON object that has its fields');
  const [name, field] = only;
  return { [name]: valueOfWords(field, text.trim()) as Json };
}

export async function submit(
  threadId: string,
  call: string,
  output: string,
  { error, text, ...who }: Who & { error?: boolean; text?: boolean },
): Promise<void> {
  const words = await givenText(output, 'the output');
  const value = text ? words : outputOf(words);
  await request(threadId, styled`The output of ${call} was accepted.`, (thread) =>
    thread.submitToolOutputs([{ toolCallId: call, output: value, ...(error && { isError: true }) }], whoOf(who)),
  );
}

type SettleOptions = Decision & { done?: string; text?: boolean; notDone?: boolean; failed?: string; expect?: string };

/** Prints what it is about to settle, and settles exactly that or nothing. */
export async function settle(
  threadId: string,
  call: string,
  { done, text, notDone, failed, expect, ...who }: SettleOptions,
): Promise<void> {
  if ([done, notDone, failed].filter((given) => given !== undefined).length !== 1) {
    throw new UsageError('settle: say what became of the call, with one of --done OUTPUT, --not-done and --failed REASON');
  }
  const words = done === undefined ? undefined : await givenText(done, 'the output');
  const output = words === undefined || text ? words : outputOf(words);
  await request(threadId, styled`${call} is settled.`, async (thread) => {
    const pending = (await thread.pending()).find(({ toolCallId, kind }) => toolCallId === call && kind === 'outcome');
    const isShown = pending && (expect === undefined || expect === outcomeMark(pending));
    const outcome = failed !== undefined ? 'failed' : notDone ? 'not-done' : 'done';
    if (isShown) note(aboutToSettle(threadId, pending, outcome, failed ?? (output === undefined ? undefined : toContent(output))));
    const by = { ...decisionOf(who), expect: isShown ? pending : (expect ?? nothingShown) };
    if (failed !== undefined) return thread.settle(call, { ...by, outcome: 'failed', reason: failed });
    return thread.settle(call, notDone ? { ...by, outcome: 'not-done' } : { ...by, outcome: 'done', output });
  });
}

/** What a settlement is about, before it is sent. `given`: the output, or the reason. */
function aboutToSettle(threadId: string, call: PendingCall, outcome: Settlement, given: Content | undefined): Styled {
  const mark = paint.dim(` (as shown with --expect ${outcomeMark(call)})`);
  const words = given === undefined ? '' : styled`\n    → ${excerpt(printableLine(textOf(given)), 2_000)}`;
  return styled`Settling ${paint.bold(call.name)} as ${outcome}${mark}${words}${aboutCall(threadId, call)}`.fit(process.stderr.columns);
}

/** Cancels by the id of the thread or of the run. */
export function cancel(id: string, by: By): Promise<void> {
  return ask(styled`The run is being cancelled.`, (client) => client.cancel(id, by));
}

export function pause(threadId: string, by: By): Promise<void> {
  return request(threadId, styled`No new step begins until the thread is resumed.`, (thread) => thread.pause(by));
}

export function resume(threadId: string, by: By): Promise<void> {
  return request(threadId, styled`The thread continues.`, (thread) => thread.resume(by));
}

export function compact(threadId: string, by: By): Promise<void> {
  return request(threadId, styled`The transcript is being shortened.`, (thread) => thread.compact(by));
}

export function close(threadId: string, options: By & { cancel?: boolean }): Promise<void> {
  return request(threadId, styled`The thread accepts no more messages.`, (thread) => thread.close(options));
}

export async function reopen(threadId: string, words: string | undefined, by: By): Promise<void> {
  const message = words === undefined ? undefined : await givenText(words, 'the message');
  await withClient({}, async (client) => {
    const thread = await client.reopen(threadId, by);
    if (message !== undefined) await thread.send(message);
    const done =
      message === undefined ? styled`The conversation is open.` : styled`The conversation is open, and the message was accepted.`;
    note(done.fit(process.stderr.columns));
  });
}

function request(threadId: string, done: Styled, what: (thread: Thread) => Promise<Receipt | Styled>): Promise<void> {
  return ask(done, (client) => what(client.attach(threadId)));
}

function ask(done: Styled, what: (client: LonghaulClient) => Promise<Receipt | Styled>): Promise<void> {
  return withClient({}, async (client) => {
    const told = await what(client);
    note((told instanceof Styled ? told : done).fit(process.stderr.columns));
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

/** Most outputs are text, so only an output that begins like JSON must be valid JSON. */
function outputOf(words: string): unknown {
  if (/^\s*[[{]/.test(words)) return parse(words, 'the output (--text sends it as text)');
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
    throw new UsageError(`${what} is not valid JSON: ${(error as Error).message}`);
  }
}
