import { Trouble } from './failure';

/**
 * The connection to the provider during one call. It is closed when the caller aborts, or when no data arrives in time. The SDK's own
 * timeout ends with the response headers, so it never detects a stream that has stalled.
 */
export interface Line {
  /** For the request: aborting it destroys the socket. */
  signal: AbortSignal;
  /** Records that data arrived; the next must arrive within `ms`. */
  heard(ms: number): void;
  /** The timeout error, if a timeout closed the connection. */
  silence(): Trouble | undefined;
  hangUp(): void;
  /** Stops watching, without closing the connection. */
  release(): void;
}

export function openLine(caller: AbortSignal, firstByteMs: number): Line {
  const controller = new AbortController();
  let silence: Trouble | undefined;
  let limit: number | undefined;
  let timer = setTimeout(expire, firstByteMs, `it did not begin to answer within ${firstByteMs / 1_000} s`);

  function expire(words: string): void {
    silence = new Trouble({ kind: 'timeout', words });
    controller.abort();
  }
  const hangUp = () => controller.abort();
  caller.addEventListener('abort', hangUp, { once: true });

  return {
    signal: controller.signal,
    heard(ms) {
      if (ms === limit) return void timer.refresh();
      clearTimeout(timer);
      limit = ms;
      timer = setTimeout(expire, ms, `its stream stalled: no data for ${ms / 1_000} s`);
    },
    silence: () => silence,
    hangUp,
    release() {
      clearTimeout(timer);
      caller.removeEventListener('abort', hangUp);
    },
  };
}
