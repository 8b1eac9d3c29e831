import type { AgentFacts } from './agent';
import { bounds } from './bounds';
import { checkInput, checkName, show } from './check-input';
import { bytesOf } from './context/carry';
import type { Delivery } from './event';
import { isObject } from './json';
import type { Content } from './message';
import { checkPerson, cleanName, earlierNames, sameName } from './people';
import { activeRun, type CallState, isOver, type Overrides, type ThreadState } from './state';
import { checkOverrides } from './thread-input';
import { type ToolOutput, toContent } from './tool';
import { askPolicyOf, checkedCall } from './views';

/** What may be asked of a thread from outside. Each is a signal and an update of this name. */
export interface CancelRequest {
  reason?: string;
  by?: string;
  /** Only this run: refused where another is going on, or none. */
  runId?: string;
}
export interface SendRequest extends Pick<Overrides, 'model' | 'settings' | 'limits' | 'tools'> {
  input: Content;
  /** The caller's id for the message: sent twice, it is taken in once. */
  id?: string;
  /** Default `next-turn`. */
  delivery?: Delivery;
  /** Of the suspension that it replies to. */
  correlationId?: string;
}
export interface SubmitRequest {
  outputs: ToolOutput[];
  by?: string;
  groups?: string[];
  /** By `by`, over `statementOf`: where the thread takes signed answers only. */
  signature?: string;
}
export interface DecisionRequest {
  /** Or the id of a limit that a person is asked about. */
  toolCallId: string;
  /** Default true. */
  approved?: boolean;
  by?: string;
  /** The groups that the decider is in. Whoever passes the decision on answers for it: the thread can't ask anyone. */
  groups?: string[];
  reason?: string;
  /** Replaces the model's arguments; checked against the tool before it takes effect. */
  arguments?: Record<string, unknown>;
  /** Calls like this one need no approval any more: in this thread, or for the agent from now on. */
  remember?: 'thread' | 'agent';
  /** With a refusal: the run ends. */
  stop?: boolean;
  /** Of a limit: how much more of it. Default as much as there was. */
  more?: number;
  /** The digest of what is decided, as `pending` tells it: refused where what waits by now is anything else. */
  expect?: string;
  /** By `by`, over `statementOf`: where the thread takes signed decisions only. */
  signature?: string;
}
export interface PauseRequest {
  reason?: string;
  by?: string;
}
export interface CloseRequest {
  /** Also ends the run that is going on. */
  cancel?: boolean;
  reason?: string;
  by?: string;
}

/** A request that was understood, or why it can't be followed, in words for whoever asked: fields stand in backticks, as the command line has other names for them. */
export type Checked<T> = { ok: true; request: T } | { ok: false; reason: string };

const yes = <T>(request: T): Checked<T> => ({ ok: true, request });
const no = (reason: string): { ok: false; reason: string } => ({ ok: false, reason });

export function checkCancel(state: ThreadState, payload: unknown): Checked<CancelRequest> {
  const fields = wordsIn('cancel', payload, ['reason', 'by', 'runId']);
  if (!fields.ok) return fields;
  const { runId } = fields.request;
  if (runId && activeRun(state)?.id !== runId) {
    return no(
      `cancel: run "${runId}" is not going on in thread "${state.threadId}"${state.run ? `; run "${state.run.id}" is ${state.run.status}` : ''}`,
    );
  }
  if (state.run && !activeRun(state) && state.queue.length === 0) {
    return no(`there is no run to cancel: run ${state.run.id} of thread "${state.threadId}" is ${state.run.status}`);
  }
  return fields;
}

export function checkPause(state: ThreadState, payload: unknown): Checked<PauseRequest> {
  const fields = wordsIn('pause', payload, ['reason', 'by']);
  if (!fields.ok) return fields;
  if (state.paused) return no(`pause: thread "${state.threadId}" is paused already: ${state.paused.reason}`);
  return isAtEnd(state) ? no(`pause: thread "${state.threadId}" has ended`) : fields;
}

export function checkResume(state: ThreadState, payload: unknown): Checked<PauseRequest> {
  const fields = wordsIn('resume', payload, ['reason', 'by']);
  return !fields.ok || state.paused ? fields : no(`resume: thread "${state.threadId}" is not paused`);
}

