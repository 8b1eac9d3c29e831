import { argumentLines, type Room } from '../../core/argument-lines';
import { limitWords } from '../../core/decide';
import type { AgentEvent, AskDetails, EventData, PendingCall } from '../../core/event';
import { parseObject } from '../../core/json';
import { printableLine } from '../../core/printable';
import { questionLines } from '../../core/question-lines';
import type { PermissionRule } from '../../core/tool';
import { unknownWords } from '../../core/views';
import { commandLine } from '../commands/answer-hint';
import { type Part, Styled, styled } from './styled';
import { asItIs, callLine, editCall, line, nameOf, nothing, question, unaskedQuestion, type ViewState, width } from './view-state';
import { minute, shortArguments, shortFields } from './words';

export type Shown = { [T in keyof EventData]?: (data: EventData[T], state: ViewState, event: AgentEvent) => Styled };

/** The view of decisions by people: approvals, questions, limits, pauses, suspensions. */
export const shownOfPeople: Shown = {
  'agent.approval.requested': ({ toolCall, arguments: checked, stepId: _, ...asked }, state, { threadId }) => {
    const call = { ...toolCall, ...(checked !== undefined && { arguments: checked }) };
    state.calls.set(call.id, call);
    const pending: PendingCall = { kind: 'approval', toolCallId: call.id, name: call.name, arguments: call.arguments, ...asked };
    return question(state, pending, () => approvalAsked(pending, state, threadId));
  },
  'agent.approval.voted': ({ toolCallId, by, signed, reason, outstanding }, state) =>
    after(
      state,
      toolCallId,
      () =>
        styled`  ${state.options.paint.green('agreed')}${byWhom(by, signed)}${because(reason)}; ${outstanding} more must agree${about(state, toolCallId)}`,
    ),
  'agent.approval.escalated': ({ toolCallId, groups, dueAt }, state) => {
    const whom = groups ? `${groups.map((group) => `group ${group}`).join(', ')} is asked` : 'it is asked again';
    const due = dueAt ? `, until ${minute(dueAt)}` : '';
    return line(state, styled`  ${state.options.paint.yellow('nobody answered in time')}; ${whom}${due}${about(state, toolCallId)}`);
  },
  'agent.approval.decided': (
    { toolCallId, approved, by, signed, reason, editedArguments, arguments: checked, source, remembered, stop },
    state,
  ) => {
    const args = checked ?? editedArguments;
    const { paint } = state.options;
    const asked = unaskedQuestion(state, toolCallId);
    editCall(state, toolCallId, args);
    const what = approved ? paint.green('approved') : paint.red('rejected');
    const who = by ? byWhom(by, signed) : source === 'deadline' ? ' by its deadline' : source === 'hook' ? ' by a hook' : '';
    const edited = args === undefined ? '' : `${reason ? ';' : ''} with other arguments: ${shortArguments(args, width(state) - 40)}`;
    const more = `${remembered ? `; ${rulesWords(remembered)} need no approval from now on` : ''}${stop ? '; the run ends' : ''}`;
    return styled`${asked}${line(state, styled`  ${what}${who}${because(reason)}${edited || about(state, toolCallId)}${more}`)}`;
  },
  'agent.tool.compensation.started': ({ toolCallId, name }, state) =>
    line(state, styled`${state.options.paint.yellow('↶')} compensating ${name}${about(state, toolCallId)}`),
  'agent.tool.compensation.completed': ({ toolCallId, name }, state) =>
    line(state, styled`  ${state.options.paint.green('compensated')} ${name}${about(state, toolCallId)}`),
  'agent.tool.compensation.failed': ({ toolCallId, name, message }, state) =>
    line(state, styled`  ${state.options.paint.red('not compensated')} ${name}: ${message}${about(state, toolCallId)}`),
  'agent.tool.question.answered': ({ toolCallId, action, content = {}, by, signed, source }, state) => {
    const who = source === 'deadline' ? ', because nobody answered in time' : byWhom(by, signed);
    const given = Object.keys(content).length > 0 ? `: ${shortFields(content, width(state) - 20)}` : '';
    return after(state, toolCallId, () => styled`  ${answeredWords[action]}${who}${given}${about(state, toolCallId)}`);
  },
  'agent.tool.outcome.unknown': ({ toolCallId, message }, state) => {
    state.asked.add(toolCallId);
    return line(state, styled`  ${state.options.paint.yellow('unknown')}: ${unknownWords(message)}${about(state, toolCallId)}`);
  },
  'agent.tool.outcome.settled': ({ toolCallId, outcome, by, signed, reason }, state) =>
    line(state, styled`  settled as ${outcome}${byWhom(by, signed)}${because(reason)}${about(state, toolCallId)}`),
  'agent.input.expired': ({ toolCallId }, state) =>
    after(state, toolCallId, () => styled`  ${state.options.paint.yellow('nobody answered in time')}${about(state, toolCallId)}`),
  'agent.limit.reached': ({ id, limit, max, scope }, state, { threadId }) => {
    // A later rejection is printed with this name.
    state.calls.set(id, { name: `more ${limit}`, arguments: '' });
    const call: PendingCall = { kind: 'limit', toolCallId: id, name: limit, arguments: '', reason: limitWords({ limit, max, scope }) };
    return question(state, call, () => whatWaits(call, state, threadId));
  },
  'agent.limit.handed_out': ({ limit, max, scope, toolCallIds }, state) =>
    line(
      state,
      state.options.paint.yellow(
        `! ${limitWords({ limit, max, scope })} ${toolCallIds.length === 1 ? 'A call waits' : `${toolCallIds.length} calls wait`} for output from outside`,
      ),
    ),
  'agent.limit.extended': ({ id, limit, max, by, signed, reason }, state) =>
    after(
      state,
      id,
      () => styled`  ${state.options.paint.green('granted')}${byWhom(by, signed)}${because(reason)}: the limit of ${limit} is now ${max}`,
    ),
  'agent.run.paused': ({ reason, by }, state) => line(state, state.options.paint.yellow(`‖ paused${by ? ` by ${by}` : ''}: ${reason}`)),
  'agent.run.resumed': ({ reason, by }, state) =>
    line(state, state.options.paint.yellow(`▸ resumed${by ? ` by ${by}` : ''}${because(reason)}`)),
  'agent.run.suspended': ({ correlationId, expiresAt, output }, state) => {
    const { paint, hint } = state.options;
    const words = output.trim() === '' || output === state.closing ? nothing : asItIs(state, Styled.lines(output.trim()));
    const what = `… suspended: it continues with a reply to "${correlationId}", until ${minute(expiresAt)}`;
    const how = hint?.(replyTo({ correlationId, expiresAt }));
    return Styled.join([words, line(state, paint.yellow(what)), ...(how ? [asItIs(state, paint.dim(styled`    ${how}`))] : [])]);
  },
  'thread.run.requires_action': ({ pending }, state, { threadId }) => Styled.join(pending.map((call) => waits(call, state, threadId))),
};

