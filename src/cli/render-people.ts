import { argumentLines, type Room } from '../core/argument-lines';
import { limitWords } from '../core/decide';
import type { AgentEvent, Asked, EventData, PendingCall } from '../core/event';
import { parseObject } from '../core/json';
import type { PermissionRule } from '../core/tool';
import { commandLine } from './answer-hint';
import { type Part, Styled, styled } from './styled';
import { callLine, editCall, line, nameOf, nothing, type ViewState, width } from './view-state';
import { minute, shortArguments } from './words';

export type Shown = { [T in keyof EventData]?: (data: EventData[T], state: ViewState, event: AgentEvent) => Styled };

/** What people are asked and what they decide: approvals, questions, limits, pauses, suspensions. */
export const shownOfPeople: Shown = {
  'agent.approval.requested': ({ toolCall, arguments: checked, ...asked }, state, { threadId }) => {
    const { paint } = state.options;
    const { id, name } = toolCall;
    state.calls.set(id, { ...toolCall, ...(checked !== undefined && { arguments: checked }) });
    const why = asked.reason ? styled`  ${asked.reason}` : '';
    const whom = whomWords(asked);
    return Styled.join([
      line(
        state,
        styled`${paint.yellow('?')} ${paint.bold(name)}${paint.yellow(styled`  needs an approval${why}`)}${whom && paint.dim(styled`  (${whom})`)}`,
      ),
      ...argumentParts(state.calls.get(id)?.arguments ?? '', commandLine('show', [threadId])).map((text) =>
        line(state, styled`    ${text}`),
      ),
    ]);
  },
  'agent.approval.voted': ({ toolCallId, by, signed, reason, outstanding }, state) =>
    line(
      state,
      styled`  ${state.options.paint.green('agreed')}${byWhom(by, signed)}${because(reason)}; ${outstanding} more must${about(state, toolCallId)}`,
    ),
  'agent.approval.escalated': ({ toolCallId, groups, dueAt }, state) => {
    const whom = groups ? `${groups.map((group) => `group ${group}`).join(', ')} is asked` : 'it is asked again';
    const due = dueAt ? `, until ${minute(dueAt)}` : '';
    return line(state, styled`  ${state.options.paint.yellow('nobody answered in time')}; ${whom}${due}${about(state, toolCallId)}`);
  },
  'agent.approval.decided': ({ toolCallId, approved, by, signed, reason, editedArguments, source, remembered, stop }, state) => {
    const { paint } = state.options;
    editCall(state, toolCallId, editedArguments);
    const what = approved ? paint.green('approved') : paint.red('refused');
    const who = by ? byWhom(by, signed) : source === 'deadline' ? ' by its deadline' : source === 'hook' ? ' by a hook' : '';
    const edited = editedArguments === undefined ? '' : ` with other arguments: ${shortArguments(editedArguments, width(state) - 40)}`;
    const more = `${remembered ? `; ${rulesWords(remembered)} need no approval any more` : ''}${stop ? '; the run ends' : ''}`;
    return line(state, styled`  ${what}${who}${because(reason)}${edited || about(state, toolCallId)}${more}`);
  },
  'agent.input.expired': ({ toolCallId }, state) =>
    line(state, styled`  ${state.options.paint.yellow('nobody answered in time')}${about(state, toolCallId)}`),
  'agent.limit.reached': ({ id, limit, max, scope }, state) => {
    // By this a refusal is told of.
    state.calls.set(id, { name: `more ${limit}`, arguments: '' });
    return line(state, state.options.paint.yellow(`? ${limitWords({ limit, max, scope })} Someone is asked for more of it`));
  },
  'agent.limit.handed_out': ({ limit, max, scope, toolCallIds }, state) =>
    line(
      state,
      state.options.paint.yellow(
        `! ${limitWords({ limit, max, scope })} ${toolCallIds.length === 1 ? 'A call waits' : `${toolCallIds.length} calls wait`} for output from outside`,
      ),
    ),
  'agent.limit.extended': ({ limit, max, by, signed, reason }, state) =>
    line(
      state,
      styled`  ${state.options.paint.green('granted')}${byWhom(by, signed)}${because(reason)}: the limit of ${limit} is now ${max}`,
    ),
  'agent.run.paused': ({ reason, by }, state) => line(state, state.options.paint.yellow(`‖ paused${by ? ` by ${by}` : ''}: ${reason}`)),
  'agent.run.resumed': ({ reason, by }, state) =>
    line(state, state.options.paint.yellow(`▸ resumed${by ? ` by ${by}` : ''}${because(reason)}`)),
  'agent.run.suspended': ({ correlationId, expiresAt, output }, state) => {
    const { paint, hint } = state.options;
    const words = output.trim() === '' || output === state.closing ? nothing : line(state, Styled.lines(output.trim()));
    const what = `… suspended: it goes on with a reply to "${correlationId}", until ${minute(expiresAt)}`;
    const how = hint?.(replyTo({ correlationId, expiresAt }));
    return Styled.join([words, line(state, paint.yellow(what)), ...(how ? [line(state, paint.dim(styled`    ${how}`))] : [])]);
  },
  'thread.run.requires_action': ({ pending }, state) => Styled.join(pending.map((call) => waits(call, state))),
};