export function checkClose(state: ThreadState, payload: unknown): Checked<CloseRequest> {
  const cancel = isObject(payload) ? payload.cancel : undefined;
  if (cancel !== undefined && typeof cancel !== 'boolean') return no(`close: \`cancel\` must be true or false; it is ${show(cancel)}`);
  const fields = wordsIn('close', isObject(payload) ? { ...payload, cancel: undefined } : payload, ['reason', 'by']);
  if (!fields.ok) return fields;
  if (state.mode === 'one-shot' && !cancel) return no('close: a one-shot thread ends with its run; use cancel to end it now');
  if (state.closed || isAtEnd(state)) return no(`close: thread "${state.threadId}" is closed already`);
  return yes({ ...fields.request, ...(cancel && { cancel }) });
}

export function checkCompact(state: ThreadState, payload: unknown): Checked<PauseRequest> {
  const fields = wordsIn('compact', payload, ['by', 'reason']);
  if (!fields.ok) return fields;
  return state.closed || isAtEnd(state) ? no(`compact: thread "${state.threadId}" has ended`) : fields;
}

/** Nothing, a reason, or an object of texts. */
function wordsIn(name: string, payload: unknown, known: readonly string[]): Checked<Record<string, string>> {
  if (payload !== undefined && payload !== null && typeof payload !== 'string' && !isObject(payload)) {
    return no(`${name} takes nothing, a reason, or { ${known.join(', ')} }; it was given ${show(payload)}`);
  }
  const fields: Record<string, unknown> = typeof payload === 'string' ? { reason: payload } : (payload ?? {});
  const unknown = Object.keys(fields).find((key) => !known.includes(key) && fields[key] !== undefined);
  if (unknown !== undefined) return no(`${name}: ${unknown} is not known; known are ${known.join(', ')}`);
  const wrong = checkWords(fields);
  if (wrong) return no(`${name}: ${wrong}`);
  return yes(Object.fromEntries(Object.entries(fields).filter(([, value]) => value)) as Record<string, string>);
}

function isAtEnd(state: ThreadState): boolean {
  return state.mode === 'one-shot' && state.run !== null && isOver(state.run);
}

export function checkSend(state: ThreadState, payload: unknown): Checked<SendRequest> {
  const request = typeof payload === 'string' || Array.isArray(payload) ? { input: payload } : payload;
  if (!isObject(request)) return no(`sendMessage takes a text, a list of parts, or { input, id }; it was given ${show(payload)}`);
  const { input, id, delivery = 'next-turn', correlationId, model, settings, limits, tools } = request;
  const wrong = checkInput(input) ?? checkOverrides({ model, settings, limits, tools });
  if (wrong) return no(wrong);
  if (id !== undefined && (typeof id !== 'string' || !/^(?!msg_)[\w.:-]{1,128}$/.test(id))) {
    return no(`sendMessage: \`id\` must be 1 to 128 letters, digits or . _ : - and not begin with msg_, which ours do; it is ${show(id)}`);
  }
  if (!deliveries.includes(delivery as Delivery)) {
    return no(`sendMessage: \`delivery\` must be one of ${deliveries.map((d) => `"${d}"`).join(', ')}; it is ${show(delivery)}`);
  }
  if (correlationId !== undefined && (typeof correlationId !== 'string' || correlationId.length > bounds.correlationIdChars)) {
    return no(
      `sendMessage: \`correlationId\` must be a text of at most ${bounds.correlationIdChars} characters; it is ${show(correlationId)}`,
    );
  }
  const overrides = withoutUndefined({ model, settings, limits, tools }) as Overrides;
  const refused = whyNotTaken(state, input as Content, delivery as Delivery, correlationId, overrides);
  if (refused) return no(refused);
  return yes({
    input: input as Content,
    ...(id ? { id: id as string } : {}),
    ...(delivery === 'next-turn' ? {} : { delivery: delivery as Delivery }),
    ...(correlationId ? { correlationId } : {}),
    ...overrides,
  });
}

const deliveries: readonly Delivery[] = ['next-turn', 'now', 'after-run'];

function whyNotTaken(
  state: ThreadState,
  input: Content,
  delivery: Delivery,
  correlationId: string | undefined,
  overrides: Overrides,
): string | undefined {
  const { threadId, queue } = state;
  if (state.closed || isAtEnd(state)) return `thread "${threadId}" is closed to new messages; start a new thread`;
  if (delivery === 'after-run' && state.mode === 'one-shot') {
    return `sendMessage: thread "${threadId}" ends with its run, so nothing comes after it; start a conversation, or leave out \`delivery: "after-run"\``;
  }
  if (Object.keys(overrides).length > 0 && activeRun(state) && delivery !== 'after-run') {
    return `sendMessage: ${Object.keys(overrides).join(', ')} hold for the run that a message begins, and a run is going on; send with delivery "after-run"`;
  }
  const waitsFor = activeRun(state)?.suspension?.correlationId;
  if (correlationId !== undefined && correlationId !== waitsFor) {
    return `sendMessage: no reply to "${correlationId}" is waited for in thread "${threadId}"${waitsFor ? `; one to "${waitsFor}" is` : ''}`;
  }
  if (queue.length > 0 && bytesOf(queue) + bytesOf(input) > bounds.queueBytes) {
    return `messages of ${bytesOf(queue)} bytes already wait in thread "${threadId}"; wait for the run to take them in`;
  }
  return queue.length >= bounds.queue
    ? `${bounds.queue} messages already wait in thread "${threadId}"; wait for the run to take them in`
    : undefined;
}

