import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, symlink, writeFile as writeText } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { globFiles } from '../../src/tools/built-in/glob';
import { grepFiles } from '../../src/tools/built-in/grep';
import { newFolder, removeFolders, run, told } from './tool-host';

afterEach(removeFolders);

/** A repository of git with these files. */
async function repository(files: Record<string, string>) {
  const workspace = await newFolder();
  execFileSync('git', ['init', '-q', workspace]);
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(workspace, path)), { recursive: true });
    await writeText(join(workspace, path), content);
  }
  return {
    workspace,
    glob: async (args: object) => (await told(globFiles, args, { workspace })).split('\n'),
    grep: async (args: object) => (await told(grepFiles, args, { workspace })).split('\n'),
  };
}

const sources = {
  '.gitignore': 'dist\nsecret.ts\n',
  '.github/ci.yml': 'on: push\n',
  'b.ts': 'const b = total(1);\n',
  'a.test.ts': 'total(2);\n',
  'src/deep/c.ts': 'one\ntwo\nTotal(3)\nfour\nfive\n',
  'src/.gitignore': 'd.ts\n',
  'src/d.ts': 'total(4);\n',
  'secret.ts': 'total(5);\n',
  'dist/e.ts': 'total(6);\n',
  '.longhaul/f.ts': 'total(7);\n',
};

test('a search whose ignore rules take too much memory fails, and says so', async () => {
  const { workspace } = await repository({ 'a.ts': 'x' });
  const rules = Array.from({ length: 130_000 }, (_, i) => `*a${i}?[!x-z]*b{${i},c${i}}**/d*`).join('\n');
  await writeText(join(workspace, '.gitignore'), rules);
  const found = await told(globFiles, { pattern: '*' }, { workspace });
  // Without a limit it takes 2.7 GB.
  expect(found).toMatch(/^Error: ripgrep needed more memory than it may use/);
});

test('of a hundred searches at once, few run at a time', async () => {
  const { glob } = await repository(sources);
  let most = 0;
  const watching = setInterval(() => {
    const running = readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && parentOf(pid) === process.pid);
    most = Math.max(most, running.length);
  }, 5);
  const all = await Promise.all(Array.from({ length: 100 }, () => glob({ pattern: '*.ts', limit: 1 }))).finally(() =>
    clearInterval(watching),
  );
  expect(new Set(all.map(String)).size).toBe(1);
  // A glob has two processes, two globs run, and some of these may have ended while they were counted.
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThanOrEqual(8);
});

