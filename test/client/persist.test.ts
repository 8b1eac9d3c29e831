import { grpc } from '../../src/client/errors';
import { persist, type Reachable } from '../../src/client/persist';

const away = () => Object.assign(new Error('14 UNAVAILABLE: connection refused'), { code: grpc.unavailable });

/** A server that is away until a moment of the fake clock, and a connection to it that notes the deadlines it was given. */
function server(backAt: number): { deadlines: number[]; connection: Reachable; action: () => Promise<string> } {
  const deadlines: number[] = [];
  const action = async () => {
    if (Date.now() < backAt) throw away();
    return 'done';
  };
  const withDeadline = <R>(deadline: number | Date, work: () => Promise<R>): Promise<R> => {
    if ((work as unknown) === action) deadlines.push(Number(deadline) - Date.now());
    return work();
  };
  return { deadlines, action, connection: { withDeadline, workflowService: { getSystemInfo: action } } };
}

beforeEach(() => jest.useFakeTimers({ now: 0 }));
afterEach(() => jest.useRealTimers());

async function settle<T>(work: Promise<T>): Promise<{ value?: T; error?: any; tookMs: number }> {
  const began = Date.now();
  const settled = work.then(
    (value) => ({ value, tookMs: Date.now() - began }),
    (error: unknown) => ({ error, tookMs: Date.now() - began }),
  );
  await jest.advanceTimersByTimeAsync(200_000);
  return settled;
}

test('what works at once is done once, with a deadline', async () => {
  const { connection, action, deadlines } = server(0);
  expect(await settle(persist(connection, 'start', action, 5_000))).toEqual({ value: 'done', tookMs: 0 });
  expect(deadlines).toEqual([5_000]);
});

test('a server that is away for a minute is waited for, and every try has a deadline', async () => {
  const { connection, action, deadlines } = server(60_000);
  const { value, tookMs } = await settle(persist(connection, 'start', action));
  expect(value).toBe('done');
  expect(tookMs).toBeGreaterThanOrEqual(60_000);
  expect(tookMs).toBeLessThan(63_000);
  expect(Math.min(...deadlines)).toBeGreaterThanOrEqual(10_000);
});

test('a server that stays away is given up on after a minute and a half, with words', async () => {
  const { connection, action } = server(Number.POSITIVE_INFINITY);
  const { error, tookMs } = await settle(persist(connection, 'start', action));
  expect(error).toMatchObject({
    name: 'LonghaulError',
    code: 'unreachable',
    message: expect.stringMatching(/^start: Temporal was away for 90 s .*Is it running\?$/),
  });
  expect(tookMs).toBeGreaterThan(85_000);
  expect(tookMs).toBeLessThan(95_000);
});

test('an error that waiting does not mend is told at once', async () => {
  const { connection } = server(0);
  let tries = 0;
  const refused = async () => {
    tries += 1;
    throw Object.assign(new Error('no'), { code: grpc.notFound });
  };
  expect(await settle(persist(connection, 'start', refused))).toMatchObject({ error: { code: grpc.notFound }, tookMs: 0 });
  expect(tries).toBe(1);
});
