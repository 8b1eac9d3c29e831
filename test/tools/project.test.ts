import fsPromises, { type FileHandle, link, mkdir, symlink, writeFile as writeText } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createCoder } from '../../src/agents/coder';
import { readFile } from '../../src/tools/built-in/read-file';
import { projectInstructions } from '../../src/tools/project/agents-md';
import { findSkills } from '../../src/tools/project/skill-files';
import { loadSkill, searchSkills, skillInstructions } from '../../src/tools/project/skills';
import { newFolder, removeFolders, told } from './tool-host';

afterEach(removeFolders);

/** A repository in a folder that has such files too, which are not the repository's. */
async function repository(files: Record<string, string>) {
  const outside = await newFolder();
  const root = join(outside, 'repository');
  await mkdir(join(root, '.git'), { recursive: true });
  await writeText(join(outside, 'AGENTS.md'), 'Not of this repository.');
  const write = async (path: string, content: string) => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeText(join(root, path), content);
  };
  for (const [path, content] of Object.entries(files)) await write(path, content);
  return { outside, root, write };
}

const skill = (name: string, description: string, body = 'Do it.') => `---\nname: ${name}\ndescription: ${description}\n---\n${body}\n`;

describe('AGENTS.md', () => {
  test('[B147][B164] each one from the root of the repository to the workspace is in the instructions once, and as it is after a change', async () => {
    const { root, write } = await repository({
      'AGENTS.md': 'Use tabs.\n',
      'packages/a/AGENTS.md': 'Use blanks.',
      'packages/b/AGENTS.md': 'Other.',
    });
    const folder = join(root, 'packages/a');
    const { instructions } = createCoder();
    const made = async () =>
      typeof instructions === 'function' ? instructions({ threadId: 't', now: new Date(), workspace: folder, toolCalls: [] }) : '';
    const first = await made();
    expect(first).toMatch(/^You are a software engineer/);
    expect(first.slice(first.indexOf('<project'))).toBe(
      '<project_instructions path="AGENTS.md">\nUse tabs.\n</project_instructions>\n\n<project_instructions path="packages/a/AGENTS.md">\nUse blanks.\n</project_instructions>',
    );
    expect(await made()).toBe(first);
    await write('AGENTS.md', 'Use nothing.');
    expect(await made()).toBe(first.replace('Use tabs.', 'Use nothing.'));
  });

  test('outside a repository only that of the folder itself counts, and without one there is nothing', async () => {
    const { outside } = await repository({});
    await mkdir(join(outside, 'plain'));
    expect(await projectInstructions(join(outside, 'plain'))).toBe('');
    expect(await projectInstructions(outside)).toContain('Not of this repository.');
  });

  test('links that lead out of the repository, binary and very long files do no harm', async () => {
    const { outside, root, write } = await repository({ 'a/AGENTS.md': 'bin\0ary', 'a/b/AGENTS.md': 'x'.repeat(100_000) });
    await symlink(join(outside, 'AGENTS.md'), join(root, 'AGENTS.md'));
    await mkdir(join(root, 'a/b/c/AGENTS.md'), { recursive: true });
    await write('a/b/c/d/AGENTS.md', 'deep');
    const text = await projectInstructions(join(root, 'a/b/c/d'));
    expect(text).not.toContain('Not of this repository');
    expect(text).toContain('[... 36000 more characters of this file ...]');
    expect(text.length).toBeLessThan(66_000);
    expect(text.match(/<project_instructions/g)).toHaveLength(2);
  });

  test('a file with several names is one of the repository, as it is for read_file', async () => {
    const { root } = await repository({ 'docs/agents.txt': 'Under two names.' });
    await link(join(root, 'docs/agents.txt'), join(root, 'AGENTS.md'));
    expect(await projectInstructions(root)).toContain('Under two names.');
    expect(await told(readFile, { path: 'AGENTS.md' }, { workspace: root })).toContain('Under two names.');
  });
});

const call = (name: string, args: unknown) => ({ id: 'c', name, arguments: typeof args === 'string' ? args : JSON.stringify(args) });
/** The AGENTS.md that the instructions have, by their paths. */
const shownIn = (text: string) => [...text.matchAll(/<project_instructions path="([^"]+)">/g)].map(([, path]) => path);

