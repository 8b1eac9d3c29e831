import fc from 'fast-check';
import { countErrors } from '../../src/core/hook-errors';
import type { HookName } from '../../src/core/hooks';
import type { AskPolicy } from '../../src/core/tool';
import { defineHooks, type HookContext, type HookHost, type HooksOptions } from '../../src/hooks';
import { call, gate, hostWith, inputs } from './hook-host';

/** What comes of hooks of one name, given as in a definition. */
function run(name: HookName, hooks: unknown, host: Partial<HookHost> = {}, options?: HooksOptions) {
  return defineHooks({ [name]: hooks }, options).run(name, inputs[name], hostWith(host));
}

const hang = () => new Promise<never>(() => undefined);
const fail = () => {
  throw new Error('no database');
};
const modes = [{ parallel: false }, { parallel: true }];

describe('hooks of one name', () => {
  test('[A121] run in the order in which they were registered, each after the answer of the one before', async () => {
    const order: string[] = [];
    const slow = async () => {
      order.push('slow begins');
      await new Promise((next) => setTimeout(next, 20));
      order.push('slow ends');
    };
    await run('before:llm', [slow, () => void order.push('quick')]);
    expect(order).toEqual(['slow begins', 'slow ends', 'quick']);
  });

  test('[A121] have their answers merged field by field, the later over the earlier', async () => {
    const { answer, reports } = await run('before:llm', [
      () => ({ model: 'a', instructions: 'Be brief.' }),
      () => ({ model: 'b', settings: { temperature: 1 } }),
      () => ({ settings: { maxTokens: 5 } }),
    ]);
    expect(answer).toEqual({ model: 'b', instructions: 'Be brief.', settings: { maxTokens: 5 } });
    expect(reports.map(({ id, answered }) => ({ id, answered }))).toEqual([
      { id: 'before:llm#1', answered: ['model', 'instructions'] },
      { id: 'before:llm#2', answered: ['model', 'settings'] },
      { id: 'before:llm#3', answered: ['settings'] },
    ]);
  });

  test('[A121] are not called after one of them returned skip', async () => {
    const later = jest.fn();
    const { answer, reports } = await run('before:tool', [() => ({ args: { a: 1 } }), () => ({ skip: true }), later]);
    expect(answer).toEqual({ args: { a: 1 }, skip: true });
    expect(reports).toHaveLength(2);
    expect(later).not.toHaveBeenCalled();
  });

  test('[A122] run concurrently in parallel mode, and are merged in the order in which they were registered', async () => {
    const gates = [gate<object>(), gate<object>()];
    let begun = 0;
    const gated = (at: number) => () => {
      if (++begun === 2) gates[1]?.open({ model: 'second' });
      return gates[at]?.promise.then((answer) => {
        gates[0]?.open({ model: 'first', instructions: 'of the first' });
        return answer;
      });
    };
    const { answer, reports } = await run('before:llm', [gated(0), gated(1)], {}, { parallel: true });
    expect(answer).toEqual({ model: 'second', instructions: 'of the first' });
    expect(reports.map(({ id }) => id)).toEqual(['before:llm#1', 'before:llm#2']);
  });

  test('[A121][A122] give the same answer sequentially and in parallel: that of the last hook that set the field, up to the first skip', async () => {
    const answers = fc.array(
      fc.record(
        {
          args: fc.dictionary(fc.constantFrom('a', 'b'), fc.integer()),
          mockResult: fc.jsonValue(),
          skip: fc.boolean(),
          block: fc.constantFrom('x', 'y'),
        },
        { requiredKeys: [] },
      ),
      { maxLength: 10 },
    );
    await fc.assert(
      fc.asyncProperty(answers, fc.array(fc.nat(3), { minLength: 10, maxLength: 10 }), fc.boolean(), async (given, waits, parallel) => {
        const hooks = given.map((answer, at) => async () => {
          for (let i = 0; i < (waits[at] ?? 0); i++) await undefined;
          return answer;
        });
        const skip = given.findIndex((answer) => answer.skip);
        const counted = skip === -1 ? given : given.slice(0, skip + 1);
        const { answer, reports } = await run('before:tool', hooks, {}, { parallel });
        expect(answer).toEqual(JSON.parse(JSON.stringify(Object.assign({}, ...counted))));
        expect(reports).toHaveLength(parallel ? given.length : counted.length);
      }),
    );
  });

  test.each(modes)('[A124] run even if another throws, hangs or returns an invalid answer, which is reported: %j', async (options) => {
    const hooks = [fail, { run: hang, timeoutMs: 20 }, () => 'yes', () => ({ text: 'kept' })];
    const { answer, reports } = await run('after:llm', hooks, {}, options);
    expect(answer).toEqual({ text: 'kept' });
    expect(reports).toEqual([
      { id: 'after:llm#1', durationMs: expect.any(Number), error: 'no database', mode: 'warn' },
      { id: 'after:llm#2', durationMs: expect.any(Number), error: 'did not answer within 20 ms', mode: 'warn' },
      { id: 'after:llm#3', durationMs: expect.any(Number), error: 'returned an invalid answer: "yes" is not an object', mode: 'warn' },
      { id: 'after:llm#4', durationMs: expect.any(Number), answered: ['text'] },
    ]);
    expect(reports[1]?.durationMs).toBeGreaterThanOrEqual(19);
  });

  test('[A124] get an abort signal after their timeout, and their late answers are ignored', async () => {
    let ctx: HookContext | undefined;
    const late = gate<object>();
    const { answer, reports } = await run('after:llm', {
      run(_: object, given: HookContext) {
        ctx = given;
        return late.promise;
      },
      timeoutMs: 10,
    });
    expect(ctx?.signal.aborted).toBe(true);
    late.fail(new Error('far too late'));
    expect(answer).toEqual({});
    expect(reports[0]?.error).toBe('did not answer within 10 ms');
  });

  test.each([
    ['a text', 'a text'],
    ['', 'threw ""'],
    [{ code: 5 }, 'threw {"code":5}'],
    [Object.assign(Object.create(null), { code: 5n }), 'threw what can not be shown'],
    [undefined, 'threw undefined'],
    [new TypeError(''), 'TypeError'],
    [{ message: 'from afar' }, 'from afar'],
    [new Error('x'.repeat(2_000)), `${'x'.repeat(499)}…`],
  ])('report an error whatever they throw: %p', async (thrown, words) => {
    const { reports } = await run('pause:check', () => Promise.reject(thrown));
    expect(reports[0]?.error).toBe(words);
  });

  test('[A125] that fail three times in a row are skipped until their count is reset; a success resets it', async () => {
    let healthy = false;
    const runs: string[] = [];
    const hooks = defineHooks({
      'pause:check': [
        { id: 'shaky', run: () => (runs.push('shaky') && healthy ? undefined : fail()) },
        { id: 'steady', run: () => void runs.push('steady') },
      ],
    });
    let state: ReturnType<typeof countErrors> = { errors: {}, disabled: [] };
    const round = async () => {
      runs.length = 0;
      const { reports } = await hooks.run('pause:check', {}, hostWith({ disabled: state.disabled }));
      state = countErrors(state.errors, reports);
      return [...runs];
    };
    for (const health of [false, false, true, false, false, false]) {
      healthy = health;
      expect(await round()).toEqual(['shaky', 'steady']);
    }
    expect(state).toEqual({ errors: { shaky: 3 }, disabled: ['shaky'] });
    expect(await round()).toEqual(['steady']);
    healthy = true;
    state = { errors: {}, disabled: [] };
    expect(await round()).toEqual(['shaky', 'steady']);
  });

  test('[A125] that guard something are never skipped: those whose failure ends the run, and approve:tool', async () => {
    const disabled = ['before:llm#1', 'approve:tool#1'];
    expect((await run('before:llm', { run: fail, failure: 'fail' }, { disabled })).reports).toHaveLength(1);
    expect((await run('approve:tool', fail, { disabled })).answer).toMatchObject({ approved: false });
  });

  test.each(['fail', 'warn', 'ignore'] as const)(
    '[A126] report the failure mode %s with an error, and the others run nevertheless',
    async (failure) => {
      const { answer, reports } = await run('after:llm', [{ run: fail, failure }, () => ({ text: 'kept' })]);
      expect(answer).toEqual({ text: 'kept' });
      expect(reports).toEqual([
        expect.objectContaining({ error: 'no database', mode: failure }),
        expect.not.objectContaining({ mode: failure }),
      ]);
    },
  );

  test('[A127] run again each time they are called', async () => {
    let count = 0;
    const hooks = defineHooks({ 'before:execution': () => void (count += 1) });
    for (let i = 0; i < 3; i++) await hooks.run('before:execution', inputs['before:execution'], hostWith());
    expect(count).toBe(3);
  });

  test.each([[undefined], [null], [{}], [{ text: undefined }]])('[A128] change nothing when they answer %p', async (nothing) => {
    const { answer, reports } = await run('after:llm', [() => ({ text: 'a' }), () => nothing, async () => nothing]);
    expect(answer).toEqual({ text: 'a' });
    expect(reports.slice(1)).toEqual([
      { id: 'after:llm#2', durationMs: expect.any(Number) },
      { id: 'after:llm#3', durationMs: expect.any(Number) },
    ]);
  });

  test('give no answer if there are none', async () => {
    expect(await defineHooks({}).run('pause:check', {}, hostWith())).toEqual({ answer: {}, reports: [] });
  });
});

