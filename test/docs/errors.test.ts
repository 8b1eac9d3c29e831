import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { refusalCodes } from '../../src/core/refusal';

const read = (path: string) => readFileSync(join(__dirname, '../..', path), 'utf8');

/** The members of the type, read from its text: at run time nothing is left of it. */
function codesOfType(): string[] {
  const [, union = ''] = /type LonghaulErrorCode =\n(.*?);/s.exec(read('src/client/errors.ts')) ?? [];
  return [...union.matchAll(/'([\w-]+)'/g)].map(([, code]) => code!);
}

test('the page on errors has a row for every code, in the order of the type, with its cause and what to do', () => {
  const rows = [...read('docs/errors.md').matchAll(/^\| `([\w-]+)` \| \S.* \| \S.* \|$/gm)].map(([, code]) => code);
  expect(codesOfType().length).toBeGreaterThan(10);
  expect(rows).toEqual(codesOfType());
});

test('and one for every code of a refusal, with its cause', () => {
  const [, section = ''] = read('docs/errors.md').split('## Why a thread refuses');
  expect([...section.matchAll(/^\| `([\w-]+)` \| \S.* \|$/gm)].map(([, code]) => code)).toEqual([...refusalCodes]);
});
