import type { Context } from '@temporalio/activity';
import type { StepProgress } from '../contract/activities';
import { heartbeatEvery, heartbeatTimeoutOf } from '../core/takeover';
import type { ActivityDependencies } from './dependencies';

export interface Heartbeats {
  /** One more, now. */
  send(): void;
  end(): void;
}

/**
 * Each heartbeat that reaches the server is billed, so they are as rare as the takeover allows; the first comes only after a while, and a
 * step that is over sooner costs none. The growing text goes with them only where the worker was told so, and then as often as it was told.
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