describe('cancel', () => {
  test.each(modes)('ends the hooks immediately with its reason, even those that ignore it: %j', async (options) => {
    const cancel = new AbortController();
    const signals: AbortSignal[] = [];
    const later = jest.fn();
    const hook = (_: object, ctx: HookContext) => {
      signals.push(ctx.signal);
      cancel.abort(new Error('cancelled'));
      return hang();
    };
    await expect(run('approve:tool', [hook, later], { signal: cancel.signal }, options)).rejects.toThrow('cancelled');
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect(later).not.toHaveBeenCalled();
  });

  test('is neither a timeout nor a refusal, even for the last hook', async () => {
    const cancel = new AbortController();
    const hook = () => {
      cancel.abort(new Error('cancelled'));
      return hang();
    };
    await expect(run('approve:tool', hook, { signal: cancel.signal })).rejects.toThrow('cancelled');
  });

  test('that came earlier calls no hook', async () => {
    const hook = jest.fn();
    await expect(run('pause:check', hook, { signal: AbortSignal.abort(new Error('cancelled')) })).rejects.toThrow('cancelled');
    expect(hook).not.toHaveBeenCalled();
  });

  test('leaves no listener and no timer behind after the answer of a hook', async () => {
    const { signal } = new AbortController();
    const [add, remove] = [jest.spyOn(signal, 'addEventListener'), jest.spyOn(signal, 'removeEventListener')];
    const clear = jest.spyOn(globalThis, 'clearTimeout');
    await run('pause:check', [() => undefined, fail], { signal });
    expect(add).toHaveBeenCalledTimes(2);
    expect(remove).toHaveBeenCalledTimes(2);
    expect(clear).toHaveBeenCalledTimes(2);
    clear.mockRestore();
  });
});

