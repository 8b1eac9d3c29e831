import { guarded } from '../../scripts/guarded.js';

test('the output of a command that prints much has its first and its last lines', async () => {
  const script = 'for (let i = 0; i < 5000; i++) console.log("line", i)';
  const { code, output } = await guarded(process.execPath, ['-e', script]).ended;
  expect(code).toBe(0);
  expect(output.startsWith('line 0\nline 1\n')).toBe(true);
  expect(output.endsWith('line 4999\n')).toBe(true);
  expect(output.length).toBeLessThan(20_000);
});

test('the output of a command that prints little is whole', async () => {
  const { output } = await guarded(process.execPath, ['-e', 'console.log("one"); console.error("two")']).ended;
  expect(output.split('\n').sort()).toEqual(['', 'one', 'two']);
});
