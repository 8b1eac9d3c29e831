import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { applyPatch } from '../../src/tools/built-in/apply-patch';
import { editFile } from '../../src/tools/built-in/edit';
import { told } from '../tools/tool-host';
import { type Case, type Files, Random, randomCase } from './random-cases';

export interface Result {
  applied: number;
  refused: number;
  violations: string[];
}

const atOnce = 20;

/** Runs random edits and patches on real files. A violation is a call that was carried out in part, wrongly, or refused without a reason. */
export async function runCases({ count, seed, progress }: { count: number; seed: number; progress?(done: number): void }): Promise<Result> {
  const random = new Random(seed);
  const result: Result = { applied: 0, refused: 0, violations: [] };
  // Each write waits for the disk, which is not what is tested.
  const base = await mkdtemp(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'longhaul-patches-'));
  try {
    for (let done = 0; done < count; done += atOnce) {
      const cases = Array.from({ length: Math.min(atOnce, count - done) }, () => randomCase(random));
      const problems = await Promise.all(cases.map((one, at) => runOne(one, join(base, String(done + at)), result)));
      for (const [at, problem] of problems.entries()) {
        if (problem) result.violations.push(`case ${done + at} of seed ${seed} (${cases[at]?.what}): ${problem}`);
      }
      progress?.(done + cases.length);
    }
  } finally {
    await rm(base, { recursive: true, force: true });
  }
  return result;
}

async function runOne({ files, tool, args, expected, mayBeRefused }: Case, workspace: string, result: Result): Promise<string | undefined> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(workspace, path)), { recursive: true });
    await writeFile(join(workspace, path), content);
  }
  const answer = await told(tool === 'edit' ? editFile : applyPatch, args, { workspace, idempotencyKey: 'the-call' });
  const now = await contentOf(workspace);
  await rm(workspace, { recursive: true });
  const isRefused = answer.startsWith('Error: ');
  if (isRefused) result.refused += 1;
  else result.applied += 1;
  const details = () => JSON.stringify({ args, files, expected, now, answer });
  if (isRefused && !isSame(now, files)) return `refused, but changed ${details()}`;
  if (isRefused && expected && !mayBeRefused) return `refused ${details()}`;
  if (!isRefused && !expected) return `not refused ${details()}`;
  if (!isRefused && expected && !isSame(now, expected)) return `applied wrongly ${details()}`;
  return undefined;
}

async function contentOf(workspace: string): Promise<Files> {
  const entries = await readdir(workspace, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !entry.parentPath.includes('.longhaul'));
  const read = files.map(async ({ parentPath, name }) => {
    const path = join(parentPath, name);
    return [path.slice(workspace.length + 1), await readFile(path, 'utf8')] as const;
  });
  return Object.fromEntries(await Promise.all(read));
}

function isSame(a: Files, b: Files): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}