function approvalAsked(call: PendingCall, state: ViewState, threadId: string): Styled {
  const { paint } = state.options;
  const why = call.reason ? styled`  ${call.reason}` : '';
  const whom = whomWords(call);
  return Styled.join([
    line(
      state,
      styled`${paint.yellow('?')} ${paint.bold(call.name)}${paint.yellow(styled`  needs an approval${why}`)}${whom && paint.dim(styled`  (${whom})`)}`,
    ),
    ...argumentParts(call.arguments, commandLine('show', [threadId])).map((text) => line(state, styled`    ${text}`)),
  ]);
}

const answeredWords = { accept: 'answered', decline: 'declined', cancel: 'left without an answer' };

/** Prints a pending call and how to answer it. Approvals, limits and outcomes were printed when they were requested, if the reader has seen that. */
function waits(call: PendingCall, state: ViewState, threadId: string): Styled {
  const { paint, hint, asks } = state.options;
  const id = call.toolCallId;
  // Only now is it known that the call needs a signature, which the prompt can't give.
  const held = asks?.(call) ? nothing : unaskedQuestion(state, id);
  const isShown = state.asked.has(id) && (asks?.(call) || !shownWhenItWaits.has(call.kind));
  const told = isShown ? held : question(state, call, () => whatWaits(call, state, threadId));
  const how = hint?.(call);
  return Styled.join([told, ...(how ? [asItIs(state, paint.dim(styled`    ${how}`))] : [])]);
}

