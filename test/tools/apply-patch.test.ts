import { chmod, readdir, readFile as readText, stat, symlink, writeFile as writeText } from 'node:fs/promises';
import { join } from 'node:path';
import { begin, workspaceOf } from './patching';
import { newFolder, removeFolders } from './tool-host';

afterEach(removeFolders);

describe('apply_patch, with Begin and End', () => {
  test('[B139][B142] adds, updates, moves and deletes files in one patch, and reports each', async () => {
    const { patch, read, names } = await workspaceOf({ 'a.txt': 'one\ntwo\nthree\n', 'b.txt': 'b\n', 'c.txt': 'c\n' });
    const text = await patch(
      begin(
        '*** Update File: a.txt',
        '@@',
        ' one',
        '-two',
        '+TWO',
        ' three',
        '*** Add File: new/d.txt',
        '+d',
        '+',
        '*** Delete File: b.txt',
        '*** Update File: c.txt',
        '*** Move to: moved/c.txt',
        '-c',
        '+C',
      ),
    );
    expect(text).toBe('Changed 4 files:\nM a.txt\nA new/d.txt\nD b.txt\nM c.txt -> moved/c.txt');
    expect(await names()).toEqual(['a.txt', 'moved', 'new']);
    expect([await read('a.txt'), await read('new/d.txt'), await read('moved/c.txt')]).toEqual(['one\nTWO\nthree\n', 'd\n\n', 'C\n']);
  });

  test('[B142] a dry run reports the same and changes nothing', async () => {
    const { workspace, patch, read } = await workspaceOf({ a: 'one\n', b: 'b\n' });
    const text = begin('*** Update File: a', '-one', '+two', '*** Delete File: b', '*** Add File: c', '+c');
    expect(await patch(text, { dry_run: true })).toBe('Would change 3 files:\nM a\nD b\nA c');
    expect([await readdir(workspace), await read('a')]).toEqual([['a', 'b'], 'one\n']);
    expect(await patch(text)).toBe('Changed 3 files:\nM a\nD b\nA c');
  });

  test('[B158] hunks that only insert, and hunks that only give context', async () => {
    const { patch, read } = await workspaceOf({ a: 'class A {\n}\nclass B {\n}\n' });
    await patch(begin('*** Update File: a', '@@ class B {', '+  b;', '@@', '+// end'));
    expect(await read('a')).toBe('class A {\n}\nclass B {\n  b;\n}\n// end\n');
    await patch(begin('*** Update File: a', '@@', ' class B {', '@@', ' }', '+// after B'));
    expect(await read('a')).toBe('class A {\n}\nclass B {\n  b;\n}\n// after B\n// end\n');
    expect(await patch(begin('*** Update File: a', '@@', ' class B {'))).toContain('without a line that begins with + or -');
  });

  test('a line above the hunk decides between equal places, which are otherwise an error with their lines', async () => {
    const { patch, read } = await workspaceOf({ a: 'function f() {\n  return 1;\n}\nfunction g() {\n  return 1;\n}\n' });
    expect(await patch(begin('*** Update File: a', '-  return 1;', '+  return 2;'))).toBe(
      "Error: The hunk in line 3 of the patch fits at 2 places of 'a' (lines 2, 5). Add lines of the file before or after the change, or a unique line above it after '@@ '. Nothing was changed.",
    );
    await patch(begin('*** Update File: a', '@@ function g() {', '-  return 1;', '+  return 2;'));
    expect(await read('a')).toBe('function f() {\n  return 1;\n}\nfunction g() {\n  return 2;\n}\n');
    await patch(begin('*** Update File: a', ' }', '+// end', '*** End of File'));
    expect(await read('a')).toMatch(/2;\n}\n\/\/ end\n$/);
  });

  test('[B141] a hunk that does not match is refused, with similar lines', async () => {
    const { patch, read } = await workspaceOf({ a: 'const total = 1;\n', b: 'b\n' });
    const text = await patch(begin('*** Update File: b', '-b', '+B', '*** Update File: a', '-const totals = 2;', '+x'));
    expect(text).toBe(
      "Error: The lines of the hunk in line 6 of the patch were not found in 'a'. The lines most similar to 'const totals = 2;':\nL1: const total = 1; Nothing was changed.",
    );
    expect([await read('a'), await read('b')]).toEqual(['const total = 1;\n', 'b\n']);
    const { patch: again } = await workspaceOf({ a: 'one\ntwo\n' });
    expect(await again(begin('*** Update File: a', '-two', '+2', '@@', '-one', '+1'))).toContain('give the hunks in the order of the file');
  });

  test('other blanks and typographic characters are matched, and the answer says so; kept lines stay as they are', async () => {
    const { patch, read } = await workspaceOf({ a: '\tif (x) {  \n\t  y = “z”;\n\t}\n' });
    expect(await patch(begin('*** Update File: a', ' if (x) {', '-  y = "z";', '+\t  y = 1;', ' }'))).toBe(
      'Changed 1 file:\nM a\nNot everything fitted as it was given:\n- hunk 1 of a: other quotation marks, dashes or blanks',
    );
    expect(await read('a')).toBe('\tif (x) {  \n\t  y = 1;\n\t}\n');
  });

  test('[B158] permissions are kept, also of a moved file, and a place that one file leaves may be taken by another', async () => {
    const { workspace, patch, read } = await workspaceOf({ a: 'a\n', b: 'b\n' });
    await chmod(join(workspace, 'a'), 0o755);
    await patch(begin('*** Update File: a', '*** Move to: b', '*** Update File: b', '*** Move to: c', '-b', '+B'));
    expect([await read('b'), await read('c')]).toEqual(['a\n', 'B\n']);
    expect((await stat(join(workspace, 'b'))).mode & 0o777).toBe(0o755);
    expect(await readdir(workspace)).toEqual(['.longhaul', 'b', 'c']);
  });

  test.each([
    ['*** Begin Patch\n*** Add File: x\n+x', 'does not end with the line'],
    [begin(), 'changes no file'],
    [begin('*** Rename File: a'), "must be '*** Add File"],
    [begin('*** Move to: b'), "must be '*** Add File"],
    [begin('*** Add File: new', 'x'), 'must begin with +'],
    [begin('*** Update File: a', '#x'), "must begin with ' ', '-', '+' or '@@'"],
    [begin('*** Update File: a', '@@', '@@', '-a'), 'a hunk without lines'],
    [begin('*** Update File: none', '-a', '+b'), "'none' does not exist"],
    [begin('*** Delete File: none'), "'none' does not exist"],
    [begin('*** Add File: a', '+x'), "'a' exists already"],
    [begin('*** Update File: a', '*** Move to: b'), "'b' exists already"],
    [begin('*** Update File: a', '-a', '+b', '*** Delete File: a'), "names 'a' twice"],
    [begin('*** Add File: new', '+x', '*** Add File: ./new', '+y'), "names './new' twice"],
    [begin('*** Update File: a', '@@ none', '-a', '+b'), "The line 'none' after '@@ '"],
    ['hello', "begins neither with '*** Begin Patch'"],
    [begin('*** Delete File: link'), 'is a symbolic link'],
  ])('refuses %j', async (text, why) => {
    const { workspace, patch, read } = await workspaceOf({ a: 'a\n', b: 'b\n' });
    await symlink('a', join(workspace, 'link'));
    expect(await patch(text)).toContain(why);
    expect([await readdir(workspace), await read('a'), await read('b')]).toEqual([['a', 'b', 'link'], 'a\n', 'b\n']);
  });

  test.each(['../x', '/tmp/longhaul-x', 'out/x', 'a/../../x'])('[B141] the path %s leaves the workspace', async (path) => {
    const { workspace, patch } = await workspaceOf({ a: 'a\n' });
    const outside = await newFolder();
    await writeText(join(outside, 'y'), 'y\n');
    await symlink(outside, join(workspace, 'out'));
    for (const text of [
      begin(`*** Add File: ${path}`, '+x'),
      begin('*** Update File: a', `*** Move to: ${path}`),
      begin('*** Update File: a', '-a', '+b', '*** Update File: out/y', '-y', '+z'),
      begin('*** Delete File: out/y'),
    ]) {
      expect(await patch(text)).toMatch(/outside the workspace/);
    }
    expect(await readdir(outside)).toEqual(['y']);
    expect(await readText(join(outside, 'y'), 'utf8')).toBe('y\n');
  });
});