describe('AGENTS.md of folders below the workspace', () => {
  const files = {
    'AGENTS.md': 'Root.',
    'app/AGENTS.md': 'App.',
    'app/a/AGENTS.md': 'A.',
    'app/a/deep/AGENTS.md': 'Deep.',
    'app/a/deep/x.ts': '',
    'app/b/AGENTS.md': 'B.',
    'app/node_modules/p/AGENTS.md': 'Of a package.',
    'other/AGENTS.md': 'Other.',
  };
  const above = ['AGENTS.md', 'app/AGENTS.md'];
  const deep = ['app/a/AGENTS.md', 'app/a/deep/AGENTS.md'];
  const patch = '*** Begin Patch\n*** Add File: b/new.ts\n+x\n*** End Patch';
  const diff = '--- a/a/deep/x.ts\t2026\n+++ b/a/deep/x.ts\n@@ -0,0 +1 @@\n+x\n';

  test.each<[string, unknown, string[]]>([
    ['read_file', { path: 'a/deep/x.ts' }, deep],
    ['edit', { path: './a/../a/deep/x.ts' }, deep],
    ['write_file', { path: 'b/none/yet.ts' }, ['app/b/AGENTS.md']],
    ['list_dir', { path: 'b' }, ['app/b/AGENTS.md']],
    ['view_image', { path: 'a/i.png' }, ['app/a/AGENTS.md']],
    ['grep', { pattern: 'x', path: 'b' }, ['app/b/AGENTS.md']],
    ['shell', { command: 'ls', workdir: 'b' }, ['app/b/AGENTS.md']],
    ['apply_patch', { patch }, ['app/b/AGENTS.md']],
    ['apply_patch', { patch: diff }, deep],
    ['read_file', { path: 'node_modules/p/AGENTS.md' }, []],
    ['read_file', { path: '../other/x.ts' }, []],
    ['read_file', { path: '/etc/passwd' }, []],
    ['read_file', { path: 7 }, []],
    ['read_file', '{"path": "a', []],
    ['mail', { path: 'a' }, []],
  ])('[B164] after %s %j they are in the instructions, those on the way to it', async (name, args, expected) => {
    const { root } = await repository(files);
    const text = await projectInstructions(join(root, 'app'), { toolCalls: [call(name, args)] });
    expect(shownIn(text)).toEqual([...above, ...expected]);
  });

  test('[B164] each is there once, however many calls touched its folder, and as it is after a change', async () => {
    const { root, write } = await repository(files);
    const toolCalls = ['a/x', 'a/deep/x.ts', 'b/x', 'a'].map((path) => call('read_file', { path }));
    const made = () => projectInstructions(join(root, 'app'), { toolCalls });
    const first = await made();
    expect(shownIn(first)).toEqual([...above, ...deep, 'app/b/AGENTS.md']);
    expect(await made()).toBe(first);
    await write('app/a/AGENTS.md', 'A, changed.');
    expect(await made()).toBe(first.replace('\nA.\n', '\nA, changed.\n'));
  });

  test('a path that does not exist, however deep, costs no more than its existing folders, and a name of a folder is no markup', async () => {
    const root = await newFolder();
    await mkdir(join(root, 'a"><b'), { recursive: true });
    await writeText(join(root, 'a"><b', 'AGENTS.md'), 'Quote names.');
    const deep = Array.from({ length: 128 }, (_, n) => ({
      id: `d${n}`,
      name: 'read_file',
      arguments: JSON.stringify({ path: `${'x/'.repeat(500)}${n}` }),
    }));
    const calls = [...deep, { id: 'c', name: 'read_file', arguments: JSON.stringify({ path: 'a"><b/c.txt' }) }];
    const said = await projectInstructions(root, { toolCalls: calls });
    expect(said).toContain('<project_instructions path="a&#34;&#62;&#60;b/AGENTS.md">\nQuote names.');
  });

  test('[B164] links give the model no other file: one out of the workspace has no folder in it, one inside has that where it leads', async () => {
    const { root, outside } = await repository({ ...files, '.env': 'TOKEN=secret' });
    await mkdir(join(root, 'app/c'));
    await symlink('../../.env', join(root, 'app/c/AGENTS.md'));
    await symlink(outside, join(root, 'app/out'));
    await symlink('a/deep', join(root, 'app/in'));
    const shown = async (path: string) =>
      shownIn(await projectInstructions(join(root, 'app'), { toolCalls: [call('read_file', { path })] })).slice(2);
    expect(await shown('c/x')).toEqual([]);
    expect(await shown('out/x')).toEqual([]);
    expect(await shown('in/x.ts')).toEqual(deep);
  });

  test('[B164] their number and size are bounded, and those of the newest calls count', async () => {
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`f${10 + i}/AGENTS.md`, `${i} ${'x'.repeat(10_000)}`]));
    const { root } = await repository(many);
    const toolCalls = Object.keys(many).map((path) => call('read_file', { path }));
    const text = await projectInstructions(root, { toolCalls });
    expect(shownIn(text)).toEqual(Object.keys(many).slice(-16));
    expect(text.length).toBeLessThan(67_000);
  });
});

