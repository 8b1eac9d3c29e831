// npm run test:openapi -- FILE…: loads OpenAPI documents, each in a process of its own, and prints what they give and what it takes.
import { execFile } from 'node:child_process';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import type { Measured } from './measure';

const run = promisify(execFile);
const limits = { ms: 5_000, mb: 300 };

async function measured(file: string): Promise<Measured | string> {
  try {
    const { stdout } = await run(process.execPath, ['--import', require.resolve('tsx'), join(__dirname, 'measure.ts'), file], {
      timeout: 120_000,
    });
    return JSON.parse(stdout) as Measured;
  } catch (error) {
    return String((error as { stderr?: string }).stderr || (error as Error).message).trim();
  }
}

function row(cells: readonly (string | number)[]): string {
  const [name = '', ...rest] = cells.map(String);
  return `${name.padEnd(34).slice(0, 34)}${rest.map((cell) => cell.padStart(10)).join('')}`;
}

async function main(files: readonly string[]): Promise<void> {
  if (files.length === 0) throw new Error('Name the OpenAPI documents to load: npm run test:openapi -- FILE…');
  console.log(row(['document', 'operations', 'no id', 'tools', 'load ms', 'load MB', 'schemas ms', 'calls', 'same']));
  let failed = 0;
  for (const file of files) {
    const found = await measured(file);
    if (typeof found === 'string') {
      failed += 1;
      console.log(`${basename(file)}: ${found}`);
      continue;
    }
    const { operations, skipped, tools, loadMs, loadMb, schemasMs, calls, same, problems } = found;
    console.log(row([basename(file), operations, skipped, tools, loadMs, loadMb, schemasMs, calls, same]));
    const over = loadMs > limits.ms || loadMb > limits.mb ? [`more than ${limits.ms} ms or ${limits.mb} MB`] : [];
    if (problems.length + over.length > 0) failed += 1;
    for (const problem of [...over, ...problems.slice(0, 10)]) console.log(`  ${problem}`);
  }
  console.log(`${files.length - failed} passed, ${failed} failed`);
  process.exitCode = failed > 0 ? 1 : 0;
}

main(process.argv.slice(2)).catch((error: Error) => {
  console.error(error.message);
  process.exitCode = 1;
});
