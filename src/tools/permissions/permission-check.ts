import { excerpt, isObject } from '../../core/json';
import { shortText } from '../../core/text';
import { messageOfThrown } from '../../core/thrown';
import { type AskPolicy, isForWholeTool, type PermissionRule, type Verdict } from '../../core/tool';
import { withinPatience } from '../defining/within';
import { inTurn } from './in-turn';
import type { PermissionCall } from './permission-rules';
import type { Permissions } from './permissions';

type Reject = Extract<Verdict, { kind: 'reject' }>;

/**
 * The decision of the permissions about a call; `undefined` if they have none. They fail closed: an error, no answer within 10 s, or an invalid
 * answer refuses the call.
 */
export async function permissionFor(
  permissions: Permissions | undefined,
  request: PermissionCall & { rules: PermissionRule[]; configuredOnly?: true },
  threadId?: string,
): Promise<'allow' | 'ask' | { ask: string } | Reject | undefined> {
  if (!permissions) return undefined;
  try {
    const decide = () => withinPatience(() => permissions.decide(request));
    const answer: unknown = await inTurn(decide, { steps: permissions.prepare?.(request), threadId });
    if (answer === undefined || answer === 'allow' || answer === 'ask') return answer;
    if (isObject(answer) && typeof answer.ask === 'string' && answer.deny === undefined) return { ask: shortText(answer.ask, 500) };
    if (isObject(answer) && typeof answer.deny === 'string') return denied(`denied: ${answer.deny}`, answer.stop === true);
    return denied('check failed: permissions returned an invalid decision');
  } catch (error) {
    return denied(`check failed: ${messageOfThrown(error)}`);
  }
}

/** Adds the rules that people may remember. `remember` unset means the whole tool, an empty list means none. */
export async function withSuggestions(ask: AskPolicy, permissions: Permissions | undefined, request: PermissionCall): Promise<AskPolicy> {
  if (!permissions) return ask;
  try {
    const remember = await inTurn(() => permissions.suggest(request), { begun: true });
    const wholeTool = remember.length === 1 && remember[0]?.tool === request.tool && isForWholeTool(remember[0]);
    return wholeTool ? ask : { ...ask, remember };
  } catch {
    // Only the offer is lost; people are still asked.
    return { ...ask, remember: [] };
  }
}

function denied(why: string, stop = false): Reject {
  const error = { name: 'PermissionDeniedError', message: excerpt(`Permission ${why}`, 1_000) };
  return { kind: 'reject', error, ...(stop && { stop: true as const }) };
}
