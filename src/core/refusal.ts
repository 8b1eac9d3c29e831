/** Machine-readable reasons for which a thread refuses a request. docs/errors.md describes each. */
export const refusalCodes = [
  'invalid-request',
  'unknown-request',
  'id-reused',
  'not-waiting',
  'already-decided',
  'deadline-passed',
  'not-entitled',
  'signature-refused',
  'not-as-expected',
  'edit-refused',
  'not-rememberable',
  'no-run',
  'run-going-on',
  'already-paused',
  'not-paused',
  'already-closed',
  'one-shot-thread',
  'thread-closed',
  'queue-full',
  'busy',
  'failed',
] as const;

export type RefusalCode = (typeof refusalCodes)[number];

export interface Refusal {
  code: RefusalCode;
  /** For people: what was refused, why, and what to do. Fields are in backticks, because the command line has other names for them. */
  reason: string;
}

/** Creates a refusal. The default code is `invalid-request`. */
export function refusal(reason: string, code: RefusalCode = 'invalid-request'): Refusal {
  return { code, reason };
}

export function isRefusalCode(code: unknown): code is RefusalCode {
  return (refusalCodes as readonly unknown[]).includes(code);
}
