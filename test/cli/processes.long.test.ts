import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { byTurn, callTools, type ModelServer, say, slowly, startModelServer } from '../../src/testing/model-server';
import { inPackage } from '../support/in-package';
import { testInSandbox } from '../support/in-sandbox';
import { sharedServer } from '../support/temporal';
import { until } from '../support/until';
import { expectOneLine, longhaul, type Running, start } from './command';

const folder = mkdtempSync(join(tmpdir(), 'longhaul-cli-'));
/** In the code of agents' files. */
const engine = JSON.stringify(inPackage('dist/index.js'));
let model: ModelServer;

beforeAll(async () => {
  model = await startModelServer(byTurn([say('Hello.')]));
});

afterAll(async () => {
  await model.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function startDev(...args: string[]): Promise<{ dev: Running; address: string }> {
  const dev = start(['dev', ...args], { cwd: folder });
  await dev.says('Ctrl-C stops everything.', 60_000);
  return { dev, address: /temporal +(\S+)/.exec(dev.stderr())?.[1] ?? '' };
}

/** The process that serves there: of the development server, whose command line has its port. */
function serverOf(address: string): number {
  const wanted = `--port\0${address.split(':')[1]}\0`;
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const [command = '', ...args] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      if (!command.includes('node') && `${args.join('\0')}`.includes(wanted)) return Number(pid);
    } catch {
      // It has ended meanwhile.
    }
  }
  throw new Error(`no server at ${address}`);
}

function kill(pid: number): void {
  process.kill(pid, 'SIGKILL');
}

