import { Runtime } from '@temporalio/worker';
import { type ArtifactStore, Artifacts, artifactsAt } from '../artifacts';
import { show } from '../core/check-input';
import { isObject } from '../core/json';
import { messageOfThrown } from '../core/thrown';
import { type EncodingOptions, outputKeys } from '../encoding/encoding';

const methods = ['put', 'get', 'deleteThread', 'deleteUnusedSince'] as const satisfies (keyof ArtifactStore)[];

/** Returns a worker's access to its artifact store, if it has one. `place`: that of the environment. Throws `TypeError` for an invalid store. */
export function workerArtifacts(
  given: ArtifactStore | null | undefined,
  place: string | undefined,
  encoding: EncodingOptions,
): Artifacts | undefined {
  const store = given === undefined && place !== undefined ? artifactsAt(place) : given;
  if (store === undefined || store === null) return undefined;
  const missing = isObject(store) ? methods.find((method) => typeof store[method] !== 'function') : 'put';
  if (missing) {
    throw new TypeError(
      `createWorker: artifacts must be a store, such as folderArtifacts({ path }); ${show(store)} has no method \`${missing}\`.`,
    );
  }
  return new Artifacts(store, (words) => Runtime.instance().logger.warn(words), outputKeys(encoding));
}

const sweepEveryMs = 6 * 60 * 60 * 1_000;

/** Deletes the artifacts of threads that have stored nothing for `retentionMs`: now, and then every six hours, until the returned function is called. */
export function sweepArtifacts({ store }: Artifacts, retentionMs: number): () => void {
  const sweep = () =>
    Promise.resolve()
      .then(() => store.deleteUnusedSince(new Date(Date.now() - retentionMs)))
      .catch((error: unknown) => Runtime.instance().logger.warn(`Old outputs could not be deleted: ${messageOfThrown(error)}`));
  void sweep();
  const timer = setInterval(sweep, sweepEveryMs).unref();
  return () => clearInterval(timer);
}

export const defaultRetentionMs = 30 * 24 * 60 * 60 * 1_000;
