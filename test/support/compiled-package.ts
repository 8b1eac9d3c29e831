import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { transformFileSync } from '@swc/core';

const root = join(__dirname, '../..');

/**
 * The package as it is installed, in a folder of its own: compiled, so that it starts in half the time of the sources, with its workflow bundle.
 * Its folder `agents` has those of test/support/agents. Type errors are ignored here; the type check reports them.
 */
export async function compilePackage(folder: string): Promise<string> {
  mkdirSync(folder);
  for (const name of ['bin', 'scripts', 'package.json']) cpSync(join(root, name), join(folder, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  compileAgents(join(folder, 'agents'));
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const off = ['declaration', 'sourceMap', 'inlineSources'].flatMap((name) => [`--${name}`, 'false']);
  const options = ['--noCheck', '--outDir', join(folder, 'dist'), ...off];
  const compiled = await promisify(execFile)(process.execPath, [compiler, '-p', join(root, 'tsconfig.build.json'), ...options]).catch(
    (error) => error as { stdout: string },
  );
  if (!existsSync(join(folder, 'dist/cli/main.js'))) throw new Error(`The package could not be compiled:\n${compiled.stdout}`);
  for (const script of ['compile-unbash.js', 'bundle-workflows.js'])
    await promisify(execFile)(process.execPath, [join(folder, 'scripts', script)]);
  return folder;
}

/** The agents import the package by its name, which resolves to the compiled package. */
function compileAgents(folder: string): void {
  mkdirSync(folder);
  const sources = join(__dirname, 'agents');
  for (const file of readdirSync(sources)) {
    const { code } = transformFileSync(join(sources, file), {
      jsc: { target: 'es2022', parser: { syntax: 'typescript' } },
      module: { type: 'commonjs' },
    });
    writeFileSync(join(folder, `${basename(file, '.ts')}.js`), code);
  }
}
