import { z } from 'zod';
import { defineTool } from '../../src/tools/defining/define-tool';
import { createToolbox } from '../../src/tools/running/toolbox';

const ok = (): string => 'ok';
const good = { name: 'greet', description: 'Greets.', input: z.object({ who: z.string() }) };

describe('defineTool', () => {
  test('sets the safe defaults', () => {
    const tool = defineTool(good);
    expect(tool).toMatchObject({ effect: 'once' });
    expect(tool.approval).toBeUndefined();
    // The agent's, or else 30 s: what the call's verdict says.
    expect(tool.timeoutMs).toBeUndefined();
    expect(tool.execute).toBeUndefined();
    expect(Object.isFrozen(tool)).toBe(true);
  });

  test('[B148] optional fields stay optional, and the root is an object', () => {
    const input = z.object({
      city: z.string().describe('Where.'),
      days: z.number().int().optional(),
      unit: z.enum(['c', 'f']).default('c'),
      note: z.string().nullable(),
    });
    const [spec] = createToolbox([defineTool({ ...good, input })]).specs();
    expect(spec?.parameters).toMatchObject({
      type: 'object',
      required: ['city', 'note'],
      properties: { city: { type: 'string', description: 'Where.' }, unit: { enum: ['c', 'f'], default: 'c' } },
    });
    expect(spec?.parameters).not.toHaveProperty('$schema');
    expect(spec?.parameters).not.toHaveProperty('properties.days.anyOf');
  });

  test('a tool without arguments has an empty object as its schema', () => {
    expect(defineTool({ ...good, input: z.object({}) }).parameters).toMatchObject({ type: 'object', properties: {} });
  });

  test('a recursive schema is written with a reference', () => {
    const node = z.object({
      name: z.string(),
      get children() {
        return z.array(node).optional();
      },
    });
    expect(JSON.stringify(defineTool({ ...good, input: node }).parameters)).toContain('$ref');
  });

  test('a transformed field is shown as the model must send it', () => {
    const input = z.object({ when: z.iso.datetime().transform((text) => new Date(text)), n: z.coerce.date().optional() });
    expect(defineTool({ ...good, input }).parameters).toMatchObject({ properties: { when: { type: 'string' } } });
  });

  test('`this` in execute is the definition, as in any object', async () => {
    const tool = defineTool({
      ...good,
      execute(): string {
        return this.name;
      },
    });
    expect(await tool.execute?.({}, {} as never)).toBe('greet');
  });

  test.each([
    ['a name with a space', { name: 'say hi' }, /name "say hi" is not usable/],
    ['a name that is too long', { name: 'x'.repeat(65) }, /1 to 64/],
    ['no name', { name: undefined }, /not usable/],
    ['an empty description', { description: ' ' }, /'greet': description is empty/],
    ['an unknown effect', { effect: 'twice' }, /effect is "twice"; use 'pure', 'keyed', 'once', 'verify', 'saga'/],
    ['an unknown approval', { approval: 'sometimes' }, /approval is "sometimes"/],
    ['no time at all', { timeoutMs: 0 }, /timeoutMs is 0/],
    ['a timeout no timer can hold', { timeoutMs: 2 ** 31 }, /at most 2147483647/],
    ['a timeout that is no number', { timeoutMs: Number.NaN }, /timeoutMs is NaN/],
    ['an execute that is no function', { execute: 'echo' }, /execute is not a function/],
    ['an approval of another shape', { approval: { if: 'always' } }, /approval is not valid: if is not known; known are reason, users/],
    ['a rule that is none', { approval: { when: 'cents > 5' } }, /approval has when, which is "cents > 5"; use 'always' or a function/],
    ['a list as approval', { approval: ['always'] }, /approval is \["always"\]; use 'never', 'always'/],
    ['no schema', { input: undefined }, /input is not a schema; use z\.object/],
    ['a schema of another library', { input: { safeParse: () => ({}) } }, /not a zod schema/],
    ['zod schemas that nobody wrapped', { input: { city: z.string() } }, /wrap it: z\.object/],
    ['definitions of a zod schema', { definitions: {} }, /definitions are for JSON Schemas/],
    ['a background without anything to run', { background: true }, /background needs execute/],
    ['a background that is no yes or no', { background: 'yes', execute: ok }, /background is "yes"; use true or false/],
    ['a question that runs', { question: true, execute: ok }, /question is for tools without execute/],
    ['somebody to answer what runs', { ask: { users: ['dana'] }, execute: ok }, /ask is for tools without execute/],
    ['nobody to answer', { ask: { users: [] } }, /ask can't be used: users is \[\]; use a list of names, at least one/],
    ['an approval as an answer', { ask: { deadlineMs: 1_000, onDeadline: 'approve' } }, /'approve', which answers nothing/],
    ['a root that is no object', { input: z.string() }, /not an object at its root.*wrap it/],
    ['a union at the root', { input: z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]) }, /not an object at its root/],
    ['a date, which JSON has not', { input: z.object({ list: z.array(z.object({ at: z.date() })) }) }, /has a date at 'list\[\]\.at'/],
    ['an optional bigint', { input: z.object({ big: z.bigint().optional() }) }, /has a bigint at 'big'/],
    ['retry of a tool that is never run twice', { retry: { maxAttempts: 3 } }, /retry needs another effect: a 'once' tool/],
    ['verify without a probe', { effect: 'verify', execute: ok }, /probe is not a function; effect 'verify' needs one/],
    ['a probe that nobody asks', { effect: 'keyed', execute: ok, probe: ok }, /probe is only asked for effect 'verify'/],
    ['a saga that can not be undone', { effect: 'saga', execute: ok }, /compensate is not a function; effect 'saga' needs one/],
    ['a compensation that nobody calls', { effect: 'once', execute: ok, compensate: ok }, /compensate is only called for effect 'saga'/],
    ['a probe of a saga', { effect: 'saga', execute: ok, compensate: ok, probe: ok }, /probe is only asked for effect 'verify'/],
    ['an unknown way with unknown outcomes', { onUnknown: 'hope', execute: ok }, /onUnknown is "hope"; use 'tell-model'/],
    [
      'a way with outcomes that are never unknown',
      { effect: 'keyed', onUnknown: 'ask-person', execute: ok },
      /can be unknown; leave it out/,
    ],
    ['to ask a probe again that is none', { onUnknown: 'probe-again', execute: ok }, /which needs effect 'verify'/],
    ['to wait for a call in the background', { onUnknown: 'ask-person', background: true, execute: ok }, /the run goes on without/],
    ['a probe without attempts', { effect: 'verify', probe: ok }, /probe needs execute/],
    ['no attempts', { effect: 'pure', retry: { maxAttempts: 0 } }, /retry\.maxAttempts is 0/],
    ['a negative wait', { effect: 'pure', retry: { maxAttempts: 2, initialMs: -1 } }, /retry\.initialMs is -1/],
    ['waits the wrong way round', { effect: 'pure', retry: { maxAttempts: 2, initialMs: 10, maxMs: 5 } }, /retry\.maxMs \(5\) is below/],
  ])('refuses %s', (_what, wrong, message) => {
    expect(() => defineTool({ ...good, ...wrong } as never)).toThrow(message);
  });
});
