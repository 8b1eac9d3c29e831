import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { request } from 'node:http';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client, Connection, WorkflowNotFoundError } from '@temporalio/client';
import { resolveTemporal, startTemporal } from '../../scripts/temporal.js';
import { startServer } from '../support/temporal';
import { until } from '../support/until';

const script = join(__dirname, '../../scripts/temporal.js');
const folder = mkdtempSync(join(tmpdir(), 'longhaul-provide-'));
const children: ChildProcess[] = [];
const listeners: Server[] = [];

afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
  for (const listener of listeners) listener.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('a server that was started', () => {
  test('has exited soon after its parent was killed with SIGKILL', async () => {
    const { parent, port } = await startInOtherProcess();
    expect(await isFree(port)).toBe(false);
    parent.kill('SIGKILL');
    await until('the port is free', () => isFree(port));
  });

  test('has exited after Ctrl-C in the parent, whose exit code reports no error', async () => {
    const { parent, port } = await startInOtherProcess();
    expect(await isFree(port)).toBe(false);
    // As a terminal does it: to the whole process group.
    process.kill(-parent.pid!, 'SIGINT');
    expect(await once(parent, 'exit')).toEqual([0, null]);
    expect(await isFree(port)).toBe(true);
  });

  test('has exited after the parent crashed', async () => {
    const { parent, port } = await startInOtherProcess("setTimeout(() => { throw new Error('crash') }, 50)");
    const [code] = await once(parent, 'exit');
    expect(code).not.toBe(0);
    await until('the port is free', () => isFree(port));
  });

  test('has exited if the parent was killed during its start', async () => {
    const port = await freePort();
    const parent = spawn(process.execPath, ['-e', `require(${JSON.stringify(script)}).startTemporal({ own: true, port: ${port} })`], {
      stdio: 'ignore',
    });
    children.push(parent);
    await until('the guard is there', () => processesWith(`--port ${port}`) > 0);
    parent.kill('SIGKILL');
    await until('guard and server are gone', () => processesWith(`--port ${port}`) === 0);
    expect(await isFree(port)).toBe(true);
  });

  test('does not keep an otherwise finished process alive', async () => {
    const { parent, port } = await startInOtherProcess('');
    const [code] = await once(parent, 'exit');
    expect(code).toBe(0);
    await until('the port is free', () => isFree(port));
  });

  test('can be killed and started again on the same port with the same file', async () => {
    const dbFilename = join(folder, 'threads.db');
    const first = await startServer({ dbFilename });
    first.kill();
    const second = await startServer({ dbFilename, port: Number(first.address.split(':')[1]) });
    expect(second.address).toBe(first.address);
    expect(second.pid).not.toBe(first.pid);
    await Promise.all([first.stop(), second.stop()]);
    expect(existsSync(dbFilename)).toBe(true);
  });

  test('has different ports from another server, and serves the Web UI on request', async () => {
    const [one, two] = await Promise.all([startServer({ ui: true }), startServer({ ui: true })]);
    expect(new Set([one.address, one.uiUrl, two.address, two.uiUrl]).size).toBe(4);
    expect((await fetch(`${one.uiUrl}/`)).status).toBe(200);
    await Promise.all([one.stop(), two.stop()]);
    await one.stop();
  });

  test('accepts no request of a web page, on any of its ports', async () => {
    const server = await startServer({ ui: true });
    const ports = listeningPorts(server.pid ?? 0);
    expect(ports).toContain(Number(server.uiUrl?.split(':')[2]));
    const start = JSON.stringify({ workflowType: { name: 'anything' }, taskQueue: { name: 'anywhere' } });
    // What a browser sends without asking first. The second is of a page whose name its owner points at this machine.
    const hosts = (port: number) => [`127.0.0.1:${port}`, `page.example:${port}`];
    const answers: (number | undefined)[] = [];
    for (const port of ports)
      for (const host of hosts(port)) answers.push(await post(port, host, '/api/v1/namespaces/default/workflows/theirs', start));
    expect(answers.filter((status) => status !== undefined && status < 400)).toEqual([]);
    // Of the server's HTTP API.
    expect(answers).toContain(403);

    const connection = await Connection.connect({ address: server.address });
    const client = new Client({ connection });
    await expect(client.workflow.getHandle('theirs').describe()).rejects.toThrow(WorkflowNotFoundError);
    await client.workflow.start('anything', { taskQueue: 'anywhere', workflowId: 'ours' });
    expect((await client.workflow.getHandle('ours').describe()).status.name).toBe('RUNNING');
    await client.workflow.getHandle('ours').terminate();
    await connection.close();
    await server.stop();
  });

  test('that can not start reports the output of the server', async () => {
    await expect(startServer({ searchAttributes: { Colour: 'Rainbow' } })).rejects.toThrow(
      /did not start on port \d+:[\s\S]*invalid search attribute value type/,
    );
  });

  test('whose port stays in use reports that', async () => {
    const port = await listening();
    await expect(startServer({ port })).rejects.toThrow(new RegExp(`did not start on port ${port}:.*address already in use`, 's'));
  });
});

