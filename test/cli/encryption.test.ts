import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { keyIdOf } from '../../src/encoding/key-provider';
import { startModelServer } from '../../src/testing';
import { say } from '../../src/testing/model-server';
import { newKey } from '../encoding/keys';
import { freePort } from '../support/free-port';
import { inPackage } from '../support/in-package';
import { startWorkerProcess } from '../support/rig';
import { closeBeforeServers, sharedServer } from '../support/temporal';
import { expectOneLine, longhaul, start } from './command';

const cwd = mkdtempSync(join(tmpdir(), 'longhaul-encryption-'));
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

const [key, other] = [newKey(), newKey()];
const keyId = keyIdOf(Buffer.from(key, 'base64'));
writeFileSync(join(cwd, 'keys'), `# the only key\n${key}\n`);
const withKey = { LONGHAUL_ENCRYPTION_KEYS_FILE: join(cwd, 'keys') };
const taskQueue = `encrypted-${process.pid}`;
const thread = `encrypted-${process.pid}`;
let env: Record<string, string>;

beforeAll(async () => {
  const model = await startModelServer(() => say('an encrypted answer'));
  closeBeforeServers(() => model.stop());
  const { address } = sharedServer();
  await startWorkerProcess({ address, taskQueue, agentsFile: inPackage('agents/killable.js'), modelUrl: model.url, env: withKey });
  env = { TEMPORAL_ADDRESS: address, LONGHAUL_TASK_QUEUE: taskQueue };
});

const command = (args: string[], more: Record<string, string> = {}) => longhaul(args, { cwd, env: { ...env, ...more } });

test('with the same file of keys, worker and commands read an encrypted thread, and without it a command says which key is missing', async () => {
  const ran = await command(['run', 'a task', '--agent', 'killable', '--thread', thread], withKey);
  expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining('an encrypted answer') });
  const missing = new RegExp(`is encrypted with key "${keyId}"`);
  for (const name of ['show', 'events']) {
    expect((await command([name, thread], withKey)).stdout).toContain('an encrypted answer');
    const without = await command([name, thread]);
    expectOneLine(without, missing);
    expect(without.code).toBe(1);
  }
  expectOneLine(await command(['show', thread], { LONGHAUL_ENCRYPTION_KEYS: other }), missing);
  for (const keys of [{}, withKey]) {
    expect((await command(['list', '--query', `WorkflowId = '${thread}'`], keys)).stdout).toMatch(
      new RegExp(`${thread} +killable +completed`),
    );
  }
  const query = ['replay', '--query', `WorkflowId = '${thread}'`];
  expect(await command(query, withKey)).toMatchObject({ code: 0, stdout: expect.stringContaining('1 history replayed, none diverged') });
  expect(await command(query)).toMatchObject({ code: 3, stdout: expect.stringMatching(missing) });
});

test.each([
  [{ LONGHAUL_ENCRYPTION_KEYS_FILE: 'none' }, /file of encryption keys none can't be used/],
  [{ LONGHAUL_ENCRYPTION_KEYS: 'short' }, /LONGHAUL_ENCRYPTION_KEYS: encryption key 1 is not the base64 of 32 bytes/],
  [{ LONGHAUL_COMPRESSION: 'maybe' }, /LONGHAUL_COMPRESSION is "maybe"/],
])('the invalid setting %j is refused in one line', async (setting, words) => {
  expectOneLine(await command(['list'], setting), words);
});

test('codec-server decodes with the keys of the environment until it is stopped', async () => {
  const port = await freePort();
  const server = start(['codec-server', '--port', String(port)], { cwd, env: withKey });
  await server.says(`http://127.0.0.1:${port}, with key ${keyId}`);
  const ask = async (operation: string, body: unknown): Promise<any> => {
    const response = await fetch(`http://127.0.0.1:${port}/${operation}`, { method: 'POST', body: JSON.stringify(body) });
    return response.json();
  };
  const plain = { payloads: [{ metadata: { encoding: 'anNvbi9wbGFpbg==' }, data: 'MQ==' }] };
  const encoded = await ask('encode', plain);
  expect(encoded).not.toEqual(plain);
  expect(await ask('decode', encoded)).toEqual(plain);
  server.child.kill('SIGTERM');
  expect(await server.ended).toMatchObject({ code: 0 });
});

test('codec-server listens on other addresses only with a token', async () => {
  const refused = await longhaul(['codec-server', '--host', '0.0.0.0'], { cwd, env: withKey });
  expectOneLine(refused, /Set LONGHAUL_CODEC_TOKEN/);
  expect(refused.code).toBe(2);
});
