import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdir, readdir, readFile as readText, stat, symlink, writeFile as writeText } from 'node:fs/promises';
import { join } from 'node:path';
import { listDir } from '../../src/tools/built-in/list-dir';
import { readFile } from '../../src/tools/built-in/read-file';
import { writeFile } from '../../src/tools/built-in/write-file';
import { until } from '../support/until';
import { newFolder, removeFolders, run, told } from './tool-host';

afterEach(removeFolders);

const numbered = (count: number) => Array.from({ length: count }, (_, at) => `line ${at + 1}`).join('\n');

describe('read_file', () => {
  const read = async (content: string | Buffer, args: object = {}) => {
    const workspace = await newFolder();
    await writeText(join(workspace, 'f'), content);
    return (await told(readFile, { path: 'f', ...args }, { workspace })).replace(/\n\[hash: [0-9a-f]{16}\]$/, '');
  };

  test('[B135] lines are numbered from 1, and a final line break does not start another line', async () => {
    expect(await read('one\ntwo\n')).toBe('L1: one\nL2: two');
    expect(await read('one\r\n\r\nthree')).toBe('L1: one\nL2: \nL3: three');
    expect(await read('\n')).toBe('L1: ');
  });

  test('[B135] offset and limit select lines, and a footer counts those that follow', async () => {
    expect(await read(numbered(10), { offset: 3, limit: 2 })).toBe('L3: line 3\nL4: line 4\n[... 6 more lines ...]');
    expect(await read(numbered(10), { offset: 9 })).toBe('L9: line 9\nL10: line 10');
  });

  test('[B135] 2000 lines by default', async () => {
    const text = await read(numbered(2_001));
    expect(text).toMatch(/L2000: line 2000\n\[\.\.\. 1 more lines \.\.\.\]$/);
  });

  test('[B135] an offset past the end is reported', async () => {
    expect(await read(numbered(10), { offset: 11 })).toBe('[offset 11 is past the end: the file has 10 lines]');
    expect(await read('')).toBe('(empty file)');
  });

  test('[B156] the hash is that of the whole file, whichever lines are shown', async () => {
    const workspace = await newFolder();
    await writeText(join(workspace, 'f'), 'one\ntwo\n');
    const hash = createHash('sha256').update('one\ntwo\n').digest('hex').slice(0, 16);
    expect(await told(readFile, { path: 'f' }, { workspace })).toBe(`L1: one\nL2: two\n[hash: ${hash}]`);
    expect(await told(readFile, { path: 'f', offset: 2 }, { workspace })).toBe(`L2: two\n[hash: ${hash}]`);
    expect(await told(readFile, { path: 'f', offset: 9 }, { workspace })).toMatch(`past the end: the file has 2 lines]\n[hash: ${hash}]`);
  });

  test('a file that is too long ends at a line, and the footer counts the rest', async () => {
    const text = await read(Array.from({ length: 2_000 }, () => 'w'.repeat(99)).join('\n'));
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(50 * 1024);
    const lines = text.split('\n');
    expect(lines.at(-1)).toBe(`[... ${2_000 - (lines.length - 1)} more lines ...]`);
  });

  test('a very long line is cut, with the number of missing characters', async () => {
    expect(await read(`${'x'.repeat(300_000)}\nnext`)).toBe(`L1: ${'x'.repeat(2_000)}… [298000 more characters]\nL2: next`);
    expect(await read(`${'x'.repeat(1_999)}😀tail`)).toBe(`L1: ${'x'.repeat(1_999)}… [6 more characters]`);
  });

  test('characters at the boundary of two read buffers stay intact', async () => {
    const text = await read(`${'é'.repeat(999)}\n`.repeat(100), { offset: 1, limit: 1_000 });
    expect(text).not.toContain('\uFFFD');
  });

  test('a byte order mark is not part of the first line', async () => {
    expect(await read('\uFEFFone')).toBe('L1: one');
  });

  test('a binary file is refused with a clear message', async () => {
    expect(await read(Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 1]))).toBe(
      "Error: 'f' is a binary file (6 bytes); read_file shows text only.",
    );
  });

  test("[B12] a file that can't be read fails with the reason", async () => {
    const workspace = await newFolder();
    await mkdir(join(workspace, 'd'));
    await symlink('/etc/hostname', join(workspace, 'l'));
    execFileSync('mkfifo', [join(workspace, 'p')]);
    const { outcome } = await run(readFile, { path: 'none' }, { workspace });
    expect(outcome).toMatchObject({ status: 'failed', content: "Error: 'none' does not exist.", error: { name: 'WorkspaceError' } });
    expect(await told(readFile, { path: 'd' }, { workspace })).toBe("Error: 'd' is a folder. Use list_dir to see what is in it.");
    expect(await told(readFile, { path: 'l' }, { workspace })).toMatch(/^Error: 'l' is outside the workspace/);
    expect(await told(readFile, { path: 'p' }, { workspace })).toBe("Error: 'p' is not a regular file.");
  });
});