describe('a hook receives', () => {
  const given = async (host: Partial<HookHost>, name: HookName = 'after:llm') => {
    let seen: HookContext | undefined;
    await run(name, (_: object, ctx: HookContext) => void (seen = ctx), host);
    return seen as HookContext;
  };

  test('its thread, its place and its time', async () => {
    const ctx = await given({ now: () => new Date(7) });
    expect(ctx).toMatchObject({ hook: 'after:llm', agent: 'support', threadId: 'thread-1', runId: 'run-1', turn: 3 });
    expect(ctx.signal.aborted).toBe(false);
    expect(ctx.now()).toEqual(new Date(7));
  });

  test('the earlier answers, as a copy, and nothing in parallel', async () => {
    const seen: unknown[] = [];
    const look = (_: object, ctx: HookContext<'before:llm'>) => {
      seen.push(structuredClone(ctx.answer));
      (ctx.answer.settings ?? {}).temperature = 2;
    };
    const hooks = [() => ({ settings: { temperature: 0 } }), look, look];
    expect((await run('before:llm', hooks)).answer).toEqual({ settings: { temperature: 0 } });
    expect(seen.splice(0)).toEqual([{ settings: { temperature: 0 } }, { settings: { temperature: 0 } }]);
    await run('before:llm', hooks, {}, { parallel: true });
    expect(seen).toEqual([{}, {}]);
  });

  test('an input of its own', async () => {
    const seen: string[] = [];
    const spoil = ({ call: mine }: { call: { name: string } }) => {
      seen.push(mine.name);
      mine.name = 'another';
    };
    await run('before:tool', [spoil, spoil]);
    expect(seen).toEqual(['refund_order', 'refund_order']);
    expect(inputs['before:tool'].call).toEqual(call);
  });

  test('copies of the messages, read only when they are requested', async () => {
    const messages = [{ id: 'm1', role: 'user' as const, content: 'hello' }];
    const read = jest.fn(async () => messages);
    const ctx = await given({ messages: read });
    expect(read).not.toHaveBeenCalled();
    const mine = await ctx.messages();
    expect(mine).toEqual(messages);
    (mine[0] as { content: string }).content = 'spoilt';
    expect(messages[0]?.content).toBe('hello');
    await expect((await given({})).messages()).rejects.toThrow('is not available here');
  });

  test('its range of events, for on:event only', async () => {
    const asked: number[][] = [];
    const events = async (from: number, to: number) => {
      asked.push([from, to]);
      return [];
    };
    expect(await (await given({ events }, 'on:event')).events()).toEqual([]);
    expect(asked).toEqual([[4, 9]]);
    await expect((await given({ events })).events()).rejects.toThrow('this is after:llm');
  });

  test('the dependencies of the worker', async () => {
    const ctx = await given({ resolve: async (name) => `the ${name}` });
    expect(await ctx.resolve('db')).toBe('the db');
    await expect((await given({})).resolve('db')).rejects.toThrow("Dependency 'db'");
  });
});

