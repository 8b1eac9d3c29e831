import { z } from 'zod';
import { defineTool } from '../../src/tools/defining/define-tool';
import { type SuspendOptions, suspend } from '../../src/tools/defining/suspend';
import { run } from './tool-host';

const toolThat = (execute: (args: unknown, ctx: { signal: AbortSignal }) => unknown, more: object = {}) =>
  defineTool({ name: 'mail', description: 'Mail.', input: z.object({}), execute: execute as never, ...more });

test('[A118] the model gets the result, and the run is suspended with the options of the tool', async () => {
  const metadata = { to: 'dana', resumeAs: 'user' };
  const tool = toolThat(() => suspend({ result: { sent: true }, correlationId: 'mail-7', ttlMs: 3_600_000, metadata }));
  expect((await run(tool, {})).outcome).toMatchObject({
    status: 'success',
    content: '{"sent":true}',
    suspend: { correlationId: 'mail-7', ttlMs: 3_600_000, metadata },
  });
});

test('[A118] without a correlation id it gets a unique one', async () => {
  const tool = toolThat(async () => suspend({ result: 'Sent.' }));
  const outcomes = [(await run(tool, {})).outcome, (await run(tool, {})).outcome];
  for (const outcome of outcomes) {
    expect(outcome.content).toBe('Sent.');
    expect(outcome.suspend).toEqual({ correlationId: expect.stringMatching(/^[0-9a-f-]{36}$/) });
  }
  expect(outcomes[0]?.suspend?.correlationId).not.toBe(outcomes[1]?.suspend?.correlationId);
});

test('an object of the same shape is a result like any other', async () => {
  const { outcome } = await run(
    toolThat(() => ({ result: 'Sent.', suspension: { correlationId: 'x' } })),
    {},
  );
  expect(outcome.suspend).toBeUndefined();
  expect(outcome.content).toBe('{"result":"Sent.","suspension":{"correlationId":"x"}}');
});

test('a call that was cut short requests no suspension, and its message is reported', async () => {
  const tool = toolThat(
    (_args, { signal }) => new Promise((end) => signal.addEventListener('abort', () => end(suspend({ result: 'Half sent.' })))),
    { timeoutMs: 20 },
  );
  const { outcome } = await run(tool, {});
  expect(outcome).toMatchObject({ status: 'timed-out', content: expect.stringMatching(/timed out after 20 ms\.\nHalf sent\.$/) });
  expect(outcome.suspend).toBeUndefined();
});

const circle: { self?: unknown } = {};
circle.self = circle;
test.each([
  ['an empty correlation id', { correlationId: ' ' }, /correlationId must be a well-formed string of 1 to 1000/],
  ['a correlation id as long as a page', { correlationId: 'x'.repeat(1_001) }, /correlationId/],
  ['no time', { ttlMs: 0 }, /ttlMs is 0; use milliseconds above 0/],
  ['time without end', { ttlMs: Number.POSITIVE_INFINITY }, /ttlMs is Infinity/],
  ['metadata that is no object', { metadata: 'x' }, /metadata must be an object/],
  ["metadata JSON can't write", { metadata: circle }, /metadata can't be written as JSON/],
  ['metadata without end', { metadata: { x: 'x'.repeat(9_000) } }, /metadata has 9008 bytes; at most 8192/],
])('%s is reported to the tool, and by it to the model', async (_what, wrong, message) => {
  const tool = toolThat(() => suspend({ result: 'x', ...wrong } as SuspendOptions));
  expect((await run(tool, {})).outcome).toMatchObject({
    status: 'failed',
    error: { name: 'TypeError', message: expect.stringMatching(message) },
  });
});
