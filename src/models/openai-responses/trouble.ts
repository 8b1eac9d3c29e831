import type { FailureKind } from '../../core/failure';
import { factsOfBody, Trouble } from '../wire/failure';

/** Kinds of error codes in a stream, where no HTTP status gives the kind. */
const kinds: readonly [RegExp, FailureKind][] = [
  [
    /^(invalid|unsupported|empty)_.*(image|file|base64)|^image_(?!content_policy)|^failed_to_download|^data_residency|^invalid_encrypted_content/,
    'bad-request',
  ],
  [/^server_is_overloaded$|^slow_down$|overloaded/, 'overloaded'],
  [/^usage_(limit_reached|not_included)$/, 'quota'],
  [/timeout$/, 'timeout'],
];

/** Converts an error event of a stream whose HTTP status was 200. */
export function troubleOf(error: unknown): Trouble {
  const facts = factsOfBody(error ?? 'the response failed without an error');
  const { code = '', words = '' } = facts;
  const found = kinds.find(([pattern]) => pattern.test(code));
  const retryAfterMs = /^rate_limit/.test(code) ? waitIn(words) : undefined;
  return new Trouble({ ...facts, ...(found && { kind: found[1] }), ...(retryAfterMs !== undefined && { retryAfterMs }) });
}

/** Reads "Please try again in 1m12.5s", or "in 300ms". Without a stream, a header gives the wait. */
function waitIn(words: string): number | undefined {
  const [, minutes = '0', amount, unit] = /try again in (?:(\d{1,4})m(?!s))?(?:(\d{1,6}(?:\.\d{1,6})?)(ms|s))?/.exec(words) ?? [];
  if (amount === undefined && minutes === '0') return undefined;
  return Math.round(Number(minutes) * 60_000 + Number(amount ?? 0) * (unit === 'ms' ? 1 : 1_000));
}
