import type { Connection } from '@temporalio/client';
import { grpc, grpcCode, LonghaulError } from './errors';

/** Longer than a server takes to come back. The SDK gives up after 15 to 20 s. */
const patienceMs = 90_000;

/** Does something that may safely be done twice, until the server is there to do it. Each try has its own deadline. */
export async function persist<T>(connection: Connection, what: string, action: () => Promise<T>, deadlineMs = 10_000): Promise<T> {
  const until = Date.now() + patienceMs;
  for (let wait = 200; ; wait = Math.min(wait * 2, 2_000)) {
    try {
      return await connection.withDeadline(Date.now() + deadlineMs, action);
    } catch (error) {
      if (grpcCode(error) !== grpc.unavailable) throw error;
      if (Date.now() + wait > until) {
        throw new LonghaulError(
          'unreachable',
          `${what}: Temporal was away for ${patienceMs / 1000} s (${(error as Error).message}). Is it running?`,
          undefined,
          { cause: error },
        );
      }
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }
}
