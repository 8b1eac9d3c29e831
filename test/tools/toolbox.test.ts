import { z } from 'zod';
import { defineTool } from '../../src/tools/defining/define-tool';
import { ToolFailure } from '../../src/tools/defining/tool-failure';
import { createToolbox } from '../../src/tools/running/toolbox';
import { until } from '../support/until';
import { callOf, hostWith, run } from './tool-host';

const anything = z.object({});
const order = z.object({ orderId: z.string(), cents: z.number().int().positive(), tags: z.array(z.object({ a: z.string() })).optional() });

function toolThat(execute: (args: never, ctx: never) => unknown, more: object = {}) {
  return defineTool({ name: 'tool', description: 'A tool.', input: anything, execute: execute as never, ...more });
}

describe('the verdict on a call', () => {
  const refund = defineTool({ name: 'refund', description: 'Refund.', input: order, effect: 'keyed', execute: () => 'ok' });
  const box = createToolbox([refund, defineTool({ name: 'ask', description: 'Ask.', input: anything })]);

  test('a valid call runs with the options of the tool', async () => {
    expect(await box.judge(callOf('refund', { orderId: '1', cents: 5 }))).toEqual({ kind: 'run', effect: 'keyed', timeoutMs: 30_000 });
  });

  test('a tool without execute is answered from outside', async () => {
    expect(await box.judge(callOf('ask', {}))).toEqual({ kind: 'external' });
  });

  test('[A40] [B13] [B26] an unknown tool is rejected, with the names of the available tools', async () => {
    const error = { name: 'ToolNotFoundError', message: "Unknown tool 'refnd'. Available tools: refund, ask." };
    expect(await box.judge(callOf('refnd', {}))).toEqual({ kind: 'reject', error });
    const { outcome } = await box.execute(callOf('refnd', {}), hostWith());
    expect(outcome).toMatchObject({ status: 'rejected', content: `Error: ${error.message}`, error });
  });

  test.each(['constructor', '__proto__', 'toString'])('a tool named like something every object has is unknown: %s', async (name) => {
    expect(await box.judge(callOf(name, {}))).toMatchObject({ kind: 'reject', error: { name: 'ToolNotFoundError' } });
  });

  test.each(['{"orderId": "1", ', 'orderId=1', "{'orderId': '1'}"])(
    '[A43] [B11] [B27] malformed JSON is rejected with an error that lets the model correct it: %s',
    async (text) => {
      const verdict = await box.judge(callOf('refund', text));
      expect(verdict).toMatchObject({ kind: 'reject', error: { name: 'InvalidToolArgumentsError' } });
      const message = verdict.kind === 'reject' ? verdict.error.message : '';
      expect(message).toMatch(/'refund'.*not valid JSON.*Send one JSON object/);
      expect(message).toContain(text);
    },
  );

  test.each(['', '  \n'])('[A44] missing arguments are an empty object (%j)', async (text) => {
    const echo = toolThat((args) => args);
    expect((await run(echo, text)).outcome).toMatchObject({ status: 'success', content: '{}' });
  });

  test.each(['[]', '"text"', '7', 'null', 'true'])('JSON that is not an object is rejected: %s', async (text) => {
    expect(await box.judge(callOf('ask', text))).toMatchObject({
      kind: 'reject',
      error: { message: expect.stringContaining('must be one JSON object') },
    });
  });

  test('an unknown tool is reported with as many names as a model can read', async () => {
    const extraTools = Array.from({ length: 2_000 }, (_, at) => ({ name: `tool_${at}`, description: '', parameters: {} }));
    const verdict = await createToolbox([]).judge(callOf('nope', {}), { extraTools });
    expect(verdict).toMatchObject({ kind: 'reject', error: { message: expect.stringMatching(/^.{4000,4100}…\.$/) } });
  });

  test('[A41] [B28] a violation of the schema lists every problem with its location, and the tool does not run', async () => {
    const execute = jest.fn();
    const tool = defineTool({ name: 'refund', description: 'Refund.', input: order, execute });
    const { outcome } = await run(tool, { cents: -1, tags: [{ a: 'x' }, {}] });
    expect(outcome).toMatchObject({ status: 'rejected', error: { name: 'InvalidToolArgumentsError' } });
    for (const place of ['- orderId: ', '- cents: ', '- tags[1].a: ']) expect(outcome.content).toContain(place);
    expect(execute).not.toHaveBeenCalled();
  });

  test('a union reports what each of its forms lacks', async () => {
    const input = z.object({ to: z.union([z.object({ mail: z.string() }), z.object({ phone: z.string() })]) });
    const tool = defineTool({ name: 'send', description: 'Send.', input });
    const verdict = await createToolbox([tool]).judge(callOf('send', { to: {} }));
    expect(verdict).toMatchObject({ error: { message: expect.stringMatching(/to\.mail.*; or to\.phone/) } });
  });

  test('an exception in the check of an author counts as invalid arguments', async () => {
    const input = z.object({
      n: z.number().refine(() => {
        throw new Error('lookup down');
      }),
    });
    const tool = defineTool({ name: 'check', description: 'Check.', input });
    expect(await createToolbox([tool]).judge(callOf('check', { n: 1 }))).toMatchObject({
      kind: 'reject',
      error: { message: expect.stringContaining('lookup down') },
    });
  });

  test('two tools with one name are refused, the same tool twice is not', () => {
    expect(() => createToolbox([refund, { ...refund }])).toThrow(/Two tools are named 'refund'/);
    expect(createToolbox([refund, refund]).names()).toEqual(['refund']);
  });
});

