import { grpc } from '../../src/client/errors';
import { persist, persistForWorker } from '../../src/client/persist';
import type { Reachable } from '../../src/client/reach';

const failure = (code: number, words: string) => Object.assign(new Error(words), { code });
const away = () => failure(grpc.unavailable, '14 UNAVAILABLE: connection refused');
const lapsed = () => failure(grpc.deadlineExceeded, '4 DEADLINE_EXCEEDED: Deadline exceeded');

interface Server {
  deadlines: number[];
  connection: Reachable;
  action: () => Promise<string>;
}

/**
 * A server on a fake clock. `awayUntil`: it refuses until then. `silentUntil`: it is up, and a request gets no answer until then, so that
 * its deadline passes.
 */
function server({ awayUntil = 0, silentUntil = 0 }: { awayUntil?: number; silentUntil?: number }): Server {
  const deadlines: number[] = [];
  let deadline = 0;
  const action = async () => {
    if (Date.now() < awayUntil) throw away();
    if (Date.now() < silentUntil) {
      const by = deadline;
      await new Promise((resolve) => setTimeout(resolve, Math.min(by, silentUntil) - Date.now()));
      if (by <= silentUntil) throw lapsed();
    }
    return 'done';
  };
  const withDeadline = <R>(at: number | Date, work: () => Promise<R>): Promise<R> => {
    if ((work as unknown) === action) {
      deadline = Number(at);
      deadlines.push(deadline - Date.now());
    }
    return work();
  };
  const getSystemInfo = async () => {
    if (Date.now() < awayUntil) throw away();
  };
  return { deadlines, action, connection: { withDeadline, workflowService: { getSystemInfo } } };
}

beforeEach(() => jest.useFakeTimers({ now: 0 }));
afterEach(() => jest.useRealTimers());

async function settle<T>(work: Promise<T>, withinMs = 200_000): Promise<{ value?: T; error?: any; tookMs: number }> {
  const began = Date.now();
  const settled = work.then(
    (value) => ({ value, tookMs: Date.now() - began }),
    (error: unknown) => ({ error, tookMs: Date.now() - began }),
  );
  await jest.advanceTimersByTimeAsync(withinMs);
  return settled;
}

test('an action that works is done once, with a deadline', async () => {
  const { connection, action, deadlines } = server({});
  expect(await settle(persist(connection, 'start', action, { deadlineMs: 5_000 }))).toEqual({ value: 'done', tookMs: 0 });
  expect(deadlines).toEqual([5_000]);
});

test('it waits for a server that is unreachable for a minute, and every attempt has a deadline', async () => {
  const { connection, action, deadlines } = server({ awayUntil: 60_000 });
  const { value, tookMs } = await settle(persist(connection, 'start', action));
  expect(value).toBe('done');
  expect(tookMs).toBeGreaterThanOrEqual(60_000);
  expect(tookMs).toBeLessThan(62_500);
  expect(Math.min(...deadlines)).toBeGreaterThanOrEqual(10_000);
});

test('a caller without a time limit continues soon after a server has returned from an outage of an hour', async () => {
  const { connection, action } = server({ awayUntil: 3_600_000 });
  const waiting = persist(connection, 'reading events', action, { awayMs: Number.POSITIVE_INFINITY });
  const { value, tookMs } = await settle(waiting, 3_700_000);
  expect(value).toBe('done');
  expect(tookMs).toBeLessThan(3_602_500);
});

test.each([
  [undefined, '90'],
  [4_000, '4'],
])('it gives up on a server that stays unreachable when the caller wants, with a message: %s', async (awayMs, seconds) => {
  const { connection, action } = server({ awayUntil: Number.POSITIVE_INFINITY });
  const { error, tookMs } = await settle(persist(connection, 'start', action, { awayMs }));
  expect(error).toMatchObject({
    name: 'LonghaulError',
    code: 'unreachable',
    message: expect.stringMatching(new RegExp(`^start: Temporal was unavailable for ${seconds} s .*Is it running\\?$`)),
  });
  expect(tookMs).toBeGreaterThan(Number(seconds) * 900);
  expect(tookMs).toBeLessThan(Number(seconds) * 1_000 + 3_000);
});

test('a caller that is asked to stop stops during an outage', async () => {
  const { connection, action } = server({ awayUntil: Number.POSITIVE_INFINITY });
  const stop = new AbortController();
  setTimeout(() => stop.abort(new Error('enough')), 5_000);
  const waiting = persist(connection, 'start', action, { awayMs: Number.POSITIVE_INFINITY, signal: stop.signal });
  const { error, tookMs } = await settle(waiting);
  expect(error).toEqual(new Error('enough'));
  expect(tookMs).toBeLessThanOrEqual(5_500);
});

test('an error that waiting does not fix is reported immediately', async () => {
  const { connection } = server({});
  let tries = 0;
  const refused = async () => {
    tries += 1;
    throw failure(grpc.notFound, 'no');
  };
  expect(await settle(persist(connection, 'start', refused))).toMatchObject({ error: { code: grpc.notFound }, tookMs: 0 });
  expect(tries).toBe(1);
});

test('a deadline that passes says nothing about workers if none is needed: the action is retried', async () => {
  const { connection, action } = server({ silentUntil: 25_000 });
  expect(await settle(persist(connection, 'list', action))).toMatchObject({ value: 'done' });
  const silent = server({ silentUntil: Number.POSITIVE_INFINITY });
  expect(await settle(persist(silent.connection, 'list', silent.action))).toMatchObject({ error: { code: 'unreachable' } });
});

test('a missed deadline of a worker counts after a second one, within the time limit', async () => {
  const { connection, action, deadlines } = server({ silentUntil: Number.POSITIVE_INFINITY });
  const { error, tookMs } = await settle(persistForWorker(connection, 'send', action, { patienceMs: 2_000 }));
  expect(error).toMatchObject({ code: grpc.deadlineExceeded });
  expect(deadlines.length).toBeGreaterThan(1);
  expect(tookMs).toBeLessThan(3_000);
});

test('after an outage workers get the time to return, however short the time limit', async () => {
  // Back after 5 s, and workers poll again 10 s later.
  const { connection, action } = server({ awayUntil: 5_000, silentUntil: 15_000 });
  expect(await settle(persistForWorker(connection, 'send', action, { patienceMs: 1_000 }))).toMatchObject({ value: 'done' });
});
