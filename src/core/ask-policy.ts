import { bounds } from './bounds';
import { checkName, show } from './check-input';
import { bytesOf } from './context/carry';
import { isBytes, isObject } from './json';
import { checkPerson, cleanName, nameKey } from './people';
import type { AskPolicy, DeadlineAction } from './tool';

/** `AskPolicy` as a tool's author writes it. A single `onDeadline` action needs no list. `deadlineMs` without an action means `deny`. */
export interface AskOptions extends Omit<AskPolicy, 'onDeadline' | 'remember'> {
  onDeadline?: DeadlineAction | DeadlineAction[] | undefined;
}

const actions = "'deny', 'approve', 'ask-again', 'cancel' or { escalate: groups }";

const peopleWords = `a list of names, at least one, each of at most ${bounds.nameChars} characters and none of them invisible`;

const fields: { [F in keyof Required<AskOptions>]: { fits: (value: unknown) => boolean; what: string } } = {
  reason: { fits: isText, what: 'a text' },
  users: { fits: arePeople, what: peopleWords },
  groups: { fits: arePeople, what: peopleWords },
  approvers: { fits: (value) => Number.isSafeInteger(value) && (value as number) >= 1, what: 'a whole number above 0' },
  deadlineMs: {
    fits: (value) => typeof value === 'number' && value >= 1 && value <= bounds.longestMs,
    what: `milliseconds from 1, at most ${bounds.longestMs} (ten years)`,
  },
  onDeadline: {
    fits: (value) => isAction(value) || (Array.isArray(value) && value.length > 0 && value.every(isAction)),
    what: `${actions}, or a list of them`,
  },
};

/** Up to this many fields, problems are listed field by field. */
const mostFields = 20;

/** Returns the policy with its defaults, and what is wrong with the options, one line per problem. */
export function askPolicy(options: unknown): { policy: AskPolicy; problems: string[] } {
  if (!isObject(options) || isBytes(options))
    return { policy: {}, problems: [`is ${show(options)}; use an object that says how people are asked`] };
  const fieldsGiven = Object.keys(options).length;
  if (fieldsGiven > mostFields) return { policy: {}, problems: [`has ${fieldsGiven} fields; known are ${Object.keys(fields).join(', ')}`] };
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  const problems = given.flatMap(([name, value]) => {
    const field = Object.hasOwn(fields, name) ? fields[name as keyof AskOptions] : undefined;
    if (!field) return [`${name} is not known; known are ${Object.keys(fields).join(', ')}`];
    return field.fits(value) ? [] : [`${name} is ${show(value)}; use ${field.what}`];
  });
  if (problems.length > 0) return { policy: {}, problems };
  const { onDeadline, ...rest } = Object.fromEntries(given) as AskOptions;
  const list = onDeadline === undefined ? ['deny' as const] : Array.isArray(onDeadline) ? onDeadline : [onDeadline];
  const policy: AskPolicy = {
    ...rest,
    ...(rest.users && { users: rest.users.map(cleanName) }),
    ...(rest.groups && { groups: rest.groups.map(cleanName) }),
    ...(rest.deadlineMs !== undefined && {
      onDeadline: list.map((action) => (typeof action === 'object' ? { escalate: action.escalate.map(cleanName) } : action)),
    }),
  };
  const bytes = bytesOf(policy);
  const tooLarge = bytes > bounds.askBytes ? [`it has ${bytes} bytes; at most ${bounds.askBytes}`] : [];
  return { policy, problems: [...contradictions(policy, onDeadline), ...tooLarge] };
}

/** Finds contradictions between fields that are each valid. */
function contradictions({ users, groups, approvers = 1, deadlineMs }: AskPolicy, onDeadline: AskOptions['onDeadline']): string[] {
  const problems: string[] = [];
  const most = mostApprovers({ ...(users && { users }), ...(groups && { groups }) });
  // So many approvals are impossible: the call would wait forever.
  if (approvers > most) problems.push(`approvers is ${approvers}, and users names only ${most}; name more users, or a group`);
  if (onDeadline !== undefined && deadlineMs === undefined) problems.push('onDeadline has no deadline; set deadlineMs, too');
  const list = Array.isArray(onDeadline) ? onDeadline : [];
  const end = list.findIndex((action) => action === 'deny' || action === 'approve' || action === 'cancel');
  if (end !== -1 && end < list.length - 1) problems.push(`onDeadline has actions after ${show(list[end])}, which is final`);
  return problems;
}

