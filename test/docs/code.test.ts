import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const root = join(__dirname, '../..');
const pages = ['README.md', ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`)].filter((name) => name.endsWith('.md'));

test('the code in README and docs compiles against what the package exports', () => {
  mkdirSync(join(root, '.longhaul'), { recursive: true });
  const folder = mkdtempSync(join(root, '.longhaul/docs-'));
  try {
    let blocks = 0;
    for (const page of pages) {
      for (const [, code] of readFileSync(join(root, page), 'utf8').matchAll(/^```ts\n([\s\S]*?)^```$/gm)) {
        blocks += 1;
        // A module, so that blocks don't share names and may await.
        const file = join(folder, page.replace(/\W/g, '-'), fileOf(code ?? '') ?? `block-${blocks}.mts`);
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(file, `${code}\nexport {};\n`);
      }
    }
    expect(blocks).toBeGreaterThan(5);
    const compilerOptions = {
      target: 'es2023',
      module: 'esnext',
      moduleResolution: 'bundler',
      strict: true,
      noEmit: true,
      allowJs: true,
      skipLibCheck: true,
      types: ['node'],
      paths: { longhaul: ['../../src/index.ts'], 'longhaul/*': ['../../src/*/index.ts', '../../src/*.ts'] },
    };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['**/*.ts', '**/*.mts'] }));
    expect(compile(folder)).toBe('');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}, 60_000);

test('the pages that README names are there', () => {
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

/** What the compiler has to say. */
function compile(folder: string): string {
  try {
    execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '--project', folder], {
      encoding: 'utf8',
      stdio: 'pipe',
    });
    return '';
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}
