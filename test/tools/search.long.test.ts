import { execFileSync } from 'node:child_process';
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
