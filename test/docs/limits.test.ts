import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bounds } from '../../src/core/bounds';

const page = readFileSync(join(__dirname, '../../docs/operations.md'), 'utf8');
const rows = new Map(
  [...page.matchAll(/^\| .* \| ([\d,]+)[^|]* \| .* \| `(\w+)` \|$/gm)].map(([, value = '', name = '']) => [name, value]),
);

test('the page on operations lists every limit, with its number', () => {
  const told = Object.fromEntries([...rows].map(([name, value]) => [name, Number(value.replaceAll(',', ''))]));
  expect(told).toEqual(bounds);
});