describe('approve:tool', () => {
  const approve = () => ({ approved: true, reason: 'fine' });

  test.each([
    ['throws', fail, 'no database'],
    ['hangs', { run: hang, timeoutMs: 10 }, 'did not answer within 10 ms'],
    ['says true, as if that were an answer', () => true, 'returned an invalid answer: true is not an object'],
    ['approves in words', () => ({ approved: 'yes' }), 'returned an invalid answer: approved must be true or false; it is "yes"'],
    [
      'answers what is not known',
      () => ({ aproved: true }),
      'returned an invalid answer: "aproved" is not known; approve:tool may answer approved, reason, ask, args, stop',
    ],
    ['stops what it does not refuse', () => ({ approved: true, stop: true }), 'returned an invalid answer: stop goes with approved: false'],
  ])('[A135][B172] refuses the call when it %s, whatever the answers of others and its failure mode', async (_, hook, words) => {
    for (const options of modes) {
      for (const failure of ['fail', 'warn', 'ignore']) {
        const broken = { ...(typeof hook === 'function' ? { run: hook } : hook), failure };
        const { answer, reports } = await run('approve:tool', [approve, broken, approve], {}, options);
        expect(answer).toEqual({ approved: false, reason: `Permission check failed: ${words}` });
        expect(reports.map(({ error }) => error)).toEqual([undefined, words, undefined]);
      }
    }
  });

  test('lets a call run, and gives no decision without an answer', async () => {
    expect((await run('approve:tool', approve)).answer).toEqual({ approved: true, reason: 'fine' });
    expect((await run('approve:tool', () => undefined)).answer).toEqual({});
  });

  test('of several a refusal overrides a request for approval, and this overrides an approval, in any order', async () => {
    const opinions = {
      refuse: { approved: false, reason: 'not on Sundays', stop: true },
      ask: { ask: { groups: ['finance'] } },
      approve: { approved: true, args: { cents: 1 } },
      nothing: undefined,
      broken: 'yes',
    };
    const names = fc.array(fc.constantFrom(...(Object.keys(opinions) as (keyof typeof opinions)[])), { maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(names, fc.boolean(), async (said, parallel) => {
        const hooks = said.map((name) => () => opinions[name]);
        const answer = (await run('approve:tool', hooks, {}, { parallel })).answer as Record<string, unknown>;
        const [refused, asked] = [said.includes('refuse') || said.includes('broken'), said.includes('ask')];
        expect(answer.approved).toBe(refused ? false : !asked && said.includes('approve') ? true : undefined);
        expect(answer.ask).toEqual(!refused && asked ? opinions.ask.ask : undefined);
        expect(answer.args).toEqual(!refused && said.includes('approve') ? { cents: 1 } : undefined);
        expect(answer.stop).toBe(said.includes('refuse') ? true : undefined);
        expect(typeof answer.reason).toBe(refused ? 'string' : 'undefined');
      }),
    );
  });

  test.each([
    [{ groups: ['security'], approvers: 2 }, { reason: 'fyi' }, { groups: ['security'], approvers: 2, reason: 'fyi' }],
    [
      { users: ['dana'], reason: 'much' },
      { groups: ['legal'], reason: 'abroad' },
      { users: ['dana'], groups: ['legal'], reason: 'much; abroad' },
    ],
    [{ approvers: 3 }, { approvers: 2 }, { approvers: 3 }],
    [
      { deadlineMs: 9_000, onDeadline: ['approve'] },
      { deadlineMs: 5_000, onDeadline: ['cancel'] },
      { deadlineMs: 5_000, onDeadline: ['cancel'] },
    ],
    [
      { deadlineMs: 5_000, onDeadline: ['approve'] },
      { deadlineMs: 9_000, onDeadline: ['deny'] },
      { deadlineMs: 5_000, onDeadline: ['deny'] },
    ],
    [{ deadlineMs: 5_000, onDeadline: ['approve'] }, {}, { deadlineMs: 5_000, onDeadline: ['deny'] }],
    [
      { deadlineMs: 5_000, onDeadline: ['approve'] },
      { deadlineMs: 9_000, onDeadline: ['approve'] },
      { deadlineMs: 5_000, onDeadline: ['approve'] },
    ],
    [{ remember: [{ tool: 'a' }, { tool: 'b' }] }, { remember: [{ tool: 'b' }, { tool: 'c' }] }, { remember: [{ tool: 'b' }] }],
  ] as AskPolicy[][])(
    'of two that have people asked, %j and %j, the strictest of both holds, in any order',
    async (one, other, both = {}) => {
      for (const options of modes) {
        expect((await run('approve:tool', [() => ({ ask: one }), () => ({ ask: other })], {}, options)).answer).toEqual({ ask: both });
        const { answer } = await run('approve:tool', [() => ({ ask: other }), () => ({ ask: one })], {}, options);
        const { ask } = answer as { ask?: AskPolicy };
        expect({ ...ask, reason: ask?.reason?.split('; ').sort() }).toEqual({ ...both, reason: both.reason?.split('; ').sort() });
      }
    },
  );

  test('refuses the call if the requirements of several hooks can’t be met together', async () => {
    const { answer } = await run('approve:tool', [() => ({ ask: { approvers: 3 } }), () => ({ ask: { users: ['dana'] } })]);
    expect(answer).toEqual({
      approved: false,
      reason: "Together, the approve:tool hooks ask in a way that can't be met: it needs 3 approvers, but names only 1 users and no group",
    });
  });

  test('sees the arguments with which the hook before it replaced those of the model', async () => {
    const edits = () => ({ args: { cents: 5 } });
    const seen: string[] = [];
    const looks = ({ call }: { call: { arguments: string } }) => void seen.push(call.arguments);
    await run('approve:tool', [looks, edits, looks]);
    expect(seen).toEqual([inputs['approve:tool'].call.arguments, '{"cents":5}']);
  });

  test('a refusal keeps its own reason, not that of an approval', async () => {
    expect((await run('approve:tool', [approve, () => ({ approved: false }), approve])).answer).toEqual({ approved: false });
  });
});
