import type { Context } from '@temporalio/activity';
import { mayBegin } from '../../src/activities/steps/may-begin';

test('an attempt whose process was frozen after it was allowed to begin asks again before its effect, and does not begin if it is over', async () => {
  let now = 1_000;
  jest.spyOn(performance, 'now').mockImplementation(() => now);
  let asked = 0;
  let isOver = false;
  const heartbeat = async () => {
    asked += 1;
    if (isOver) throw Object.assign(new Error('not found'), { name: 'ActivityNotFoundError' });
  };
  const context = {
    info: { heartbeatTimeoutMs: 60_000, startToCloseTimeoutMs: 600_000, currentAttemptScheduledTimestampMs: Date.now() },
    client: { withDeadline: (_: number, ask: () => Promise<void>) => ask(), activity: { heartbeat } },
  } as unknown as Context;
  const mayStart = await mayBegin(context, {}, { always: true });
  expect([asked, mayStart()]).toEqual([1, undefined]);
  now += 31_000;
  await mayStart();
  expect(asked).toBe(2);
  isOver = true;
  await expect(mayStart()).rejects.toMatchObject({ type: 'BeganTooLate' });
});
