import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { compile } from '../support/compile';

const root = join(__dirname, '../..');
const pages = ['README.md', ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`)].filter((name) => name.endsWith('.md'));

test('the code in README and docs compiles against what the package exports', () => {
  const files = new Map<string, string>();
  for (const page of pages) {
    for (const [, code = ''] of readFileSync(join(root, page), 'utf8').matchAll(/^```ts\n([\s\S]*?)^```$/gm)) {
      // A module, so that blocks don't share names and may await.
      files.set(`${page.replace(/\W/g, '-')}/${fileOf(code) ?? `block-${files.size + 1}.mts`}`, `${code}\nexport {};\n`);
    }
  }
  expect(files.size).toBeGreaterThan(5);
  expect(compile(files)).toBe('');
});

test('the pages that README links to exist', () => {
  const links = [...readFileSync(join(root, 'README.md'), 'utf8').matchAll(/\]\(((?:docs|examples)\/[^)]+)\)/g)].map(
    ([, path]) => path ?? '',
  );
  expect(links.length).toBeGreaterThan(10);
  for (const link of links) expect(() => readFileSync(join(root, link))).not.toThrow();
});

/** The file that a block names in its first line, so that other blocks of its page can import it. */
function fileOf(code: string): string | undefined {
  return /^\/\/ (src\/\w+\.ts)\n/.exec(code)?.[1];
}
