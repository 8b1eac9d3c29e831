/** How the probe of a `verify` tool is asked: how often, if it throws or takes too long, the time of each try, and the wait before the next. */
export const probing = { tries: 3, timeoutMs: 10_000, waitMs: 1_000 } as const;

/** The waits of `probe-again`, in milliseconds, each followed by a probe: about 40 minutes in all. */
export const probeAgainMs: readonly number[] = [5, 10, 20, 40, 80, 160, 320, 600, 600, 600].map((seconds) => seconds * 1_000);

/** What all tries may take, with the time after each timeout in which a function may still return. */
export const longestProbeMs = probing.tries * (probing.timeoutMs + 3_000 + probing.waitMs);
