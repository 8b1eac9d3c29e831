/** Waits for a condition, and fails with `what` if it is not true by the deadline. A check that throws counts as false. */
export async function until(what: string, check: () => boolean | Promise<boolean>, deadlineMs = 60_000): Promise<void> {
  const deadline = Date.now() + deadlineMs;
  let thrown: unknown;
  do {
    try {
      if (await check()) return;
      thrown = undefined;
    } catch (error) {
      thrown = error;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  } while (Date.now() < deadline);
  throw new Error(`not within ${deadlineMs} ms: ${what}${thrown ? ` (${thrown})` : ''}`);
}