/** Kinds without an event of their own before the run waits. */
const shownWhenItWaits: ReadonlySet<PendingCall['kind']> = new Set(['question', 'tool-question', 'output']);

function whatWaits(call: PendingCall, state: ViewState, threadId: string): Styled {
  const { paint } = state.options;
  const whom = whomWords(call);
  const forWhom = whom && paint.dim(styled`  (${whom})`);
  switch (call.kind) {
    case 'approval':
      return approvalAsked(call, state, threadId);
    case 'question': {
      const asked = questionOf(call, someRoom);
      return Styled.join([
        line(state, paint.yellow(styled`? ${asked.question}`), forWhom),
        ...choices(asked).map((option) => line(state, styled`    ${option}`)),
        ...(asked.left > 0 ? [asItIs(state, styled`    … all of it: ${commandLine('show', [threadId])}`)] : []),
      ]);
    }
    case 'tool-question': {
      const [first = '', ...more] = call.question ? questionLines(call.question) : [];
      return Styled.join([
        line(state, paint.yellow(first), paint.dim(styled`  (${[call.name, whom].filter(Boolean).join(' · ')})`)),
        ...more.map((row) => line(state, styled`    ${Styled.lines(row)}`)),
      ]);
    }
    case 'output':
      return line(
        state,
        callLine(state, paint.yellow('?'), call.toolCallId, call.name),
        paint.yellow(styled`  waits for its output from outside`),
        forWhom,
      );
    case 'outcome':
      return line(state, paint.yellow(styled`? ${call.name} has an unknown outcome: ${call.reason ?? ''}`), forWhom);
    case 'limit':
      return line(state, paint.yellow(styled`? ${call.reason ?? `The limit of ${call.name} is reached.`} A person is asked to raise it`));
    case 'reply':
      return nothing;
  }
}

/** The room for one call on a screen with other pending calls. */
const someRoom = { lines: 20, chars: 2_000 };

/** The arguments as the tool receives them, as far as there is room, and the command that shows all of them. */
export function argumentParts(args: string, all: Part, room: Room = someRoom): Styled[] {
  const { lines, left } = argumentLines(args, room);
  return [...lines.map(Styled.lines), ...(left > 0 ? [styled`… all of it: ${all}`] : [])];
}

/** The reason for the question, and its content. Each line begins with a fixed word or mark, so none can look like another kind of line. */
export function questionParts(call: PendingCall, all: Part, room: Room = someRoom): Styled[] {
  const { kind, reason, arguments: args } = call;
  const why = reason ? [styled`? ${reason}`] : [];
  if (call.question) return [...why, ...questionLines(call.question).map(Styled.lines), ...argumentParts(args, all, room)];
  if (kind !== 'question') return [...why, ...argumentParts(args, all, room)];
  const asked = questionOf(call, room);
  return [...why, styled`? ${asked.question}`, ...choices(asked), ...(asked.left > 0 ? [styled`… all of it: ${all}`] : [])];
}

export interface Question {
  question: string;
  /** The options to choose from. Cut ones are marked as such. */
  options: string[];
  /** The number of options that are not shown. */
  more: number;
  /** The number of characters that are not shown. */
  left: number;
}

/** An option up to this length is never cut or left out because of others. */
const shortOption = 200;