describe('write_file', () => {
  test('[B136] creates parents, overwrites, and reports bytes', async () => {
    const workspace = await newFolder();
    expect(await told(writeFile, { path: 'a/b/c.txt', content: 'h€llo' }, { workspace })).toBe('Wrote 7 bytes to a/b/c.txt');
    expect(await told(writeFile, { path: join(workspace, 'a/b/c.txt'), content: '' }, { workspace })).toBe('Wrote 0 bytes to a/b/c.txt');
    expect(await readText(join(workspace, 'a/b/c.txt'), 'utf8')).toBe('');
    expect(await readdir(join(workspace, 'a/b'))).toEqual(['c.txt']);
  });

  test('[B146] writing the same content again writes it again', async () => {
    const workspace = await newFolder();
    await told(writeFile, { path: 'f', content: 'mine' }, { workspace });
    await writeText(join(workspace, 'f'), 'changed by somebody');
    await told(writeFile, { path: 'f', content: 'mine' }, { workspace });
    expect(await readText(join(workspace, 'f'), 'utf8')).toBe('mine');
  });

  test('a reader never sees an incomplete file', async () => {
    const workspace = await newFolder();
    const [a, b] = ['a'.repeat(400_000), 'b'.repeat(400_000)];
    await told(writeFile, { path: 'f', content: a }, { workspace });
    let writing = true;
    const writer = (async () => {
      for (let turn = 0; turn < 10; turn += 1) await told(writeFile, { path: 'f', content: turn % 2 ? a : b }, { workspace });
      writing = false;
    })();
    let odd = 0;
    while (writing) {
      const seen = await readText(join(workspace, 'f'), 'utf8');
      if (seen !== a && seen !== b) odd += 1;
    }
    await writer;
    expect(odd).toBe(0);
  });

  test('[B156] a stale hash is refused without writing, and the content of an earlier attempt is not stale', async () => {
    const workspace = await newFolder();
    await writeText(join(workspace, 'f'), 'old');
    const [, hash] = /\[hash: (\w+)\]/.exec(await told(readFile, { path: 'f' }, { workspace })) ?? [];
    await writeText(join(workspace, 'f'), 'changed by somebody');
    expect(await told(writeFile, { path: 'f', content: 'new', expected_hash: hash }, { workspace })).toMatch(
      /^Error: 'f' has changed: its hash is \w{16}, not \w{16}. Nothing was written. Read the file again/,
    );
    expect(await readText(join(workspace, 'f'), 'utf8')).toBe('changed by somebody');
    await writeText(join(workspace, 'f'), 'old');
    for (const _attempt of [1, 2])
      expect(await told(writeFile, { path: 'f', content: 'new', expected_hash: hash }, { workspace })).toBe('Wrote 3 bytes to f');
    expect(await told(writeFile, { path: 'none', content: 'new', expected_hash: hash }, { workspace })).toMatch(/does not exist any more/);
  });

  test('permissions of a replaced file are kept', async () => {
    const workspace = await newFolder();
    await writeText(join(workspace, 'run.sh'), 'old');
    await chmod(join(workspace, 'run.sh'), 0o755);
    await told(writeFile, { path: 'run.sh', content: 'new' }, { workspace });
    expect((await stat(join(workspace, 'run.sh'))).mode & 0o777).toBe(0o755);
  });

  test('a replaced file loses setuid and setgid', async () => {
    const workspace = await newFolder();
    await writeText(join(workspace, 'tool'), 'old');
    await chmod(join(workspace, 'tool'), 0o6755);
    await told(writeFile, { path: 'tool', content: 'new' }, { workspace });
    expect((await stat(join(workspace, 'tool'))).mode & 0o7777).toBe(0o755);
  });

  test('nothing is created outside the workspace while another process replaces its folders with links', async () => {
    const workspace = await newFolder();
    const outside = await newFolder();
    const swap = `const fs = require('fs'); process.chdir(process.argv[1]); let n = 0;
      for (;;) { const old = 'old' + n++ % 200;
        try { fs.mkdirSync('a'); } catch {} try { fs.renameSync('a', old); } catch { fs.rmSync(old, { recursive: true, force: true }); }
        try { fs.symlinkSync(process.argv[2], 'a'); } catch {} try { fs.unlinkSync('a'); } catch {} }`;
    const swapper = spawn(process.execPath, ['--eval', swap, workspace, outside], { stdio: 'ignore' });
    try {
      await until('it swaps', async () => (await readdir(workspace)).includes('old3'));
      const ends = new Set<string>();
      const deadline = Date.now() + 40_000;
      // Until the link was there for some and the folder for others, which takes longer where the other process is seldom at work.
      for (let i = 0; (i < 1_000 || ends.size < 2) && Date.now() < deadline; i++) {
        ends.add((await run(writeFile, { path: `a/b${i}/c/f`, content: 'x' }, { workspace })).outcome.status);
        if ((await readdir(outside)).length > 0) break;
      }
      expect(await readdir(outside)).toEqual([]);
      expect(ends).toEqual(new Set(['success', 'failed']));
    } finally {
      swapper.kill('SIGKILL');
      await once(swapper, 'exit');
    }
  });

  test('a link inside the workspace is written through, one that leads outside is not', async () => {
    const workspace = await newFolder();
    const outside = await newFolder();
    await writeText(join(workspace, 'real'), 'old');
    await symlink('real', join(workspace, 'link'));
    await symlink(outside, join(workspace, 'out'));
    await symlink(join(outside, 'new'), join(workspace, 'dangling'));
    expect(await told(writeFile, { path: 'link', content: 'new' }, { workspace })).toBe('Wrote 3 bytes to real');
    for (const path of ['out/new', 'dangling', '../x', join(outside, 'new')]) {
      expect((await run(writeFile, { path, content: 'x' }, { workspace })).outcome.status).toBe('failed');
    }
    expect(await readdir(outside)).toEqual([]);
  });

  test("[B12] a file that can't be written fails with the reason, and leaves nothing behind", async () => {
    const workspace = await newFolder();
    await mkdir(join(workspace, 'd'));
    await writeText(join(workspace, 'f'), 'f');
    expect(await told(writeFile, { path: 'd', content: 'x' }, { workspace })).toBe("Error: 'd' is a folder. Name a file.");
    expect(await told(writeFile, { path: 'new/', content: 'x' }, { workspace })).toBe("Error: 'new/' is a folder. Name a file.");
    expect(await told(writeFile, { path: '.', content: 'x' }, { workspace })).toBe("Error: '.' is a folder. Name a file.");
    expect(await told(writeFile, { path: 'f/g', content: 'x' }, { workspace })).toMatch(/^Error: 'f\/g' leads through a file/);
    expect((await readdir(workspace)).sort()).toEqual(['d', 'f']);
  });
});

