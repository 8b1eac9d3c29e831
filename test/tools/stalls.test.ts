import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { defineTool } from '../../src/tools/defining/define-tool';
import { createPermissions } from '../../src/tools/permissions/permissions';
import { createToolbox } from '../../src/tools/running/toolbox';
import { callOf, hostWith, newFolder, removeFolders } from './tool-host';

afterEach(removeFolders);

/** The least CPU of three times, in milliseconds: other work on the machine only adds. */
function cpuOf(work: () => unknown): number {
  const once = () => {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  };
  return Math.min(once(), once(), once());
}

test('a command with deeply nested folders is checked within its bounds', async () => {
  const root = await newFolder();
  const deep = 'a/'.repeat(900);
  mkdirSync(join(root, deep), { recursive: true });
  const names = Array.from({ length: 100 }, (_, n) => `x${n}`).join(' ');
  const { decide } = createPermissions({ mode: 'minimal', root });
  const judge = () => decide({ tool: 'shell', args: { command: `cd ${deep} && cat ${names}` } });
  expect(cpuOf(judge)).toBeLessThan(300);
});

test('arguments with a number that JSON can’t represent are refused, because a person would see another', async () => {
  const given: unknown[] = [];
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    input: { type: 'object', properties: { order: { type: 'object' } } },
    execute: (args) => void given.push(args),
  });
  const call = { ...callOf('pay', {}), arguments: '{"order":{"amount":1e999}}' };
  expect((await createToolbox([pay]).execute(call, hostWith())).outcome).toMatchObject({
    status: 'rejected',
    content: expect.stringMatching(/too large/),
  });
  expect(given).toEqual([]);
});
