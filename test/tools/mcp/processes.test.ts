import { spawn } from 'node:child_process';
import { realpath } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { textOf } from '../../../src/core/message';
import { until } from '../../support/until';
import { newFolder, removeFolders } from '../tool-host';
import { endHosts, mcpHost, reference, script } from './mcp-host';

afterEach(async () => {
  await endHosts();
  await removeFolders();
});

test('the reference server everything: texts, images, resources, structured content, progress and wrong arguments', async () => {
  const { call, told, tools } = mcpHost({ all: reference('everything', 'stdio') });
  const effects = Object.fromEntries((await tools()).map(({ name, effect }) => [name, effect]));
  expect(effects).toMatchObject({ all__echo: 'pure', 'all__gzip-file-as-resource': 'keyed', 'all__toggle-simulated-logging': 'once' });
  expect(await told('all__echo', { message: 'hi' })).toBe('Echo: hi');
  expect(await told('all__get-tiny-image')).toContainEqual({ type: 'image', url: expect.stringMatching(/^data:image\/png;base64,iVBOR/) });
  expect(await told('all__get-structured-content', { location: 'New York' })).toMatch(/^\{"temperature":33/);
  expect(textOf(await told('all__get-resource-reference', { resourceType: 'Text', resourceId: 1 }))).toContain(
    '[Resource demo://resource/dynamic/text/1]',
  );
  expect(await told('all__echo')).toContain('- message: is required');
  const said: string[] = [];
  await call('all__trigger-long-running-operation', { duration: 0.3, steps: 3 }, { progress: (words) => said.push(words) });
  expect(said[0]).toBe('1/3');
});

test('the reference servers for files and memory: results, and errors that the server reports', async () => {
  const folder = await newFolder();
  const { call, told } = mcpHost({ files: reference('filesystem', folder), memory: reference('memory') });
  await told('files__write_file', { path: join(folder, 'a.txt'), content: 'words' });
  expect(await told('files__read_text_file', { path: join(folder, 'a.txt') })).toBe('words');
  const { outcome } = await call('files__read_text_file', { path: '/etc/passwd' });
  expect(outcome).toMatchObject({
    status: 'failed',
    error: { name: 'McpToolError' },
    content: expect.stringContaining('Access denied'),
  });
  expect(await told('memory__read_graph')).toContain('entities');
});

test('a server gets the variables that it is given, and none of the worker', async () => {
  const { told } = mcpHost({ own: { ...script('server.mjs'), environment: { GIVEN: '1' } } });
  const names = String(await told('own__environment')).split(' ');
  expect(names).toEqual(expect.arrayContaining(['GIVEN', 'PATH']));
  // Set by jest in this process.
  expect(process.env.JEST_WORKER_ID).toBeDefined();
  expect(names).not.toContain('JEST_WORKER_ID');
});

test('a server runs in the home folder, not in the folder of the worker, unless another is given', async () => {
  const folder = await realpath(await newFolder());
  const { told } = mcpHost({ own: script('server.mjs'), other: { ...script('server.mjs'), folder } });
  expect(await told('own__folder')).toBe(await realpath(homedir()));
  expect(await told('other__folder')).toBe(folder);
});

test('a server that ends shows the end of its errors, without its variables', async () => {
  const key = `sk-${'A1b2C3d4'.repeat(8)}`;
  const write = `process.stderr.write('y'.repeat(2500) + process.env.KEY + 'x'.repeat(1940) + '\\n', () => process.exit(1))`;
  const { told } = mcpHost({ bad: { command: process.execPath, args: ['-e', write], environment: { KEY: key } } });
  const words = await told('bad__connect');
  expect(words).toMatch(/it ended with exit code 1: .*x{100}/);
  expect(words).not.toMatch(/[A-Z]\d[a-z]\d/);
});

test('a server whose command is missing, or is not executable, says so, and what to do', async () => {
  const folder = await newFolder();
  const { told } = mcpHost({ missing: { command: 'no-such-mcp-server' }, folder: { command: folder } });
  expect(await told('missing__connect')).toMatch(
    /its command "no-such-mcp-server" was not found: install it, or give its full path.*no-such-mcp-server/,
  );
  expect(await told('folder__connect')).toContain(`its command ${JSON.stringify(folder)} can't be run: is it executable?`);
});

test('a server that dies during a call fails the call, and the next call starts it again', async () => {
  const { call, told } = mcpHost({ own: script('server.mjs') });
  const first = await told('own__pid');
  const { outcome, threw } = await call('own__die');
  expect(outcome).toMatchObject({
    status: 'failed',
    content: expect.stringContaining("The connection to the MCP server 'own' was lost during the call"),
  });
  expect(threw).toBe(true);
  await until('it runs again', async () => /^\d+$/.test(String(await told('own__pid'))));
  expect(await told('own__pid')).not.toBe(first);
});

test('a timeout and a cancel end the call, and tell the server', async () => {
  const { call, told } = mcpHost({ own: { ...script('server.mjs'), rules: { hang: { timeoutMs: 300 } } } });
  const { outcome } = await call('own__hang');
  expect(outcome.status).toBe('timed-out');
  const controller = new AbortController();
  const called = call('own__hang', {}, { signal: controller.signal });
  controller.abort();
  expect((await called).outcome.status).toBe('cancelled');
  // The connection is still the same one, and usable.
  expect(await told('own__pid')).toMatch(/^\d+$/);
});

test('a list that the server changes is followed, and a call of a tool that is gone fails with a clear text', async () => {
  const { call, told, names } = mcpHost({ own: script('server.mjs') });
  expect(await names()).toContain('own__old');
  await told('own__rename');
  await until('the new name is there', async () => (await names()).includes('own__new'));
  expect(await names()).not.toContain('own__old');
  const { outcome } = await call('own__old');
  expect(outcome).toMatchObject({
    status: 'failed',
    content: "Error: The MCP server 'own' has no tool 'own__old' any more. The call was not carried out.",
  });
});

test('a server that can not be started leaves the other tools alone, and the model may try again', async () => {
  const { names, told, warnings } = mcpHost({ bad: { command: 'no-such-program' }, own: { ...script('server.mjs'), only: ['pid'] } });
  expect(await names()).toEqual(['bad__connect', 'own__pid']);
  expect(await told('bad__connect')).toMatch(/^Error: The MCP server 'bad' can't be reached: .*no-such-program/);
  expect(await told('bad__anything')).toMatch(/^Error: The MCP server 'bad' can't be reached/);
  expect(warnings).toEqual([expect.stringContaining("'bad' can't be reached")]);
});

test('servers end with the last holder', async () => {
  const { told, end } = mcpHost({ own: script('server.mjs') });
  const pid = Number(await told('own__pid'));
  await end();
  expect(isAlive(pid)).toBe(false);
});

test('servers end when their worker is killed', async () => {
  const child = spawn(process.execPath, ['--import', 'tsx', join(__dirname, 'hold-server.ts')], { stdio: ['ignore', 'pipe', 'inherit'] });
  const pid = await new Promise<number>((resolve) => child.stdout.once('data', (chunk: Buffer) => resolve(Number(chunk.toString()))));
  expect(isAlive(pid)).toBe(true);
  child.kill('SIGKILL');
  await until('the server has ended', () => !isAlive(pid));
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
