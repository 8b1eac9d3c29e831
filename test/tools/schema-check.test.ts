import { defineTool } from '../../src/tools/define-tool';
import type { JsonSchema } from '../../src/tools/json-schema';
import { createToolbox } from '../../src/tools/toolbox';
import { callOf, run } from './tool-host';

const toolWith = (input: JsonSchema) =>
  defineTool({ name: 'order', description: 'Orders.', input, effect: 'pure', execute: () => 'ordered' });

const backtracking = { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } };
const forms = {
  type: 'object',
  properties: { a: { $ref: '#/$defs/form' } },
  $defs: {
    form: {
      anyOf: ['p', 'q', 'r'].map((key) => ({
        type: 'object',
        properties: { a: { $ref: '#/$defs/form' }, [key]: { type: 'string' } },
        required: [key],
      })),
    },
  },
};

function nested(depth: number): object {
  let value: object = {};
  for (let i = 0; i < depth; i++) value = { a: value };
  return value;
}

/** The longest time in which nothing else had a turn while something went on. */
async function stallDuring(work: Promise<unknown>): Promise<number> {
  let [last, longest] = [performance.now(), 0];
  const timer = setInterval(() => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  }, 5);
  await work.finally(() => clearInterval(timer));
  return longest;
}

test.each<[string, JsonSchema, object]>([
  ['a pattern that backtracks', backtracking, { a: `${'a'.repeat(40)}!` }],
  ['forms that are tried in all combinations', forms, nested(60)],
  [
    'items that are compared each with each',
    { type: 'object', properties: { a: { type: 'array', uniqueItems: true } } },
    { a: Array.from({ length: 60_000 }, (_, i) => ({ i })) },
  ],
])('%s refuses the call in time, and others have their turn meanwhile', async (_what, input, args) => {
  const call = run(toolWith(input), args);
  // A busy machine takes its part; without a thread it would be minutes, or years.
  expect(await stallDuring(call)).toBeLessThan(1_500);
  expect((await call).outcome).toMatchObject({
    status: 'rejected',
    content: expect.stringMatching(
      /^Error: Tool 'order': the arguments could not be checked: the check against the schema (took more than 2 s|ended early)/,
    ),
  });
  // Those that fit are checked by another thread.
  expect((await run(toolWith(input), { a: input === backtracking ? 'aaa' : input === forms ? { p: 'x' } : [1, 2] })).outcome).toMatchObject(
    {
      status: 'success',
    },
  );
});

test('checks that are asked for at once are each answered with their own problems', async () => {
  const tools = Array.from({ length: 20 }, (_, i) => toolWith({ type: 'object', properties: { n: { const: i } } }));
  const outcomes = await Promise.all(tools.map((tool, i) => run(tool, { n: i % 2 ? i : 'wrong' })));
  outcomes.forEach(({ outcome }, i) => {
    if (i % 2) expect(outcome.status).toBe('success');
    else expect(outcome.content).toContain(`- n: must be ${i}`);
  });
});

test('what is wrong with a schema that came with a thread is told with the call', async () => {
  const extraTools = [
    { name: 'foreign', description: 'd', parameters: { type: 'object', properties: { a: { type: 'nothing' } } } as never },
  ];
  const verdict = await createToolbox([]).judge(callOf('foreign', {}), { extraTools });
  expect(verdict).toMatchObject({
    kind: 'reject',
    error: { message: expect.stringMatching(/its schema, which came with the thread, can't be used: schema is invalid/) },
  });
});
