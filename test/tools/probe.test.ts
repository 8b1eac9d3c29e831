import { z } from 'zod';
import { defineTool, type ProbeAnswer } from '../../src/tools';
import { createToolbox } from '../../src/tools/running/toolbox';
import { callOf, hostWith } from './tool-host';

type Probe = (key: string, n: number) => ProbeAnswer | Promise<ProbeAnswer>;

/** Asks the probe of a tool about a call, and returns the outcome and how often the probe was asked. */
async function asked(probe: Probe, host = hostWith()) {
  const asks: unknown[] = [];
  const tool = defineTool({
    name: 'pay',
    description: 'Pays.',
    input: z.object({ cents: z.number() }),
    effect: 'verify',
    execute: () => 'paid',
    probe(request, ctx) {
      asks.push({ ...request, toolCallId: ctx.toolCallId });
      return probe(request.idempotencyKey, asks.length);
    },
  });
  const execution = await createToolbox([tool]).probe(callOf('pay', { cents: 5 }), host);
  return { asks, outcome: execution?.outcome };
}

test('a probe gets the key and the arguments of the call, and its output is the outcome if the call was carried out', async () => {
  const { asks, outcome } = await asked(() => ({ status: 'done', output: { receipt: 7 } }));
  expect(asks).toEqual([{ idempotencyKey: 'key-1', args: { cents: 5 }, toolCallId: 'call-1' }]);
  expect(outcome).toEqual({ status: 'success', content: '{"receipt":7}' });
});

test('there is no outcome if the call was not carried out', async () => {
  expect((await asked(() => ({ status: 'not-done' }))).outcome).toBeUndefined();
});

test('a probe that can not tell makes the outcome unknown, with its reason', async () => {
  const { asks, outcome } = await asked(() => ({ status: 'unknown', reason: 'the bank is closed' }));
  expect(asks).toHaveLength(1);
  expect(outcome).toMatchObject({ status: 'unknown', content: expect.stringContaining('the bank is closed') });
});

test('without a probe, such as after a deploy that removed the tool, the outcome is unknown', async () => {
  const host = hostWith();
  expect(await createToolbox([]).probe(callOf('pay', { cents: 5 }), host)).toMatchObject({ outcome: { status: 'unknown' } });
  const keyed = defineTool({ name: 'pay', description: 'Pays.', input: z.object({}), effect: 'keyed', execute: () => 'paid' });
  expect(await createToolbox([keyed]).probe(callOf('pay', {}), host)).toMatchObject({ outcome: { status: 'unknown' } });
});

test('a probe that throws is asked again', async () => {
  const { asks, outcome } = await asked((_, n) => (n === 1 ? Promise.reject(new Error('no route')) : { status: 'done', output: 'paid' }));
  expect(asks).toHaveLength(2);
  expect(outcome).toMatchObject({ status: 'success', content: 'paid' });
});

test.each([
  ['throws each time', () => Promise.reject(new Error('no route')), 'no route'],
  ['answers something else', () => true as never, "something other than { status: 'done', output }"],
])('a probe that %s three times makes the outcome unknown', async (_, probe, why) => {
  const { asks, outcome } = await asked(probe);
  expect(asks).toHaveLength(3);
  expect(outcome).toMatchObject({ status: 'unknown', content: expect.stringContaining(why), error: { name: 'OutcomeUnknownError' } });
});

test('a cancel while the probe is asked makes the call cancelled', async () => {
  const controller = new AbortController();
  const probe = () => {
    controller.abort();
    return Promise.reject(new Error('aborted'));
  };
  expect((await asked(probe, hostWith({ signal: controller.signal }))).outcome).toMatchObject({ status: 'cancelled' });
});

const cycle: Record<string, unknown> = {};
cycle.self = cycle;

test.each([
  ['a number that JSON does not have', 7n],
  ['an object that contains itself', cycle],
])('a call that was carried out does not count as failed if the output of its probe is %s', async (_, output) => {
  const { outcome } = await asked(() => ({ status: 'done', output }));
  expect(outcome).toMatchObject({ status: 'success', content: expect.stringContaining('pay was carried out, but the output') });
});

const revoked = Proxy.revocable({}, {});
revoked.revoke();

test.each<[string, unknown, string]>([
  ['an error', new Error('the bank is down'), 'the bank is down'],
  ['an error whose cause is unreadable', new Error('the bank is down', { cause: revoked.proxy }), 'the bank is down'],
  ['a number', 42, '42'],
  ['a symbol', Symbol('closed'), 'Symbol(closed)'],
  ['an object', { code: 503 }, '503'],
  ['a list', ['closed'], 'closed'],
  ['a proxy', revoked.proxy, 'It failed without an error message'],
  ['null', null, "can't tell"],
])('a probe that can not tell makes the outcome unknown, also if its reason is %s', async (_, reason, said) => {
  const { asks, outcome } = await asked(() => ({ status: 'unknown', reason }) as never);
  expect(asks).toHaveLength(1);
  expect(outcome).toMatchObject({ status: 'unknown', content: expect.stringContaining(said) });
});

function throwing(): never {
  throw new Error('no such field');
}

test.each<[string, () => object]>([
  ['status', () => Object.defineProperty({}, 'status', { get: throwing })],
  ['output', () => Object.defineProperty({ status: 'done' }, 'output', { get: throwing })],
  ['reason', () => Object.defineProperty({ status: 'unknown' }, 'reason', { get: throwing })],
])('an answer of a probe whose %s can not be read makes the outcome unknown', async (_, answer) => {
  const { outcome } = await asked(() => answer() as never);
  expect(outcome).toMatchObject({ status: 'unknown', content: expect.stringContaining('no such field') });
});

test('the status of an answer is read once, so that it can not change', async () => {
  const read: string[] = [];
  const answer = {
    get status() {
      return read.push('status') === 1 ? 'done' : 'odd';
    },
    output: 'paid',
  };
  expect((await asked(() => answer as never)).outcome).toMatchObject({ status: 'success', content: 'paid' });
  expect(read).toHaveLength(1);
});
