/** How long code of a user's may think about a call before the engine decides without it. */
const patienceMs = 10_000;

/** What a rule answers. Rejects with what it threw, and when it takes longer: by default 10 s. */
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
