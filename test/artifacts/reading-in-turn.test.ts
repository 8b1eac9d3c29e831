import { type ArtifactStore, Artifacts, memoryArtifacts } from '../../src/artifacts';

const { signal } = new AbortController();

async function storedIn(artifacts: Artifacts, threadId: string, content: string): Promise<string> {
  return (await artifacts.keep(threadId, Buffer.from(content), 'text/plain'))?.id ?? '';
}

/** A store that counts what is read of it, and how much at the same time. */
function countingStore() {
  const memory = memoryArtifacts();
  const counted = { reads: 0, atOnce: 0, mostAtOnce: 0 };
  const get: ArtifactStore['get'] = async (key, signal) => {
    counted.reads += 1;
    return memory.get(key, signal);
  };
  const work = async (): Promise<void> => {
    counted.atOnce += 1;
    counted.mostAtOnce = Math.max(counted.mostAtOnce, counted.atOnce);
    await new Promise((next) => setImmediate(next));
    counted.atOnce -= 1;
  };
  return { counted, work, artifacts: new Artifacts({ ...memory, get }) };
}

test('a hundred uses of one output read it once, and run one after another', async () => {
  const { artifacts, counted, work } = countingStore();
  const id = await storedIn(artifacts, 't', 'some output');
  await Promise.all(Array.from({ length: 100 }, () => artifacts.use('t', id, signal, work)));
  expect(counted).toMatchObject({ reads: 1, mostAtOnce: 1 });
});

test('an output is read only when the work with all earlier ones is done, also of other workers of the process', async () => {
  const [first, second] = [countingStore(), countingStore()];
  const [a, b] = [await storedIn(first.artifacts, 't', 'a'), await storedIn(second.artifacts, 'u', 'b')];
  let finish = (): void => undefined;
  const busy = first.artifacts.use('t', a, signal, () => new Promise<void>((done) => { finish = done; })); // biome-ignore format: one line
  const waiting = second.artifacts.use('u', b, signal, second.work);
  while (first.counted.reads === 0) await new Promise((next) => setImmediate(next));
  for (let i = 0; i < 10; i++) await new Promise((next) => setImmediate(next));
  expect(second.counted.reads).toBe(0);
  finish();
  await Promise.all([busy, waiting]);
  expect(second.counted.reads).toBe(1);
});

test('threads take turns, so that one with many requests does not hold up another', async () => {
  const { artifacts } = countingStore();
  const [many, one] = [await storedIn(artifacts, 'many', 'a'), await storedIn(artifacts, 'one', 'b')];
  const order: string[] = [];
  const use = (threadId: string, id: string) => artifacts.use(threadId, id, signal, async () => void order.push(threadId));
  await Promise.all([...Array.from({ length: 10 }, () => use('many', many)), use('one', one)]);
  expect(order.indexOf('one')).toBeLessThan(3);
});

test('another thread with the same reference is not given the output in memory', async () => {
  const { artifacts } = countingStore();
  const id = await storedIn(artifacts, 't', 'secret');
  await artifacts.use('t', id, signal, async () => undefined);
  await expect(artifacts.use('u', id, signal, async () => undefined)).rejects.toThrow('This thread has no stored output');
});

test('work that was given up while it waited reads nothing, and failed work does not stop the next', async () => {
  const { artifacts, counted, work } = countingStore();
  const id = await storedIn(artifacts, 't', 'some output');
  const failed = artifacts.use('t', id, signal, () => Promise.reject(new Error('first')));
  const late = artifacts.use('t', 'f'.repeat(32), AbortSignal.abort(new Error('given up')), work);
  const next = artifacts.use('t', id, signal, work);
  await expect(failed).rejects.toThrow('first');
  await expect(late).rejects.toThrow('given up');
  await next;
  expect(counted.reads).toBe(1);
});

test('an output is not kept in memory for long', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'performance'] });
  try {
    const { artifacts, counted, work } = countingStore();
    const id = await storedIn(artifacts, 't', 'some output');
    await artifacts.use('t', id, signal, work);
    await jest.advanceTimersByTimeAsync(10_000);
    await artifacts.use('t', id, signal, work);
    expect(counted.reads).toBe(2);
  } finally {
    jest.useRealTimers();
  }
});
