import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { byTurn, callTools, type ModelServer, say, startModelServer } from '../../src/testing/model-server';
import { until } from '../support/until';
import { expectOneLine, longhaul, type Running, start } from './command';

// A folder that somebody else wrote, such as a clone, and in which a person starts commands.

const root = join(__dirname, '../..');
const base = realpathSync(mkdtempSync(join(tmpdir(), 'longhaul-theirs-')));
const clone = join(base, 'clone');
const state = join(base, 'state');
let model: ModelServer;

beforeAll(async () => {
  mkdirSync(clone);
  model = await startModelServer(byTurn([callTools([{ name: 'shell', args: { command: 'touch ran' } }]), say('Done.')]));
});

afterAll(async () => {
  await model.stop();
  rmSync(base, { recursive: true, force: true });
});

async function startDev(...args: string[]): Promise<{ dev: Running; address: string; stop(): Promise<void> }> {
  const dev = start(['dev', ...args], { cwd: clone, env: { XDG_STATE_HOME: state, OPENAI_BASE_URL: model.url } });
  await dev.says('Ctrl-C stops everything.', 60_000);
  const stop = async () => {
    dev.child.kill('SIGINT');
    await dev.ended;
  };
  return { dev, address: /temporal +(\S+)/.exec(dev.stderr())?.[1] ?? '', stop };
}

test('dev runs no call that was approved in threads that are in the folder', async () => {
  const theirs = await startDev('--data', '.longhaul');
  const env = { TEMPORAL_ADDRESS: theirs.address };
  expect(await longhaul(['run', '--thread', 'theirs', 'go'], { env })).toMatchObject({ code: 3 });
  const { status } = JSON.parse((await longhaul(['show', 'theirs', '--json'], { env })).stdout);
  await theirs.stop();
  const serving = await startDev('--data', '.longhaul', '--no-worker');
  const connection = await Connection.connect({ address: serving.address });
  const { toolCallId } = status.pending[0];
  await new Client({ connection }).workflow.getHandle('theirs').signal('approve', { toolCallId, approved: true });
  await connection.close();
  await serving.stop();

  const ours = await startDev();
  const said = ours.dev.stderr();
  expect(said).toContain('This folder has threads in .longhaul, which are not used');
  const [, kept = ''] = /threads +kept in (.*), also for the next start/.exec(said) ?? [];
  expect(kept).toMatch(new RegExp(`^${state}/longhaul/clone-[0-9a-f]{16}$`));
  expect(statSync(kept).mode & 0o777).toBe(0o700);
  const { stdout } = await longhaul(['list', '--json'], { env: { TEMPORAL_ADDRESS: ours.address } });
  expect(stdout).toBe('');
  expect(existsSync(join(clone, 'ran'))).toBe(false);
  await ours.stop();

  // Of those who ask for them it is what they wanted.
  const again = await startDev('--data', '.longhaul');
  expect(again.dev.stderr()).not.toContain('which are not used');
  await until('the approved call has run', () => existsSync(join(clone, 'ran')), 30_000);
  await again.stop();
}, 240_000);

test('dev reports that threads can not be stored', async () => {
  writeFileSync(join(base, 'file'), '');
  const ended = await longhaul(['dev'], { cwd: clone, env: { XDG_STATE_HOME: join(base, 'file') } });
  expectOneLine(ended, /^error: Threads can't be kept in .*\/clone-[0-9a-f]{16} \(ENOTDIR\)\. Name another folder with --data FOLDER/);
  expect(ended.code).toBe(1);
});

test('commands of a checkout do not read the tsconfig.json of the folder, which could replace modules', async () => {
  const evil = join(clone, 'evil.ts');
  writeFileSync(evil, `require('node:fs').writeFileSync(${JSON.stringify(join(clone, 'loaded'))}, '');`);
  writeFileSync(join(clone, 'tsconfig.json'), JSON.stringify({ compilerOptions: { paths: { commander: [evil] } } }));
  const { code } = await longhaul(['--version'], { cwd: clone, fromSources: true });
  expect(existsSync(join(clone, 'loaded'))).toBe(false);
  expect(code).toBe(0);
});

test('a worker takes its workflow code from the package, even if the folder has a file under the same path', () => {
  for (const name of readdirSync(join(root, 'src/workflows')).filter((file) => file.endsWith('.ts'))) {
    const file = join(clone, root, 'src/workflows', name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, 'export const words = "brought by the folder";');
  }
  const program = `const { bundleWorkflowCode, DefaultLogger } = require('@temporalio/worker');
    const { workflowBundleOptions } = require(${JSON.stringify(join(root, 'src/workflow-bundle.ts'))});
    process.chdir(${JSON.stringify(clone)});
    bundleWorkflowCode({ ...workflowBundleOptions(), logger: new DefaultLogger('ERROR') }).then(({ code }) => process.stdout.write(code));`;
  const run = { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 } as const;
  const bundle = execFileSync(process.execPath, ['--require', 'tsx/cjs', '-e', program], run);
  expect([bundle.includes('agentThread'), bundle.includes('brought by the folder')]).toEqual([true, false]);
});
