/**
 * Waits for work of the user's, which may ignore its signal: `graceMs` after the abort it is abandoned, and `otherwise` gives the result, or
 * throws. Abandoned work may still reject later, without an unhandled rejection.
 */
export async function untilAbandoned<T>(work: PromiseLike<T>, signal: AbortSignal, graceMs: number, otherwise: () => T): Promise<T> {
  let grace: NodeJS.Timeout | undefined;
  let onAbort = () => {};
  const abandoned = new Promise<void>((giveUp) => {
    onAbort = () => {
      grace = setTimeout(giveUp, graceMs);
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work, abandoned.then(otherwise)]);
  } finally {
    clearTimeout(grace);
    signal.removeEventListener('abort', onAbort);
  }
}