describe('where the server comes from', () => {
  const saved = { ...process.env };
  afterEach(() => {
    process.env = { ...saved };
  });

  test('TEMPORAL_ADDRESS has precedence over everything, and nothing is started or stopped there', async () => {
    const port = await listening();
    process.env.TEMPORAL_ADDRESS = `127.0.0.1:${port}`;
    process.env.TEMPORAL_NAMESPACE = 'shop';
    process.env.TEMPORAL_CLI_PATH = '/nowhere/temporal';
    const server = await startTemporal();
    expect(server).toMatchObject({ address: process.env.TEMPORAL_ADDRESS, namespace: 'shop', ownServer: false });
    await server.stop();
    expect(await isFree(port)).toBe(false);
  });

  test('a TEMPORAL_ADDRESS that does not answer is an error that names it', async () => {
    process.env.TEMPORAL_ADDRESS = `127.0.0.1:${await freePort()}`;
    await expect(startTemporal()).rejects.toThrow(`TEMPORAL_ADDRESS=${process.env.TEMPORAL_ADDRESS} does not answer (ECONNREFUSED)`);
  });

  test('TEMPORAL_CLI_PATH, then the PATH, then the cache', async () => {
    delete process.env.TEMPORAL_ADDRESS;
    const named = tool(join(folder, 'named', 'temporal'));
    const onPath = tool(join(folder, 'path', 'temporal'));
    const cached = tool(join(folder, 'cache', 'longhaul', 'temporal-v1.5.1', 'temporal'));
    process.env.XDG_CACHE_HOME = join(folder, 'cache');
    process.env.PATH = join(folder, 'path');

    process.env.TEMPORAL_CLI_PATH = named;
    expect(await resolveTemporal()).toEqual({ kind: 'binary', path: named });
    delete process.env.TEMPORAL_CLI_PATH;
    expect(await resolveTemporal()).toEqual({ kind: 'binary', path: onPath });
    process.env.PATH = join(folder, 'empty');
    expect(await resolveTemporal()).toEqual({ kind: 'binary', path: cached });
  });

  test('never the current folder, whatever the PATH and XDG_CACHE_HOME say, because its author would choose the program', async () => {
    tool(join(folder, 'clone', 'temporal'));
    tool(join(folder, 'clone', 'longhaul', 'temporal-v1.5.1', 'temporal'));
    const own = tool(join(folder, 'home', '.cache', 'longhaul', 'temporal-v1.5.1', 'temporal'));
    const env = { PATH: '.:./:bin', XDG_CACHE_HOME: '.', HOME: join(folder, 'home') };
    expect((await resolveInOtherProcess(env, join(folder, 'clone'))).result).toBe(own);
  });

  test('a TEMPORAL_CLI_PATH that is not a program is an error, not a reason to use another', async () => {
    delete process.env.TEMPORAL_ADDRESS;
    process.env.TEMPORAL_CLI_PATH = join(folder, 'missing');
    await expect(resolveTemporal()).rejects.toThrow(`TEMPORAL_CLI_PATH=${join(folder, 'missing')} is not an executable file`);
  });

  test('Go builds it into the cache, once for two processes that need it concurrently', async () => {
    // The real build takes minutes and a network. This fake `go` records how often it ran and writes a program into GOBIN.
    const bin = join(folder, 'go-bin');
    const cache = join(folder, 'go-cache');
    const count = join(folder, 'go-count');
    tool(
      join(bin, 'go'),
      `echo ran >> ${count}; echo some/package >&2; sleep 1; printf '#!/bin/sh\\n' > "$GOBIN/temporal"; chmod +x "$GOBIN/temporal"`,
    );
    const env = { PATH: `${bin}:/bin:/usr/bin`, XDG_CACHE_HOME: cache };
    const found = await Promise.all([resolveInOtherProcess(env), resolveInOtherProcess(env)]);
    const path = join(cache, 'longhaul', 'temporal-v1.5.1', 'temporal');
    expect(found.map(({ result }) => result)).toEqual([path, path]);
    expect(found.map(({ log }) => log).join('\n')).toContain('building the Temporal command line tool from its Go module');
    expect(readFileSync(count, 'utf8')).toBe('ran\n');
  });

  test('if no way works the message lists every way, and every attempt', async () => {
    const { error } = await resolveInOtherProcess({ PATH: join(folder, 'empty'), XDG_CACHE_HOME: join(folder, 'empty-cache') });
    for (const way of [
      'TEMPORAL_ADDRESS',
      'TEMPORAL_CLI_PATH',
      'PATH as "temporal"',
      'SDK can download',
      'go install github.com/temporalio/cli/cmd/temporal@v1.5.1',
    ]) {
      expect(error).toContain(way);
    }
    expect(error).toMatch(/What was tried:\n {2}- .*\n[\s\S]*Go is not on the PATH/);
  });
});