describe('apply_patch, with a unified diff', () => {
  const diff = (path: string, ...lines: string[]) => [`--- a/${path}`, `+++ b/${path}`, ...lines, ''].join('\n');

  test('[B140] several files, with files added and deleted by /dev/null, and renames of git', async () => {
    const { patch, read, names } = await workspaceOf({ a: 'one\ntwo\n', b: 'b\n', c: 'c\n' });
    const text = [
      diff('a', '@@ -1,2 +1,2 @@', ' one', '-two', '+TWO'),
      'diff --git a/new b/new\nnew file mode 100755\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+new\n\\ No newline at end of file\n',
      '--- a/b\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n',
      'diff --git a/c b/d\nsimilarity index 100%\nrename from c\nrename to d\n',
    ].join('');
    expect(await patch(text)).toBe('Changed 4 files:\nM a\nA new\nD b\nM c -> d');
    expect(await names()).toEqual(['a', 'd', 'new']);
    expect([await read('a'), await read('new'), await read('d')]).toEqual(['one\nTWO\n', 'new', 'c\n']);
  });

  test('[B140] a hunk is found up to 50 lines from where it says, and the answer says how far', async () => {
    const lines = (count: number) => Array.from({ length: count }, (_, at) => `line ${at}\n`).join('');
    const { patch, read } = await workspaceOf({ a: `${lines(50)}x\n`, b: `${lines(51)}x\n` });
    expect(await patch(diff('a', '@@ -1 +1 @@', '-x', '+y'))).toBe(
      'Changed 1 file:\nM a\nNot everything fitted as it was given:\n- hunk 1 of a: 50 lines further down',
    );
    expect(await read('a')).toBe(`${lines(50)}y\n`);
    expect(await patch(diff('b', '@@ -1 +1 @@', '-x', '+y'))).toMatch(/^Error: The lines of the hunk in line 3/);
  });

  test('the place that it names decides between equal ones', async () => {
    const { patch, read } = await workspaceOf({ a: 'x\nx\nx\n' });
    await patch(diff('a', '@@ -2 +2 @@', '-x', '+y'));
    expect(await read('a')).toBe('x\ny\nx\n');
    expect(await patch(diff('a', '@@ -9 +9 @@', '-x', '+y'))).toContain('fits at 2 places');
  });

  test('wrong counts, which models write, are corrected by the lines', async () => {
    const { patch, read } = await workspaceOf({ a: 'one\ntwo\nthree\n', b: 'b\n' });
    const text = diff('a', '@@ -1,9 +1,7 @@', ' one', '-two', '+2', ' three') + diff('b', '@@ -1 +1,3 @@', '-b', '+B', '');
    expect(await patch(text)).toMatch(/^Changed 2 files/);
    expect([await read('a'), await read('b')]).toEqual(['one\n2\nthree\n', 'B\n']);
  });

  test('line breaks of Windows, a byte order mark, and a missing line break at the end are kept', async () => {
    const { patch, read } = await workspaceOf({ a: '\uFEFFone\r\ntwo\r\nthree' });
    await patch(diff('a', '@@ -1,3 +1,4 @@', '-one', '+1', '+1b', ' two', ' three'));
    expect(await read('a')).toBe('\uFEFF1\r\n1b\r\ntwo\r\nthree');
    await patch(diff('a', '@@ -3,2 +3,3 @@', ' two', '-three', '\\ No newline at end of file', '+3', '+4'));
    expect(await read('a')).toBe('\uFEFF1\r\n1b\r\ntwo\r\n3\r\n4\r\n');
  });

  test.each([
    ['--- a/a\n+++ b/a\n', 'begins a file without hunks'],
    ['--- a/a\n+++ b/a\n@@ ... @@\n-a\n', 'is not a hunk header'],
    ['--- a/a\n+++ b/a\n@@ -1 +1 @@\n', 'a hunk without lines'],
    ['--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n', 'lines that the patch does not remove'],
    ['--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+x\n', "'a' exists already"],
    ['--- /dev/null\n+++ b/n\n@@ -1 +1 @@\n-x\n+y\n', 'lines that begin with +'],
    ['--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n', 'ends there without a line break'],
    ['--- a/a\n+++ b/a\n@@ -9,0 +10 @@\n+b\n', 'inserts after line 9'],
    ['diff --git a/a b/a\nold mode 100644\nnew mode 100755\n', 'only text is patched'],
    ['diff --git a/n b/n\nnew file mode 120000\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+a\n', 'has the mode 120000'],
    ['diff --git a/a b/a\nGIT binary patch\nliteral 1\n', 'only text is patched'],
    ['--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+b\n--- "a/\\303\\244"\n+++ "b/\\303\\244"\n@@ -1 +1 @@\n-a\n+b\n', 'has a quoted path'],
  ])('refuses %j', async (text, why) => {
    const { workspace, patch, read } = await workspaceOf({ a: 'a\nrest\n' });
    expect(await patch(text)).toContain(why);
    expect([await readdir(workspace), await read('a')]).toEqual([['a'], 'a\nrest\n']);
  });
});
