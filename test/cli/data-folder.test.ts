import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { usualData } from '../../src/cli/commands/data-folder';
import { stateHome } from '../../src/config';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'longhaul-data-')));

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('the data of the user is stored in the folder of the platform, and never below the current folder', () => {
  expect(stateHome({ XDG_STATE_HOME: '/x/state' }, 'linux')).toBe('/x/state');
  expect(stateHome({ XDG_STATE_HOME: '/x/state' }, 'darwin')).toBe('/x/state');
  for (const relative of ['state', './state', '.', '']) {
    expect(stateHome({ XDG_STATE_HOME: relative }, 'linux')).toBe(join(homedir(), '.local/state'));
    expect(stateHome({ XDG_STATE_HOME: relative }, 'darwin')).toBe(join(homedir(), 'Library/Application Support'));
    expect(stateHome({ LOCALAPPDATA: relative }, 'win32')).toBe(join(homedir(), 'AppData/Local'));
  }
});

test('each folder has threads of its own, by its real path', () => {
  const [one = '', other = '', odd = ''] = ['a/shop', 'b/shop', 'a b\n..c'].map((name) => join(folder, name));
  for (const path of [one, other, odd]) mkdirSync(path, { recursive: true });
  symlinkSync(one, join(folder, 'link'));
  expect(usualData(one)).not.toBe(usualData(other));
  expect(usualData(join(folder, 'link'))).toBe(usualData(one));
  expect(basename(usualData(one))).toMatch(/^shop-[0-9a-f]{16}$/);
  expect(basename(usualData(odd))).toMatch(/^a_b_\.\.c-[0-9a-f]{16}$/);
});
