import { AsyncLocalStorage } from 'node:async_hooks';

const namespaces = new AsyncLocalStorage<string>();

/** Everything that `work` does is done for threads of this namespace. `namespaceId` is the id that the server gave it, which no other server has. */
export function withinNamespace<T>(namespaceId: string, work: () => T): T {
  return namespaces.run(namespaceId, work);
}

/** By which commands in the background belong to a thread. Threads of several namespaces can have the same id. */
export function threadKey(threadId: string, namespaceId = namespaces.getStore()): string {
  return namespaceId === undefined ? threadId : `${namespaceId}/${threadId}`;
}

/** The id of the thread of a key; `undefined` if it is of another namespace. */
export function threadOf(key: string, namespaceId: string): string | undefined {
  const start = threadKey('', namespaceId);
  return key.startsWith(start) ? key.slice(start.length) : undefined;
}
