import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { cachedBinary } from '../../scripts/temporal-binary';

const root = join(__dirname, '../..');
const page = readFileSync(join(root, 'docs/getting-started.md'), 'utf8');
const { name, version, engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const { XDG_CACHE_HOME } = process.env;

afterEach(() => {
  if (XDG_CACHE_HOME !== undefined) process.env.XDG_CACHE_HOME = XDG_CACHE_HOME;
});

test('the page on a project of your own names the tarball and the Node version of this package', () => {
  expect(page.match(/longhaul-[\d.]+\.tgz/g)).toEqual([`${name}-${version}.tgz`, `${name}-${version}.tgz`]);
  expect(page).toContain(`Node ${engines.node.replace('>=', '')} or later`);
});

test('it says where the temporal program is kept', () => {
  delete process.env.XDG_CACHE_HOME;
  const folder = join(cachedBinary(), '..');
  expect(page).toContain(`\`${folder.replace(homedir(), '~')}/\``);
  expect(page).toContain(`"${folder.replace(homedir(), '$HOME')}:$PATH"`);
});
