import type { HookName } from '../core/hooks';
import type { Fields } from './check-answer';

/** What two answers are together, the later over the earlier, field by field. */
export function mergeAnswers(name: HookName, before: Fields, next: Fields): Fields {
  return name === 'approve:tool' ? mergeDecisions(before, next) : { ...before, ...next };
}

export function refusal(reason: string): Fields {
  return { approved: false, reason };
}

/** The stricter wins, whatever the order: a refusal over people who are asked, these over an approval. */
function mergeDecisions(before: Fields, next: Fields): Fields {
  const refusing = [before, next].filter(({ approved }) => approved === false);
  if (refusing.length > 0) {
    const { reason } = refusing.find((one) => one.reason !== undefined) ?? {};
    return {
      approved: false,
      ...(reason === undefined ? {} : { reason }),
      ...(refusing.some(({ stop }) => stop === true) && { stop: true }),
    };
  }
  const { approved, ...both } = { ...before, ...next };
  return both.ask !== undefined || approved === undefined ? both : { ...both, approved };
}
