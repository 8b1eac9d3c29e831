import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const root = join(__dirname, '../..');

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

/** The compiler's output for files of code, by name, in a project that has this package installed. */
export function compile(files: ReadonlyMap<string, string>, options: object = {}): string {
  mkdirSync(join(root, '.longhaul'), { recursive: true });
  const folder = mkdtempSync(join(root, '.longhaul/docs-'));
  try {
    for (const [name, code] of files) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), code);
    }
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: { ...compilerOptions, ...options }, include: ['**/*.ts', '**/*.mts'] }),
    );
    execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '--project', folder], {
      encoding: 'utf8',
      stdio: 'pipe',
    });
    return '';
  } catch (error) {
    return (error as { stdout?: string }).stdout ?? String(error);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
