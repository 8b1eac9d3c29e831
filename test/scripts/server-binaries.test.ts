import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folder = mkdtempSync(join(tmpdir(), 'longhaul-binaries-'));
const script = join(__dirname, '../../scripts/stack/server-binaries.js');

afterAll(() => rmSync(folder, { recursive: true }));

function built(cache: string): string {
  const programs = join(cache, 'longhaul', 'temporal-server-v0.0.0');
  mkdirSync(programs, { recursive: true });
  for (const name of ['temporal-server', 'temporal-sql-tool']) writeFileSync(join(programs, name), '');
  return programs;
}

/** In a process of its own, as only there the home folder can be another. */
function found(XDG_CACHE_HOME: string): string {
  const program = `require(${JSON.stringify(script)}).serverBinaries('0.0.0', () => {}).then(console.log)`;
  const env = { PATH: process.env.PATH, HOME: join(folder, 'home'), XDG_CACHE_HOME };
  return execFileSync(process.execPath, ['-e', program], { cwd: folder, env, encoding: 'utf8' }).trim();
}

test('a server is taken from the cache of the user, and never from a relative path', () => {
  const own = built(join(folder, 'home', '.cache'));
  const named = built(join(folder, 'named'));
  expect(found('named')).toBe(own);
  expect(found(join(folder, 'named'))).toBe(named);
});
