import type { FailureKind } from '../../core/failure';
import { isObject, parseObject } from '../../core/json';
import { factsOfBody, Trouble, type TroubleFacts } from '../wire/failure';

/** Kinds of API statuses that identify the kind alone. Also used for errors inside a stream, which have no HTTP status. */
const kinds: Readonly<Record<string, FailureKind>> = {
  UNAUTHENTICATED: 'auth',
  PERMISSION_DENIED: 'permission',
  NOT_FOUND: 'not-found',
  UNAVAILABLE: 'overloaded',
  DEADLINE_EXCEEDED: 'timeout',
  INTERNAL: 'server',
  UNKNOWN: 'server',
  CANCELLED: 'server',
  ABORTED: 'server',
};

const badKey = /api[ _-]?key (?:is )?(?:not valid|invalid|expired|not found)|api key was reported as leaked|unregistered callers/i;
const tooLong = /input token count[^.]*(?:exceeds|only supports)|exceeds the maximum number of (?:input )?tokens/i;
const noMoney = /spending cap|credits? (?:is|are) depleted/i;
const wrongPlace = /location is not supported|not available in your country/i;

/** Reads an error in the format of all Google APIs: `{ code, status, message, details }`. */
export function factsOfError(error: unknown): TroubleFacts {
  const facts = factsOfBody(error);
  const { status, details } = isObject(error) ? error : {};
  const name = typeof status === 'string' ? status.slice(0, 80) : undefined;
  const known = Array.isArray(details) ? details.filter(isObject).slice(0, 100) : [];
  const detail = (type: string) => known.find((one) => String(one['@type'] ?? '').endsWith(type));
  const retryAfterMs = durationMs(detail('.RetryInfo')?.retryDelay);
  const kind = kindOf(facts, name, { reason: detail('.ErrorInfo')?.reason, quota: detail('.QuotaFailure')?.violations });
  return {
    ...facts,
    ...(name && { code: name }),
    ...(kind && { kind }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
}

function kindOf(
  { status, words = '' }: TroubleFacts,
  name: string | undefined,
  { reason, quota }: { reason: unknown; quota: unknown },
): FailureKind | undefined {
  // An invalid key is reported with status 400.
  if (reason === 'API_KEY_INVALID' || badKey.test(words)) return 'auth';
  if (name === 'RESOURCE_EXHAUSTED' || status === 429) return isUsedUp(quota) || noMoney.test(words) ? 'quota' : 'rate-limit';
  if (/\boverloaded\b/i.test(words) && status !== 400) return 'overloaded';
  if (tooLong.test(words)) return 'context-length';
  if (wrongPlace.test(words)) return 'permission';
  return name !== undefined && Object.hasOwn(kinds, name) ? kinds[name] : undefined;
}

/** Whether the exhausted quota is per day, or 0, so that a wait of a minute doesn't help. */
function isUsedUp(violations: unknown): boolean {
  if (!Array.isArray(violations)) return false;
  return violations.some((one) => isObject(one) && (/PerDay/i.test(String(one.quotaId)) || one.quotaValue === '0'));
}

function durationMs(value: unknown): number | undefined {
  const seconds = typeof value === 'string' ? /^(\d{1,9}(?:\.\d{1,9})?)s$/.exec(value)?.[1] : undefined;
  return seconds === undefined ? undefined : Math.round(Number(seconds) * 1_000);
}

/** Reads a failed response; its body is at most a few kilobytes. */
export async function troubleOf(response: Response): Promise<Trouble> {
  const { status, headers } = response;
  const error = parseObject(await response.text())?.error;
  return new Trouble({ ...factsOfError(error), status, headers });
}