describe('list_dir', () => {
  const tree = async () => {
    const workspace = await newFolder();
    await mkdir(join(workspace, 'src', 'deep', 'deeper'), { recursive: true });
    await mkdir(join(workspace, 'Docs'));
    for (const file of ['b.txt', 'A.txt', '.hidden', 'src/index.ts', 'src/deep/x.ts']) await writeText(join(workspace, file), '');
    await symlink('src', join(workspace, 'link'));
    await symlink('/', join(workspace, 'src', 'root'));
    return workspace;
  };

  test('[B137] folders first, marked; links marked and not followed; two levels', async () => {
    const workspace = await tree();
    expect((await told(listDir, {}, { workspace })).split('\n')).toEqual([
      'Docs/',
      'src/',
      'src/deep/',
      'src/index.ts',
      'src/root@',
      '.hidden',
      'A.txt',
      'b.txt',
      'link@',
    ]);
    expect(await told(listDir, { path: 'src', depth: 3 }, { workspace })).toBe('deep/\ndeep/deeper/\ndeep/x.ts\nindex.ts\nroot@');
    expect(await told(listDir, { depth: 1 }, { workspace })).not.toContain('src/deep');
  });

  test('[B137] offset and limit select entries, and a footer counts those that follow', async () => {
    const workspace = await tree();
    expect(await told(listDir, { offset: 2, limit: 3 }, { workspace })).toBe('src/\nsrc/deep/\nsrc/index.ts\n[... 5 more entries ...]');
    expect(await told(listDir, { offset: 9 }, { workspace })).toBe('link@');
    expect(await told(listDir, { offset: 10 }, { workspace })).toBe('[offset 10 is past the end: there are 9 entries]');
  });

  test('[B137] 50 entries by default', async () => {
    const workspace = await newFolder();
    for (let at = 0; at < 60; at += 1) await writeText(join(workspace, `f${String(at).padStart(2, '0')}`), '');
    const text = await told(listDir, {}, { workspace });
    expect(text).toMatch(/f49\n\[\.\.\. 10 more entries \.\.\.\]$/);
  });

  test('an empty folder, a file, a missing path, and a link that leads outside', async () => {
    const workspace = await tree();
    expect(await told(listDir, { path: 'Docs' }, { workspace })).toBe('(empty directory)');
    expect(await told(listDir, { path: 'b.txt' }, { workspace })).toBe("Error: 'b.txt' is a file. Use read_file to see it.");
    expect(await told(listDir, { path: 'none' }, { workspace })).toBe("Error: 'none' does not exist.");
    expect(await told(listDir, { path: 'src/root' }, { workspace })).toMatch(/is outside the workspace/);
    expect(await told(listDir, { path: 'link' }, { workspace })).toContain('index.ts');
  });

  test('a name with a line break stays one entry', async () => {
    const workspace = await newFolder();
    await writeText(join(workspace, 'a\nb'), '');
    expect(await told(listDir, {}, { workspace })).toBe('"a\\nb"');
  });
});
