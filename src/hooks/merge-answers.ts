import { stricterAsk } from '../core/ask-policy';
import type { HookName } from '../core/hooks';
import type { AskPolicy } from '../core/tool';
import type { Fields } from './check-answer';
import { problemOfAsk } from './check-ask';

/** Merges two answers field by field; the later overrides the earlier. */
export function mergeAnswers(name: HookName, before: Fields, next: Fields): Fields {
  return name === 'approve:tool' ? mergeDecisions(before, next) : { ...before, ...next };
}

export function refusal(reason: string): Fields {
  return { approved: false, reason };
}

/** The stricter decision wins in any order: a refusal, then asking people, then an approval. */
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
  const { approved, ask: _, ...both } = { ...before, ...next };
  const asks = [before.ask, next.ask].filter((ask) => ask !== undefined) as AskPolicy[];
  if (asks.length > 0) {
    const ask = asks.reduce(stricterAsk);
    const problem = problemOfAsk(ask);
    return problem ? refusal(`Together, the approve:tool hooks ask in a way that can't be met: it ${problem}`) : { ...both, ask };
  }
  return approved === undefined ? both : { ...both, approved };
}
