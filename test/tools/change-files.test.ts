import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, stat, writeFile as writeText } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { applyPatch } from '../../src/tools/built-in/apply-patch';
import { joinLines, splitLines } from '../../src/tools/built-in/patch/text-lines';
import { runCases } from '../patches/run-cases';
import { until } from '../support/until';
import { begin, workspaceOf } from './patching';
import { removeFolders, told } from './tool-host';

afterEach(removeFolders);

/** A process that applies a patch of many files, and has changed some of them. */
async function patchingChild() {
  const count = 150;
  const files = Object.fromEntries(Array.from({ length: count }, (_, at) => [`f${at}`, `old ${at}\n`]));
  const text = begin(...Object.keys(files).flatMap((name, at) => [`*** Update File: ${name}`, `-old ${at}`, `+new ${at}`, '+old']));
  const { workspace, read } = await workspaceOf(files);
  const script = `require('tsx/cjs'); const { told } = require('./test/tools/tool-host.ts'); const { applyPatch } = require('./src/tools/built-in/apply-patch.ts');
    told(applyPatch, { patch: process.argv[1] }, { workspace: process.argv[2], idempotencyKey: 'the-call' });`;
  const child = spawn(process.execPath, ['--eval', script, text, workspace], { stdio: 'ignore' });
  await until('it has changed some files', async () => (await read('f3')).startsWith('new'));
  return { child, text, workspace, read, count };
}

describe('apply_patch, all or nothing', () => {
  test('[B158] what was written before a failure is undone', async () => {
    const { workspace, patch, read, names } = await workspaceOf({ a: 'a\n', 'dir/b': 'b\n', c: 'c\n' });
    await chmod(join(workspace, 'a'), 0o755);
    const text = await patch(
      begin(
        '*** Update File: a',
        '-a',
        '+A',
        '*** Update File: dir/b',
        '-b',
        '+B',
        '*** Add File: new',
        '+new',
        '*** Add File: new/file',
        '+x',
        '*** Delete File: c',
      ),
    );
    expect(text).toMatch(/^Error: 'new\/file' leads through a file/);
    expect(await names()).toEqual(['a', 'c', 'dir']);
    expect([await read('a'), await read('dir/b'), await read('c')]).toEqual(['a\n', 'b\n', 'c\n']);
    expect((await stat(join(workspace, 'a'))).mode & 0o777).toBe(0o755);
  });

  test('a worker that is killed in the middle leaves a patch that the next attempt completes', async () => {
    const { child, text, workspace, read, count } = await patchingChild();
    child.kill('SIGKILL');
    await once(child, 'exit');
    const answer = await told(applyPatch, { patch: text }, { workspace, idempotencyKey: 'the-call' });
    expect(answer).toMatch(new RegExp(`^Changed ${count} files:`));
    for (let at = 0; at < count; at += 1) expect(await read(`f${at}`)).toBe(`new ${at}\nold\n`);
  });

  test('a worker that was frozen in the middle changes nothing after another attempt completed the patch', async () => {
    const { child, text, workspace, read, count } = await patchingChild();
    child.kill('SIGSTOP');
    const answer = await told(applyPatch, { patch: text }, { workspace, idempotencyKey: 'the-call' });
    await writeText(join(workspace, `f${count - 2}`), 'changed later');
    child.kill('SIGCONT');
    await once(child, 'exit');
    expect(answer).toMatch(new RegExp(`^Changed ${count} files:`));
    for (let at = 0; at < count; at += 1) expect(await read(`f${at}`)).toBe(at === count - 2 ? 'changed later' : `new ${at}\nold\n`);
  });

  test('random edits and patches on random files are applied exactly, or refused without a change', async () => {
    const { applied, refused, violations } = await runCases({ count: 300, seed: 7 });
    expect(violations).toEqual([]);
    expect(Math.min(applied, refused)).toBeGreaterThan(50);
  });

  test('any text is the same after it was split into lines and joined', () => {
    const text = fc.array(fc.constantFrom('a', '\n', '\r\n', '\r', ''), { maxLength: 12 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, (whole) => expect(joinLines(splitLines(whole))).toBe(whole)),
      { numRuns: 1_000 },
    );
  });
});
