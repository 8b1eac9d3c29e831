import { bounds } from './bounds';
import { checkName, show } from './check-input';
import { bytesOf } from './context/carry';
import { isBytes, isObject } from './json';
import { checkPerson, cleanName, nameKey } from './people';
import type { AskPolicy, DeadlineAction } from './tool';

/** `AskPolicy` as a tool's author writes it. One action at the deadline needs no list; `deadlineMs` without any is `deny`. */
export interface AskOptions extends Omit<AskPolicy, 'onDeadline' | 'remember'> {
  onDeadline?: DeadlineAction | DeadlineAction[];
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

/** So many are named each, where they are wrong. */
const mostFields = 20;

/** How people are to be asked, with its defaults; or what is wrong with it, a line each. */
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

/** What can't be meant, field by field right as it is. */
function contradictions({ users, groups, approvers = 1, deadlineMs }: AskPolicy, onDeadline: AskOptions['onDeadline']): string[] {
  const problems: string[] = [];
  const named = new Set(users?.map(nameKey)).size;
  // Nobody could ever give so many: the call would wait for good.
  if (users && !groups && approvers > named) {
    problems.push(`approvers is ${approvers}, and users names only ${named} who may be one; name more, or a group`);
  }
  if (onDeadline !== undefined && deadlineMs === undefined) problems.push('onDeadline has no deadline; set deadlineMs, too');
  const list = Array.isArray(onDeadline) ? onDeadline : [];
  const end = list.findIndex((action) => action === 'deny' || action === 'approve' || action === 'cancel');
  if (end !== -1 && end < list.length - 1) problems.push(`onDeadline goes on after ${show(list[end])}, which ends the asking`);
  return problems;
}

export function isText(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== '';
}

export function isNames(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every((name) => checkName('a name', name) === undefined);
}

/** Users or groups. */
export function arePeople(value: unknown): boolean {
  return isNames(value) && (value as string[]).every((name) => checkPerson('a name', name) === undefined);
}

export function isAction(value: unknown): boolean {
  if (isObject(value)) return Object.keys(value).join() === 'escalate' && arePeople(value.escalate);
  return ['deny', 'approve', 'ask-again', 'cancel'].includes(value as string);
}
