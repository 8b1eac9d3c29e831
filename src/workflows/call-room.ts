import { bounds } from '../core/bounds';
import { fixedBytes } from '../core/context/carry';
import type { CallState, RunState } from '../core/state';
import { weightOf } from './growth';
import { hasHook } from './hooks';
import type { ThreadContext } from './thread-context';

/**
 * Whether another call of the answer may begin: `now`; `later`, when a running call is done; or `never`, because the results so far leave no room in the
 * history of this execution, which can't continue as new before the answer's calls are done.
 */
export type Room = 'now' | 'later' | 'never';

/**
 * The history at which no further call begins. A server terminates an execution at 50 MB, and a worker must be able to replay it within one workflow task.
 */
const historyBytes = 24_000_000;

/** Images and files in the results of one answer's calls. */
const mediaBytes = 8_000_000;

/** The text of a result: 50 KiB, or twice that as JSON. */
const textBytes = 110_000;

/** How often the history contains a result: from the tool, and, if there are hooks on it, in their input. */
const timesSeen = { withHooks: 2, without: 1 };

/**
 * What a result may contain, if it might fill the history together with those of the answer's other calls, or of other calls in the background. Other
 * media go to the store of outputs.
 */
export function mediaRoom({ calls }: RunState, background = false): { mediaBytes?: number } {
  const each = Math.floor(mediaBytes / Math.max(calls.length, background ? bounds.backgroundCalls : 0));
  return each < bounds.mediaBytes ? { mediaBytes: each } : {};
}

/** Whether a result has room that a hook wants once more. */
export function hasRoomForRetry({ growth }: ThreadContext): boolean {
  return growth.bytes <= historyBytes / 2;
}

/** Whether another call may begin beside those that have `begun` in this execution. */
export function roomForCall(thread: ThreadContext, run: RunState, begun: ReadonlySet<string>): Room {
  const own = run.calls.filter(({ id }) => begun.has(id));
  const running = own.filter(({ phase }) => phase === 'ready' || phase === 'running').length;
  const times = hasHook(thread, 'after:tool') ? timesSeen.withHooks : timesSeen.without;
  const { mediaBytes: media = bounds.mediaBytes } = mediaRoom(run);
  const expected = (running + 1) * times * (media + textBytes);
  const escapes = times * own.reduce((sum, call) => sum + escapedBytes(call), 0);
  if (thread.growth.bytes + escapes + expected <= historyBytes) return 'now';
  return running > 0 ? 'later' : 'never';
}

/** What a result takes in the history beyond the estimate by which growth counts it. */
function escapedBytes(call: CallState): number {
  return call.phase === 'done' ? fixedBytes(call.outcome) - weightOf(call.outcome) : 0;
}
