import { mkdir, readFile as readText, rm, symlink, writeFile as writeText } from 'node:fs/promises';
import { join, sep } from 'node:path';
import fc from 'fast-check';
import { openWorkspace } from '../../src/tools/built-in/open-workspace';
import { newFolder, removeFolders } from './tool-host';

afterEach(removeFolders);

/** A workspace with all kinds of hostile links, next to a folder that it must not reach. */
async function trap() {
  const base = await newFolder();
  const root = join(base, 'work');
  const outside = join(base, 'outside');
  await mkdir(join(root, 'src', 'deep'), { recursive: true });
  await mkdir(join(base, 'work-too'));
  await mkdir(outside);
  await writeText(join(outside, 'secret'), 'secret');
  await writeText(join(root, 'a.txt'), 'a');
  await symlink(outside, join(root, 'out'));
  await symlink('../outside', join(root, 'out-relative'));
  await symlink(join(outside, 'secret'), join(root, 'secret-link'));
  await symlink(join(outside, 'not-yet'), join(root, 'dangling'));
  await symlink('src', join(root, 'in'));
  await symlink('loop-b', join(root, 'loop-a'));
  await symlink('loop-a', join(root, 'loop-b'));
  await symlink('..', join(root, 'src', 'up'));
  await symlink('../..', join(root, 'src', 'upup'));
  return { base, root, outside, workspace: await openWorkspace(root) };
}

describe('a workspace', () => {
  test('accepts relative and absolute paths inside it, also of files that do not exist yet', async () => {
    const { root, workspace } = await trap();
    expect(await workspace.inside('a.txt')).toBe(join(root, 'a.txt'));
    expect(await workspace.inside(join(root, 'a.txt'))).toBe(join(root, 'a.txt'));
    expect(await workspace.inside('.')).toBe(root);
    expect(await workspace.inside('src/../a.txt')).toBe(join(root, 'a.txt'));
    expect(await workspace.inside('new/folder/file')).toBe(join(root, 'new', 'folder', 'file'));
    expect(await workspace.inside('in/new')).toBe(join(root, 'src', 'new'));
    expect(await workspace.inside('..hidden')).toBe(join(root, '..hidden'));
  });

  test.each([
    '..',
    '../outside/secret',
    '/etc/passwd',
    '/',
    'src/../../outside/secret',
    '../work-too/file',
    'out',
    'out/secret',
    'out/new/file',
    'out-relative/new',
    'secret-link',
    'src/upup',
    'src/upup/outside/secret',
    'src/up/out/secret',
  ])('[B165] refuses %s', async (path) => {
    const { workspace } = await trap();
    await expect(workspace.inside(path)).rejects.toThrow(/is outside the workspace/);
  });

  test('refuses a link whose target does not exist, because creating it would create the target', async () => {
    const { workspace } = await trap();
    await expect(workspace.inside('dangling')).rejects.toThrow(/symbolic link whose target does not exist/);
    await expect(workspace.inside('dangling/below')).rejects.toThrow(/symbolic link whose target does not exist/);
  });

  test('reports links in circles, files used as folders, and NUL bytes', async () => {
    const { workspace } = await trap();
    await expect(workspace.inside('loop-a')).rejects.toThrow(/a cycle of symbolic links/);
    await expect(workspace.inside('a.txt/b')).rejects.toThrow(/leads through a file/);
    await expect(workspace.inside('a\0b')).rejects.toThrow(/NUL byte/);
    await expect(workspace.inside('x'.repeat(5_000))).rejects.toThrow(/too long/);
  });

  test('may itself be a link', async () => {
    const { base, root } = await trap();
    await symlink(root, join(base, 'alias'));
    const workspace = await openWorkspace(join(base, 'alias'));
    expect(workspace.root).toBe(root);
    expect(await workspace.inside(join(base, 'alias', 'a.txt'))).toBe(join(root, 'a.txt'));
  });

  test('must exist', async () => {
    await expect(openWorkspace(join(await newFolder(), 'none'))).rejects.toThrow(/workspace .*none can't be used \(ENOENT\)/);
  });

  test('no path leads out of it', async () => {
    const { root, workspace } = await trap();
    const names = [
      '..',
      '.',
      '',
      'src',
      'up',
      'upup',
      'out',
      'in',
      'dangling',
      'secret-link',
      'secret',
      'new',
      'loop-a',
      root,
      '/',
      'deep',
      'outside',
    ];
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...names), { maxLength: 7 }), async (parts) => {
        const real = await workspace.inside(parts.join('/')).catch(() => root);
        expect(real === root || real.startsWith(root + sep)).toBe(true);
        // Nothing on the way is a link any more, so the kernel ends up where we think it does.
        expect(await openWorkspace(root).then((again) => again.inside(real))).toBe(real);
      }),
      { numRuns: 300 },
    );
  });

  test('a file that was replaced with a link after the check is not opened', async () => {
    const { root, outside, workspace } = await trap();
    for (let turn = 0; turn < 30; turn += 1) {
      await writeText(join(root, 'victim'), 'mine');
      const [opened] = await Promise.allSettled([
        workspace.openFile('victim'),
        rm(join(root, 'victim')).then(() => symlink(join(outside, 'secret'), join(root, 'victim'))),
      ]);
      if (opened.status === 'fulfilled') {
        expect((await opened.value.readFile()).toString('utf8')).toBe('mine');
        await opened.value.close();
      }
      await rm(join(root, 'victim'));
    }
    expect(await readText(join(outside, 'secret'), 'utf8')).toBe('secret');
  });
});
