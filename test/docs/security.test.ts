import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(__dirname, '../..');

test('every test and every page that SECURITY.md links to exists', () => {
  const page = readFileSync(join(root, 'SECURITY.md'), 'utf8');
  const files = [...page.matchAll(/\]\(([^)#]+)[^)]*\)/g)].map(([, file = '']) => file);
  expect(files.length).toBeGreaterThan(20);
  expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
});

test('every command that SECURITY.md names is one of the package', () => {
  const page = readFileSync(join(root, 'SECURITY.md'), 'utf8');
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
  const named = [...page.matchAll(/`npm run ([\w:]+)/g)].map(([, script = '']) => script);
  expect([...new Set(named)].sort()).toEqual(['bench', 'storm', 'test:shell']);
  expect(named.filter((script) => !scripts[script])).toEqual([]);
});
