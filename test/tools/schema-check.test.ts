import { defineTool } from '../../src/tools/defining/define-tool';
import type { JsonSchema } from '../../src/tools/defining/json-schema';
import { LateSchemas } from '../../src/tools/defining/late-schemas';
import { createToolbox } from '../../src/tools/running/toolbox';
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
])('%s refuses the call in time, and other checks run meanwhile', async (_what, input, args) => {
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

test('concurrent checks each get their own problems', async () => {
  const tools = Array.from({ length: 20 }, (_, i) => toolWith({ type: 'object', properties: { n: { const: i } } }));
  const outcomes = await Promise.all(tools.map((tool, i) => run(tool, { n: i % 2 ? i : 'wrong' })));
  outcomes.forEach(({ outcome }, i) => {
    if (i % 2) expect(outcome.status).toBe('success');
    else expect(outcome.content).toContain(`- n: must be ${i}`);
  });
});

test('problems that each list the whole schema are reported only in part', async () => {
  const written = jest.spyOn(JSON, 'stringify');
  const choices = Array.from({ length: 2_000 }, (_, n) => `choice-${n}`);
  const tool = toolWith({ type: 'object', properties: { a: { type: 'array', items: { enum: choices } } } });
  written.mockClear();
  const { outcome } = await run(tool, { a: Array(1_000).fill('none') });
  expect(outcome.content).toMatch(/- a\[0\]: must be one of "choice-0", "choice-1"/);
  // Each choice is written once for each problem that came back from the thread.
  expect(written.mock.calls.length).toBeLessThan(10 * choices.length);
  written.mockRestore();
});

describe('a schema that a thread brings, and whose check does not end', () => {
  const judged = async (parameters: JsonSchema, args: object) => {
    const extraTools = [{ name: 'foreign', description: 'd', parameters: parameters as never }];
    const verdict = await createToolbox([]).judge(callOf('foreign', args), { extraTools });
    return verdict.kind === 'reject' ? verdict.error.message : verdict.kind;
  };
  const hostile = (n: number) => ({ ...backtracking, title: `${n}` });
  const endless = { a: `${'a'.repeat(40)}!` };

  test('delays no check of the tools of an agent', async () => {
    const ended: string[] = [];
    const checks = [hostile(1), hostile(2)].map((schema) => judged(schema, endless).then(() => ended.push('hostile')));
    const own = run(toolWith({ type: 'object', properties: { b: { type: 'number' } } }), { b: 1 }).then(() => ended.push('own'));
    await Promise.all([...checks, own]);
    expect(ended).toEqual(['own', 'hostile', 'hostile']);
  });

  test('is refused immediately for a minute, and then tried again; others are not', async () => {
    const messages = await Promise.all(Array.from({ length: 8 }, () => judged(hostile(3), endless)));
    expect(messages.filter((message) => message.includes('took more than 2 s'))).toHaveLength(1);
    expect(messages.filter((message) => message.includes('did not end in time; the schema is rejected for one minute'))).toHaveLength(7);
    expect(await judged(hostile(4), { a: 'aaa' })).toBe('external');
    expect(await judged(hostile(3), { a: 'aaa' })).toContain('did not end in time');
    const now = performance.now();
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => now + 61_000);
    expect(await judged(hostile(3), { a: 'aaa' })).toBe('external');
    clock.mockRestore();
  });

  test('is remembered among a thousand at most', () => {
    const late = new LateSchemas();
    for (let n = 0; n < 1_500; n++) late.add(`${n}`);
    expect(Array.from({ length: 1_500 }, (_, n) => late.has(`${n}`)).filter(Boolean)).toHaveLength(1_000);
    expect([late.has('499'), late.has('500'), late.has('1499')]).toEqual([false, true, true]);
  });
});

test('the error of an invalid schema that a thread brings is reported with the call', async () => {
  const extraTools = [
    { name: 'foreign', description: 'd', parameters: { type: 'object', properties: { a: { type: 'nothing' } } } as never },
  ];
  const verdict = await createToolbox([]).judge(callOf('foreign', {}), { extraTools });
  expect(verdict).toMatchObject({
    kind: 'reject',
    error: { message: expect.stringMatching(/its schema, which came with the thread, can't be used: schema is invalid/) },
  });
});
