import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const { numbered, page, problems, render, statusOf } = require(join(__dirname, '../../scripts/conformance.js'));

test('the conformance page is up to date: if this fails, run `node scripts/conformance.js`', () => {
  expect(readFileSync(page, 'utf8')).toBe(render());
});

test('each line has a text, tests have only numbers of lines, and only a line with a test has an unproven clause', () => {
  expect(problems()).toEqual([]);
});

test('a line is proven by a test with its number, except for a clause that is named as unproven', () => {
  const tests = [{ file: 'a.test.ts', name: 'x' }];
  const says = 'It does, and does more.';
  expect(statusOf({ says }, tests)).toBe('proven');
  expect(statusOf({ says, partly: 'does more' }, tests)).toBe('partly');
  expect(statusOf({ says, partly: 'does more' }, undefined)).toBe('not yet');
  expect(statusOf({ says, notApplicable: 'it has no more' }, undefined)).toBe('n/a');
});

test('numbers are read from the names of tests in any quotes, one or several', () => {
  // Numbers that no page has, so that this is no proof of anything.
  const mark = (...numbers: number[]) => numbers.map((n) => `[A${n}]`).join('');
  const source = `test('${mark(901, 902)} it\\'s done', f); test.each([1])(\n  "${mark(901)} two %i", f); const x = list['A901'];`;
  expect(numbered(source)).toEqual([
    { numbers: ['A901', 'A902'], name: "it's done" },
    { numbers: ['A901'], name: 'two %i' },
  ]);
  expect(numbered(`test(\`${mark(901).replace(']', ', B902]')} both\`, f)`)).toEqual([{ numbers: ['A901', 'B902'], name: 'both' }]);
});