/** An approval and a limit were told when they were asked for. */
function waits(call: PendingCall, state: ViewState): Styled {
  const { paint, hint } = state.options;
  const whom = whomWords(call);
  const forWhom = whom && paint.dim(styled`  (${whom})`);
  const told: Part[] = [];
  if (call.kind === 'question') told.push(line(state, paint.yellow(`? ${questionOf(call)}`), forWhom));
  if (call.kind === 'output') {
    told.push(
      line(
        state,
        callLine(state, paint.yellow('?'), call.toolCallId, call.name),
        paint.yellow(styled`  waits for its output from outside`),
        forWhom,
      ),
    );
  }
  const how = hint?.(call);
  return Styled.join([...told, ...(how ? [line(state, paint.dim(styled`    ${how}`))] : [])]);
}

/** What fits on a screen beside other things that wait. */
const someRoom = { lines: 20, chars: 2_000 };

/** What a person is asked about: the arguments as the tool takes them, what of them has no room, and the command that shows it. */
export function argumentParts(args: string, all: Part, room: Room = someRoom): Styled[] {
  const { lines, left } = argumentLines(args, room);
  return [...lines.map(Styled.lines), ...(left > 0 ? [styled`… all of it: ${all}`] : [])];
}

/** Why it is asked, and what about. */
export function questionParts(call: PendingCall, all: Part, room?: Room): Styled[] {
  const { kind, reason, arguments: args } = call;
  const what = kind === 'question' ? [Styled.line(questionOf(call))] : argumentParts(args, all, room);
  return [...(reason ? [Styled.line(reason)] : []), ...what];
}

/** A question's words, with the answers to choose from. */
export function questionOf({ name, arguments: args }: PendingCall): string {
  const { question, options } = parseObject(args) ?? {};
  const words = typeof question === 'string' ? question : `${name} ${args}`;
  const choices = Array.isArray(options) ? ` [${options.map(String).join(' / ')}]` : '';
  return `${words}${choices}`;
}

/** Who is asked, how many must agree, and until when. */
export function whomWords({ users = [], groups = [], approvers = 1, dueAt, votes = [] }: Asked & { votes?: string[] }): string {
  const who = [...users, ...groups.map((group) => `group ${group}`)].join(', ');
  const many = approvers < 2 ? '' : votes.length > 0 ? `${votes.length} of ${approvers} agreed` : `${approvers} must agree`;
  return [who, many, dueAt ? `until ${minute(dueAt)}` : ''].filter(Boolean).join(' · ');
}

/** `shell: git push, deploy`. */
export function rulesWords(rules: readonly PermissionRule[]): string {
  const words = (prefix: string[]) => prefix.map((word) => (/^\S+$/.test(word) ? word : JSON.stringify(word))).join(' ');
  const named = rules.map(({ tool, prefix, exact }) => (prefix ? `${tool}: ${words(prefix)}${exact ? ' (exactly)' : ''}` : tool));
  return named.join(', ');
}

/** What waits while a run is suspended, as `pending` tells it. */
export function replyTo({ correlationId, expiresAt }: { correlationId: string; expiresAt: string }): PendingCall {
  return { kind: 'reply', toolCallId: correlationId, name: 'reply', arguments: '', dueAt: expiresAt };
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
