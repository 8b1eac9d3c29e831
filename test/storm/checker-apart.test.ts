import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { factsOf } from '../support/imports';

const root = join(__dirname, '../..');

/** Every file that a file needs when it runs, itself included. */
function neededBy(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  for (const { from, typesOnly } of factsOf(readFileSync(file, 'utf8')).imports) {
    if (from.startsWith('.') && !typesOnly) neededBy(`${resolve(dirname(file), from)}.ts`, seen);
  }
  return seen;
}

test('the checker of the storm shares no code with the engine', () => {
  const folder = join(root, 'storm/check');
  const needed = readdirSync(folder).flatMap((file) => [...neededBy(join(folder, file))].map((path) => relative(root, path)));
  expect(needed).toContain('storm/check/gather.ts');
  expect(needed.filter((path) => !path.startsWith('storm/'))).toEqual([]);
});
