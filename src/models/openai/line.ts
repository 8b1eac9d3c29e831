import { Trouble } from './failure';

/**
 * The line to the provider during one call: it is hung up when the caller aborts, or when nothing comes for too long.
 * The SDK's own timeout ends with the response headers, so it never notices a stream that has stalled.
 */
export interface Line {
  /** For the request: aborting it destroys the socket. */
  signal: AbortSignal;
  /** Something came; the next must come within `ms`. */
  heard(ms: number): void;
  /** Why it was hung up, if silence was the reason. */
  silence(): Trouble | undefined;
  hangUp(): void;
  /** Stops watching; what is still open stays open. */
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
      timer = setTimeout(expire, ms, `its stream stalled: nothing for ${ms / 1_000} s`);
    },
    silence: () => silence,
    hangUp,
    release() {
      clearTimeout(timer);
      caller.removeEventListener('abort', hangUp);
    },
  };
}
