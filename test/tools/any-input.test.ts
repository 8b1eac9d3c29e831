import fc from 'fast-check';
import { askPolicy } from '../../src/core/ask-policy';
import type { ToolSpec } from '../../src/core/tool';
import { defineTool } from '../../src/tools/defining/define-tool';
import { createToolbox } from '../../src/tools/running/toolbox';
import { rounds } from '../support/rounds';
import { callOf } from './tool-host';

/** JSON that is now and then a schema. */
const schemas = fc.letrec((tie) => ({
  schema: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(
      true,
      false,
      { $ref: '#' },
      { $ref: '#/$defs/a' },
      { $ref: '#/components/schemas/A' },
      { $ref: '#a' },
      { $anchor: 'a' },
    ),
    fc.record(
      {
        type: fc.constantFrom('object', 'string', 'number', ['object', 'null'], 'nonsense', 7),
        properties: fc.dictionary(fc.constantFrom('a', 'b', '$ref', '__proto__', 'constructor'), tie('schema')),
        items: fc.oneof(tie('schema'), fc.array(tie('schema'), { maxLength: 2 })),
        anyOf: fc.array(tie('schema'), { maxLength: 2 }),
        $defs: fc.dictionary(fc.constantFrom('a', 'b'), tie('schema')),
        $id: fc.constantFrom('a', '#a', 'b'),
        pattern: fc.constantFrom('(', '^a'),
        enum: fc.array(fc.jsonValue(), { maxLength: 2 }),
        components: fc.record({ schemas: fc.dictionary(fc.constantFrom('A', 'B'), tie('schema')) }),
      },
      { requiredKeys: [] },
    ),
    fc.jsonValue(),
  ),
})).schema as fc.Arbitrary<never>;

test('whatever schema a thread brings, and whatever arguments are sent for it, a call gets a verdict', async () => {
  const box = createToolbox([]);
  await fc.assert(
    fc.asyncProperty(schemas, fc.oneof(fc.json(), fc.string()), async (parameters, text) => {
      const extraTools: ToolSpec[] = [{ name: 'odd', description: 'Odd.', parameters }];
      const verdict = await box.judge(callOf('odd', text), { extraTools });
      expect(['external', 'reject']).toContain(verdict.kind);
    }),
    { numRuns: rounds(30) },
  );
});

test('any value as input is a tool with an object at its root or an error that says what is wrong', () => {
  fc.assert(
    fc.property(schemas, (input) => {
      try {
        const { parameters } = defineTool({ name: 'odd', description: 'Odd.', input });
        expect(parameters).toMatchObject({ type: 'object', properties: expect.anything() });
        expect(JSON.stringify(parameters)).not.toContain('#/components/');
      } catch (error) {
        if ((error as Error).name !== 'TypeError') throw error;
        expect((error as Error).message).toMatch(/^defineTool 'odd': input /);
      }
    }),
    { numRuns: rounds(30) },
  );
});

test('any value as an ask policy is valid or an error that says what is wrong', () => {
  const names = fc.array(fc.oneof(fc.constantFrom('dana', 'lee', ''), fc.jsonValue()), { maxLength: 3 });
  const action = fc.oneof(fc.constantFrom('deny', 'approve', 'ask-again', 'cancel'), fc.record({ escalate: names }), fc.jsonValue());
  const options = fc.record(
    {
      reason: fc.oneof(fc.string(), fc.jsonValue()),
      users: names,
      groups: names,
      approvers: fc.oneof(fc.integer({ min: -1, max: 4 }), fc.jsonValue()),
      deadlineMs: fc.oneof(fc.integer(), fc.double(), fc.jsonValue()),
      onDeadline: fc.oneof(action, fc.array(action, { maxLength: 3 })),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.oneof(options, fc.jsonValue()), (given) => {
      const { policy, problems } = askPolicy(given);
      if (problems.length > 0) return;
      const { users, groups, approvers = 1, deadlineMs, onDeadline } = policy;
      expect(users === undefined || groups !== undefined || new Set(users).size >= approvers).toBe(true);
      expect((deadlineMs === undefined) === (onDeadline === undefined)).toBe(true);
      expect(JSON.parse(JSON.stringify(policy))).toEqual(policy);
    }),
    { numRuns: 1_000 },
  );
});
