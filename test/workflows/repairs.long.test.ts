import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { callTools, fail, hang, type Reply, type ScriptRequest } from '../../src/testing/model-server';
import { inPackage } from '../support/in-package';
import { startRig, startWorkerProcess, until } from '../support/rig';
import { dot, type RepairTask, repairTasks, type Turn } from './repair-tasks';
import { ofType, requestsOf, story } from './scenes';

const base = mkdtempSync(join(tmpdir(), 'longhaul-repairs-'));
afterAll(() => rmSync(base, { recursive: true, force: true }));

const workspace = join(base, 'work');
const skill = '---\nname: sums\ndescription: How sums begin.\n---\nWith nothing.\n';

function write(path: string, content: string | Buffer): void {
  mkdirSync(dirname(join(workspace, path)), { recursive: true });
  writeFileSync(join(workspace, path), content);
}

const git = (...args: string[]) =>
  execFileSync('git', ['-C', workspace, '-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { encoding: 'utf8' });

/** Where a task stands still until the worker is killed: at a turn of the model, or in a command, for twelve of the twenty. */
const heldAt = (at: number) => (at >= 12 ? undefined : at % 6 === 5 ? ('command' as const) : at % 6);

/** A command that ends only by a kill. What it does is then unknown, and it is not run again. */
const held = (name: string) => callTools([{ name: 'shell', args: { command: `touch ${base}/began-${name}; sleep 300`, timeout: 300 } }]);

function turnsOf({ name, turns }: RepairTask, at: number): Turn[] {
  return heldAt(at) === 'command' ? [held(name), ...turns] : turns;
}

test('the coder completes twenty small repairs with all its tools, twelve of them with a kill in the middle', async () => {
  write('dot.gif', Buffer.from(dot, 'base64'));
  write('AGENTS.md', 'Repair with care.\n');
  write('.agents/skills/sums/SKILL.md', skill);
  for (const { name, before } of repairTasks) for (const [path, content] of Object.entries(before)) write(`${name}/${path}`, content);
  git('init', '-q');
  git('add', '-A');
  git('commit', '-qm', 'Begin.');

  const asked = new Set<string>();
  const script = (request: ScriptRequest): Reply => {
    const { input, turn } = request;
    const at = repairTasks.findIndex(({ name }) => input === `repair ${name}`);
    const key = `${input}/${turn}`;
    if (turn === heldAt(at) && !asked.has(key)) {
      asked.add(key);
      return hang();
    }
    const next = turnsOf(repairTasks[at] as RepairTask, at)[turn] ?? fail(400, { message: `no turn ${turn}` });
    return typeof next === 'function' ? next(request) : next;
  };
  const rig = await startRig({ script, agents: [], workers: 0 });
  const { address, taskQueue, model } = rig;
  const agentsFile = inPackage('agents/repairer.js');
  const startWorker = () =>
    startWorkerProcess({ address, taskQueue, agentsFile, modelUrl: model.url, env: { LONGHAUL_WORKSPACE: workspace } });
  const first = await startWorker();
  const threads = await Promise.all(repairTasks.map(({ name }) => rig.client.start('coder', `repair ${name}`)));

  const stands = ({ name }: RepairTask, at: number) => {
    const where = heldAt(at);
    return where === 'command' ? existsSync(join(base, `began-${name}`)) : where === undefined || asked.has(`repair ${name}/${where}`);
  };
  await until(
    () => repairTasks.filter((task, at) => !stands(task, at)).map(({ name }) => name),
    (missing) => missing.length === 0,
    90_000,
  );
  await Promise.all(threads.filter((_, at) => heldAt(at) === undefined).map((thread) => thread.result()));
  const second = await startWorker();
  await first.kill();
  const results = await Promise.all(threads.map((thread) => thread.result()));
  expect(results.map(({ output }) => output)).toEqual(repairTasks.map(() => 'done'));

  const used = new Set<string>();
  for (const [at, { name, fails = [] }] of repairTasks.entries()) {
    const told = await story(threads[at] as (typeof threads)[number]);
    const outcomes = ofType(told, 'agent.tool.execution.completed').map(({ data }) => `${data.name} ${data.status}`);
    const wrong = outcomes.filter((outcome) => !outcome.endsWith(' success'));
    expect([name, wrong]).toEqual([name, [...(heldAt(at) === 'command' ? ['shell unknown'] : []), ...fails]]);
    for (const outcome of outcomes) used.add(outcome.split(' ')[0] as string);
  }
  const offered = requestsOf(rig, 'repair t0')[0]?.body.tools?.map((tool) => tool.function.name) ?? [];
  // No output is so long that it is stored.
  expect(used).toEqual(new Set(offered.filter((name) => !/^(read|grep)_output/.test(name))));
  expect(JSON.stringify(requestsOf(rig, 'repair t0')[0]?.body.messages)).toContain('Repair with care.');

  // As git sees it, which ignores the journal of the edits.
  const wanted = new Map(repairTasks.flatMap(({ name, after }) => Object.entries(after).map(([path, text]) => [`${name}/${path}`, text])));
  for (const [path, text] of wanted) expect([path, readFileSync(join(workspace, path), 'utf8')]).toEqual([path, text]);
  const files = git('ls-files', '--cached', '--others', '--exclude-standard')
    .split('\n')
    .filter((path) => /^t\d/.test(path) && existsSync(join(workspace, path)));
  expect(new Set(files)).toEqual(new Set(wanted.keys()));
  expect(
    git('status', '--porcelain')
      .split('\n')
      .filter((line) => line !== '' && !/ t\d+\//.test(line)),
  ).toEqual([]);
  second.signal('SIGTERM');
  expect(await second.exited).toBe(0);
}, 240_000);
