import fc from 'fast-check';
import { editFile } from '../../src/tools/built-in/edit';
import { Effort, positionsOf } from '../../src/tools/built-in/line-search';
import { begin, workspaceOf } from './patching';
import { removeFolders, told } from './tool-host';

afterEach(removeFolders);

/** CPU time in milliseconds: other work on the machine does not count. Before they were bounded, these calls took minutes. */
async function cpuOf(work: () => Promise<string>): Promise<{ answer: string; ms: number }> {
  const before = process.cpuUsage();
  const answer = await work();
  const { user, system } = process.cpuUsage(before);
  return { answer, ms: (user + system) / 1_000 };
}

const most = 6_000;

test('a patch of many equal lines is sought in a file of many equal lines within seconds', async () => {
  const { patch } = await workspaceOf({ f: '\n'.repeat(40_000) });
  const hunk = begin('*** Update File: f', ...Array.from({ length: 10_000 }, () => ' '), '-x');
  const { answer, ms } = await cpuOf(() => patch(hunk));
  expect(answer).toContain('were not found');
  expect(ms).toBeLessThan(most);
});

test('a patch of many hunks for a file of many lines is refused when it has cost enough', async () => {
  const text = Array.from({ length: 500_000 }, (_, at) => `${at}\n`).join('');
  const { patch, read } = await workspaceOf({ f: text });
  const hunks = Array.from({ length: 400 }, (_, at) => [`@@ ${at}`, '+new']).flat();
  const { answer, ms } = await cpuOf(() => patch(begin('*** Update File: f', ...hunks)));
  expect(answer).toMatch(/^Error: Finding the place takes too long/);
  expect(ms).toBeLessThan(most);
  expect(await read('f')).toBe(text);
});

test.each([
  ['lines that are alike', '\n'.repeat(40_000), { old_string: `${'\n'.repeat(10_000)}x`, new_string: 'y' }, 'was not found'],
  [
    'lines that differ in the last indentation only',
    `${'a\n'.repeat(20_000)}`,
    { old_string: `${'a\n'.repeat(9_999)} a\n`, new_string: 'y' },
    'takes too long',
  ],
  ['a line of one letter', 'a'.repeat(500_000), { old_string: 'a', new_string: 'b', replace_all: true }, 'occurs more than 100000 times'],
  [
    'a long new text at many places',
    'a\n'.repeat(50_000),
    { old_string: 'a', new_string: 'b'.repeat(100_000), replace_all: true },
    'The new text is longer',
  ],
  ['too many lines', '\n'.repeat(1_000_001), { old_string: 'x', new_string: 'y' }, 'has more than 1000000 lines'],
])('an edit of %s is bounded', async (_, text, args, problem) => {
  const { workspace, read } = await workspaceOf({ f: text });
  const { answer, ms } = await cpuOf(() => told(editFile, { path: 'f', ...args }, { workspace }));
  expect(answer).toMatch(/^Error: /);
  expect(answer).toContain(problem);
  expect(ms).toBeLessThan(most);
  expect(await read('f')).toBe(text);
});

test('every occurrence in one long line is replaced in a time that grows with the line', async () => {
  const { workspace, read } = await workspaceOf({ f: 'ab'.repeat(100_000) });
  const { ms } = await cpuOf(() => told(editFile, { path: 'f', old_string: 'a', new_string: 'c', replace_all: true }, { workspace }));
  expect(await read('f')).toBe('cb'.repeat(100_000));
  expect(ms).toBeLessThan(1_500);
});

test('lines are found where a comparison at every position finds them', () => {
  const lines = (maxLength: number, minLength = 0) => fc.array(fc.constantFrom('a', 'b'), { minLength, maxLength });
  fc.assert(
    fc.property(lines(30), lines(4, 1), fc.nat(5), (file, wanted, start) => {
      const from = Math.min(start, file.length);
      const simple = file.flatMap((_, at) => (at >= from && wanted.every((line, index) => file[at + index] === line) ? [at] : []));
      expect(positionsOf(file, wanted, from, new Effort())).toEqual(simple);
    }),
    { numRuns: 500 },
  );
});
