import { createHash } from 'node:crypto';
import { mkdir, readFile as readText, stat, writeFile as writeText } from 'node:fs/promises';
import { join } from 'node:path';
import { applyPatch } from '../../src/tools/built-in/apply-patch';
import { contentHash } from '../../src/tools/built-in/content-hash';
import { editFile } from '../../src/tools/built-in/edit';
import { begin, workspaceOf } from './patching';
import { removeFolders, told } from './tool-host';

afterEach(removeFolders);

const key = 'thread-1/run-1/call-1';
const hashOf = (text: string) => contentHash(Buffer.from(text));
const edit = { path: 'a', old_string: 'one', new_string: 'two' };

/** A workspace in which somebody else wrote an entry for a call. */
async function planted(files: unknown) {
  const made = await workspaceOf({ a: 'one\n', b: 'b\n' });
  const name = `${createHash('sha256').update(key).digest('hex')}.json`;
  await mkdir(join(made.workspace, '.longhaul/edits'), { recursive: true });
  await writeText(join(made.workspace, '.longhaul/edits', name), JSON.stringify({ report: 'Changed.', files }));
  return { ...made, host: { workspace: made.workspace, idempotencyKey: key } };
}

test('an entry for a file that the call does not name writes nothing', async () => {
  const { host, read, names } = await planted([{ path: 'hook', before: null, after: 'id', mode: 0o4777 }]);
  expect(await told(editFile, edit, host)).toMatch(/^Error: The entry .* changes 'hook', which the call does not name/);
  expect([await names(), await read('a')]).toEqual([['a', 'b'], 'one\n']);
});

test('as long as nothing was carried out, the call decides and not the entry', async () => {
  const { host, workspace, read } = await planted([{ path: 'a', before: hashOf('one\n'), after: 'evil', mode: 0o4777 }]);
  expect(await told(editFile, edit, host)).toMatch(/^Changed 1 place in a/);
  expect(await read('a')).toBe('two\n');
  expect((await stat(join(workspace, 'a'))).mode & 0o7000).toBe(0);
});

test('an entry that was carried out in part is completed, without setuid bits', async () => {
  const { host, workspace } = await planted([
    { path: 'a', before: hashOf('zero\n'), after: 'one\n' },
    { path: 'b', before: hashOf('b\n'), after: 'B\n', mode: 0o4755 },
  ]);
  const patch = begin('*** Update File: a', '-zero', '+one', '*** Update File: b', '-b', '+B');
  expect(await told(applyPatch, { patch }, host)).toBe('Changed.');
  expect(await readText(join(workspace, 'b'), 'utf8')).toBe('B\n');
  expect((await stat(join(workspace, 'b'))).mode & 0o7777).toBe(0o755);
});

test.each([['text'], [[{ path: 'a' }]], [[null]]])('an entry of another form is ignored: %j', async (files) => {
  const { host, read } = await planted(files);
  expect(await told(editFile, edit, host)).toMatch(/^Changed 1 place in a/);
  expect(await read('a')).toBe('two\n');
});
