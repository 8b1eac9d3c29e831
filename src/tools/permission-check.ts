import { excerpt, isObject } from '../core/json';
import { messageOfThrown } from '../core/thrown';
import type { AskPolicy, PermissionRule, Verdict } from '../core/tool';
import type { PermissionCall } from './permission-rules';
import type { Permissions } from './permissions';
import { withinPatience } from './within';

type Reject = Extract<Verdict, { kind: 'reject' }>;

/**
 * What permissions say of a call; `undefined` is no opinion. They fail closed: a throw, no answer within 10 s, or nonsense refuses it.
 */
export async function permissionFor(
  permissions: Permissions | undefined,
  request: PermissionCall & { rules: PermissionRule[] },
): Promise<'allow' | 'ask' | Reject | undefined> {
  if (!permissions) return undefined;
  try {
    const answer: unknown = await withinPatience(() => permissions.decide(request));
    if (answer === undefined || answer === 'allow' || answer === 'ask') return answer;
    if (isObject(answer) && typeof answer.deny === 'string') return denied(`denied: ${answer.deny}`, answer.stop === true);
    return denied('check failed: the answer is none that permissions can give');
  } catch (error) {
    return denied(`check failed: ${messageOfThrown(error)}`);
  }
}

/** The way people are asked, with what they may choose to remember: unset means the whole tool, none that it can't be. */
export function withSuggestions(ask: AskPolicy, permissions: Permissions | undefined, request: PermissionCall): AskPolicy {
  if (!permissions) return ask;
  try {
    const remember = permissions.suggest(request);
    const wholeTool = remember.length === 1 && remember[0]?.tool === request.tool && !remember[0].prefix;
    return wholeTool ? ask : { ...ask, remember };
  } catch {
    // An offer less; the question stands.
    return { ...ask, remember: [] };
  }
}

function denied(why: string, stop = false): Reject {
  const error = { name: 'PermissionDeniedError', message: excerpt(`Permission ${why}`, 1_000) };
  return { kind: 'reject', error, ...(stop && { stop: true as const }) };
}
