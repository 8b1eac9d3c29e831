import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';

const root = join(__dirname, '..');
const folder = mkdtempSync(join(tmpdir(), 'longhaul-package-'));
const app = join(folder, 'app');

/**
 * What a user gets: the tarball of `npm pack`, unpacked into a fresh project. Its dependencies are linked from ours, each with its own
 * location, so that no network is needed and only what package.json declares is there.
 */
beforeAll(() => {
  // A copy, because the build writes dist: a second build or another test at the same time would see an incomplete dist.
  const copy = join(folder, 'source');
  mkdirSync(copy);
  for (const name of ['package.json', 'tsconfig.json', 'tsconfig.build.json', 'README.md', 'LICENSE', 'src', 'bin', 'scripts']) {
    if (readdirSync(root).includes(name)) cpSync(join(root, name), join(copy, name), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  const [{ filename }] = JSON.parse(run('npm', ['pack', '--json', '--silent', '--pack-destination', folder], copy));

  const modules = join(app, 'node_modules');
  mkdirSync(join(modules, 'longhaul'), { recursive: true });
  run('tar', ['xzf', join(folder, filename), '-C', join(modules, 'longhaul'), '--strip-components=1'], folder);
  const { dependencies } = manifest();
  for (const name of [...Object.keys(dependencies), '@types/node']) {
    mkdirSync(join(modules, name, '..'), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), join(modules, name));
  }
  writeFileSync(join(app, 'package.json'), '{ "name": "app", "private": true }');
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('a CommonJS project can require every entry of the package', () => {
  writeFileSync(
    join(app, 'use.cjs'),
    `for (const name of ${JSON.stringify(entries())}) console.log(name, Object.keys(require(name)).length > 0);`,
  );
  expect(run(process.execPath, ['use.cjs'], app)).toBe(
    entries()
      .map((name) => `${name} true\n`)
      .join(''),
  );
});

test('an ES module project can import what it needs by name', () => {
  writeFileSync(
    join(app, 'use.mjs'),
    `import { defineAgent, defineTool, createWorker } from 'longhaul';\nconsole.log(typeof defineAgent, typeof defineTool, typeof createWorker);`,
  );
  expect(run(process.execPath, ['use.mjs'], app)).toBe('function function function\n');
});

test.each([
  ['a CommonJS project', 'use.test.cjs', "const { createPermissions } = require('longhaul');", ''],
  ['an ES module project', 'use.test.mjs', "import { createPermissions } from 'longhaul';", '--experimental-vm-modules'],
])('jest can load it and what it depends on in %s', (_, file, head, option) => {
  writeFileSync(join(app, file), `${head}\ntest('loads', () => expect(typeof createPermissions).toBe('function'));\n`);
  const jest = [join(root, 'node_modules/jest/bin/jest.js'), '--rootDir', app, '--testMatch', `**/${file}`, '--transform', '{}'];
  expect(run(process.execPath, [...(option ? [option] : []), ...jest], app)).toBe('');
});

test.each(['use-types.cts', 'use-types.mts'])('the types check in a strict project: %s', (file) => {
  writeFileSync(join(app, file), consumer);
  expect(check(file)).toBe('');
});

test('the types are not `any`: a wrong use is an error at its place', () => {
  writeFileSync(join(app, 'wrong.cts'), "import { defineAgent } from 'longhaul';\ndefineAgent({ name: 7 });\n");
  expect(() => check('wrong.cts')).toThrow(/wrong\.cts\(2,\d+\): error TS2\d+/);
});

test('it contains the bundle of its workflow code, with the version of the SDK that built it, and no path of the machine that built it', () => {
  const bundles = (settings: string) =>
    run(
      process.execPath,
      ['-p', `require('./node_modules/longhaul/dist/workflow-bundle.js').packagedBundle(${settings}).codePath`],
      app,
    ).trim();
  for (const file of [bundles('{}'), bundles('{ stackTraces: true }')]) {
    const code = readFileSync(file, 'utf8');
    const { sources } = JSON.parse(Buffer.from(code.split('base64,').at(-1) ?? '', 'base64').toString());
    expect([code.includes('agentThread'), code.includes(folder), sources.filter(isAbsolute)]).toEqual([true, false, []]);
  }
});

test('publint finds nothing wrong with the package', () => {
  const cli = join(root, 'node_modules/publint/src/cli.js');
  expect(run(process.execPath, [cli, join(app, 'node_modules/longhaul'), '--strict', '--pack', 'false'], app)).toContain('All good!');
});

test('the lock file has no download addresses', () => {
  expect(readFileSync(join(root, 'package-lock.json'), 'utf8')).not.toMatch(/"resolved"|https?:\/\/[^"]*\.tgz/);
});

const consumer = `import { defineAgent, defineTool } from 'longhaul';
import { z } from 'zod';

const add = defineTool({
  name: 'add',
  description: 'Adds two numbers.',
  input: z.object({ a: z.number(), b: z.number() }),
  effect: 'pure',
  async execute({ a, b }, ctx) {
    const sum: number = a + b;
    return { sum, key: ctx.idempotencyKey.length };
  },
});
export const calculator = defineAgent({ name: 'calculator', model: 'openai/gpt-5', instructions: 'Add.', tools: [add] });
`;

function manifest(): { dependencies: Record<string, string>; exports: Record<string, unknown> } {
  return JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
}

/** Not the workflows: they run only inside a worker's sandbox. */
function entries(): string[] {
  const paths = Object.keys(manifest().exports).filter((path) => !['./workflows', './package.json'].includes(path));
  return paths.map((path) => path.replace('.', 'longhaul'));
}

/** `skipLibCheck`: the declarations of the Temporal SDK name a package that has none of its own. */
function check(file: string): string {
  const flags = ['--strict', '--noEmit', '--skipLibCheck', '--module', 'node20', '--target', 'es2022', '--types', 'node'];
  return run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), ...flags, file], app);
}

function run(command: string, args: string[], cwd: string): string {
  try {
    return execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}\n${stderr}`);
  }
}
