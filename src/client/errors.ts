export type LonghaulErrorCode =
  | 'invalid-input'
  | 'thread-exists'
  | 'thread-not-found'
  | 'thread-closed'
  | 'run-not-found'
  | 'request-refused'
  | 'no-worker'
  | 'unreachable'
  | 'namespace-not-found'
  | 'search-attributes-missing'
  | 'run-failed'
  | 'run-cancelled'
  | 'run-expired'
  | 'output-invalid'
  | 'thread-terminated';

/** What went wrong, where, and what to do, in `message`; `code` is for programs. */
export class LonghaulError extends Error {
  override readonly name = 'LonghaulError';

  constructor(
    readonly code: LonghaulErrorCode,
    message: string,
    /** Of a failed run: its own code, such as `auth` or `UnknownAgent`. */
    readonly runCode?: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}

/** Numbers of gRPC's status codes. */
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

/** The gRPC status somewhere in the causes of an error. */
export function grpcCode(error: unknown): number | undefined {
  for (const at of causesOf(error)) if (typeof at.code === 'number') return at.code;
  return undefined;
}

/** What an error and its causes say, in one text. */
export function wordsOf(error: unknown): string {
  return causesOf(error)
    .map(({ message }) => message)
    .join(': ');
}

/** What the server said, without gRPC's number and name, and without the SDK's words for which call failed. */
export function detailsOf(error: unknown): string | undefined {
  for (const { details } of causesOf(error)) if (typeof details === 'string' && details !== '') return details;
  return undefined;
}

interface Cause {
  details?: unknown;
  code?: unknown;
  message?: unknown;
  cause?: unknown;
}

function causesOf(error: unknown): Cause[] {
  const all: Cause[] = [];
  for (let at = error as Cause | null | undefined; at && all.length < 10; at = at.cause as Cause | null | undefined) all.push(at);
  return all;
}
