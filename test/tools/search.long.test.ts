import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { writeFile as writeText } from 'node:fs/promises';
import { join } from 'node:path';
import { globFiles } from '../../src/tools/built-in/glob';
import { grepFiles } from '../../src/tools/built-in/grep';
import { newFolder, removeFolders, told } from './tool-host';

afterEach(removeFolders);

test('a folder of 100,000 files is listed and searched within the limits of the tools', async () => {
  const workspace = await newFolder();
  execFileSync('/bin/sh', ['-c', 'mkdir d && cd d && seq 100000 | xargs touch && echo needle > 99999'], { cwd: workspace });
  expect(await told(globFiles, { pattern: 'd/*', limit: 2 }, { workspace })).toBe('d/1\nd/10\n[... 99998 more files ...]');
  expect(await told(grepFiles, { pattern: 'needle', include: 'd/*' }, { workspace })).toBe('d/99999\nL1: needle');
});

test('[B138] a search ends after 30 s with what it found until then, and ripgrep ends with it', async () => {
  const workspace = await newFolder();
  // ripgrep takes eight seconds for a megabyte of this, because it has no automaton for `\b` in text that is not ASCII.
  await writeText(join(workspace, 'a.txt'), `${'a '.repeat(200)}12\n`);
  await writeText(join(workspace, 'b.txt'), `${'éa bé '.repeat(1_200)}\n`.repeat(2_000));
  const begun = performance.now();
  const lines = (await told(grepFiles, { pattern: String.raw`\b(\w| ){300}\b\d\d` }, { workspace })).split('\n');
  const seconds = (performance.now() - begun) / 1_000;
  expect(lines[0]).toBe('a.txt');
  expect(lines.at(-1)).toBe('[stopped after 30 s: search a narrower path]');
  expect(seconds).toBeGreaterThan(29);
  expect(seconds).toBeLessThan(45);
  expect(readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && commandOf(pid).includes('{300}'))).toEqual([]);
}, 60_000);

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
