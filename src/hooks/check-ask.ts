import { arePeople, isAction, isNames, isText } from '../core/ask-policy';
import { bounds } from '../core/bounds';
import { show } from '../core/check-input';
import { bytesOf } from '../core/context/carry';
import { isObject } from '../core/json';
import { nameKey } from '../core/people';
import type { AskPolicy } from '../core/tool';

const namesWords = `a list of names, each of at most ${bounds.nameChars} characters and none of them invisible`;

const fields: { [F in keyof Required<AskPolicy>]: { is: (value: unknown) => boolean; what: string } } = {
  reason: { is: isText, what: 'a string' },
  users: { is: arePeople, what: namesWords },
  groups: { is: arePeople, what: namesWords },
  approvers: { is: (value) => Number.isSafeInteger(value) && (value as number) >= 1, what: 'a whole number above 0' },
  deadlineMs: {
    is: (value) => typeof value === 'number' && value >= 1 && value <= bounds.longestMs,
    what: `milliseconds from 1 to ${bounds.longestMs}`,
  },
  onDeadline: {
    is: (value) => Array.isArray(value) && value.every(isAction),
    what: "a list of 'deny', 'approve', 'ask-again', 'cancel' or { escalate: groups }",
  },
  remember: {
    is: (value) => Array.isArray(value) && value.every(isRule),
    what: `a list of { tool, prefix?, exact? }, each of at most ${bounds.ruleBytes} bytes`,
  },
};

/** Returns the problem of an `ask` policy, if any. */
export function problemOfAsk(value: unknown): string | undefined {
  if (!isObject(value)) return `must be an object that says how people are asked, such as { reason }; it is ${show(value)}`;
  for (const [name, given] of Object.entries(value)) {
    const field = Object.hasOwn(fields, name) ? fields[name as keyof AskPolicy] : undefined;
    if (!field) return `has ${show(name)}, which is not known; known are ${Object.keys(fields).join(', ')}`;
    if (!field.is(given)) return `has ${name}, which must be ${field.what}; it is ${show(given)}`;
  }
  const { users, groups = [], approvers = 1 } = value as AskPolicy;
  // So many approvals could never be given, and the call would wait forever.
  const named = new Set(users?.map(nameKey)).size;
  if (users && groups.length === 0 && approvers > named) {
    return `needs ${approvers} approvers, but names only ${named} users and no group`;
  }
  return bytesOf(value) > bounds.askBytes ? `has ${bytesOf(value)} bytes; at most ${bounds.askBytes}` : undefined;
}

function isRule(value: unknown): boolean {
  if (!isObject(value) || bytesOf(value) > bounds.ruleBytes || !isText(value.tool)) return false;
  const { prefix, exact } = value;
  if (exact !== undefined)
    return exact === true && Array.isArray(prefix) && isText(prefix[0]) && prefix.every((word) => typeof word === 'string');
  return prefix === undefined || isNames(prefix);
}
