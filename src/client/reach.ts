import { type ConnectionLike, type ConnectionOptions, makeGrpcRetryInterceptor } from '@temporalio/client';
import { grpc, grpcCode } from './errors';
import { renewedChannel } from './renewed-channel';

/** The part of a connection that is needed here. */
export interface Reachable extends Pick<ConnectionLike, 'withDeadline'> {
  workflowService: { getSystemInfo(request: object): Promise<unknown> };
}

/** When the server was last found unavailable, in milliseconds since 1970, and the connection's error message. */
const lastAway = new WeakMap<Reachable, { at: number; words: string | undefined }>();

/** `words`: the reason, if more is known than that a deadline passed. */
export function noteAway(connection: Reachable, words?: string): void {
  lastAway.set(connection, { at: Date.now(), words: words ?? lastAway.get(connection)?.words });
}

/** When this connection last found the server unavailable; `-Infinity` if it never did. */
export function awayAt(connection: Reachable): number {
  return lastAway.get(connection)?.at ?? Number.NEGATIVE_INFINITY;
}

export function whyAway(connection: Reachable): string | undefined {
  return lastAway.get(connection)?.words;
}

/** Readers of the same server share one probe for this long, because there may be a thousand of them. */
const probeMs = 250;
const probeDeadlineMs = 2_000;
const probes = new WeakMap<Reachable, { at: number; up: Promise<boolean> }>();

/** Whether the server answers. Returns true for a closed connection, because the request itself then fails with the right error. */
export function isUp(connection: Reachable): Promise<boolean> {
  const known = probes.get(connection);
  if (known && Date.now() - known.at < probeMs) return known.up;
  const up = connection
    .withDeadline(Date.now() + probeDeadlineMs, () => connection.workflowService.getSystemInfo({}))
    .then(
      () => true,
      (error) => {
        if (grpcCode(error) === undefined) return true;
        noteAway(connection);
        return false;
      },
    );
  probes.set(connection, { at: Date.now(), up });
  return up;
}

type Interceptor = NonNullable<ConnectionOptions['interceptors']>[number];
type Status = Parameters<Parameters<typeof makeGrpcRetryInterceptor>[0]['retryableDecider']>[1];

/**
 * Connection options for an unavailable server. With gRPC's defaults a connection waits up to two minutes before it reconnects, and takes 45 s to
 * notice that it is dead.
 */
export function patientConnection(): { options: Pick<ConnectionOptions, 'channelArgs' | 'interceptors'>; belongsTo(to: Reachable): void } {
  let connection: Reachable | undefined;
  const interceptor: Interceptor = (options, nextCall) => {
    // A call that the SDK has retried can't be cancelled any more, but a long poll for history must be cancellable.
    if (options.method_definition.path.endsWith(longPoll)) return nextCall(options) as ReturnType<Interceptor>;
    let failed: Status | undefined;
    let isClosed = false;
    const retry = makeGrpcRetryInterceptor({
      // As long as the SDK's own retries (some 18 s in all), but with short waits.
      delayFunction: (attempt) => Math.min(100 * 1.7 ** attempt, 600) * (0.8 + Math.random() * 0.4),
      retryableDecider(attempt, status) {
        failed = status;
        if (status.code === grpc.unavailable && connection) noteAway(connection, status.details);
        return !isClosed && attempt < 30 && retryable.includes(status.code);
      },
    });
    return retry(options, (again) => {
      try {
        return nextCall(again);
      } catch (error) {
        if (!failed) throw error;
        // The connection was closed while the call waited for its next attempt. Thrown from a timer of the SDK, this error would end the process.
        isClosed = true;
        return endedCall(failed);
      }
    });
  };
  return {
    options: { channelArgs, interceptors: [interceptor] },
    belongsTo: (to) => {
      connection = to;
    },
  };
}

type Call = ReturnType<Parameters<Interceptor>[1]>;

/** A call that ends with the status of the previous one. */
function endedCall(status: Status): Call {
  const nothing = () => undefined;
  const start: Call['start'] = (_, listener) => setImmediate(() => listener?.onReceiveStatus?.(status));
  return {
    start,
    cancelWithStatus: nothing,
    getPeer: () => '',
    sendMessage: nothing,
    sendMessageWithContext: nothing,
    startRead: nothing,
    halfClose: nothing,
    getAuthContext: () => null,
  };
}

const longPoll = '/GetWorkflowExecutionHistory';
const retryable: readonly number[] = [grpc.unknown, grpc.resourceExhausted, grpc.aborted, grpc.unavailable];

const channelArgs = {
  // A page of history may be larger than gRPC's default of 4 MB; the server limits it.
  'grpc.max_receive_message_length': 128 * 1024 * 1024,
  'grpc.initial_reconnect_backoff_ms': 200,
  'grpc.max_reconnect_backoff_ms': 1_000,
  // A restarted server may have another address.
  'grpc.dns_min_time_between_resolutions_ms': 1_000,
  // Temporal's frontend closes connections that ping more often than every 10 s.
  'grpc.keepalive_time_ms': 10_500,
  'grpc.keepalive_timeout_ms': 3_000,
  'grpc.keepalive_permit_without_calls': 1,
  channelFactoryOverride: renewedChannel,
};
