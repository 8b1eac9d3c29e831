import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { version } from '../../package.json';

test('--version prints the version of the package', () => {
  const root = join(__dirname, '../..');
  expect(execFileSync(process.execPath, [join(root, 'bin/longhaul.js'), '--version'], { encoding: 'utf8' })).toBe(`${version}\n`);
});
