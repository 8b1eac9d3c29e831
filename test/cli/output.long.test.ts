import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { callTools, type ModelServer, say, startModelServer } from '../../src/testing/model-server';
import { longhaul, type Running, start } from './command';

const folder = mkdtempSync(join(tmpdir(), 'longhaul-output-'));
const state = mkdtempSync(join(tmpdir(), 'longhaul-output-state-'));
const whole = Array.from({ length: 100_000 }, (_, at) => at + 1).join('\n');
let model: ModelServer;
let dev: Running;
let env: Record<string, string>;

beforeAll(async () => {
  model = await startModelServer(({ body, turn }) => {
    if (turn === 0) return callTools([{ id: 'c1', name: 'shell', args: { command: 'seq 1 100000' } }]);
    if (turn > 1) return say('Found.');
    const [, ref] = /ref=(\w+)\]/.exec(JSON.stringify(body.messages)) ?? [];
    return callTools([{ id: 'c2', name: 'grep_output', args: { ref, pattern: '^5{5}$', regex: true } }]);
  });
  env = { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'test', XDG_STATE_HOME: state };
  dev = start(['dev', '--mode', 'full-access'], { cwd: folder, env });
  await dev.says('Ctrl-C stops everything.', 60_000);
  env.TEMPORAL_ADDRESS = /temporal +(\S+)/.exec(dev.stderr())?.[1] ?? '';
});

afterAll(async () => {
  dev.child.kill('SIGINT');
  await dev.ended;
  await model.stop();
  for (const path of [folder, state]) rmSync(path, { recursive: true, force: true });
});

test('dev keeps a long output in its data folder, the model searches it, and the command line has all of it', async () => {
  const run = await longhaul(['run', '--thread', 'counted', 'Count.'], { cwd: folder, env });
  expect(run.stdout).toContain('Found.');
  expect(JSON.stringify(model.requests.at(-1)?.body)).toContain('L55555: 55555');
  expect(readdirSync(folder)).toEqual([]);

  const listed = await longhaul(['output', 'counted'], { cwd: folder, env });
  expect(listed.stdout).toMatch(/^CALL +TOOL +SIZE +MODEL SAW\nc1 +shell +588\.9 kB +shortened\nc2 +grep_output +13 B\n$/);

  const file = join(folder, 'whole.txt');
  expect(await longhaul(['output', 'counted', 'c1', '--out', file], { cwd: folder, env })).toMatchObject({ code: 0, stderr: '' });
  expect(readFileSync(file, 'utf8')).toBe(whole);
  expect((await longhaul(['output', 'counted', 'c1'], { cwd: folder, env })).stdout).toBe(`${whole}\n`);

  const other = await longhaul(['output', 'counted', 'c1'], { cwd: state, env });
  expect(other.stderr).toMatch(
    /^.*The output of call "c1" of thread "counted" can't be read: the store does not have it \(\w+\)\. It was deleted, or the workers use another store: .*LONGHAUL_ARTIFACTS.*\n$/,
  );
  expect(other.code).toBe(1);
  expect(existsSync(join(state, 'longhaul'))).toBe(true);
});