describe('approval', () => {
  const judged = async (approval: unknown) => {
    const tool = defineTool({ name: 'refund', description: 'Refund.', input: order, approval: approval as 'never', execute: () => 'ok' });
    const verdict = await createToolbox([tool]).judge(callOf('refund', { orderId: '1', cents: 6_000 }));
    return 'approval' in verdict ? verdict.approval : verdict.kind === 'reject' ? verdict : undefined;
  };

  test.each([
    ['never', 'never', undefined],
    ['always', 'always', {}],
    ['a rule that says yes', ({ cents }: { cents: number }) => cents > 5_000, {}],
    ['a rule that says no', () => false, undefined],
    ['a rule that takes its time', async () => true, {}],
    ['a reason', () => 'more than 50', { reason: 'more than 50' }],
    ['an empty reason', () => '', {}],
    [
      'a rule that throws',
      () => {
        throw new Error('no rates');
      },
      { reason: 'The approval rule failed: no rates' },
    ],
    ['a rule that rejects', () => Promise.reject(new Error('no rates')), { reason: 'The approval rule failed: no rates' }],
    ['a rule that forgets to answer', () => undefined, { reason: 'The approval rule returned an invalid answer.' }],
    ['a rule that answers nonsense', () => 0, { reason: 'The approval rule returned an invalid answer.' }],
  ])('%s', async (_what, rule, expected) => {
    expect(await judged(rule)).toEqual(expected);
  });

  test('the rule gets only arguments that match the schema', async () => {
    const rule = jest.fn(() => false);
    const tool = defineTool({ name: 'refund', description: 'Refund.', input: order, approval: rule });
    expect(await createToolbox([tool]).judge(callOf('refund', { cents: 'all' }))).toMatchObject({ kind: 'reject' });
    expect(rule).not.toHaveBeenCalled();
  });

  test('a rule that never answers means that approval is needed', async () => {
    jest.useFakeTimers();
    try {
      const asked = judged(() => new Promise(() => {}));
      await jest.advanceTimersByTimeAsync(10_000);
      expect(await asked).toEqual({ reason: 'The approval rule failed: no answer within 10 s' });
    } finally {
      jest.useRealTimers();
    }
  });
});