/** The text of a question and the answers to choose from, each on one line. */
export function questionOf({ name, arguments: args }: PendingCall, room: Room = { lines: Infinity, chars: Infinity }): Question {
  const { options: _, ...rest } = parseObject(args) ?? {};
  const all = optionsOf(args);
  const words = typeof rest.question === 'string' ? rest.question : `${name} ${all.length > 0 ? JSON.stringify(rest) : args}`;
  const share = Math.max(shortOption, Math.floor(room.chars / (all.length + 1)));
  const options = all.slice(0, room.lines).map((option) => cut(option, share));
  const unseen = all.slice(room.lines);
  const used = options.reduce((sum, { shown }) => sum + shown.length, 0);
  const question = cut(words, Math.max(share, room.chars - used));
  return {
    question: question.shown,
    options: options.map(({ shown }) => shown),
    more: unseen.length,
    left: options.reduce((sum, { left }) => sum + left, question.left) + unseen.reduce((sum, { length }) => sum + length, unseen.length),
  };
}

function cut(text: string, chars: number): { shown: string; left: number } {
  const whole = printableLine(text);
  const left = whole.length - chars;
  return left > 0 ? { shown: `${whole.slice(0, chars)}… (${left} more characters are not shown)`, left } : { shown: whole, left: 0 };
}

/** The answers that a question offers, in the form in which they are submitted. */
export function optionsOf(args: string): string[] {
  const { options } = parseObject(args) ?? {};
  return Array.isArray(options) ? options.map((option) => (typeof option === 'string' ? option : JSON.stringify(option))) : [];
}

/** Each option on a line that begins with `mark`. The default is a dash, for answers that are given as text and not by a number. */
export function choices({ options, more }: Question, mark: (i: number) => string = () => '- '): Styled[] {
  return [
    ...options.map((option, i) => styled`${Styled.lines(mark(i))}${option}`),
    ...(more > 0 ? [styled`… ${more} more options are not shown`] : []),
  ];
}

/** Who may decide, how many people must agree, and until when. */
export function whomWords({ users = [], groups = [], approvers = 1, dueAt, votes = [] }: AskDetails & { votes?: string[] }): string {
  const who = [...users, ...groups.map((group) => `group ${group}`)].join(', ');
  const many = approvers < 2 ? '' : votes.length > 0 ? `${votes.length} of ${approvers} agreed` : `${approvers} must agree`;
  return [who, many, dueAt ? `until ${minute(dueAt)}` : ''].filter(Boolean).join(' · ');
}

/** The calls that need no approval any more if the approval of this call is remembered. Empty if it can't be remembered. */
export function rulesOf({ kind, name, remember = [{ tool: name }] }: PendingCall): readonly PermissionRule[] {
  return kind === 'approval' ? remember : [];
}

/** What `--remember` would allow, as a line below the call. */
export function rememberParts(call: PendingCall): Styled[] {
  const rules = rulesOf(call);
  return rules.length === 0 ? [] : [styled`+ with --remember, also from now on without approval: ${rulesWords(rules)}`];
}

/** `shell: git push, deploy`. */
export function rulesWords(rules: readonly PermissionRule[]): string {
  const words = (prefix: string[]) => prefix.map((word) => (/^\S+$/.test(word) ? word : JSON.stringify(word))).join(' ');
  const named = ({ tool, prefix, exact, host }: PermissionRule) =>
    prefix ? `${tool}: ${words(prefix)}${exact ? ' (exactly)' : ''}` : host === undefined ? tool : `${tool}: ${host}`;
  return rules.map(named).join(', ');
}

/** The pending call of a suspended run, in the form that `pending` returns. */
export function replyTo({ correlationId, expiresAt }: { correlationId: string; expiresAt: string }): PendingCall {
  return { kind: 'reply', toolCallId: correlationId, name: 'reply', arguments: '', dueAt: expiresAt };
}

/** What became of a question, after the question itself if the reader has not seen it. */
function after(state: ViewState, id: string, words: () => Styled): Styled {
  const asked = unaskedQuestion(state, id);
  return styled`${asked}${line(state, words())}`;
}

function byWhom(who: string | undefined, signed: object | undefined): string {
  return who ? ` by ${who}${signed ? ', signed' : ''}` : '';
}

function because(reason: string | undefined): string {
  return reason ? `: ${reason}` : '';
}

function about(state: ViewState, id: string): Styled {
  return state.options.paint.dim(` (${nameOf(state, id)})`);
}
