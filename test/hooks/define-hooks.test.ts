import { hookNames } from '../../src/core/hooks';
import { defineHooks } from '../../src/hooks';
import { hostWith, inputs } from './hook-host';

const nothing = () => undefined;

/** The lines of what is wrong with hooks that can't be defined. */
function problemsOf(definitions: object, options?: object): string[] {
  try {
    defineHooks(definitions, options);
  } catch (error) {
    expect((error as Error).name).toBe('TypeError');
    return (error as Error).message.split('\n').slice(1);
  }
  throw new Error('it was defined');
}

test('hooks are named by their position, or by an id of their own', () => {
  const hooks = defineHooks({
    'before:llm': [nothing, { id: 'budget', run: nothing }, { run: nothing }],
    'on:event': nothing,
    'after:llm': [],
    'pause:check': undefined,
  });
  expect(hooks.ids()).toEqual({ 'before:llm': ['before:llm#1', 'budget', 'before:llm#3'], 'on:event': ['on:event#1'] });
});

test('hooks are frozen, and their lists of ids are copies', () => {
  const hooks = defineHooks({ 'before:llm': nothing }, { parallel: true });
  expect(Object.isFrozen(hooks)).toBe(true);
  hooks.ids()['before:llm']?.push('another');
  expect(hooks.ids()).toEqual({ 'before:llm': ['before:llm#1'] });
});

test('a hook of every name is accepted', () => {
  expect(Object.keys(defineHooks(Object.fromEntries(hookNames.map((name) => [name, nothing]))).ids())).toEqual([...hookNames]);
});

test('a hook that is a method keeps its object', async () => {
  const guard = {
    seen: 0,
    run() {
      this.seen += 1;
    },
  };
  const definition = { id: 'guard', run: guard.run, seen: undefined };
  expect(problemsOf({ 'pause:check': definition })).toEqual([expect.stringContaining('.seen')]);
  const hooks = defineHooks({ 'pause:check': { run: guard.run.bind(guard) } });
  await hooks.run('pause:check', inputs['pause:check'], hostWith());
  expect(guard.seen).toBe(1);
});

describe('[A123] invalid hooks are refused when they are defined', () => {
  test('more than ten of a name', () => {
    expect(Object.keys(defineHooks({ 'before:llm': Array(10).fill(nothing) }).ids())).toEqual(['before:llm']);
    expect(problemsOf({ 'before:llm': Array(11).fill(nothing) })).toEqual(['- before:llm: has 11 hooks; at most 10']);
  });

  test.each([['a text'], [42], [null], [{ timeoutMs: 5 }], [{ run: 'a text' }], [[[nothing]]]])(
    'a value that is not a function: %j',
    (given) => {
      expect(problemsOf({ 'before:llm': given })).toEqual([expect.stringMatching(/^- before:llm\[0\].*: is not a function/)]);
    },
  );

  test.each([
    ['beforeLLM', 'before:llm'],
    ['before_llm', 'before:llm'],
    ['before:tools', 'before:tool'],
    ['aprove:tool', 'approve:tool'],
    ['onEvent', 'on:event'],
    ['before:execute', 'before:execution'],
    ['afterRun', undefined],
    ['banana', undefined],
  ])('an unknown name: %s', (name, meant) => {
    const [problem, ...more] = problemsOf({ [name]: nothing });
    expect(more).toEqual([]);
    expect(problem).toContain(`- ${name}: is not a hook`);
    if (meant) expect(problem).toContain(`did you mean '${meant}'?`);
    expect(problem).toContain(hookNames.join(', '));
  });

  test('two of the same id, also across names and beside a default id', () => {
    const [a, b] = [
      { id: 'guard', run: nothing },
      { id: 'guard', run: nothing },
    ];
    expect(problemsOf({ 'before:llm': [a, b] })).toEqual(['- two hooks have the id "guard"; give each its own']);
    expect(problemsOf({ 'before:llm': a, 'after:llm': b })).toEqual(['- two hooks have the id "guard"; give each its own']);
    expect(problemsOf({ 'before:llm': [nothing, { id: 'before:llm#1', run: nothing }] })).toHaveLength(1);
  });

  test.each([[0], [-1], [Number.NaN], [Number.POSITIVE_INFINITY], ['5'], [300_001], [null]])('the timeout %p', (timeoutMs) => {
    expect(problemsOf({ 'before:llm': { run: nothing, timeoutMs } })).toEqual([expect.stringContaining('before:llm[0].timeoutMs: is ')]);
  });

  test('timeouts that are too long together, if the hooks run one after another', () => {
    const slow = { run: nothing, timeoutMs: 300_000 };
    expect(problemsOf({ 'before:llm': [slow, slow] })).toEqual([expect.stringContaining('before:llm: its hooks may take 600000 ms')]);
    expect(defineHooks({ 'before:llm': [slow, slow] }, { parallel: true }).ids()).toHaveProperty('before:llm');
    expect(defineHooks({ 'before:llm': slow, 'after:llm': slow }).ids()).toHaveProperty('after:llm');
  });

  test.each([
    [{ id: '' }, '.id'],
    [{ id: 5 }, '.id'],
    [{ id: 'x'.repeat(101) }, '.id'],
    [{ failure: 'explode' }, '.failure'],
    [{ timeout: 5 }, '.timeout'],
  ])('%j', (fields, named) => {
    expect(problemsOf({ 'after:tool': [nothing, { run: nothing, ...fields }] })).toEqual([
      expect.stringContaining(`after:tool[1]${named}: `),
    ]);
  });

  test('all problems are reported together', () => {
    expect(problemsOf({ beforeLlm: nothing, 'after:llm': { run: 1, timeoutMs: 0, failure: 'x' } }, { parallel: 1, max: 1 })).toHaveLength(
      6,
    );
  });

  test.each([[undefined], [null], [nothing], [[]], ['before:llm']])('%p instead of the object of hooks', (definitions) => {
    expect(() => defineHooks(definitions as never)).toThrow(TypeError);
  });
});
