import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { rememberRules } from '../../src/activities/remember-rules';
import { createAgents, defineAgent } from '../../src/agents';
import type { PermissionRule } from '../../src/core/tool';
import { defineTool } from '../../src/tools/defining/define-tool';
import { filePermissionStore, type PermissionStore } from '../../src/tools/permissions/permission-store';
import { createPermissions } from '../../src/tools/permissions/permissions';
import { newFolder, removeFolders } from './tool-host';

afterAll(removeFolders);

const test1: PermissionRule = { tool: 'shell', prefix: ['npm', 'test'] };
const build: PermissionRule = { tool: 'shell', prefix: ['npm', 'run', 'build'] };
const script: PermissionRule = { tool: 'shell', prefix: ['node', 'a.js', 'b c', ''], exact: true };
const pay: PermissionRule = { tool: 'pay' };

async function newFile() {
  const file = join(await newFolder(), 'state', 'permissions.json');
  return { file, store: filePermissionStore(file) };
}

describe('a file of permission rules', () => {
  test('[B175] keeps rules for each agent, without duplicates, and another store of the same file finds them', async () => {
    const { file, store } = await newFile();
    expect(await store.load('coder')).toEqual([]);
    await store.add('coder', [test1, pay]);
    await store.add('coder', [pay, build, build, { ...test1 }]);
    await store.add('coder', [script, { ...script }, { tool: 'shell', prefix: ['node', 'a.js'] }]);
    await store.add('support', [pay]);
    expect(await filePermissionStore(file).load('coder')).toEqual([test1, pay, build, script, { tool: 'shell', prefix: ['node', 'a.js'] }]);
    expect(await store.load('support')).toEqual([pay]);
    expect(await store.load('constructor')).toEqual([]);
  });

  test('is accessible only to its owner, even if it was not before, and leaves no drafts', async () => {
    const { file, store } = await newFile();
    await mkdir(join(file, '..'));
    await writeFile(file, '{}', { mode: 0o666 });
    await store.add('coder', [pay]);
    expect(((await stat(file)).mode & 0o777).toString(8)).toBe('600');
    expect(await readdir(join(file, '..'))).toEqual(['.permissions.json.locks', 'permissions.json']);
  });

  test('loses nothing when many processes write concurrently, through several stores, and readers never see an incomplete file', async () => {
    const { file, store } = await newFile();
    const stores = [store, filePermissionStore(file), filePermissionStore(join(file, '..', '.', 'permissions.json'))];
    const rules = Array.from({ length: 30 }, (_, at) => ({ tool: `tool-${at}` }));
    let writing = true;
    const reader = (async () => {
      while (writing) for (const rule of await store.load('coder')) expect([...rules, pay]).toContainEqual(rule);
    })();
    await Promise.all(rules.flatMap((rule, at) => [stores[at % 3]!.add('coder', [rule]), stores[(at + 1) % 3]!.add('coder', [rule, pay])]));
    writing = false;
    await reader;
    const kept = await store.load('coder');
    expect(kept).toHaveLength(31);
    expect(kept).toEqual(expect.arrayContaining([...rules, pay]));
  });

  test('a rule that was removed does not come back while another process adds rules, and none of those is lost', async () => {
    const { file, store } = await newFile();
    const script = `
      const { filePermissionStore } = require('./src/tools/permissions/permission-store.ts');
      const store = filePermissionStore(process.argv[1]);
      (async () => { for (let at = 0; at < 150; at++) await store.add('coder', [{ tool: 'tool-' + at }]); })();`;
    const other = spawn(process.execPath, ['--require', 'tsx/cjs', '--eval', script, file], { stdio: 'inherit' });
    const ended = once(other, 'exit');
    let removals = 0;
    const undone: number[] = [];
    while (other.exitCode === null) {
      await store.add('coder', [pay]);
      await store.remove?.('coder', [pay]);
      removals += 1;
      if (JSON.stringify(await store.load('coder')).includes('pay')) undone.push(removals);
    }
    expect(await ended).toEqual([0, null]);
    expect(undone).toEqual([]);
    expect(removals).toBeGreaterThan(5);
    expect(await store.load('coder')).toHaveLength(150);
  }, 60_000);

  test('is written although a process died while it held the lock', async () => {
    const { file, store } = await newFile();
    const locks = join(file, '..', '.permissions.json.locks');
    await mkdir(locks, { recursive: true });
    await writeFile(join(locks, '1'), '');
    await store.add('coder', [pay]);
    expect(await store.load('coder')).toEqual([pay]);
    expect(await readdir(locks)).toEqual(['2']);
  }, 30_000);

  test.each([
    [
      '{"coder":[{"tool":"sh',
      /permissions\.json can't be read: it is not JSON, perhaps only half of it was written\. Repair the file, or remove it/,
    ],
    ['', /it is not JSON/],
    ['[]', /it is not an object of lists of rules/],
    ['{"coder":{}}', /'coder' has no list of rules/],
    ['{"other":[{"tool":"a"},{"tool":"shell","prefix":["git push"]}]}', /'other'\[1\] has the prefix \["git push"\]/],
  ])('that can not be read (%j) is an error, and is not overwritten', async (text, words) => {
    const { file, store } = await newFile();
    await mkdir(join(file, '..'));
    await writeFile(file, text);
    await expect(store.load('coder')).rejects.toThrow(words);
    await expect(store.add('coder', [pay])).rejects.toThrow(words);
    expect(await readFile(file, 'utf8')).toBe(text);
    await writeFile(file, '{}');
    await store.add('coder', [pay]);
    expect(await store.load('coder')).toEqual([pay]);
  });

  test('that can not be written is an error', async () => {
    const folder = await newFolder();
    await writeFile(join(folder, 'file'), '');
    await expect(filePermissionStore(join(folder, 'file', 'x.json')).add('coder', [pay])).rejects.toThrow(
      /can't be (read|written).*ENOTDIR/,
    );
    await expect(filePermissionStore(folder).load('coder')).rejects.toThrow(/can't be read: EISDIR/);
    expect(() => filePermissionStore(' ')).toThrow(/give the path of a file/);
  });

  test('accepts no invalid rules', async () => {
    const { file, store } = await newFile();
    await expect(store.add('coder', [pay, { tool: 'shell', prefix: [] }])).rejects.toThrow(/A permission rule has the prefix \[\]/);
    await expect(stat(file)).rejects.toThrow(/ENOENT/);
  });
});

describe('permissions with a store', () => {
  const npmTest = { tool: 'shell', args: { command: 'npm test' } };

  test('[B175] allow what was remembered for the agent, and for no other agent, from the next call on', async () => {
    const { store } = await newFile();
    const permissions = createPermissions({ mode: 'minimal', store });
    const coder = permissions.forAgent('coder');
    expect(await coder.decide(npmTest)).toBe('ask');
    await store.add('coder', coder.suggest(npmTest));
    expect(await coder.decide(npmTest)).toBe('allow');
    expect(await permissions.forAgent('support').decide(npmTest)).toBe('ask');
    expect(await createPermissions({ store }).forAgent('support').decide(npmTest)).toBeUndefined();
  });

  test('[B169] deny what a deny rule blocks, whatever was remembered', async () => {
    const { store } = await newFile();
    await store.add('coder', [test1]);
    const coder = createPermissions({ deny: [test1], store }).forAgent('coder');
    expect(await coder.decide(npmTest)).toEqual({ deny: 'blocked by deny rule (shell: npm test)' });
  });

  test('combine rules of the mode, the thread and the store for the segments of one command', async () => {
    const { store } = await newFile();
    await store.add('coder', [test1]);
    const coder = createPermissions({ mode: 'minimal', store }).forAgent('coder');
    const call = { tool: 'shell', args: { command: 'ls && npm test && npm run build' } };
    expect(await coder.decide(call)).toBe('ask');
    expect(await coder.decide({ ...call, rules: [build] })).toBe('allow');
  });

  test('do not read the store for decisions that do not need it, and fail if it fails', async () => {
    let asked = 0;
    const store: PermissionStore = {
      load: async () => {
        asked += 1;
        throw new Error('the database is away');
      },
      add: async () => undefined,
    };
    const coder = createPermissions({ mode: 'minimal', deny: [pay], store }).forAgent('coder');
    expect(coder.decide({ tool: 'read_file', args: {} })).toBe('allow');
    expect(coder.decide({ tool: 'pay', args: {} })).toEqual({ deny: 'blocked by deny rule (pay)' });
    expect(asked).toBe(0);
    await expect(coder.decide(npmTest)).rejects.toThrow('the database is away');
    expect(() => createPermissions({ store }).decide(npmTest)).toThrow(/use forAgent\(name\)/);
  });
});

describe('remembering for the agent', () => {
  const agentWith = (options: Parameters<typeof createPermissions>[0] | undefined) =>
    createAgents([
      defineAgent({ name: 'coder', model: 'm', instructions: 'i', ...(options && { permissions: createPermissions(options) }) }),
    ]);

  test('[B175] puts the rules into the store of the agent, once even if repeated', async () => {
    const { store } = await newFile();
    const remember = rememberRules({ agents: agentWith({ store }) });
    await remember({ agent: 'coder', rules: [test1] });
    await remember({ agent: 'coder', rules: [test1, pay] });
    expect(await store.load('coder')).toEqual([test1, pay]);
  });

  test.each([undefined, { mode: 'minimal' as const }])(
    'without a store fails without a retry, and says what to do (%j)',
    async (options) => {
      const failure = rememberRules({ agents: agentWith(options) })({ agent: 'coder', rules: [test1] });
      await expect(failure).rejects.toMatchObject({
        name: 'ApplicationFailure',
        type: 'NoPermissionStore',
        nonRetryable: true,
        message: expect.stringContaining("Agent 'coder' has nowhere to keep permission rules. Give its permissions a store"),
      });
    },
  );

  test('[B175] applies to the next call of the agent that remembers', async () => {
    const { store } = await newFile();
    const shell = defineTool({ name: 'shell', description: 'd', input: z.object({ command: z.string() }), execute: () => 'ran' });
    const permissions = createPermissions({ mode: 'minimal', store });
    const agents = createAgents([defineAgent({ name: 'coder', model: 'm', instructions: 'i', tools: [shell], permissions })]);
    const call = { id: 'c', name: 'shell', arguments: '{"command":"npm test"}' };
    const judged = () => agents.get('coder').toolbox.judge(call);
    expect(await judged()).toMatchObject({ kind: 'run', approval: { remember: [test1] } });
    await rememberRules({ agents })({ agent: 'coder', rules: [test1] });
    expect(await judged()).not.toHaveProperty('approval');
  });
});