function withoutUndefined(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null));
}

/** `verified`: its signature was checked, so it is known who answers. Until then nobody is told apart from those who may. */
export function checkSubmit(state: ThreadState, payload: unknown, verified?: Verified): Checked<SubmitRequest> {
  const outputs: unknown = isObject(payload) ? payload.outputs : payload;
  if (!Array.isArray(outputs) || outputs.length === 0) {
    return no(`submitToolOutputs takes { outputs: [{ toolCallId, output }] }; it was given ${show(payload)}`);
  }
  const who = checkDecider(state, 'submitToolOutputs', isObject(payload) ? payload : {}, verified);
  if (!who.ok) return who;
  if (state.facts?.signedDecisions && outputs.length > 1) {
    return no('submitToolOutputs: where outputs are signed, each is submitted by itself');
  }
  const seen = new Set<string>();
  const accepted: ToolOutput[] = [];
  for (const [i, item] of outputs.entries()) {
    // The Assistants API writes tool_call_id, and its users should not have to think about it.
    const id: unknown = isObject(item) ? (item.toolCallId ?? item.tool_call_id) : undefined;
    if (!isObject(item) || typeof id !== 'string') return no(`submitToolOutputs: outputs[${i}] has no toolCallId`);
    if (!('output' in item)) return no(`submitToolOutputs: outputs[${i}] ("${id}") has no output`);
    if (item.isError !== undefined && typeof item.isError !== 'boolean')
      return no(`submitToolOutputs: outputs[${i}].isError must be true or false`);
    if (seen.has(id)) return no(`submitToolOutputs: "${id}" is answered twice; each pending call is answered exactly once`);
    const wrong = notWaitingFor(state, id, 'awaiting-output') ?? notEntitled(state, id, who.request, verified);
    if (wrong) return no(`submitToolOutputs: ${wrong}`);
    seen.add(id);
    accepted.push({ toolCallId: id, output: item.output, ...(item.isError ? { isError: true } : {}) });
  }
  // As the model will see them: what is not text becomes JSON, and JSON within JSON is longer.
  if (bytesOf(accepted.map(({ output }) => toContent(output))) > bounds.messageBytes)
    return no(`submitToolOutputs: the outputs are larger than ${bounds.messageBytes} bytes; store them elsewhere and submit a reference`);
  return yes({ outputs: accepted, ...who.request });
}

