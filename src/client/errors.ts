export type LonghaulErrorCode =
  | 'invalid-input'
  | 'thread-exists'
  | 'thread-not-found'
  | 'thread-closed'
  | 'request-refused'
  | 'no-worker'
  | 'unreachable'
  | 'run-failed'
  | 'run-cancelled'
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
  deadlineExceeded: 4,
  notFound: 5,
  resourceExhausted: 8,
  failedPrecondition: 9,
  unavailable: 14,
  invalidArgument: 3,
  cancelled: 1,
} as const;

/** The gRPC status somewhere in the causes of an error. */
export function grpcCode(error: unknown): number | undefined {
  for (let at = error as { code?: unknown; cause?: unknown } | undefined; at; at = at.cause as typeof at) {
    if (typeof at.code === 'number') return at.code;
  }
  return undefined;
}