async function answers(address: string): Promise<boolean> {
  const [host = '', port] = address.split(':');
  const { connect } = await import('node:net');
  return new Promise((resolve) => {
    const socket = connect(Number(port), host);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

test('dev serves a run from another process, leaves nothing behind on Ctrl-C, and has the threads again at its next start', async () => {
  const { dev, address } = await startDev();
  const [, webUi] = /web ui +(http:\/\/127\.0\.0\.1:\d+)/.exec(dev.stderr()) ?? [];
  expect(existsSync(/temporal +\S+ \((\/.+)\)\n/.exec(dev.stderr())?.[1] ?? '')).toBe(true);
  expect(dev.stderr()).toContain('longhaul run "What is in this folder?"\n');
  expect(dev.stderr()).toContain('agents     coder on task queue longhaul');
  expect(dev.stderr()).toMatch(/OPENAI_API_KEY, \S+ and \S+ are not set/);

  const env = { TEMPORAL_ADDRESS: address };
  const failed = await longhaul(['run', '--thread', 'kept', 'hello'], { env });
  expect(failed.stdout).toMatch(/✖ failed \(auth\) .*Set OPENAI_API_KEY, or OPENAI_BASE_URL/);
  expect(failed.code).toBe(1);
  const shown = await longhaul(['show', 'kept'], { env, cwd: folder });
  expect(shown.stdout).toContain(`web ui     ${webUi}/namespaces/default/workflows/kept/`);
  expect((await longhaul(['show', 'kept'], { env })).stdout).toContain('web ui     <its address>/namespaces/default/workflows/kept/');

  // Its output comes through a pipe, a moment after what the command said.
  await until('dev has told why', () => /warn: .* kept · callModel · There is no API key.*\n/.test(dev.stderr()));
  expect(dev.stderr()).not.toMatch(/\n\s+at /);

  const second = await longhaul(['dev'], { cwd: folder });
  expectOneLine(second, /Another "longhaul dev" \(process \d+\) already uses the threads in .*\/longhaul-cli-/);
  expect(second.code).toBe(1);

  dev.child.kill('SIGINT');
  expect((await dev.ended).code).toBe(0);
  expect(await answers(address)).toBe(false);

  const again = await startDev();
  expect((await longhaul(['show', 'kept'], { env: { TEMPORAL_ADDRESS: again.address } })).stdout).toMatch(
    /status +failed \(workflow failed\)/,
  );
  // Not even SIGKILL leaves the server behind.
  again.dev.child.kill('SIGKILL');
  await again.dev.ended;
  await until('the server is gone', async () => !(await answers(again.address)), 10_000);
});

test('dev with a task streams the run, ends with it, and leaves nothing behind', async () => {
  const slow = await startModelServer(() => slowly(say('One two three four five six seven.'), { chunkMs: 30, chunkSize: 4 }));
  const ended = await longhaul(['dev', '--memory', 'hello'], { cwd: folder, env: { OPENAI_BASE_URL: slow.url } });
  expect(ended.stdout).toContain('One two three four five six seven.');
  expect(ended.stdout).toContain('completed');
  expect(ended.code).toBe(0);
  expect(await answers(/temporal +(\S+)/.exec(ended.stderr)?.[1] ?? '')).toBe(false);
  await slow.stop();
});

test('dev with a task that waits for a person says that its server stops, before it does', async () => {
  const asking = await startModelServer(() => callTools([{ name: 'shell', args: { command: 'touch made' } }]));
  const ended = await longhaul(['dev', '--memory', 'hello'], { cwd: folder, env: { OPENAI_BASE_URL: asking.url } });
  expect(ended.code).toBe(3);
  expect(ended.stderr).toMatch(/longhaul approve \S+ [\s\S]*The server stops now, and with --memory the thread is lost\./);
  expect(existsSync(join(folder, 'made'))).toBe(false);
  await asking.stop();
});

test('dev restarts a dead server on the same port, with its threads, and gives up with an error if it keeps dying', async () => {
  const data = join(folder, 'kept-up');
  const { dev, address } = await startDev('--data', data);
  const env = { TEMPORAL_ADDRESS: address };
  await longhaul(['run', '--thread', 'before', 'hello'], { env });
  const restarts = () => dev.stderr().match(/The Temporal server ended \(SIGKILL.*and was started again, with its threads\./g)?.length ?? 0;
  for (const count of [1, 2, 3]) {
    kill(serverOf(address));
    await until(`start ${count} is told`, () => restarts() === count, 30_000);
  }
  expect((await longhaul(['show', 'before'], { env })).stdout).toMatch(/status +failed/);
  const after = await longhaul(['run', '--thread', 'after', 'hello'], { env });
  expect(after.stdout).toMatch(/✖ failed \(auth\)/);

  const second = await longhaul(['dev', '--data', data], { cwd: folder });
  expectOneLine(second, /already uses the threads in /);

  kill(serverOf(address));
  const ended = await dev.ended;
  expect(ended.code).toBe(1);
  expectOneLine(ended, /^error: The Temporal server has ended 4 times in a row \(SIGKILL/);
  expect(await answers(address)).toBe(false);
  expect(existsSync(join(data, 'dev.pid'))).toBe(false);
});

test('dev in memory ends with its server', async () => {
  const { dev, address } = await startDev('--memory');
  kill(serverOf(address));
  const ended = await dev.ended;
  expect(ended.code).toBe(1);
  expectOneLine(ended, /^error: The Temporal server has ended \(SIGKILL.*\)\. Its threads were in memory and are gone\.$/);
});

test('dev does not mistake leftovers for a running dev: neither a lock of a dead process, nor one whose process id another process has now', async () => {
  const data = join(folder, 'leftover');
  mkdirSync(data);
  // This very process is alive, and nothing of it listens there.
  writeFileSync(join(data, 'dev.pid'), `${process.pid} 127.0.0.1:9`);
  const { dev } = await startDev('--data', data);
  dev.child.kill('SIGINT');
  expect((await dev.ended).code).toBe(0);
});

test('dev --no-worker serves workers of your own, and refuses a task', async () => {
  const { dev, address } = await startDev('--no-worker', '--memory');
  expect(dev.stderr()).toContain('none: threads wait for your own worker');
  const env = { TEMPORAL_ADDRESS: address, OPENAI_BASE_URL: model.url };
  const worker = start(['worker'], { env });
  await worker.says('longhaul worker: agents coder', 30_000);
  const { code, stdout } = await longhaul(['run', 'hello'], { env });
  expect(stdout).toContain('Hello.\n');
  expect(code).toBe(0);
  worker.child.kill('SIGTERM');
  expect((await worker.ended).code).toBe(0);
  dev.child.kill('SIGINT');
  expect((await dev.ended).code).toBe(0);
  expect(await answers(address)).toBe(false);

  const task = await longhaul(['dev', '--no-worker', 'hello'], { cwd: folder });
  expectOneLine(task, /^error: --no-worker starts no worker that could run a task\./);
  expect(task.code).toBe(2);
  const elsewhere = await longhaul(['dev', '--no-worker'], { cwd: folder, env: { TEMPORAL_ADDRESS: '127.0.0.1:9' } });
  expectOneLine(elsewhere, /^error: TEMPORAL_ADDRESS names a server, and --no-worker starts no worker/);
  expect(elsewhere.code).toBe(2);
});

testInSandbox('dev and worker run commands of the built-in agent in a sandbox, say so, and ask about none of them', async () => {
  const command = 'echo here > file; echo x > /usr/x; cat ~/.netrc';
  const working = await startModelServer(({ turn, messages }) =>
    turn === 0 ? callTools([{ name: 'shell', args: { command } }]) : say(`Got: ${messages.at(-1)?.content}`),
  );
  const env = { TEMPORAL_ADDRESS: sharedServer().address, OPENAI_BASE_URL: working.url, LONGHAUL_TASK_QUEUE: `cli-${randomUUID()}` };
  const cwd = join(folder, 'confined');
  mkdirSync(cwd);
  const confined = ['--sandbox', 'required', '--mode', 'sandboxed'];
  const dev = await longhaul(['dev', ...confined, 'work'], { cwd, env });
  expect(dev.stderr).toContain('  sandbox    commands of coder run in a sandbox, without network\n');
  expect(dev.stdout).toMatch(/Got: .*\/usr\/x: Read-only file system\n.*No such file or directory/);
  expect(readFileSync(join(cwd, 'file'), 'utf8')).toBe('here\n');

  const worker = start(['worker'], { cwd, env: { ...env, LONGHAUL_SANDBOX: 'auto', LONGHAUL_MODE: 'trusted' } });
  await worker.says('; commands of coder run in a sandbox, without network', 30_000);
  worker.child.kill('SIGTERM');
  await worker.ended;
});

test('worker runs the agents of a file on a task queue, and drains on SIGTERM', async () => {
  const file = join(folder, 'agents.js');
  writeFileSync(
    file,
    `const { defineAgent } = require(${engine});\nexports.greeter = defineAgent({ name: 'greeter', model: 'test-model', instructions: 'Greet.' });\n`,
  );
  const { address } = sharedServer();
  const queue = `cli-${randomUUID()}`;
  const env = { TEMPORAL_ADDRESS: address, OPENAI_BASE_URL: model.url };
  const worker = start(['worker', '--agents', file, '--task-queue', queue], { env });
  await worker.says(`longhaul worker: agents greeter on task queue ${queue}`, 30_000);

  const { code, stdout } = await longhaul(['run', '--agent', 'greeter', '--task-queue', queue, 'hello'], { env });
  expect(stdout).toContain('Hello.\n');
  expect(code).toBe(0);

  worker.child.kill('SIGTERM');
  expect(await worker.ended).toMatchObject({ code: 0 });
});

test('dependencies that the agents file exports reach tools, in a worker and in dev', async () => {
  const file = join(folder, 'clerk.js');
  writeFileSync(
    file,
    `const { defineAgent, defineTool } = require(${engine});
    const { z } = require(${JSON.stringify(require.resolve('zod'))});
    const execute = async (_, ctx) => (await ctx.resolve('db')).name;
    const look = defineTool({ name: 'look', description: 'Looks.', input: z.object({}), execute });
    exports.clerk = defineAgent({ name: 'clerk', model: 'test-model', instructions: 'Look.', tools: [look] });
    exports.dependencies = { db: () => ({ name: 'orders' }) };\n`,
  );
  const looking = await startModelServer(({ turn, messages }) =>
    turn === 0 ? callTools([{ name: 'look', args: {} }]) : say(`Found: ${messages.at(-1)?.content}`),
  );
  const env = { TEMPORAL_ADDRESS: sharedServer().address, OPENAI_BASE_URL: looking.url, LONGHAUL_TASK_QUEUE: `cli-${randomUUID()}` };
  const worker = start(['worker', '--agents', file], { env });
  await worker.says('longhaul worker: agents clerk', 30_000);
  expect((await longhaul(['run', '--agent', 'clerk', 'hello'], { env })).stdout).toContain('Found: orders\n');
  worker.child.kill('SIGTERM');
  await worker.ended;

  const dev = await longhaul(['dev', '--agents', file, 'hello'], { cwd: folder, env });
  expect(dev.stdout).toContain('Found: orders\n');
  const serving = start(['dev', '--agents', file], { cwd: folder, env });
  await serving.says('longhaul run --agent clerk "What can you do?"\n', 30_000);
  expect(serving.stderr()).toContain(`from       ${file}\n`);
  serving.child.kill('SIGINT');
  await serving.ended;
  await looking.stop();
});

test('dev uses TLS for the server that the environment names, if the environment says so', async () => {
  const firstBytes: number[] = [];
  const listener = createServer((socket) => {
    socket.once('data', (data) => firstBytes.push(data[0] ?? -1)).on('error', () => undefined);
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const { port } = listener.address() as AddressInfo;
  const dev = start(['dev', '--memory'], { cwd: folder, env: { TEMPORAL_ADDRESS: `127.0.0.1:${port}`, TEMPORAL_TLS: 'true' } });
  try {
    await until('a connection says something', () => firstBytes.length > 0, 20_000);
    // A TLS handshake; plain gRPC begins with "PRI".
    expect(firstBytes[0]).toBe(0x16);
  } finally {
    dev.child.kill('SIGKILL');
    await dev.ended;
    listener.close();
  }
});

test.each([
  ['an agents file that does not exist', ['worker', '--agents', 'nowhere.js'], /^error: The agents' file .*nowhere\.js does not exist/],
  [
    'the same for dev, before it starts anything',
    ['dev', '--agents', 'nowhere.js'],
    /^error: The agents' file .*nowhere\.js does not exist/,
  ],
])('%s is reported in one line', async (_, args, words) => {
  const ended = await longhaul(args, { env: { TEMPORAL_ADDRESS: '127.0.0.1:9' } });
  expectOneLine(ended, words);
  expect(ended.code).toBe(1);
});

test('a reader that closes the pipe early ends the command without output', async () => {
  const running = start(['--help']);
  running.child.stdout?.destroy();
  expect(await running.ended).toMatchObject({ code: 0, stderr: '' });
});

test('a worker without a Temporal server says where it looked and what to do', async () => {
  const ended = await longhaul(['worker'], { env: { TEMPORAL_ADDRESS: '127.0.0.1:9' } });
  expectOneLine(ended, /^error: Temporal can't be reached at 127\.0\.0\.1:9.*longhaul dev.*TEMPORAL_ADDRESS/);
  expect(ended.code).toBe(1);
});