/** `verified`: as for `checkSubmit`. */
export function checkDecision(state: ThreadState, payload: unknown, verified?: Verified): Checked<DecisionRequest> {
  const request = typeof payload === 'string' ? { toolCallId: payload } : payload;
  if (!isObject(request) || typeof request.toolCallId !== 'string') {
    return no(`approve takes { toolCallId, approved?, by?, reason?, arguments?, expect? }; it was given ${show(payload)}`);
  }
  const { toolCallId, approved = true, reason, arguments: edited, remember, stop, more, expect } = request;
  if (typeof approved !== 'boolean') return no(`approve: \`approved\` must be true or false; it is ${show(approved)}`);
  const who = checkDecider(state, 'approve', request, verified);
  if (!who.ok) return who;
  const words = checkWords({ reason });
  if (words) return no(`approve: ${words}`);
  if (edited !== undefined && !isObject(edited)) return no(`approve: \`arguments\` must be an object; it is ${show(edited)}`);
  if (edited !== undefined && !approved) return no('approve: a refusal has no arguments to edit');
  // In an activity's input they are JSON within JSON, which at worst doubles them.
  if (edited !== undefined && bytesOf(JSON.stringify(edited)) > bounds.editedBytes) {
    return no(`approve: the edited arguments are larger than ${bounds.editedBytes} bytes; store what is large where the tool can read it`);
  }
  if (remember !== undefined && remember !== 'thread' && remember !== 'agent')
    return no(`approve: \`remember\` must be "thread" or "agent"; it is ${show(remember)}`);
  const offered = activeRun(state)?.calls.find(({ id }) => id === toolCallId);
  if (remember !== undefined && offered && askPolicyOf(offered.verdict, offered.phase)?.remember?.length === 0) {
    return no(
      `approve: there is no rule by which calls like "${toolCallId}" (${offered.name}) could be told apart from others; approve it without \`remember\``,
    );
  }
  if (editsWhatOthersApproved(offered, edited)) return no('approve: where several people must agree, none of them can edit the arguments');
  if (editsWhatOthersApproved(offered, remember))
    return no('approve: where several people must agree, none of them can have it remembered');
  if (remember !== undefined && !approved) return no('approve: only what is approved can be remembered');
  if (stop !== undefined && typeof stop !== 'boolean') return no(`approve: \`stop\` must be true or false; it is ${show(stop)}`);
  if (stop && approved) return no('approve: `stop` belongs to a refusal');
  if (more !== undefined && !(typeof more === 'number' && Number.isFinite(more) && more > 0))
    return no(`approve: \`more\` must be a number above 0; it is ${show(more)}`);
  const ofLimit = activeRun(state)?.limitAsk?.id === toolCallId;
  if (more !== undefined && !ofLimit) return no('approve: `more` is for a limit that a person is asked about; this is a call');
  if (ofLimit && edited) return no('approve: a limit has no arguments; say how much more of it with `more`');
  const wrong = ofLimit
    ? undefined
    : (notWaitingFor(state, toolCallId, 'awaiting-approval') ?? notEntitled(state, toolCallId, who.request, verified));
  const other = wrong ?? notExpected(offered, toolCallId, expect);
  if (other) return no(`approve: ${other}`);
  return yes({
    toolCallId,
    approved,
    ...who.request,
    ...(reason ? { reason: reason as string } : {}),
    ...(edited ? { arguments: edited } : {}),
    ...(remember ? { remember } : {}),
    ...(stop ? { stop } : {}),
    ...(more ? { more: more as number } : {}),
    ...(expect !== undefined ? { expect: expect as string } : {}),
  });
}

/** Whether what waits is something else than what the decider was shown. */
function notExpected(call: CallState | undefined, id: string, expect: unknown): string | undefined {
  if (expect === undefined) return undefined;
  if (typeof expect !== 'string') return `\`expect\` must be a text; it is ${show(expect)}`;
  const { digest } = call ? checkedCall(call) : {};
  if (!digest) return `"${id}" has no digest, so nothing can be expected of it; look at it, and leave \`expect\` out`;
  if (expect === digest) return undefined;
  return `what waits as "${id}" (${call?.name}) has the digest ${digest}, and ${show(expect)} was expected; look at it again before you decide`;
}

/** Those who agreed before agreed to other arguments. */
function editsWhatOthersApproved(call: CallState | undefined, edited: unknown): boolean {
  return edited !== undefined && call !== undefined && (askPolicyOf(call.verdict, call.phase)?.approvers ?? 1) > 1;
}

interface Decider {
  by?: string;
  groups?: string[];
  signature?: string;
}

/** Who signed a request, and in which groups they are, by the worker's own list. */
export type Verified = Pick<Decider, 'by' | 'groups'>;

function checkDecider(
  { facts }: ThreadState,
  name: string,
  { by: claimed, groups: claimedGroups, signature }: Record<string, unknown>,
  verified?: Verified,
): Checked<Decider> {
  const { by, groups } = facts?.signedDecisions ? { by: claimed, ...verified } : { by: claimed, groups: claimedGroups };
  const words = checkWords({ by });
  if (words) return no(`${name}: ${words}`);
  if (
    groups !== undefined &&
    !(Array.isArray(groups) && groups.length <= bounds.groups && groups.every((g) => checkName('a group', g) === undefined))
  ) {
    return no(
      `${name}: \`groups\` must be a list of at most ${bounds.groups} names, each of at most ${bounds.nameChars} characters; it is ${show(groups)}`,
    );
  }
  const who: Decider = { ...(by ? { by: by as string } : {}), ...(groups ? { groups: groups as string[] } : {}) };
  const clean = facts?.sameNames ? cleanDecider(name, who, facts.sameNames === 'as-seen' ? checkPerson : earlierNames.check) : yes(who);
  if (!facts?.signedDecisions || !clean.ok) return clean;
  const only = `${name}: this thread takes signed ${name === 'approve' ? 'decisions' : 'answers and outputs'} only`;
  if (!clean.request.by) return no(`${only}; say who you are with \`by\``);
  if (signature === undefined || signature === '') return no(`${only}; sign it: set LONGHAUL_SIGNING_KEY, or give the client a signer`);
  return typeof signature === 'string' && signature.length <= bounds.signatureChars
    ? yes({ ...clean.request, signature })
    : no(`${only}; its signature must be a text of at most ${bounds.signatureChars} characters`);
}