describe('links of a repository', () => {
  test('an AGENTS.md that is a link, or is in a linked folder of the workspace, gives the model no other file', async () => {
    const { root, write } = await repository({ '.git/config': 'url = https://secret@host', '.env': 'TOKEN=secret', 'app/a.ts': '' });
    await symlink('../.git/config', join(root, 'app/AGENTS.md'));
    await symlink('.env', join(root, 'AGENTS.md'));
    expect(await projectInstructions(join(root, 'app'))).toBe('');
    await write('app/sub/AGENTS.md', 'Own.');
    await symlink('app/sub', join(root, 'linked'));
    expect(await projectInstructions(join(root, 'linked'))).toContain('<project_instructions path="app/sub/AGENTS.md">\nOwn.');
  });

  test.each(['.agents', '.agents/skills', '.agents/skills/deploy', '.agents/skills/deploy/SKILL.md'])(
    'skills behind the link %s are not found, but the home folder may have one',
    async (place) => {
      const { outside, root } = await repository({});
      const other = join(outside, 'other');
      await mkdir(join(other, '.agents/skills/deploy'), { recursive: true });
      await writeText(join(other, '.agents/skills/deploy/SKILL.md'), skill('private', 'Of another project.'));
      await mkdir(dirname(join(root, place)), { recursive: true });
      await symlink(join(other, place), join(root, place));
      expect(await findSkills(root, join(outside, 'none'))).toEqual([]);
      await mkdir(join(outside, 'home'));
      await symlink(join(other, '.agents'), join(outside, 'home/.agents'));
      expect((await findSkills(root, join(outside, 'home'))).map(({ name }) => name)).toEqual(['private']);
    },
  );
});