/** A parent that starts a server and then does `then`; by default it waits for ever, and stops the server on Ctrl-C. */
async function startInOtherProcess(then?: string): Promise<{ parent: ChildProcess; port: number }> {
  const { TEMPORAL_ADDRESS: _, ...env } = process.env;
  const program = `require(${JSON.stringify(script)}).startTemporal().then(({ address }) => { console.log(address); ${then} })`;
  const parent = spawn(process.execPath, then === undefined ? [script] : ['-e', program], {
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  children.push(parent);
  const [address] = await once(createInterface({ input: parent.stdout! }), 'line');
  const port = Number(String(address).split(':')[1]);
  return { parent, port };
}

/** How many processes have this in their command line; from /proc, because `ps` is not everywhere. */
function processesWith(text: string): number {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && name !== String(process.pid));
  return pids.filter((pid) => commandLine(pid).includes(text)).length;
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}

/** The chain without TEMPORAL_ADDRESS, TEMPORAL_CLI_PATH and an installed SDK, in a process with only this environment. */
async function resolveInOtherProcess(env: Record<string, string>, cwd?: string): Promise<{ result: string; error: string; log: string }> {
  // A copy of the scripts outside the project does not find the SDK, so the test does not depend on a network.
  const copy = mkdtempSync(join(folder, 'copy-'));
  for (const name of ['temporal.js', 'temporal-binary.js', 'guarded.js']) symlinkSync(join(dirname(script), name), join(copy, name));
  const program = `require(${JSON.stringify(join(copy, 'temporal.js'))}).resolveTemporal({ log: console.error })
    .then(({ path }) => console.log(JSON.stringify({ result: path })), ({ message }) => console.log(JSON.stringify({ error: message })))`;
  const child = spawn(process.execPath, ['--preserve-symlinks', '--preserve-symlinks-main', '-e', program], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  const [output, log] = await Promise.all([text(child.stdout!), text(child.stderr!)]);
  return { result: '', error: '', log, ...JSON.parse(output) };
}

/** On which this process listens; from /proc. */
function listeningPorts(pid: number): number[] {
  const sockets = new Set(readdirSync(`/proc/${pid}/fd`).map((fd) => linkOf(`/proc/${pid}/fd/${fd}`)));
  const rows = readFileSync('/proc/net/tcp', 'utf8').trim().split('\n').slice(1);
  return rows.flatMap((row) => {
    const [, local = '', , state, , , , , , inode] = row.trim().split(/\s+/);
    return state === '0A' && sockets.has(`socket:[${inode}]`) ? [Number.parseInt(local.split(':')[1] ?? '', 16)] : [];
  });
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

/** The status of the answer; none where HTTP is not spoken. */
function post(port: number, host: string, path: string, body: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    const headers = { host, origin: 'http://page.example', 'content-type': 'text/plain' };
    const sent = request({ port, host: '127.0.0.1', path, method: 'POST', headers, timeout: 5_000 }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    sent.once('timeout', () => sent.destroy());
    sent.once('error', () => resolve(undefined));
    sent.end(body);
  });
}

async function text(stream: NodeJS.ReadableStream): Promise<string> {
  let all = '';
  for await (const chunk of stream) all += chunk;
  return all;
}

function tool(path: string, body = ''): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o755);
  return path;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(false);
    });
    socket.once('error', () => resolve(true));
  });
}

/** The port of somebody else's server, closed after the last test. */
async function listening(): Promise<number> {
  const listener = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  listeners.push(listener);
  await once(listener, 'listening');
  return (listener.address() as AddressInfo).port;
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}