function parentOf(pid: string): number | undefined {
  try {
    return Number(/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  } catch {
    return undefined;
  }
}

describe('glob', () => {
  test('finds files in any folder or from the path on, sorted by path, without what .gitignore excludes', async () => {
    const { glob } = await repository(sources);
    expect(await glob({ pattern: '*.ts' })).toEqual(['a.test.ts', 'b.ts', 'src/deep/c.ts']);
    expect(await glob({ pattern: '/*.ts' })).toEqual(['a.test.ts', 'b.ts']);
    expect(await glob({ pattern: 'src/**/*.{ts,tsx}' })).toEqual(['src/deep/c.ts']);
    expect(await glob({ pattern: 'deep/*', path: 'src' })).toEqual(['src/deep/c.ts']);
    expect(await glob({ pattern: '*.yml' })).toEqual(['.github/ci.yml']);
    expect(await glob({ pattern: '*.py' })).toEqual(['No files found.']);
  });

  test('offset and limit select files, and the last line counts those that follow', async () => {
    const { glob } = await repository(sources);
    expect(await glob({ pattern: '*.ts', limit: 1 })).toEqual(['a.test.ts', '[... 2 more files ...]']);
    expect(await glob({ pattern: '*.ts', offset: 3 })).toEqual(['src/deep/c.ts']);
    expect(await glob({ pattern: '*.ts', offset: 4 })).toEqual(['[offset 4 is past the end: there are 3 files]']);
  });

  test('links are not followed, and paths outside are refused', async () => {
    const { workspace, glob } = await repository({ 'a.ts': '' });
    const outside = await newFolder();
    await writeText(join(outside, 'b.ts'), '');
    await symlink(outside, join(workspace, 'out'));
    expect(await glob({ pattern: '**/*.ts' })).toEqual(['a.ts']);
    expect((await glob({ pattern: '*.ts', path: 'out' }))[0]).toContain('is outside the workspace');
    expect((await glob({ pattern: '*.ts', path: '..' }))[0]).toContain('is outside the workspace');
    expect((await glob({ pattern: '*.ts', path: 'a.ts' }))[0]).toContain('is a file. Name a folder.');
    expect((await glob({ pattern: '*.ts', path: 'none' }))[0]).toContain('does not exist');
  });

  test('a name with a line break stays one entry, and a wrong glob says what is wrong', async () => {
    const { glob } = await repository({ 'a\nb.ts': '' });
    expect(await glob({ pattern: '*.ts' })).toEqual(['"a\\nb.ts"']);
    expect((await glob({ pattern: '{a' }))[0]).toMatch(/^Error: ripgrep refused the search: .*glob/);
  });
});

describe('grep', () => {
  test('[B138] shows lines with their numbers below their file, sorted by path, with a glob and a path', async () => {
    const { grep } = await repository(sources);
    expect(await grep({ pattern: 'total\\(\\d' })).toEqual(['a.test.ts', 'L1: total(2);', 'b.ts', 'L1: const b = total(1);']);
    expect(await grep({ pattern: 'total', ignore_case: true, include: '*.ts', path: 'src' })).toEqual(['src/deep/c.ts', 'L3: Total(3)']);
    expect(await grep({ pattern: 'total', include: '*.test.ts' })).toEqual(['a.test.ts', 'L1: total(2);']);
    expect(await grep({ pattern: 'Total', context: 1 })).toEqual(['src/deep/c.ts', 'L2- two', 'L3: Total(3)', 'L4- four']);
    expect(await grep({ pattern: 'total(', literal: true, files_only: true })).toEqual(['a.test.ts', 'b.ts']);
    expect(await grep({ pattern: 'two', path: 'src/deep/c.ts' })).toEqual(['src/deep/c.ts', 'L2: two']);
    expect(await grep({ pattern: 'nowhere' })).toEqual(['No matches found.']);
  });

  test('a glob does not find what .gitignore excludes', async () => {
    const { grep } = await repository(sources);
    expect(await grep({ pattern: 'total', include: '*.ts', files_only: true })).toEqual(['a.test.ts', 'b.ts']);
  });

  test('[B138] shows 100 matches by default, and says that there are more', async () => {
    const { grep } = await repository({ a: 'x\n'.repeat(100), b: 'x\n'.repeat(101) });
    expect(await grep({ pattern: 'x', path: 'a' })).toHaveLength(101);
    const lines = await grep({ pattern: 'x', path: 'b' });
    expect(lines).toHaveLength(102);
    expect(lines.at(-1)).toMatch(/^\[... more matches ...: use a narrower pattern/);
    expect(await grep({ pattern: 'x', files_only: true, limit: 1 })).toEqual(['a', expect.stringMatching(/more files/)]);
  });

  test('[B138] nothing is left to a shell, to options, or to the configuration of ripgrep and git', async () => {
    const { workspace, grep } = await repository({ a: 'x $(touch pwned) --pre=sh\n', '.ripgreprc': '--pre=sh\n' });
    expect(await grep({ pattern: '$(touch pwned)', literal: true })).toEqual(['a', 'L1: x $(touch pwned) --pre=sh']);
    expect(await grep({ pattern: '--pre=sh', literal: true, include: 'a' })).toEqual(['a', 'L1: x $(touch pwned) --pre=sh']);
    expect((await grep({ pattern: 'x', path: '--pre=sh' }))[0]).toContain('does not exist');
    await expect(told(globFiles, { pattern: 'pwned' }, { workspace })).resolves.toBe('No files found.');
  });

  test('[B138] a wrong expression is an error that says what is wrong, and so is a missing ripgrep', async () => {
    const { workspace } = await repository({ a: 'x' });
    const { outcome } = await run(grepFiles, { pattern: '(' }, { workspace });
    expect(outcome.status).toBe('failed');
    expect(outcome.content).toMatch(/^Error: ripgrep refused the search: .*unclosed group/s);
    const { arch } = process;
    Object.defineProperty(process, 'arch', { value: 'none' });
    try {
      const missing = await run(grepFiles, { pattern: 'x' }, { workspace });
      expect(missing.outcome).toMatchObject({ status: 'failed', content: expect.stringContaining('ripgrep is not installed') });
    } finally {
      Object.defineProperty(process, 'arch', { value: arch });
    }
  });

  test('long lines are cut, binary files are left out, and the answer is bounded', async () => {
    const { grep } = await repository({ a: `x${'y'.repeat(3_000_000)}\n`, b: 'x\n\0', c: `${'x'.repeat(400)}\n`.repeat(500) });
    const [path, line = ''] = await grep({ pattern: 'x', path: 'a' });
    expect([path, line.length < 700]).toEqual(['a', true]);
    expect(await grep({ pattern: 'x', path: 'b' })).toEqual(['No matches found.']);
    const text = (await grep({ pattern: 'x', path: 'c', limit: 1_000 })).join('\n');
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(50 * 1024);
    expect(text).toMatch(/\[... more matches ...: [^\n]*\]$/);
  });

  test('links are not followed, and paths outside are refused', async () => {
    const { workspace, grep } = await repository({ a: 'x' });
    const outside = await newFolder();
    await writeText(join(outside, 'b'), 'x');
    await symlink(outside, join(workspace, 'out'));
    await symlink(join(outside, 'b'), join(workspace, 'link'));
    expect(await grep({ pattern: 'x', files_only: true })).toEqual(['a']);
    for (const path of ['out', 'link', '../x', outside]) expect((await grep({ pattern: 'x', path }))[0]).toContain('outside the workspace');
  });
});
