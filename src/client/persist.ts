import type { ConnectionLike } from '@temporalio/client';
import { grpc, grpcCode, LonghaulError, wordsOf } from './errors';
import { isNoWorker } from './thread-errors';

/** What is needed of a connection. */
export interface Reachable extends Pick<ConnectionLike, 'withDeadline'> {
  workflowService: { getSystemInfo(request: object): Promise<unknown> };
}

/** Longer than a server takes to come back. The SDK gives up after 15 to 20 s. */
const patienceMs = 90_000;
/** A server that is just coming up answers with these for a few seconds; one that goes on doing so means it. */
const startingUp: readonly number[] = [grpc.aborted, grpc.internal, grpc.unknown];
const startingUpMs = 20_000;
/** Workers look for a server that went away every ten seconds, so that what needs one must wait longer than that once it is back. */
const workersReturnMs = 20_000;

/** Does something that may safely be done twice, until the server is there to do it. Each try has its own deadline. */
export async function persist<T>(connection: Reachable, what: string, action: () => Promise<T>, deadlineMs = 10_000): Promise<T> {
  const began = Date.now();
  let withinMs = deadlineMs;
  for (let wait = 200; ; wait = Math.min(wait * 2, 2_000)) {
    try {
      return await connection.withDeadline(Date.now() + withinMs, action);
    } catch (error) {
      if ((error as Error).name === 'NamespaceNotFoundError') throw noNamespace(what, error);
      const away = grpcCode(error) === grpc.unavailable || (isNoWorker(error) && (await isAway(connection)));
      const code = away ? grpc.unavailable : (grpcCode(error) ?? grpc.invalidArgument);
      const waitedMs = Date.now() + wait - began;
      if (startingUp.includes(code) && waitedMs > startingUpMs) throw error;
      if (code !== grpc.unavailable && !startingUp.includes(code)) throw error;
      if (waitedMs > patienceMs) {
        const message = `${what}: Temporal was away for ${patienceMs / 1000} s (${wordsOf(error)}). Is it running?`;
        throw new LonghaulError('unreachable', message, undefined, { cause: error });
      }
      await pause(wait);
      if (!away) continue;
      while (Date.now() - began < patienceMs && (await isAway(connection))) await pause(500);
      withinMs = Math.max(deadlineMs, workersReturnMs);
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** A deadline may pass because no worker answers, or because the server is away and the SDK tried again until then. */
async function isAway(connection: Reachable): Promise<boolean> {
  try {
    await connection.withDeadline(Date.now() + 2_000, () => connection.workflowService.getSystemInfo({}));
    return false;
  } catch {
    return true;
  }
}

function noNamespace(what: string, cause: unknown): LonghaulError {
  const { namespace = '' } = cause as { namespace?: string };
  const remedy = `Set TEMPORAL_NAMESPACE to one that it has, or create it: temporal operator namespace create -n ${namespace || 'NAME'}`;
  return new LonghaulError('namespace-not-found', `${what}: Temporal has no namespace "${namespace}". ${remedy}`, undefined, { cause });
}
