import { mkdir, readdir, readFile as readText, writeFile as writeText } from 'node:fs/promises';
import { join } from 'node:path';
import { applyPatch } from '../../src/tools/built-in/apply-patch';
import { parsePatch, pathsOfPatch } from '../../src/tools/built-in/patch/parse-patch';
import { createPermissions } from '../../src/tools/permissions/permissions';
import { begin } from './patching';
import { newFolder, removeFolders, told } from './tool-host';

afterEach(removeFolders);

const hook = '.git/hooks/pre-commit';
const added = (path: string) => `diff --git a/x b/x\nnew file mode 100755\n--- /dev/null\n+++ ${path}\n@@ -0,0 +1 @@\n+#!/bin/sh\n`;
const { decide } = createPermissions({ mode: 'trusted' });

/** A workspace with a repository, a file that is a program, and settings that make commands run code. */
async function repository(): Promise<string> {
  const workspace = await newFolder();
  await mkdir(join(workspace, '.git/hooks'), { recursive: true });
  await writeText(join(workspace, 'package.json'), '{}\n');
  await writeText(join(workspace, 'program'), '#!/bin/sh\n', { mode: 0o755 });
  return workspace;
}

const separators = ['\u2028', '\u2029', '\r', '\t', '\u0085', '\v', '\f', '\u001b'];

test.each([
  ...separators.flatMap((separator) => [
    // In this grammar a tab ends the path: a time may follow.
    ...(separator === '\t' ? [] : [added(`b/x${separator}y/../${hook}`)]),
    begin(`*** Add File: x${separator}y/../${hook}`, '+x'),
    begin(`*** Update File: x${separator}y/../package.json`, '-{}', '+{"scripts":{}}'),
    begin('*** Update File: program', `*** Move to: x${separator}y/../${hook}`),
    `diff --git a/program b/program\nrename from program\nrename to x${separator}y/../${hook}\n`,
  ]),
  `diff --git a/program b/program\nrename from program\nrename to${hook}\n`,
])('mode trusted lets no patch write files of git or settings unasked: %j', async (patch) => {
  const workspace = await repository();
  const answer = await told(applyPatch, { patch }, { workspace });
  expect(answer).toMatch(/^Error: .*Nothing was changed\.$/s);
  expect(await readdir(join(workspace, '.git/hooks'))).toEqual([]);
  expect(await readText(join(workspace, 'package.json'), 'utf8')).toBe('{}\n');
});

test.each([
  added(`b/y/../${hook}`),
  begin(`*** Add File: y/../${hook}`, '+x'),
  begin('*** Update File: y/../package.json', '-{}', '+{"scripts":{}}'),
  begin('*** Update File: program', `*** Move to: y/../${hook}`),
  `diff --git a/program b/program\nrename from program\nrename to y/../${hook}\n`,
])('mode trusted asks before a patch that the tool would carry out: %j', async (patch) => {
  const workspace = await repository();
  expect(decide({ tool: 'apply_patch', args: { patch, dry_run: false }, workspace })).toBe('ask');
});

test('the paths of a patch are those that its parser returns; a patch that it refuses has none', () => {
  const patch = begin('*** Update File: a b', '*** Move to: c', '*** Delete File: d');
  expect(pathsOfPatch(patch)).toEqual(['a b', 'c', 'd']);
  expect(pathsOfPatch(begin('*** Add File: x\ty', '+x'))).toEqual([]);
  expect(() => parsePatch(begin('*** Add File: x\ty', '+x'))).toThrow(
    'The path "x\\ty" in the patch has a control character or a line separator in it. Rename such files in the shell.',
  );
});
