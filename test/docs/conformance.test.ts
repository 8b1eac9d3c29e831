import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const { missing, numbered, page, render } = require(join(__dirname, '../../scripts/conformance.js'));

test('the page of conformance says what the tests prove: if this fails, run `node scripts/conformance.js`', () => {
  expect(readFileSync(page, 'utf8')).toBe(render());
});

test('every line that is due is proven by a test', () => {
  expect(missing()).toEqual([]);
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
