import { Runtime } from '@temporalio/worker';
import { type ArtifactStore, Artifacts, memoryArtifacts } from '../../src/artifacts';
import { sweepArtifacts, workerArtifacts } from '../../src/worker/artifacts';
import { until } from '../support/until';

test('a worker has the store that it is given, else that of the environment, else none', () => {
  const store = memoryArtifacts();
  expect(workerArtifacts(store, '/elsewhere', {})?.store).toBe(store);
  expect(workerArtifacts(undefined, '/elsewhere', {})?.store).toHaveProperty('put');
  expect(workerArtifacts(null, '/elsewhere', {})).toBeUndefined();
  expect(workerArtifacts(undefined, undefined, {})).toBeUndefined();
});

test.each([[{}], ['/path'], [{ ...memoryArtifacts(), deleteThread: 1 }]])('what is no store is refused: %j', (given) => {
  expect(() => workerArtifacts(given as unknown as ArtifactStore, undefined, {})).toThrow(
    /^createWorker: artifacts must be a store, such as folderArtifacts\(\{ path \}\); .* has no method `(put|deleteThread)`/,
  );
});

test('outputs of threads that have stored nothing for the retention time are deleted when the worker starts', async () => {
  const artifacts = new Artifacts(memoryArtifacts());
  const ref = await artifacts.keep('old', Buffer.from('x'), 'text/plain');
  await new Promise((next) => setTimeout(next, 20));
  const stop = sweepArtifacts(artifacts, 10);
  await until('the output is deleted', () => artifacts.read('old', ref?.id ?? '').then(() => false, () => true)); // biome-ignore format: one line
  stop();
});

test('a store that can not delete ends no worker', async () => {
  const warn = jest.spyOn(Runtime.instance().logger, 'warn').mockImplementation(() => undefined);
  const broken: ArtifactStore = {
    ...memoryArtifacts(),
    deleteUnusedSince: () => {
      throw new Error('away');
    },
  };
  const stop = sweepArtifacts(new Artifacts(broken), 10);
  await until('it is logged', () => warn.mock.calls.length > 0);
  expect(warn).toHaveBeenCalledWith('Old outputs could not be deleted: away');
  stop();
});
