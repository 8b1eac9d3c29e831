import { limitWords } from '../core/decide';
import type { AgentEvent, Asked, EventData, PendingCall } from '../core/event';
import { parseObject } from '../core/json';
import type { PermissionRule } from '../core/tool';
import { callLine, line, nameOf, type ViewState, width } from './view-state';
import { minute, printable, shortArguments } from './words';

export type Shown = { [T in keyof EventData]?: (data: EventData[T], state: ViewState, event: AgentEvent) => string };

/** What people are asked and what they decide: approvals, questions, limits, pauses, suspensions. */
export const shownOfPeople: Shown = {
  'agent.approval.requested': ({ toolCall, ...asked }, state) => {
    const { paint } = state.options;
    state.calls.set(toolCall.id, toolCall);
    const why = asked.reason ? `  ${printable(asked.reason)}` : '';
    const whom = whomWords(asked);
    return line(
      state,
      callLine(state, paint.yellow('?'), toolCall.id, toolCall.name) +
        paint.yellow(`  needs an approval${why}`) +
        (whom && paint.dim(`  (${whom})`)),
    );
  },
  'agent.approval.voted': ({ toolCallId, by, reason, outstanding }, state) =>
    line(
      state,
      `  ${state.options.paint.green('agreed')} by ${printable(by)}${because(reason)}; ${outstanding} more must${about(state, toolCallId)}`,
    ),
  'agent.approval.escalated': ({ toolCallId, groups, dueAt }, state) => {
    const whom = groups ? `${groups.map((group) => `group ${printable(group)}`).join(', ')} is asked` : 'it is asked again';
    const due = dueAt ? `, until ${minute(dueAt)}` : '';
    return line(state, `  ${state.options.paint.yellow('nobody answered in time')}; ${whom}${due}${about(state, toolCallId)}`);
  },
  'agent.approval.decided': ({ toolCallId, approved, by, reason, editedArguments, source, remembered, stop }, state) => {
    const { paint } = state.options;
    // From now on it is shown as it will run.
    const call = state.calls.get(toolCallId);
    if (call && editedArguments !== undefined) state.calls.set(toolCallId, { ...call, arguments: editedArguments });
    const what = approved ? paint.green('approved') : paint.red('refused');
    const who = by ? ` by ${printable(by)}` : source === 'deadline' ? ' by its deadline' : source === 'hook' ? ' by a hook' : '';
    const edited = editedArguments === undefined ? '' : ` with other arguments: ${shortArguments(editedArguments, width(state) - 40)}`;
    const more = `${remembered ? `; ${rulesWords(remembered)} need no approval any more` : ''}${stop ? '; the run ends' : ''}`;
    return line(state, `  ${what}${who}${because(reason)}${edited || about(state, toolCallId)}${more}`);
  },
  'agent.input.expired': ({ toolCallId }, state) =>
    line(state, `  ${state.options.paint.yellow('nobody answered in time')}${about(state, toolCallId)}`),
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
  'agent.limit.extended': ({ limit, max, by, reason }, state) =>
    line(
      state,
      `  ${state.options.paint.green('granted')}${by ? ` by ${printable(by)}` : ''}${because(reason)}: the limit of ${limit} is now ${max}`,
    ),
  'agent.run.paused': ({ reason, by }, state) =>
    line(state, state.options.paint.yellow(`‖ paused${by ? ` by ${printable(by)}` : ''}: ${printable(reason)}`)),
  'agent.run.resumed': ({ reason, by }, state) =>
    line(state, state.options.paint.yellow(`▸ resumed${by ? ` by ${printable(by)}` : ''}${because(reason)}`)),
  'agent.run.suspended': ({ correlationId, expiresAt, output }, state) => {
    const { paint, hint } = state.options;
    const words = output.trim() === '' || output === state.closing ? '' : line(state, printable(output.trim()));
    const what = `… suspended: it goes on with a reply to "${printable(correlationId)}", until ${minute(expiresAt)}`;
    const how = hint?.(replyTo({ correlationId, expiresAt }));
    return words + line(state, paint.yellow(what)) + (how ? line(state, paint.dim(`    ${how}`)) : '');
  },
  'thread.run.requires_action': ({ pending }, state) => pending.map((call) => waits(call, state)).join(''),
};

/** An approval and a limit were told when they were asked for. */
function waits(call: PendingCall, state: ViewState): string {
  const { paint, hint } = state.options;
  const outside = call.kind === 'output' || call.kind === 'question';
  const what = call.kind === 'question' ? questionOf(call) : callLine(state, paint.yellow('?'), call.toolCallId, call.name);
  const whom = whomWords(call);
  const told = outside
    ? line(
        state,
        (call.kind === 'question' ? paint.yellow(`? ${what}`) : what + paint.yellow('  waits for its output from outside')) +
          (whom && paint.dim(`  (${whom})`)),
      )
    : '';
  const how = hint?.(call);
  return told + (how ? line(state, paint.dim(`    ${how}`)) : '');
}

/** A question's words, with the answers to choose from. */
export function questionOf({ name, arguments: args }: PendingCall): string {
  const { question, options } = parseObject(args) ?? {};
  const words = typeof question === 'string' ? question : `${name} ${args}`;
  const choices = Array.isArray(options) ? ` [${options.map(String).join(' / ')}]` : '';
  return printable(`${words}${choices}`).replace(/\s+/g, ' ');
}

/** Who is asked, how many must agree, and until when. */
export function whomWords({ users = [], groups = [], approvers = 1, dueAt, votes = [] }: Asked & { votes?: string[] }): string {
  const who = [...users, ...groups.map((group) => `group ${group}`)].map(printable).join(', ');
  const many = approvers < 2 ? '' : votes.length > 0 ? `${votes.length} of ${approvers} agreed` : `${approvers} must agree`;
  return [who, many, dueAt ? `until ${minute(dueAt)}` : ''].filter(Boolean).join(' · ');
}

/** `shell: git push, deploy`. */
export function rulesWords(rules: readonly PermissionRule[]): string {
  const words = (prefix: string[]) => prefix.map((word) => (/^\S+$/.test(word) ? word : JSON.stringify(word))).join(' ');
  const named = rules.map(({ tool, prefix, exact }) => (prefix ? `${tool}: ${words(prefix)}${exact ? ' (exactly)' : ''}` : tool));
  return printable(named.join(', '));
}

/** What waits while a run is suspended, as `pending` tells it. */
export function replyTo({ correlationId, expiresAt }: { correlationId: string; expiresAt: string }): PendingCall {
  return { kind: 'reply', toolCallId: correlationId, name: 'reply', arguments: '', dueAt: expiresAt };
}

function because(reason: string | undefined): string {
  return reason ? `: ${printable(reason)}` : '';
}

function about(state: ViewState, id: string): string {
  return state.options.paint.dim(` (${nameOf(state, id)})`);
}
