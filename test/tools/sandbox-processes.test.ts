import { type ChildProcess, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createShell } from '../../src/tools/built-in/shell';
import { createShellTools } from '../../src/tools/built-in/tasks/shell-tools';
import { Tasks } from '../../src/tools/built-in/tasks/tasks';
import { processesWith, testInSandbox } from '../support/in-sandbox';
import { until } from '../support/until';
import { newFolder, removeFolders, run, told } from './tool-host';

const sourceOf = (path: string) => JSON.stringify(join(__dirname, '../../src/tools/built-in', path));

let workspace: string;
/** A number of seconds that no other process sleeps. */
let mark: string;
let worker: ChildProcess | undefined;
beforeEach(async () => {
  workspace = await newFolder();
  mark = `9${Date.now()}${Math.floor(Math.random() * 1_000)}`;
});
afterEach(async () => {
  worker?.kill('SIGKILL');
  worker = undefined;
  await removeFolders();
});

const isRunning = () => processesWith(`sleep\0${mark}`).length > 0;
const written = (name: string) => until(`${name} is written`, async () => (await readFile(join(workspace, name), 'utf8')).endsWith('\n'));
const polite = "trap 'echo bye; exit 7' TERM; echo up > up; while :; do sleep 0.05; done";

/** A daemon without the marks by which commands are found otherwise. */
const daemon = () =>
  `(ulimit -x 5; env -i setsid /bin/sh -c 'setsid sleep ${mark} & echo up > up' > /dev/null 2>&1 < /dev/null &) & until [ -s up ]; do sleep 0.01; done`;