describe('running a call', () => {
  test('[A32] [B148] text stays text, parts stay parts, and other values become JSON', async () => {
    const parts = [
      { type: 'text', text: 'a' },
      { type: 'image', url: 'data:image/png;base64,AA==' },
    ];
    expect(
      (
        await run(
          toolThat(() => 'plain'),
          {},
        )
      ).outcome,
    ).toMatchObject({ status: 'success', content: 'plain' });
    expect(
      (
        await run(
          toolThat(() => parts),
          {},
        )
      ).outcome.content,
    ).toEqual(parts);
    expect(
      (
        await run(
          toolThat(() => ({ a: [1, true] })),
          {},
        )
      ).outcome.content,
    ).toBe('{"a":[1,true]}');
    expect(
      (
        await run(
          toolThat(() => []),
          {},
        )
      ).outcome.content,
    ).toBe('[]');
  });

  test.each([undefined, null])('[A35] %s becomes null', async (value) => {
    expect(
      (
        await run(
          toolThat(() => value),
          {},
        )
      ).outcome,
    ).toMatchObject({ status: 'success', content: 'null' });
  });

  test('[A48] the tool receives its arguments and its context', async () => {
    const seen = jest.fn();
    const progress = jest.fn();
    const tool = toolThat(seen, { input: z.object({ n: z.coerce.number() }) });
    await run(tool, { n: '4' }, { attempt: 2, workspace: '/srv/../srv/work', progress, now: () => new Date(0) });
    const [args, ctx] = seen.mock.calls[0];
    expect(args).toEqual({ n: 4 });
    expect(ctx).toMatchObject({
      idempotencyKey: 'key-1',
      threadId: 'thread-1',
      runId: 'run-1',
      toolCallId: 'call-1',
      attempt: 2,
      workspace: '/srv/work',
    });
    expect(ctx.now()).toEqual(new Date(0));
    ctx.progress('late');
    expect(progress).not.toHaveBeenCalled();
  });

  test('progress is reported while the call runs', async () => {
    const progress = jest.fn();
    await run(
      toolThat((_args, ctx: { progress(text: string): void }) => ctx.progress('half')),
      {},
      { progress },
    );
    expect(progress.mock.calls).toEqual([['half']]);
  });

  test('[B149] a dependency is created once per call, on first use, and the context has a signal and a clock', async () => {
    const make = jest.fn(async (ctx: { threadId: string }) => ({ db: ctx.threadId }));
    const unused = jest.fn();
    const tool = toolThat(async (_args, ctx: { resolve(name: string): Promise<unknown>; signal: AbortSignal; now(): Date }) => {
      const [a, b] = await Promise.all([ctx.resolve('db'), ctx.resolve('db')]);
      return { same: a === b && a === (await ctx.resolve('db')), a, aborted: ctx.signal.aborted, clock: ctx.now().getTime() > 0 };
    });
    const dependencies = { db: make, unused };
    expect((await run(tool, {}, { dependencies })).outcome.content).toBe(
      '{"same":true,"a":{"db":"thread-1"},"aborted":false,"clock":true}',
    );
    expect(make).toHaveBeenCalledTimes(1);
    await run(tool, {}, { dependencies });
    expect(make).toHaveBeenCalledTimes(2);
    expect(unused).not.toHaveBeenCalled();
  });

  test('an unknown dependency is an error that lists the known ones', async () => {
    const tool = toolThat((_args, ctx: { resolve(name: string): unknown }) => ctx.resolve('toString'));
    const { outcome } = await run(tool, {}, { dependencies: { db: () => 1 } });
    expect(outcome.content).toBe("Error: Unknown dependency 'toString'. The worker was created with: db.");
  });

  test('[B146] an identical call runs again', async () => {
    let count = 0;
    const tool = toolThat(() => `${++count}`);
    const box = createToolbox([tool]);
    const call = callOf('tool', {});
    expect([(await box.execute(call, hostWith())).outcome.content, (await box.execute(call, hostWith())).outcome.content]).toEqual([
      '1',
      '2',
    ]);
  });

  test('[A33] [B12] [B14] [B29] an error that a tool throws reaches the model, and requests another attempt', async () => {
    const { outcome, threw } = await run(
      toolThat(() => {
        throw new RangeError('too far');
      }),
      {},
    );
    expect(outcome).toMatchObject({ status: 'failed', content: 'Error: too far', error: { name: 'RangeError', message: 'too far' } });
    expect(threw).toBe(true);
    expect(
      (
        await run(
          toolThat(async () => Promise.reject('just text')),
          {},
        )
      ).outcome.content,
    ).toBe('Error: just text');
    expect(
      (
        await run(
          toolThat(() => {
            throw undefined;
          }),
          {},
        )
      ).outcome.content,
    ).toBe('Error: undefined');
    expect(
      (
        await run(
          toolThat(() => {
            throw { code: 7 };
          }),
          {},
        )
      ).outcome.content,
    ).toBe('Error: {"code":7}');
    expect(
      (
        await run(
          toolThat(() => {
            throw new Error('');
          }),
          {},
        )
      ).outcome.content,
    ).toMatch(/^Error: ./);
  });

  test.each([
    ['data', { data: { code: 'bad_zip' } }, '{"code":"bad_zip"}'],
    ['a body', { body: 'zip is wrong' }, 'zip is wrong'],
    ['the data of a response', { response: { status: 400, data: { code: 'bad_zip' } } }, '{"code":"bad_zip"}'],
    ['the body of a response', { response: { body: Buffer.from('zip is wrong') } }, 'zip is wrong'],
  ])('[A34] %s that an error carries reaches the model', async (_what, carried, text) => {
    const { outcome } = await run(
      toolThat(() => {
        throw Object.assign(new Error('HTTP 400'), carried);
      }),
      {},
    );
    expect(outcome.content).toBe(`Error: HTTP 400\n${text}`);
    expect(outcome.error?.message).toBe('HTTP 400');
  });

  test("data of an error that JSON can't represent has no effect", async () => {
    const data: { self?: unknown } = {};
    data.self = data;
    const { outcome } = await run(
      toolThat(() => {
        throw Object.assign(new Error('HTTP 400'), { data, body: process.stdin, response: null });
      }),
      {},
    );
    expect(outcome.content).toBe('Error: HTTP 400');
  });

  test('an error without details is reported with its cause', async () => {
    const cause = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:9'), { code: 'ECONNREFUSED' });
    const { outcome } = await run(
      toolThat(() => {
        throw new TypeError('fetch failed', { cause });
      }),
      {},
    );
    expect(outcome.content).toBe('Error: fetch failed (cause: connect ECONNREFUSED 127.0.0.1:9)');
  });

  test('ToolFailure sets the message, and requests no other attempt', async () => {
    const execution = await run(
      toolThat(() => {
        throw new ToolFailure('2 tests failed\n[exit code: 1]');
      }),
      {},
    );
    expect(execution).toMatchObject({
      outcome: { status: 'failed', content: '2 tests failed\n[exit code: 1]', error: { name: 'ToolFailure', message: '[exit code: 1]' } },
      threw: false,
    });
  });

  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  test.each([
    ['a BigInt', { n: 1n }, /BigInt/],
    ['a cycle', cycle, /circular/],
    [
      'a toJSON that throws',
      {
        toJSON() {
          throw new Error('no');
        },
      },
      /no$/,
    ],
  ])('a result with %s is a failure that says so', async (_what, value, message) => {
    const execution = await run(
      toolThat(() => value),
      {},
    );
    expect(execution).toMatchObject({ outcome: { status: 'failed', error: { name: 'UnserializableToolResultError' } }, threw: false });
    expect(execution.outcome.content).toMatch(/^Error: Tool 'tool' returned a value that can't be written as JSON: /);
    expect(execution.outcome.content).toMatch(message);
  });

  test('a result that is too long is cut in the middle, and so is an error text', async () => {
    const long = `first\n${'x'.repeat(200_000)}\nlast`;
    for (const execute of [
      () => long,
      () => {
        throw new Error(long);
      },
    ]) {
      const { content } = (await run(toolThat(execute), {})).outcome;
      expect(Buffer.byteLength(content as string)).toBeLessThanOrEqual(50 * 1024);
      expect(content).toMatch(/first\n[\s\S]*left out, not kept[\s\S]*last$/);
    }
  });
});

describe('timeout and cancel', () => {
  test('[A49] a tool that ignores its signal times out nevertheless', async () => {
    const { outcome, threw } = await run(
      toolThat(() => new Promise(() => {}), { timeoutMs: 30 }),
      {},
    );
    expect(outcome).toMatchObject({
      status: 'timed-out',
      content: "Error: Tool 'tool' timed out after 30 ms.",
      error: { name: 'ToolTimeoutError' },
    });
    expect(threw).toBe(false);
  });

  test('[A49] every tool has a timeout, even one that sets none', async () => {
    jest.useFakeTimers();
    try {
      const running = run(
        toolThat(() => new Promise(() => {})),
        {},
      );
      await jest.advanceTimersByTimeAsync(33_100);
      expect((await running).outcome).toMatchObject({ status: 'timed-out' });
    } finally {
      jest.useRealTimers();
    }
  });

  test('a tool that honours its signal ends immediately, and its last message is kept', async () => {
    const tool = toolThat(
      (_args, { signal }: { signal: AbortSignal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(new ToolFailure(`got 3 of 5; ${signal.reason.name}`)))),
      { timeoutMs: 30 },
    );
    jest.useFakeTimers();
    try {
      let outcome: object | undefined;
      const running = run(tool, {}).then((ran) => {
        outcome = ran.outcome;
      });
      await jest.advanceTimersByTimeAsync(29);
      expect(outcome).toBeUndefined();
      // Not after the seconds that one who does not listen is given.
      await jest.advanceTimersByTimeAsync(1);
      expect(outcome).toMatchObject({
        status: 'timed-out',
        content: "Error: Tool 'tool' timed out after 30 ms.\ngot 3 of 5; ToolTimeoutError",
      });
      await running;
    } finally {
      jest.useRealTimers();
    }
  });

  test('cancel reaches the tool and the outcome records it', async () => {
    const controller = new AbortController();
    let entered = false;
    const tool = toolThat((_args, { signal }: { signal: AbortSignal }) => {
      entered = true;
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    });
    const running = run(tool, {}, { signal: controller.signal });
    await until('the tool runs', () => entered);
    controller.abort(new Error('enough'));
    expect(await running).toMatchObject({ outcome: { status: 'cancelled', content: "Error: Tool 'tool' was cancelled." }, threw: false });
  });

  test('a call that is cancelled before it starts is not started', async () => {
    const execute = jest.fn();
    const { outcome } = await run(toolThat(execute), {}, { signal: AbortSignal.abort() });
    expect(outcome).toMatchObject({ status: 'cancelled', content: "Error: Tool 'tool' was cancelled before it started." });
    expect(execute).not.toHaveBeenCalled();
  });

  test('a tool that fails after it was abandoned has no effect', async () => {
    const unhandled = jest.fn();
    process.on('unhandledRejection', unhandled);
    jest.useFakeTimers();
    let fail = (_error: Error) => {};
    try {
      const running = run(
        toolThat(
          () =>
            new Promise((_, reject) => {
              fail = reject;
            }),
          { timeoutMs: 5 },
        ),
        {},
      );
      await jest.advanceTimersByTimeAsync(4_000);
      expect((await running).outcome.status).toBe('timed-out');
    } finally {
      jest.useRealTimers();
    }
    fail(new Error('late'));
    await new Promise((next) => setImmediate(next));
    process.off('unhandledRejection', unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });

  test('no listener is left on the signal after a call', async () => {
    const { signal } = new AbortController();
    const remove = jest.spyOn(signal, 'removeEventListener');
    const add = jest.spyOn(signal, 'addEventListener');
    await run(
      toolThat(() => 'ok'),
      {},
      { signal },
    );
    expect(remove).toHaveBeenCalledTimes(add.mock.calls.length);
  });
});
