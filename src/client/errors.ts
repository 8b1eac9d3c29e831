import type { RefusalCode } from '../core/refusal';

export type LonghaulErrorCode =
  | 'invalid-input'
  | 'thread-exists'
  | 'thread-not-found'
  | 'thread-closed'
  | 'not-reopenable'
  | 'run-not-found'
  | 'request-refused'
  | 'no-worker'
  | 'unreachable'
  | 'namespace-not-found'
  | 'encryption-key-missing'
  | 'search-attributes-missing'
  | 'answer-invalid'
  | 'run-failed'
  | 'run-cancelled'
  | 'run-expired'
  | 'output-invalid'
  | 'output-unavailable'
  | 'thread-terminated';

/** The error of all client methods. `message` says what went wrong, where, and what to do; `code` is for programs. */
export class LonghaulError extends Error {
  override readonly name = 'LonghaulError';
  /** If a thread refused the request: why. */
  declare readonly refusal?: RefusalCode;

  constructor(
    readonly code: LonghaulErrorCode,
    message: string,
    /** If a run failed: the run's error code, such as `auth` or `UnknownAgent`. */
    readonly runCode?: string,
    { refusal, ...options }: { cause?: unknown; refusal?: RefusalCode } = {},
  ) {
    super(message, options);
    if (refusal) Object.assign(this, { refusal });
  }
}

/** gRPC status codes. */
export const grpc = {
  cancelled: 1,
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  resourceExhausted: 8,
  failedPrecondition: 9,
  aborted: 10,
  internal: 13,
  unavailable: 14,
} as const;

/** The first gRPC status code among an error and its causes. */
export function grpcCode(error: unknown): number | undefined {
  for (const at of causesOf(error)) if (typeof at.code === 'number') return at.code;
  return undefined;
}

/** The messages of an error and its causes, joined. */
export function wordsOf(error: unknown): string {
  return causesOf(error)
    .map(({ message }) => message)
    .join(': ');
}

/** The server's message, without gRPC's code and name, and without the SDK's prefix about which call failed. */
export function detailsOf(error: unknown): string | undefined {
  for (const { details } of causesOf(error)) if (typeof details === 'string' && details !== '') return details;
  return undefined;
}

interface Cause {
  name?: unknown;
  details?: unknown;
  code?: unknown;
  message?: unknown;
  cause?: unknown;
}

/** An error and its causes, from the outermost on. */
export function causesOf(error: unknown): Cause[] {
  const all: Cause[] = [];
  for (let at = error as Cause | null | undefined; at && all.length < 10; at = at.cause as Cause | null | undefined) all.push(at);
  return all;
}