function cleanDecider(name: string, { by, groups }: Decider, check: typeof checkPerson): Checked<Decider> {
  const wrong = (by === undefined ? undefined : check('by', by)) ?? groups?.map((group) => check('a group', group)).find(Boolean);
  if (wrong) return no(`${name}: ${wrong}`);
  return yes({ ...(by !== undefined && { by: cleanName(by) }), ...(groups && { groups: groups.map(cleanName) }) });
}

/** Whether someone may answer for a call that waits, and has not done so already. */
function notEntitled(state: ThreadState, id: string, { by, groups = [] }: Decider, verified?: Verified): string | undefined {
  if (state.facts?.signedDecisions && !verified) return undefined;
  const call = activeRun(state)?.calls.find((c) => c.id === id);
  if (!call) return undefined;
  const policy = askPolicyOf(call.verdict, call.phase);
  const { users = [], approvers = 1 } = policy ?? {};
  const same = namesCompared(state.facts?.sameNames);
  const among = (names: readonly string[], name: string) => names.some((one) => same(one, name));
  const asked = call.ask?.groups ?? policy?.groups ?? [];
  if (users.length + asked.length > 0 && !(by !== undefined && among(users, by)) && !asked.some((group) => among(groups, group))) {
    const who = [...users, ...asked.map((group) => `members of "${group}"`)].join(', ');
    return `"${id}" (${call.name}) is for ${who} to answer; ${by ? `"${by}"${groups.length > 0 ? ` (${groups.join(', ')})` : ''} is none of them` : 'say who you are with `by`, and `groups`'}`;
  }
  if (call.phase !== 'awaiting-approval' || approvers === 1) return undefined;
  if (!by) return `"${id}" (${call.name}) needs ${approvers} people to agree; say who you are with \`by\``;
  return call.ask && among(call.ask.votes, by)
    ? `"${by}" has agreed to "${id}" (${call.name}) already; ${approvers - call.ask.votes.length} more must`
    : undefined;
}

function namesCompared(how: AgentFacts['sameNames']): typeof sameName {
  if (how === 'as-seen') return sameName;
  return how ? earlierNames.same : (one, other) => one === other;
}

function notWaitingFor(state: ThreadState, id: string, phase: CallState['phase']): string | undefined {
  const calls = activeRun(state)?.calls ?? [];
  const call = calls.find((c) => c.id === id);
  if (call?.phase === phase) return undefined;
  const what = phase === 'awaiting-output' ? 'an output' : 'an approval';
  const waiting = calls.filter((c) => c.phase === phase).map((c) => `"${c.id}" (${c.name})`);
  const hint =
    waiting.length > 0 ? `; ${waiting.join(', ')} ${waiting.length === 1 ? 'does' : 'do'}` : `; nothing in thread "${state.threadId}" does`;
  if (!call) {
    const answered = state.messages.some((m) => m.role === 'tool' && m.toolCallId === id);
    return answered ? `"${id}" was answered already${byWhom(state, id)}` : `"${id}" does not wait for ${what}${hint}`;
  }
  const was: Record<CallState['phase'], string> = {
    done: 'has its outcome already',
    running: 'was decided already and is running',
    ready: 'was decided already',
    'awaiting-approval': 'waits for an approval, not for an output',
    'awaiting-output': `waits for ${call.verdict.kind === 'external' && call.verdict.question ? 'an answer' : 'its output'}, not for an approval`,
  };
  return `"${id}" (${call.name}) ${was[call.phase]}${byWhom(state, id)}${hint}`;
}

/** Who decided a call, so that whoever comes late knows whom to ask. */
function byWhom({ log }: ThreadState, id: string): string {
  const decided = log.findLast((record) => record.type === 'agent.approval.decided' && record.data.toolCallId === id);
  if (!decided) return '';
  const { approved, by, source } = decided.data;
  return ` (${approved ? 'approved' : 'refused'}${by ? ` by ${by}` : source === 'deadline' ? ' by its deadline' : ''}, ${new Date(decided.at).toISOString()})`;
}

function checkWords(words: Record<string, unknown>): string | undefined {
  for (const [name, value] of Object.entries(words)) {
    if (value === undefined || value === null) continue;
    if (typeof value !== 'string') return `\`${name}\` must be a text; it is ${show(value)}`;
    const max = name === 'reason' ? bounds.wordsChars : bounds.nameChars;
    if (value.length > max) return `\`${name}\` has ${value.length} characters; at most ${max}`;
  }
  return undefined;
}