export function isText(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== '';
}

export function isNames(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every((name) => checkName('a name', name) === undefined);
}

/** Whether a value is a valid list of names of users or groups. */
export function arePeople(value: unknown): boolean {
  return isNames(value) && (value as string[]).every((name) => checkPerson('a name', name) === undefined);
}

export function isAction(value: unknown): boolean {
  if (isObject(value)) return Object.keys(value).join() === 'escalate' && arePeople(value.escalate);
  return ['deny', 'approve', 'ask-again', 'cancel'].includes(value as string);
}

/** Whether a policy says who must approve, or how many. */
export function namesPeople({ users, groups, approvers = 1 }: Pick<AskPolicy, 'users' | 'groups' | 'approvers'>): boolean {
  return users !== undefined || groups !== undefined || approvers > 1;
}

/**
 * Combines the policies of a tool and a hook. The hook's people, their number, and the deadline with its actions each replace the tool's. The
 * rest stays the tool's, except that the tool's deadline no longer approves, because the hook wants a person to decide. If the tool requires
 * more people than the hook names, all of the named people must approve.
 */
export function askedWith(own: AskPolicy = {}, hooks: AskPolicy): AskPolicy {
  const { users, groups, deadlineMs, onDeadline, ...rest } = own;
  const people = { ...(users && { users }), ...(groups && { groups }) };
  const deadline = { ...(deadlineMs !== undefined && { deadlineMs }), ...(onDeadline && { onDeadline: withoutApproval(onDeadline) }) };
  const both = { ...rest, ...(!(hooks.users || hooks.groups) && people), ...(hooks.deadlineMs === undefined && deadline), ...hooks };
  const { approvers = 1 } = both;
  const most = hooks.approvers === undefined ? mostApprovers(both) : approvers;
  return approvers > most ? { ...both, approvers: most } : both;
}

/** How many people can approve at most; infinite unless only users are named. */
export function mostApprovers({ users, groups }: AskPolicy): number {
  return users && !groups ? new Set(users.map(nameKey)).size : Number.POSITIVE_INFINITY;
}

function withoutApproval(actions: DeadlineAction[]): DeadlineAction[] {
  return actions.map((action) => (action === 'approve' ? 'deny' : action));
}

/** Combines two policies strictly: the people of both, the higher number, the nearer deadline, and only what both allow. */
export function stricterAsk(one: AskPolicy, other: AskPolicy): AskPolicy {
  const both = <T>(key: (ask: AskPolicy) => T[] | undefined): T[] | undefined => {
    const all = [...(key(one) ?? []), ...(key(other) ?? [])];
    return key(one) || key(other) ? all.filter((each, at) => all.findIndex((same) => isSame(same, each)) === at) : undefined;
  };
  const reasons = both(({ reason }) => (reason === undefined ? undefined : [reason]));
  const users = both((ask) => ask.users);
  const groups = both((ask) => ask.groups);
  const approvers = Math.max(one.approvers ?? 1, other.approvers ?? 1);
  const nearer = (one.deadlineMs ?? Number.POSITIVE_INFINITY) <= (other.deadlineMs ?? Number.POSITIVE_INFINITY) ? one : other;
  const { deadlineMs, onDeadline } = nearer;
  const approve = [one, other].every((ask) => ask.onDeadline?.includes('approve'));
  const remember =
    one.remember && other.remember
      ? one.remember.filter((rule) => other.remember?.some((same) => isSame(same, rule)))
      : (one.remember ?? other.remember);
  return {
    ...(reasons && { reason: reasons.join('; ') }),
    ...(users && { users }),
    ...(groups && { groups }),
    ...(approvers > 1 && { approvers }),
    ...(deadlineMs !== undefined && { deadlineMs }),
    ...(onDeadline && { onDeadline: approve ? onDeadline : withoutApproval(onDeadline) }),
    ...(remember && { remember }),
  };
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
