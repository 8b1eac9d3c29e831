import type { Context } from '@temporalio/activity';
import type { StepProgress } from '../../contract/activities';
import { heartbeatEvery, heartbeatTimeoutOf } from '../../core/takeover';
import type { ActivityDependencies } from './dependencies';

export interface Heartbeats {
  /** Sends a heartbeat now. */
  send(): void;
  end(): void;
}

/**
 * Sends heartbeats at an interval until `end`. Each heartbeat that reaches the server is billed, so they are as rare as the takeover time allows.
 * The first one is sent after one interval, so a shorter step costs none. Heartbeats contain the growing text only if `liveTextMs` is set, and are
 * then sent at that interval.
 */
export function heartbeats(
  context: Context,
  progress: () => StepProgress,
  { takeoverMs, liveTextMs }: Pick<ActivityDependencies, 'takeoverMs' | 'liveTextMs'>,
): Heartbeats {
  const allowedMs = heartbeatTimeoutOf(takeoverMs);
  const everyMs = heartbeatEvery(Math.min(context.info.heartbeatTimeoutMs ?? allowedMs, allowedMs));
  let sentAt = performance.now();
  let shown: string | undefined;
  const send = () => {
    const { text, ...rest } = progress();
    sentAt = performance.now();
    shown = text;
    context.heartbeat(liveTextMs === undefined ? rest : { ...rest, ...(text !== undefined && { text }), liveMs: liveTextMs });
  };
  const tickMs = Math.min(liveTextMs ?? everyMs, everyMs);
  const tick = () => {
    // The next tick would be too late.
    const isDue = performance.now() - sentAt > everyMs - tickMs;
    if (isDue || progress().text !== shown) send();
  };
  const timer = setInterval(liveTextMs === undefined ? send : tick, tickMs);
  return { send, end: () => clearInterval(timer) };
}
