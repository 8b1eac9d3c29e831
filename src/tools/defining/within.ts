/** How long user code may take to decide about a call before the engine decides without it. */
const patienceMs = 10_000;

/** Returns the rule's answer. Rejects if the rule throws, or takes longer than `ms` (default 10 s). */
export async function withinPatience<T>(rule: () => T | Promise<T>, ms = patienceMs): Promise<T> {
  let deadline: NodeJS.Timeout | undefined;
  try {
    return await Promise.race([
      (async () => rule())(),
      new Promise<never>((_, reject) => {
        deadline = setTimeout(() => reject(new Error(`no answer within ${ms / 1_000} s`)), ms);
      }),
    ]);
  } finally {
    clearTimeout(deadline);
  }
}
