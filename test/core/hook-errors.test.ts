import fc from 'fast-check';
import { countErrors } from '../../src/core/hook-errors';
import type { HookReport } from '../../src/core/hooks';

const report = (id: string, error?: string, mode: HookReport['mode'] = 'warn'): HookReport => ({
  id,
  durationMs: 1,
  ...(error !== undefined && { error, mode }),
});

test('[A125] consecutive errors are counted by hook, a success resets the count, and the third error disables the hook', () => {
  let errors: Record<string, number> = {};
  const told = [['a!', 'b!'], ['a!', 'b'], ['a!', 'b!'], ['b!'], ['b!']].map((round) => {
    const reports = round.map((word) => report(word[0] ?? '', word.endsWith('!') ? 'no' : undefined));
    const counted = countErrors(errors, reports);
    errors = counted.errors;
    return counted;
  });
  expect(told).toEqual([
    { errors: { a: 1, b: 1 }, disabled: [] },
    { errors: { a: 2 }, disabled: [] },
    { errors: { a: 3, b: 1 }, disabled: ['a'] },
    { errors: { a: 3, b: 2 }, disabled: ['a'] },
    { errors: { a: 3, b: 3 }, disabled: ['a', 'b'] },
  ]);
});

test('[A125] the number of errors that disable a hook can be set, and a hook without a count is enabled again', () => {
  const { errors, disabled } = countErrors({}, [report('a', 'no')], 1);
  expect(disabled).toEqual(['a']);
  const { a: _, ...reset } = errors;
  expect(countErrors(reset, [], 1).disabled).toEqual([]);
});

test('an error that only the log reports counts; one that ends the run or refuses a call does not', () => {
  expect(countErrors({}, [report('a', 'no', 'ignore')], 1).disabled).toEqual(['a']);
  expect(countErrors({}, [report('a', 'no', 'fail')], 1)).toEqual({ errors: {}, disabled: [] });
  expect(countErrors({ b: 1 }, [report('a', 'no')], 1, 'approve:tool')).toEqual({ errors: { b: 1 }, disabled: ['b'] });
});

test('the count of a hook is the number of its reports since its last success', () => {
  const round = fc.array(fc.record({ id: fc.constantFrom('a', 'b', 'constructor'), error: fc.option(fc.string(), { nil: undefined }) }), {
    maxLength: 4,
  });
  fc.assert(
    fc.property(fc.array(round, { maxLength: 12 }), fc.integer({ min: 1, max: 4 }), (rounds, max) => {
      const all = rounds.flat();
      const before: Record<string, number> = Object.freeze({});
      const counted = rounds.reduce<ReturnType<typeof countErrors>>(
        ({ errors }, reports) =>
          countErrors(
            errors,
            reports.map(({ id, error }) => report(id, error)),
            max,
          ),
        { errors: before, disabled: [] },
      );
      for (const id of ['a', 'b', 'constructor']) {
        const own = all.filter((one) => one.id === id);
        const count = own.length - 1 - own.findLastIndex(({ error }) => error === undefined);
        expect(Object.hasOwn(counted.errors, id) ? counted.errors[id] : 0).toBe(count);
        expect(counted.disabled.includes(id)).toBe(count >= max);
      }
      expect(before).toEqual({});
    }),
  );
});
