import { chmod, link, readdir, readFile as readText, stat, symlink, writeFile as writeText } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { contentHash } from '../../src/tools/built-in/content-hash';
import { editFile } from '../../src/tools/built-in/edit';
import { readFile } from '../../src/tools/built-in/read-file';
import { newFolder, removeFolders, run, told } from './tool-host';

afterEach(removeFolders);

let calls = 0;

/** A file, and a call that edits it. Each call has a key of its own, as in a thread. */
async function fileOf(content: string | Buffer) {
  const workspace = await newFolder();
  const file = join(workspace, 'f');
  await writeText(file, content);
  return {
    workspace,
    file,
    edit: (args: object, idempotencyKey = `key-${(calls += 1)}`) => told(editFile, { path: 'f', ...args }, { workspace, idempotencyKey }),
    now: () => readText(file, 'utf8'),
  };
}

describe('edit', () => {
  test('replaces a text that is unique, and says where', async () => {
    const { edit, now } = await fileOf('one\ntwo\nthree\n');
    expect(await edit({ old_string: 'two', new_string: 'TWO\n2' })).toMatch(/^Changed 1 place in f \(line 2\)\n\[hash: \w{16}\]$/);
    expect(await now()).toBe('one\nTWO\n2\nthree\n');
  });

  test('the hash in the answer is that of the new content', async () => {
    const { workspace, edit } = await fileOf('a');
    const [, hash] = /\[hash: (\w+)\]/.exec(await edit({ old_string: 'a', new_string: 'b' })) ?? [];
    expect(await told(readFile, { path: 'f' }, { workspace })).toContain(`[hash: ${hash}]`);
    expect(await edit({ old_string: 'b', new_string: 'c', expected_hash: hash })).toMatch(/^Changed 1 place/);
  });

  test('[B157] several matches are an error that shows them with their lines, and replace_all replaces all of them', async () => {
    const { edit, now } = await fileOf('x = 1\ny = 2\nx = 1\n');
    const text = await edit({ old_string: 'x = 1', new_string: 'x = 3' });
    expect(text).toBe(
      "Error: old_string occurs 2 times in 'f', so nothing was written. Add lines before or after it until it is unique, or set replace_all. It begins at:\nL1: x = 1\nL3: x = 1",
    );
    expect(await now()).toBe('x = 1\ny = 2\nx = 1\n');
    expect(await edit({ old_string: 'x = 1', new_string: 'x = 3', replace_all: true })).toMatch(/^Changed 2 places in f \(line 1\)/);
    expect(await now()).toBe('x = 3\ny = 2\nx = 3\n');
  });

  test('[B157] a text that is not found is an error that shows similar lines', async () => {
    const { edit, now } = await fileOf('function total(items) {\n  return items.length;\n}\n');
    expect(await edit({ old_string: '  return items.size;', new_string: 'x' })).toBe(
      "Error: old_string was not found in 'f', so nothing was written. The lines most similar to its first line:\nL2:   return items.length;",
    );
    expect(await edit({ old_string: 'L2:   return items.length;', new_string: 'x' })).toContain('Leave out the line numbers of read_file.');
    expect(await edit({ old_string: 'quux', new_string: 'return items.length' })).toContain('already contains new_string, in line 2.');
    expect(await edit({ old_string: '%%%%', new_string: 'x' })).toContain('No line is similar to its first line. Read the file again.');
    expect(await now()).toBe('function total(items) {\n  return items.length;\n}\n');
  });

  test('[B157] a dry run shows the change and makes none', async () => {
    const { workspace, edit, now } = await fileOf('one\ntwo two\nthree');
    expect(await edit({ old_string: 'two\nthr', new_string: '2\nTHR', dry_run: true })).toBe(
      'Would change 1 place in f:\n-two two\n-three\n+two 2\n+THRee',
    );
    expect(await now()).toBe('one\ntwo two\nthree');
    expect(await readdir(workspace)).toEqual(['f']);
  });

  test('[B157] lines are also found with other blanks at their ends and another indentation, which the new text gets', async () => {
    const { edit, now } = await fileOf('class A {\n    if (a) {  \n        b();\n    }\n}\n');
    expect(await edit({ old_string: 'if (a) {\n    b();\n}', new_string: 'if (a) {\n    c();\n\n    d();\n}' })).toMatch(
      /^Changed 1 place in f \(line 2, found with other whitespace\)/,
    );
    expect(await now()).toBe('class A {\n    if (a) {\n        c();\n\n        d();\n    }\n}\n');
    expect(await edit({ old_string: '        if (a) {\n            c();', new_string: '        if (b) {\n            c();' })).toContain(
      'whitespace',
    );
    expect(await now()).toContain('\n    if (b) {\n        c();\n');
    expect(await edit({ old_string: 'if (b) {\n    c();', new_string: '', match: 'exact' })).toContain('was not found');
    // Lines whose indentation differs in different ways are not the same code.
    expect(await edit({ old_string: 'if (b) {\nc();', new_string: '' })).toContain('was not found');
  });

  test('[B156] a stale hash is refused without writing', async () => {
    const { workspace, edit, now } = await fileOf('old\n');
    const [, hash] = /\[hash: (\w+)\]/.exec(await told(readFile, { path: 'f' }, { workspace })) ?? [];
    await writeText(join(workspace, 'f'), 'old, changed\n');
    expect(await edit({ old_string: 'old', new_string: 'new', expected_hash: hash })).toMatch(/'f' has changed: its hash is \w{16}, not/);
    expect(await now()).toBe('old, changed\n');
    expect(await edit({ old_string: 'old', new_string: 'new', expected_hash: 'abc' })).toContain('16 hexadecimal digits');
  });

  test('line breaks of Windows and a byte order mark are kept', async () => {
    const { edit, now } = await fileOf('\uFEFFone\r\ntwo\r\nthree\r\n');
    await edit({ old_string: 'one\ntwo', new_string: '1\n2\n2b' });
    expect(await now()).toBe('\uFEFF1\r\n2\r\n2b\r\nthree\r\n');
    await edit({ old_string: 'three', new_string: '3\n4' });
    expect(await now()).toBe('\uFEFF1\r\n2\r\n2b\r\n3\r\n4\r\n');
  });

  test('permissions are kept, and other names of the file keep its old content', async () => {
    const { workspace, file, edit } = await fileOf('old');
    const outside = await newFolder();
    await chmod(file, 0o755);
    await link(file, join(outside, 'same'));
    await edit({ old_string: 'old', new_string: 'new' });
    expect((await stat(file)).mode & 0o777).toBe(0o755);
    expect(await readText(join(outside, 'same'), 'utf8')).toBe('old');
    await symlink(join(outside, 'same'), join(workspace, 'out'));
    for (const path of ['out', '../x', join(outside, 'same')]) {
      expect(await edit({ path, old_string: 'old', new_string: 'new' })).toMatch(/is outside the workspace/);
    }
    expect(await readText(join(outside, 'same'), 'utf8')).toBe('old');
  });

  test('what is not UTF-8 text, too large, missing or a folder is refused', async () => {
    expect(await (await fileOf(Buffer.from([97, 0, 98]))).edit({ old_string: 'a', new_string: 'b' })).toContain('is a binary file');
    expect(await (await fileOf(Buffer.from([97, 0xff]))).edit({ old_string: 'a', new_string: 'b' })).toContain('is not UTF-8 text');
    const { edit } = await fileOf(`a${'b'.repeat(11 * 1024 * 1024)}`);
    expect(await edit({ old_string: 'a', new_string: 'b' })).toContain('too large to edit');
    expect(await edit({ path: 'none', old_string: 'a', new_string: 'b' })).toContain("'none' does not exist.");
    expect(await edit({ path: '.', old_string: 'a', new_string: 'b' })).toContain('is a folder');
    expect(await edit({ old_string: '', new_string: 'b' })).toContain('must not be empty');
  });

  test('an attempt after a crash neither edits twice nor fails because the result is in place', async () => {
    const { edit, now, file } = await fileOf('a\n');
    const args = { old_string: 'a', new_string: 'aa' };
    const first = await edit(args, 'the-call');
    expect(await edit(args, 'the-call')).toBe(first);
    expect(await now()).toBe('aa\n');
    // Another process changed the file after the call had been completed.
    await writeText(file, 'other');
    expect(await edit(args, 'the-call')).toBe(first);
    expect(await now()).toBe('other');
  });

  test('edits of one file at the same time are all made', async () => {
    const { edit, now } = await fileOf(Array.from({ length: 20 }, (_, at) => `line ${at};`).join('\n'));
    await Promise.all(Array.from({ length: 20 }, (_, at) => edit({ old_string: `line ${at};`, new_string: `LINE ${at};` })));
    expect(await now()).toBe(Array.from({ length: 20 }, (_, at) => `LINE ${at};`).join('\n'));
  });

  test('an interrupted attempt is completed as it was planned', async () => {
    const { workspace, edit, now } = await fileOf('a\n');
    const args = { old_string: 'a', new_string: 'aa' };
    const journal = join(workspace, '.longhaul', 'edits');
    await edit(args, 'the-call');
    const entry = (await readdir(journal)).find((name) => name.endsWith('.json')) ?? '';
    const plan = { report: 'planned', files: [{ path: 'f', before: contentHash(Buffer.from('a\n')), after: 'aa\n' }] };
    // As long as nothing was changed, the plan is made again.
    for (const [found, report] of [
      ['a\n', /^Changed 1 place in f/],
      ['aa\n', /^planned$/],
    ] as const) {
      await writeText(join(workspace, 'f'), found);
      await writeText(join(journal, entry), JSON.stringify(plan));
      expect(await edit(args, 'the-call')).toMatch(report);
      expect(await now()).toBe('aa\n');
    }
    await writeText(join(workspace, 'f'), 'other');
    await writeText(join(journal, entry), JSON.stringify(plan));
    expect(await edit(args, 'the-call')).toMatch(/^Error: Something else changed these files at the same time: f. Nothing was written./);
    expect(await now()).toBe('other');
  });

  test('the journal is ignored by git, and a link in its place is not followed', async () => {
    const { workspace, edit } = await fileOf('a');
    await edit({ old_string: 'a', new_string: 'b' });
    expect(await readText(join(workspace, '.longhaul/edits/.gitignore'), 'utf8')).toBe('*\n');
    const other = await fileOf('a');
    const outside = await newFolder();
    await symlink(outside, join(other.workspace, '.longhaul'));
    expect((await run(editFile, { path: 'f', old_string: 'a', new_string: 'b' }, { workspace: other.workspace })).outcome.status).toBe(
      'failed',
    );
    expect([await other.now(), await readdir(outside)]).toEqual(['a', []]);
  });

  test('any edit is made exactly, or refused without a change', async () => {
    const line = fc.array(fc.constantFrom('a', 'b', ' ', '\t', '\r', '$&', 'é'), { maxLength: 4 }).map((parts) => parts.join(''));
    const text = fc.array(line, { maxLength: 6 }).map((lines) => lines.join('\n'));
    const { edit, now, file } = await fileOf('');
    await fc.assert(
      fc.asyncProperty(text, text, text, fc.boolean(), async (content, old, replacement, all) => {
        fc.pre(old !== '');
        await writeText(file, content);
        const answer = await edit({ old_string: old, new_string: replacement, replace_all: all, match: 'exact' });
        const count = content.split(old).length - 1;
        const isMade = !/^Error/.test(answer);
        if (count > 0 && !content.includes('\r')) {
          expect(isMade).toBe(count === 1 || all);
          if (isMade) expect(await now()).toBe(content.split(old).join(replacement));
        }
        if (!isMade) expect(await now()).toBe(content);
      }),
      { numRuns: 200 },
    );
  });
});
