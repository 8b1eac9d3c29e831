import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bubblewrap } from '../../src/tools/built-in/sandbox/bubblewrap';
import { createWorker } from '../../src/worker';
import { configuredAgents } from '../../src/worker/agents-file';

const push = { id: 'call_1', name: 'shell', arguments: '{"command":"git push"}' };

async function asks(options: Parameters<typeof configuredAgents>[0]): Promise<boolean> {
  const [coder] = (await configuredAgents(options)).agents;
  return 'approval' in ((await coder?.toolbox.judge(push)) ?? {});
}

const before = process.env.LONGHAUL_MODE;
afterEach(() => {
  if (before === undefined) delete process.env.LONGHAUL_MODE;
  else process.env.LONGHAUL_MODE = before;
});

test('the built-in coder of a worker asks, except for what its mode allows: from the command line, or else from the environment', async () => {
  delete process.env.LONGHAUL_MODE;
  expect(await asks({})).toBe(true);
  process.env.LONGHAUL_MODE = 'full-access';
  expect(await asks({})).toBe(false);
  expect(await asks({ mode: 'minimal' })).toBe(true);
});

test('a mode that does not exist, or that would have no effect, is refused', async () => {
  await expect(asks({ mode: 'yolo' })).rejects.toThrow('The mode is "yolo"; use minimal, trusted, sandboxed, full-access.');
  await expect(asks({ file: 'agents.js', mode: 'trusted' })).rejects.toThrow(
    '--mode is for the built-in coder; the agents of agents.js define their own permissions.',
  );
});

describe('the sandbox of the built-in coder', () => {
  const sandboxOf = async (options: Parameters<typeof configuredAgents>[0]) =>
    (await configuredAgents(options)).agents[0]?.toolbox.get('shell')?.sandbox?.state;
  const inUse = bubblewrap({ network: false }).problem === undefined ? 'used' : 'missing';
  const usual = process.env.LONGHAUL_SANDBOX;
  afterEach(() => {
    if (usual === undefined) delete process.env.LONGHAUL_SANDBOX;
    else process.env.LONGHAUL_SANDBOX = usual;
  });

  test('is off, except as the command line says, or else the environment', async () => {
    delete process.env.LONGHAUL_SANDBOX;
    expect(await sandboxOf({})).toBeUndefined();
    expect(await sandboxOf({ sandbox: 'required' })).toBe(inUse);
    process.env.LONGHAUL_SANDBOX = 'required';
    expect(await sandboxOf({})).toBe(inUse);
    expect(await sandboxOf({ sandbox: 'off' })).toBeUndefined();
  });

  test('is refused if it does not exist, or would have no effect', async () => {
    delete process.env.LONGHAUL_SANDBOX;
    await expect(sandboxOf({ sandbox: 'on' })).rejects.toThrow('The sandbox is "on"; use off, auto, required.');
    await expect(sandboxOf({ mode: 'sandboxed' })).rejects.toThrow('The mode is "sandboxed", but commands run in no sandbox.');
    await expect(sandboxOf({ file: 'agents.js', sandbox: 'auto' })).rejects.toThrow(
      '--sandbox is for the built-in coder; the agents of agents.js set the sandbox of their commands themselves.',
    );
    process.env.LONGHAUL_SANDBOX = 'required';
    await expect(sandboxOf({ file: 'agents.js' })).rejects.toThrow('LONGHAUL_SANDBOX is for the built-in coder');
  });
});

test('the built-in coder uses a model of the first vendor with a key, unless one is named', async () => {
  const names = ['LONGHAUL_MODEL', 'OPENAI_API_KEY', 'OPENAI_BASE_URL', 'ANTHROPIC_API_KEY', 'GEMINI_API_KEY', 'GOOGLE_API_KEY'];
  const had = Object.fromEntries(names.map((name) => [name, process.env[name]]));
  const modelWith = async (env: Record<string, string>) => {
    for (const name of names) delete process.env[name];
    Object.assign(process.env, env);
    return (await configuredAgents()).agents[0]?.model;
  };
  try {
    expect(await modelWith({})).toBe('openai/gpt-5');
    expect(await modelWith({ OPENAI_BASE_URL: 'http://127.0.0.1:1/v1', ANTHROPIC_API_KEY: 'k' })).toBe('openai/gpt-5');
    expect(await modelWith({ ANTHROPIC_API_KEY: 'k', GEMINI_API_KEY: 'k' })).toMatch(/^anthropic\//);
    expect(await modelWith({ GOOGLE_API_KEY: 'k' })).toMatch(/^google\//);
    expect(await modelWith({ GEMINI_API_KEY: 'k', LONGHAUL_MODEL: 'openai/x' })).toBe('openai/x');
  } finally {
    for (const name of names) if (had[name] === undefined) delete process.env[name];
    Object.assign(process.env, Object.fromEntries(Object.entries(had).filter(([, value]) => value !== undefined)));
  }
});

describe('an agents file may export dependencies of its tools', () => {
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

  test('as functions by name, which are not agents', async () => {
    const { agents, dependencies } = await configuredAgents({ file: fileWith("exports.dependencies = { db: () => 'a database' };") });
    expect(agents.map(({ name }) => name)).toEqual(['clerk']);
    expect(Object.keys(dependencies)).toEqual(['db']);
    expect((await configuredAgents({ file: fileWith('') })).dependencies).toEqual({});
  });

  test.each([
    [
      'exports.dependencies = [1];',
      'the export dependencies must be an object of functions, such as { db: () => openDatabase() }; it is [1]',
    ],
    ['exports.dependencies = () => ({});', 'it is a function.'],
    [
      'exports.dependencies = { log: () => 1, db: { pool: 3 } };',
      'the export dependencies.db must be a function that returns it, such as { db: () => openDatabase() }; it is {"pool":3}',
    ],
  ])('and is refused, with its path, if it has %s', async (code, words) => {
    const file = fileWith(code);
    await expect(configuredAgents({ file })).rejects.toThrow(words);
    await expect(configuredAgents({ file })).rejects.toThrow(file);
  });

  test('as createWorker refuses it', async () => {
    const { agents } = await configuredAgents({ file: fileWith('') });
    const dependencies = { db: 'postgres://localhost' } as never;
    await expect(createWorker({ agents, dependencies })).rejects.toThrow(
      'createWorker: dependencies.db must be a function that returns it',
    );
  });
});
