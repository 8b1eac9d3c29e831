/** By name, the last work that was begun in this process. */
const last = new Map<string, Promise<unknown>>();

/** Does work after all work of the same name that was begun before it, whether that succeeded or not. */
export async function oneAtATime<T>(name: string, work: () => Promise<T>): Promise<T> {
  const before = last.get(name) ?? Promise.resolve();
  const mine = before.then(work, work);
  last.set(name, mine);
  try {
    return await mine;
  } finally {
    if (last.get(name) === mine) last.delete(name);
  }
}