/** Runs code in a process that ends only when it is killed. */
function elsewhere(code: string): ChildProcess {
  const script = `
    const { createSandbox } = require(${sourceOf('sandbox/sandbox.ts')});
    const { runShell } = require(${sourceOf('shell-process.ts')});
    const { Tasks } = require(${sourceOf('tasks/tasks.ts')});
    const folders = { workspace: ${JSON.stringify(workspace)}, cwd: ${JSON.stringify(workspace)} };
    const how = { cwd: folders.cwd, env: { PATH: process.env.PATH }, confined: (start) => createSandbox('required').confine(folders, start) };
    setInterval(() => {}, 1000);
    ${code}`;
  worker = spawn(process.execPath, ['--require', 'tsx/cjs', '--eval', script], {
    cwd: join(__dirname, '../..'),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return worker;
}

describe('the processes of a command in the sandbox', () => {
  const shell = createShell({ sandbox: 'auto' });

  testInSandbox('get SIGTERM at the timeout, and may end by themselves', async () => {
    const { outcome } = await run(shell, { command: polite, timeout: 2 }, { workspace });
    expect(outcome).toMatchObject({
      status: 'timed-out',
      content: expect.stringMatching(/^(Terminated\n)?bye\nCommand timed out after 2s/),
    });
  });

  testInSandbox('are killed if they ignore it, and the output until then is kept', async () => {
    const command = `trap '' TERM; echo before; (trap '' TERM; setsid sleep ${mark}); sleep 100`;
    const { outcome } = await run(shell, { command, timeout: 1 }, { workspace });
    expect(outcome).toMatchObject({ status: 'timed-out', content: expect.stringMatching(/^before\nCommand timed out/) });
    expect(isRunning()).toBe(false);
  });

  testInSandbox('end with a cancel', async () => {
    const stop = new AbortController();
    const running = run(shell, { command: `echo up > up; sleep ${mark}` }, { workspace, signal: stop.signal });
    await until('it runs', isRunning);
    stop.abort();
    expect((await running).outcome.status).toBe('cancelled');
    expect(isRunning()).toBe(false);
  });

  testInSandbox('end with the command, also a daemon that has removed every mark and lost its parent', async () => {
    expect(await told(shell, { command: `${daemon()}; echo done` }, { workspace })).toBe('done');
    expect(isRunning()).toBe(false);
  });

  testInSandbox('end with the command, also if they begin others all the time', async () => {
    const command = `setsid sh -c 'trap "" TERM; echo up > up; while :; do env -i setsid sleep ${mark} & sleep 0.005; done' > /dev/null 2>&1 & until [ -s up ]; do sleep 0.01; done; sleep 0.5; echo done`;
    expect(await told(shell, { command }, { workspace })).toBe('done');
    expect(isRunning()).toBe(false);
  });

  testInSandbox('die with the worker, however suddenly it ends', async () => {
    const command = `${daemon()}; sleep ${mark}`;
    elsewhere(`runShell({ ...how, command: ${JSON.stringify(command)}, maxOutputBytes: 1000, signal: new AbortController().signal });`);
    await until('both run', () => processesWith(`sleep\0${mark}`).length === 2);
    worker?.kill('SIGKILL');
    await until('both are gone', () => !isRunning());
  });
});

describe('a command in the background in the sandbox', () => {
  let tasks: Tasks;
  let release: () => Promise<void>;
  beforeEach(() => {
    // Not in the workspace, which commands can change.
    tasks = new Tasks(`${workspace}-tasks`);
    release = tasks.hold(async () => true);
  });
  afterEach(() => release());

  const tool = (name: string) => createShellTools({ sandbox: 'required' }, tasks).find((one) => one.name === name) ?? fail(name);
  const start = async (command: string, more: object = {}) =>
    idOf(await told(tool('shell'), { command, background: true, ...more }, { workspace }));
  const ended = (id: string) => told(tool('shell_task'), { id, wait: 60 });

  testInSandbox('shows its output, takes input, and has the sandbox around it', async () => {
    const id = await start('read -r line; echo "got $line"; echo x > /usr/x; ls /proc | grep -c "^[0-9]"; exit 3');
    await told(tool('shell_input'), { id, text: 'typed\n' });
    expect(await ended(id)).toMatch(/"state":"failed","exit_code":3.*\ngot typed\n.*Read-only file system\n\d$/);
  });

  testInSandbox('may end by itself when it is cancelled', async () => {
    const id = await start(polite);
    await written('up');
    expect(await told(tool('shell_cancel'), { id })).toMatch(/"state":"cancelled","exit_code":7/);
    expect(await ended(id)).toMatch(/\nbye$/);
  });

  testInSandbox('ends at its timeout with all its processes', async () => {
    const id = await start(`${daemon()}; sleep 100`, { timeout: 2 });
    expect(await ended(id)).toMatch(/"state":"timed_out"/);
    expect(isRunning()).toBe(false);
  });

  testInSandbox('may end by itself when another worker process cancels it', async () => {
    const command = JSON.stringify(polite);
    const child = elsewhere(
      `new Tasks(${JSON.stringify(`${workspace}-tasks`)}).start({ ...how, threadId: 'thread-1', command: ${command} }).then(({ id }) => console.log(id));`,
    );
    const id = await new Promise<string>((done) => child.stdout?.once('data', (chunk: Buffer) => done(chunk.toString().trim())));
    await written('up');
    expect(await told(tool('shell_cancel'), { id })).toMatch(/"state":"cancelled"/);
    expect(await ended(id)).toMatch(/\nbye$/);
  });

  testInSandbox('is lost with its worker, and its processes are ended', async () => {
    const command = JSON.stringify(`${daemon()}; sleep ${mark}`);
    const child = elsewhere(
      `new Tasks(${JSON.stringify(`${workspace}-tasks`)}).start({ ...how, threadId: 'thread-1', command: ${command} }).then(({ id }) => console.log(id));`,
    );
    const id = await new Promise<string>((done) => child.stdout?.once('data', (chunk: Buffer) => done(chunk.toString().trim())));
    await until('both run', () => processesWith(`sleep\0${mark}`).length === 2);
    child.kill('SIGKILL');
    await until('it is lost', async () => (await ended(id)).includes('"state":"lost"'));
    await until('both are gone', () => !isRunning());
  });
});

describe('where there can be no sandbox', () => {
  /** Runs code in a sandbox of its own, in which no other can be made. */
  async function inside(code: string): Promise<string> {
    const root = join(__dirname, '../..');
    const script = `
      const { createShell } = require(${sourceOf('shell.ts')});
      const { run } = require(${JSON.stringify(join(__dirname, 'tool-host.ts'))});
      (async () => { ${code} })().catch((error) => console.log(error.message));`;
    return told(
      createShell({ sandbox: { readOnly: [root] } }),
      { command: `node --require ${root}/node_modules/tsx/dist/cjs/index.cjs --eval ${quoted(script)}` },
      { workspace },
    );
  }

  testInSandbox('commands that must have one do not run, and others run without, and the reason is said', async () => {
    const out = await inside(`
      for (const sandbox of ['required', 'auto']) {
        const shell = createShell({ sandbox });
        console.log(JSON.stringify(shell.sandbox));
        console.log(shell.description.includes('sandbox'));
        const { outcome } = await run(shell, { command: 'echo it ran' }, { workspace: ${JSON.stringify(workspace)} });
        console.log(outcome.status, outcome.content);
      }
      const { sandboxesOf } = require(${JSON.stringify(join(__dirname, '../../src/worker/sandboxes.ts'))});
      const { createCoder } = require(${JSON.stringify(join(__dirname, '../../src/agents/coder.ts'))});
      console.log(JSON.stringify(sandboxesOf([createCoder({ sandbox: 'auto' })])));
      const { createWorker } = require(${JSON.stringify(join(__dirname, '../../src/worker/create-worker.ts'))});
      await createWorker({ agents: [createCoder({ sandbox: 'required' })], workspace: ${JSON.stringify(workspace)} });`);
    const why = 'bwrap does not work here: [^"]*[Nn]amespace[^"]*';
    const lines = out.split('\n');
    expect(lines[0]).toMatch(new RegExp(`^\\{"state":"missing","network":false,"confines":false,"problem":"${why}"\\}$`));
    expect(lines[1]).toBe('true');
    expect(lines[2]).toMatch(
      new RegExp(`^failed Error: commands run only in a sandbox, which can't be used on this machine: ${why}No command was run.`),
    );
    expect(lines[3]).toMatch(/^\{"state":"unused"/);
    expect(lines[4]).toBe('false');
    expect(lines[5]).toBe('success it ran');
    expect(lines[6]).toMatch(new RegExp(`"warnings":\\["commands of coder run without a sandbox: ${why}"\\]`));
    expect(lines[7]).toMatch(
      /^The commands of agent coder may run only in a sandbox, which can't be used on this machine: bwrap does not work/,
    );
  });
});

function idOf(text: string): string {
  return (JSON.parse(text.split('\n')[0] ?? '') as { id: string }).id;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function fail(name: string): never {
  throw new Error(`no tool ${name}`);
}
