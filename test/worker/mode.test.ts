import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pickMode } from '../../src/cli/commands/ask-for-mode';
import { coderMode, configuredAgents } from '../../src/worker/agents-file';
import { readUserSettings, userSettingsFile } from '../../src/worker/user-settings';

const names = ['XDG_CONFIG_HOME', 'LONGHAUL_MODE', 'LONGHAUL_WORKSPACE', 'LONGHAUL_AGENTS'];
const before = names.map((name) => [name, process.env[name]] as const);
let base: string;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'longhaul-mode-'));
  for (const name of names) delete process.env[name];
  process.env.XDG_CONFIG_HOME = join(base, 'config');
  process.env.LONGHAUL_WORKSPACE = join(base, 'shop', 'web');
  mkdirSync(join(base, 'shop', 'web'), { recursive: true });
});
afterEach(() => rmSync(base, { recursive: true, force: true }));
afterAll(() => {
  for (const [name, value] of before) value === undefined ? delete process.env[name] : (process.env[name] = value);
});

function set(settings: unknown): void {
  mkdirSync(dirname(userSettingsFile()), { recursive: true });
  writeFileSync(userSettingsFile(), typeof settings === 'string' ? settings : JSON.stringify(settings));
}

/** Whether the coder, as it is configured, edits and runs programs without asking. */
async function allows(choice: Parameters<typeof configuredAgents>[0]) {
  const [coder] = (await configuredAgents(choice)).agents;
  const call = (tool: string, args: object) => coder?.permissions?.decide({ tool, args, workspace: base } as never);
  return [call('write_file', { path: 'a.txt', content: 'a' }), call('shell', { command: 'make' })]
    .map((decision) => decision === 'allow')
    .join();
}

const asked = { minimal: 'false,false', trusted: 'true,false', 'full-access': 'true,true' };

test('[B179] the mode is that of the command line, else of the environment, the folder, all folders, the pick at the start, else minimal', async () => {
  const folders = { [join(base, 'shop')]: { mode: 'trusted' } };
  set({ mode: 'full-access', folders });
  process.env.LONGHAUL_MODE = 'full-access';
  expect(await allows({ mode: 'minimal', picked: 'trusted' })).toBe(asked.minimal);
  expect(await allows({ picked: 'trusted' })).toBe(asked['full-access']);
  delete process.env.LONGHAUL_MODE;
  expect(await allows({ picked: 'minimal' })).toBe(asked.trusted);
  set({ mode: 'full-access' });
  expect(await allows({ picked: 'minimal' })).toBe(asked['full-access']);
  rmSync(userSettingsFile());
  expect(await allows({ picked: 'trusted' })).toBe(asked.trusted);
  expect(await allows({})).toBe(asked.minimal);
});

test('the nearest folder counts, wherever links lead', () => {
  const [shop, web] = [join(base, 'shop'), join(base, 'shop', 'web')];
  set({ folders: { [shop]: { mode: 'trusted' }, [web]: { mode: 'minimal' }, [join(base, 'sho')]: { mode: 'full-access' } } });
  expect(coderMode(undefined)).toBe('minimal');
  symlinkSync(shop, join(base, 'link'));
  process.env.LONGHAUL_WORKSPACE = join(base, 'link');
  expect(coderMode(undefined)).toBe('trusted');
  process.env.LONGHAUL_WORKSPACE = join(shop, 'not yet');
  expect(coderMode(undefined)).toBe('trusted');
  process.env.LONGHAUL_WORKSPACE = base;
  expect(coderMode(undefined)).toBeUndefined();
});

test.each<[unknown, RegExp]>([
  ['{', /settings\.json can't be used: .*JSON/],
  [[], /must be an object/],
  [{ mode: 'all' }, /the mode is "all"; use minimal, trusted, sandboxed, full-access/],
  [{ mod: 'minimal' }, /the key "mod" is unknown; there are mode and folders/],
  [{ folders: { '/x': { mode: 1 } } }, /the mode of folder \/x is 1/],
  [{ folders: { '/x': 'trusted' } }, /folder \/x must have an object/],
  [{ folders: 'x' }, /folders must be an object/],
])('[B179] settings that are not valid are an error: %j', async (settings, problem) => {
  set(settings);
  expect(() => readUserSettings()).toThrow(problem);
  await expect(configuredAgents({})).rejects.toThrow(problem);
  // What counts is given, so the file does not matter.
  await expect(configuredAgents({ mode: 'minimal' })).resolves.toBeDefined();
});

test('[B179] a mode of the command line or the environment that is none is an error', () => {
  expect(() => coderMode('all')).toThrow(/The mode is "all"; use minimal/);
  process.env.LONGHAUL_MODE = 'everything';
  expect(() => coderMode(undefined)).toThrow(/The mode is "everything"/);
});

test('a mode is picked by its number or name, and asked for again if there is none', async () => {
  const picked = async (...answers: string[]) => {
    const said: string[] = [];
    const mode = await pickMode({ ask: async () => answers.shift() ?? '' }, (line) => void said.push(String(line)));
    return [mode, answers.length];
  };
  expect(await picked('2')).toEqual(['trusted', 0]);
  expect(await picked(' full-access ')).toEqual(['full-access', 0]);
  expect(await picked('')).toEqual(['minimal', 0]);
  expect(await picked('0', '9', 'all', '-1', '3')).toEqual(['sandboxed', 0]);
});
