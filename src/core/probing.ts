/** How the probe of a `verify` tool is asked: how often, if it throws or takes too long, the time of each try, and the wait before the next. */
export const probing = { tries: 3, timeoutMs: 10_000, waitMs: 1_000 } as const;

/** What all tries may take, with the time after each timeout in which a function may still return. */
export const longestProbeMs = probing.tries * (probing.timeoutMs + 3_000 + probing.waitMs);