describe('skills', () => {
  const files = {
    '.agents/skills/release/SKILL.md': skill('release', 'How to publish a release.', 'Tag it.'),
    '.agents/skills/data/migrate/SKILL.md': skill('migrate', '>\n  Changes of the database,\n  with a way back.'),
    'app/.agents/skills/release/SKILL.md': skill('release', '"Releases of the app."', 'Build it.'),
    'app/.agents/skills/nameless/SKILL.md': '# no head\n',
    'app/.agents/skills/odd/SKILL.md': skill('../odd', 'A name that is not usable.'),
  };

  test('are found in the repository, on the way to the workspace, and in the home folder, and listed in the instructions', async () => {
    const { root, outside } = await repository(files);
    const home = join(outside, 'home');
    await mkdir(join(home, '.agents/skills/mine'), { recursive: true });
    await writeText(join(home, '.agents/skills/mine/SKILL.md'), skill('mine', 'Of the user.'));
    const found = await findSkills(join(root, 'app'), home);
    expect(found.map(({ name, description }) => `${name}: ${description}`)).toEqual([
      'migrate: Changes of the database, with a way back.',
      'release: How to publish a release.',
      'release: Releases of the app.',
      'mine: Of the user.',
    ]);
    expect((await skillInstructions(join(root, 'app'))).split('\n').slice(1, 4)).toEqual([
      '- migrate: Changes of the database, with a way back.',
      '- release: How to publish a release.',
      '- release: Releases of the app.',
    ]);
    expect((await findSkills(root, home)).map(({ name }) => name)).toEqual(['migrate', 'release', 'mine']);
  });

  test('[B163] are searched by words, and loaded by name or path; an ambiguous name is an error', async () => {
    const { root } = await repository(files);
    const workspace = join(root, 'app');
    expect(await told(searchSkills, { query: 'database way' }, { workspace })).toBe(
      `- migrate: Changes of the database, with a way back.\n  ${join(root, '.agents/skills/data/migrate/SKILL.md')}`,
    );
    expect(await told(searchSkills, { query: 'release', limit: 1 }, { workspace })).toMatch(
      /publish a release\.\n.*\n\[\.\.\. 1 more skills \.\.\.\]$/,
    );
    expect(await told(searchSkills, { query: 'zzz' }, { workspace })).toBe('No skills found.');
    expect(await told(loadSkill, { name: 'migrate' }, { workspace })).toMatch(/^Skill .*migrate\/SKILL\.md:\n\n---\nname: migrate/);
    const paths = ['.agents/skills/release/SKILL.md', 'app/.agents/skills/release/SKILL.md'].map((path) => join(root, path));
    expect(await told(loadSkill, { name: 'release' }, { workspace })).toBe(
      `Error: Several skills are named 'release'. Give the path of one: ${paths.join(', ')}.`,
    );
    expect(await told(loadSkill, { name: paths[1] }, { workspace })).toContain('Build it.');
    expect(await told(loadSkill, { name: 'none' }, { workspace })).toMatch(
      /^Error: There is no skill 'none'. There are: migrate, release, release/,
    );
    expect(await told(loadSkill, { name: join(root, 'app/.agents/skills/odd/SKILL.md') }, { workspace })).toContain('There is no skill');
  });

  test('[B163] a skill that is known and unchanged is not shown again', async () => {
    const { root, write } = await repository(files);
    const [, hash] = /\[hash: (\w+)\]$/.exec(await told(loadSkill, { name: 'migrate' }, { workspace: root })) ?? [];
    const again = () => told(loadSkill, { name: 'migrate', known_hash: hash }, { workspace: root });
    expect(await again()).toBe(`The skill migrate is unchanged.\n[hash: ${hash}]`);
    await write('.agents/skills/data/migrate/SKILL.md', skill('migrate', 'New.', 'Changed.'));
    expect(await again()).toContain('Changed.');
  });

  test('a hundred calls at once share a search, which reads no file as a whole; only the skill that is loaded is', async () => {
    const { root } = await repository({
      ...files,
      '.agents/skills/long/SKILL.md': skill('long', 'Long.', 'x'.repeat(200_000)),
      '.agents/skills/huge/SKILL.md': skill('huge', 'Too long.', 'x'.repeat(300_000)),
    });
    const read: string[] = [];
    let held = 0;
    const { open } = fsPromises;
    const opening = jest.spyOn(fsPromises, 'open').mockImplementation(async (path, flags, mode) => {
      const handle = await open(path, flags, mode);
      if (!String(path).endsWith('SKILL.md')) return handle;
      const name = String(path).slice(root.length);
      const readFile = handle.readFile.bind(handle);
      const readPiece = handle.read.bind(handle) as FileHandle['read'];
      handle.readFile = (async () => {
        read.push(`whole ${name}`);
        return readFile();
      }) as FileHandle['readFile'];
      handle.read = (async (...args: Parameters<typeof readPiece>) => {
        const got = await readPiece(...args);
        held = Math.max(held, got.bytesRead);
        read.push(`head ${name}`);
        return got;
      }) as FileHandle['read'];
      return handle;
    });
    try {
      const told100 = await Promise.all(Array.from({ length: 100 }, () => told(searchSkills, { query: 'long' }, { workspace: root })));
      expect(new Set(told100)).toEqual(new Set([`- long: Long.\n  ${join(root, '.agents/skills/long/SKILL.md')}`]));
      expect(read.sort()).toEqual(['data/migrate', 'long', 'release'].map((name) => `head /.agents/skills/${name}/SKILL.md`));
      expect(held).toBe(16 * 1_024);
      read.length = 0;
      await told(loadSkill, { name: 'long' }, { workspace: root });
      expect(read.filter((one) => one.startsWith('whole'))).toEqual(['whole /.agents/skills/long/SKILL.md']);
    } finally {
      opening.mockRestore();
    }
  });

  test('a search that is begun after a file was changed sees the change, also while another search runs', async () => {
    const { root, write } = await repository(files);
    const search = () => told(searchSkills, { query: 'database' }, { workspace: root });
    const { open } = fsPromises;
    let second: Promise<string> | undefined;
    const opening = jest.spyOn(fsPromises, 'open').mockImplementation(async (path, flags, mode) => {
      if (String(path).endsWith('release/SKILL.md') && !second) {
        // The search has read the other file by now.
        await write('.agents/skills/data/migrate/SKILL.md', skill('migrate', 'Of the database, new.'));
        second = search();
      }
      return open(path, flags, mode);
    });
    try {
      expect(await search()).toContain('with a way back.');
      expect(await second).toContain('Of the database, new.');
    } finally {
      opening.mockRestore();
    }
  });

  test('folders with many entries are read up to a bound', async () => {
    const { root } = await repository({ '.agents/skills/z/SKILL.md': skill('z', 'Last.') });
    await Promise.all(Array.from({ length: 1_500 }, (_, at) => mkdir(join(root, `.agents/skills/a${at}`))));
    const reading = jest.spyOn(fsPromises, 'opendir');
    try {
      await findSkills(root, root);
      expect(reading.mock.calls.length).toBeLessThanOrEqual(1_000);
    } finally {
      reading.mockRestore();
    }
  });

  test('links that lead out of the folder of skills are not followed', async () => {
    const { root, outside } = await repository({});
    await mkdir(join(root, '.agents/skills/a'), { recursive: true });
    await writeText(join(outside, 'SKILL.md'), skill('stolen', 'From elsewhere.'));
    await symlink(join(outside, 'SKILL.md'), join(root, '.agents/skills/a/SKILL.md'));
    await symlink(outside, join(root, '.agents/skills/b'));
    expect(await findSkills(root, root)).toEqual([]);
  });
});
