import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createWorker } from '../../src/worker';
import { configuredAgents } from '../../src/worker/agents-file';

const push = { id: 'call_1', name: 'shell', arguments: '{"command":"git push"}' };

async function asks(options: Parameters<typeof configuredAgents>[0]): Promise<boolean> {
  const [coder] = configuredAgents(options).agents;
  return 'approval' in ((await coder?.toolbox.judge(push)) ?? {});
}

const before = process.env.LONGHAUL_MODE;
afterEach(() => {
  if (before === undefined) delete process.env.LONGHAUL_MODE;
  else process.env.LONGHAUL_MODE = before;
});

test('the built-in coder of a worker asks, but for what a mode allows: of the command line, else of the environment', async () => {
  delete process.env.LONGHAUL_MODE;
  expect(await asks({})).toBe(true);
  process.env.LONGHAUL_MODE = 'full-access';
  expect(await asks({})).toBe(false);
  expect(await asks({ mode: 'minimal' })).toBe(true);
});

test('a mode that does not exist, or that nobody would follow, is refused', async () => {
  await expect(asks({ mode: 'yolo' })).rejects.toThrow('The mode is "yolo"; use minimal, trusted, full-access.');
  await expect(asks({ file: 'agents.js', mode: 'trusted' })).rejects.toThrow(
    '--mode is for the built-in coder; the agents of agents.js have permissions of their own.',
  );
});

describe('an agents file may export what its tools resolve', () => {
  const folder = mkdtempSync(join(tmpdir(), 'longhaul-agents-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  let files = 0;

  function fileWith(dependencies: string): string {
    const path = join(folder, `agents-${++files}.js`);
    const agents = JSON.stringify(join(__dirname, '../../src/agents/index.ts'));
    const agent = "defineAgent({ name: 'clerk', model: 'test-model', instructions: 'Help.' })";
    writeFileSync(path, `const { defineAgent } = require(${agents});\nexports.clerk = ${agent};\n${dependencies}\n`);
    return path;
  }

  test('as functions by name, which are no agents', () => {
    const { agents, dependencies } = configuredAgents({ file: fileWith("exports.dependencies = { db: () => 'a database' };") });
    expect(agents.map(({ name }) => name)).toEqual(['clerk']);
    expect(Object.keys(dependencies)).toEqual(['db']);
    expect(configuredAgents({ file: fileWith('') }).dependencies).toEqual({});
  });

  test.each([
    [
      'exports.dependencies = [1];',
      'the export dependencies must be an object of functions, such as { db: () => openDatabase() }; it is [1]',
    ],
    ['exports.dependencies = () => ({});', 'it is a function.'],
    [
      'exports.dependencies = { log: () => 1, db: { pool: 3 } };',
      'the export dependencies.db must be a function that makes it, such as { db: () => openDatabase() }; it is {"pool":3}',
    ],
  ])('and is refused, by its path, where it has %s', (code, words) => {
    const file = fileWith(code);
    expect(() => configuredAgents({ file })).toThrow(words);
    expect(() => configuredAgents({ file })).toThrow(file);
  });

  test('as createWorker refuses it', async () => {
    const { agents } = configuredAgents({ file: fileWith('') });
    const dependencies = { db: 'postgres://localhost' } as never;
    await expect(createWorker({ agents, dependencies })).rejects.toThrow('createWorker: dependencies.db must be a function that makes it');
  });
});
