import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CommandLimits } from '../../src/tools/built-in/command-limits';
import { createShell } from '../../src/tools/built-in/shell';
import { withLimitedReaders } from '../../src/tools/permissions/limited-readers';
import { testInSandbox } from '../support/in-sandbox';
import { hungry } from './attacks';
import { newFolder, removeFolders, told } from './tool-host';

let workspace: string;

beforeAll(async () => {
  workspace = await newFolder();
  execFileSync('git', ['init', '-q', workspace]);
  writeFileSync(join(workspace, 'a.txt'), 'one x\n');
});
afterAll(removeFolders);

const onLinux = process.platform === 'linux' ? test : test.skip;
const limited = (command: string, limits: CommandLimits, more: object = {}) =>
  told(createShell({ limits, ...more }), { command }, { workspace });
const node = (code: string) => `'${process.execPath}' -e '${code}'`;

onLinux.each(hungry.filter((command) => /^(grep|sed).*32000/.test(command)))(
  '%s ends at its limit of memory, and says so',
  async (command) => {
    expect(await limited(command, {})).toMatch(/xhausted\n\[exit code: \d; a program may have reached its limit of memory\. .* 1024 MiB/);
  },
);

onLinux('programs that only read share the memory of a pipeline, write no memory to files, and others have no limit', async () => {
  const status = 'cat /proc/self/limits';
  expect(await limited(status, {})).toMatch(/Max data size +1073741824 /);
  expect(await limited(`${status} | cat | cat | cat`, {})).toMatch(/Max data size +268435456 /);
  expect(await limited(status, {})).toMatch(/Max core file size +0 +0 /);
  expect(await limited(node('console.log(require("fs").readFileSync("/proc/self/limits", "utf8"))'), {})).toMatch(
    /Max data size +unlimited /,
  );
});

onLinux.each([
  "printf '%s' '😀é' | grep -c é",
  "echo '🙂🙂' ; <a.txt grep -n x",
  '<a.txt grep x | <a.txt wc -l 2>&1',
  "grep -c '𝒳' a.txt || grep 2>&1 -n 'x' a.txt && cat <a.txt a.txt",
  '\'grep\' x a.txt;"wc" -l a.txt ; \\cat a.txt',
])('%s does the same with limits as without', async (command) => {
  const limitedCommand = withLimitedReaders(command);
  expect(limitedCommand).not.toBe(command);
  const plain = spawnSync('bash', ['-c', command], { cwd: workspace, encoding: 'utf8' });
  const withLimits = spawnSync('bash', ['-c', limitedCommand], { cwd: workspace, encoding: 'utf8' });
  expect([withLimits.status, withLimits.stdout, withLimits.stderr]).toEqual([plain.status, plain.stdout, plain.stderr]);
  expect(plain.stdout).not.toBe('');
});

onLinux('a setting limits the memory of all programs, also of those that only read', async () => {
  expect(await limited(node('console.log(1)'), { memoryMb: 512 })).toBe('1');
  expect(await limited(node('const a = []; for (;;) a.push(Buffer.alloc(1e7, 1))'), { memoryMb: 512 })).toMatch(
    /\[exit code: \d+; a program may have reached its limit of memory\. .*; that of other programs is 512 MiB\]$/,
  );
  expect(await limited('cat /proc/self/limits', { memoryMb: 64 })).toMatch(/Max data size +67108864 /);
});

onLinux('a setting limits CPU time, files and processes, and the result says which one ended the command', async () => {
  expect(await limited('while :; do :; done', { cpuSeconds: 1 })).toMatch(
    /\[exit code: 152; a program reached its limit of CPU time, 1 s at most/,
  );
  expect(await limited('exec head -c 3000000 /dev/zero >f', { fileMb: 1 })).toMatch(
    /\[exit code: 153; .* the size of a file, 1 MiB at most/,
  );
  expect(await limited('for i in 1 2 3 4 5 6 7 8; do sleep 60 & done; wait', { processes: 5 })).toMatch(
    /\[the command had more than 5 processes, its limit, and was ended\]$/,
  );
});

testInSandbox('limits also apply in the sandbox', async () => {
  const limits = { memoryMb: 512, fileMb: 1 };
  const sandbox = 'required' as const;
  expect(await limited(node('const a = []; for (;;) a.push(Buffer.alloc(1e7, 1))'), limits, { sandbox })).toMatch(/limit of memory/);
  expect(await limited('exec head -c 3000000 /dev/zero >f', limits, { sandbox })).toMatch(/the size of a file/);
});

test('a limit that is none is refused, by name', () => {
  expect(() => createShell({ limits: { memoryMb: 0, cpuSeconds: 1.5, files: 3 } as CommandLimits })).toThrow(
    /^limits: memoryMb is 0; .*; cpuSeconds is 1\.5; .*; has the unknown key 'files'/,
  );
});
