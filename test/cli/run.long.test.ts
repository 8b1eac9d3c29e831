import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import { isDurable } from '../../src/core/event';
import { callTools, fail, type Reply, type ScriptRequest, say, slowly } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { type Rig, startRig } from '../support/rig';
import { until } from '../support/until';
import { eventsOf, expectOneLine, longhaul, type Running, start } from './command';

const long = 'One line at a time the story grows, and nobody wants to read any of its lines twice.';

/** What the model does depends on what it was asked for; the turn says how far it is. */
function model({ input, turn }: ScriptRequest): Reply {
  if (input.startsWith('add')) return turn === 0 ? callTools([{ name: 'add', args: { a: 1, b: 2 } }], 'I add.') : say('It is 3.');
  if (input.startsWith('deploy'))
    return turn === 0 ? callTools([{ name: 'deploy', args: { to: 'production' }, id: `call_${input.replace(/\W/g, '_')}` }]) : say('Done.');
  if (input.startsWith('tell')) return slowly(say(long), { chunkMs: 60, chunkSize: 2 });
  if (input.startsWith('forever')) return slowly(say(long.repeat(50)), { chunkMs: 50, chunkSize: 2 });
  if (input.startsWith('circle')) return callTools([{ name: 'add', args: { a: 1, b: 2 } }]);
  return fail(401, { message: 'no such key', code: 'invalid_api_key' });
}

let rig: Rig;
let env: Record<string, string>;
/** It waits half a minute for a worker; meanwhile the other tests run. */
let alone: Running;

beforeAll(async () => {
  const number = z.object({ a: z.number(), b: z.number() });
  const add = defineTool({ name: 'add', description: 'Adds.', input: number, effect: 'pure', execute: ({ a, b }) => a + b });
  const deploy = defineTool({
    name: 'deploy',
    description: 'Deploys.',
    input: z.object({ to: z.string() }),
    approval: 'always',
    execute: ({ to }) => `deployed to ${to}`,
  });
  const agent = defineAgent({ name: 'tester', model: 'test-model', instructions: 'Test.', tools: [add, deploy], limits: { turns: 3 } });
  rig = await startRig({ script: model, agents: [agent], worker: { liveTextMs: 300 } });
  env = { TEMPORAL_ADDRESS: rig.address, LONGHAUL_TASK_QUEUE: rig.taskQueue };
  alone = start(['run', 'hello'], { env: { ...env, LONGHAUL_TASK_QUEUE: `nobody-${rig.taskQueue}` } });
});

const run = (...args: string[]) => longhaul(['run', '--agent', 'tester', ...args], { env });
const watch = (...args: string[]) => start(['run', '--agent', 'tester', ...args], { env });

test('a run is shown until it ends and exits with 0', async () => {
  const { code, stdout, stderr } = await run('add 1 and 2');
  expect(stdout).toContain('you add 1 and 2\n');
  expect(stdout).toContain('▸ add a: 1, b: 2\n');
  expect(stdout).toMatch(/✓ add .*\n {4}3\n/);
  expect(stdout).toContain('\nIt is 3.\n');
  expect(stdout).toContain('✔ completed · 2 turns · 1 tool call');
  expect(stderr).toMatch(/^thread thread_\S+ · agent tester\n$/);
  expect(code).toBe(0);
});

test('with --json standard output holds the canonical events and nothing else', async () => {
  const { code, stdout } = await run('--json', 'add 3 and 4');
  const events = eventsOf(stdout);
  expect(events.filter(isDurable).map((event) => event.seq)).toEqual(events.filter(isDurable).map((_, i) => i + 1));
  expect(events[0]).toMatchObject({ seq: 1, type: 'agent.run.created' });
  expect(events.at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'It is 3.' } });
  for (const event of events)
    expect(event).toEqual(
      expect.objectContaining({ timestamp: expect.any(String), threadId: expect.any(String), data: expect.any(Object) }),
    );
  expect(code).toBe(0);
});

test.each([
  ['agentb', { type: 'agent.run.created' }, { type: 'thread.run.completed' }],
  ['baseagent', { type: 'thread.started' }, { type: 'turn.completed' }],
  ['oneringai', { type: 'execution:start' }, { type: 'execution:complete' }],
  ['codelia', { method: 'run.status' }, { method: 'run.status', params: { status: 'completed' } }],
])('with --format %s standard output has the events of that system, live and read again', async (format, first, last) => {
  const thread = `words-of-${format}`;
  const { code, stdout, stderr } = await run('add 5 and 6', '--format', format, '--thread', thread);
  expect(code).toBe(0);
  expect(stderr).not.toContain('error');
  const lines = eventsOf(stdout);
  expect(lines.at(0)).toMatchObject(first);
  expect(lines.at(-1)).toMatchObject(last);
  const again = await longhaul(['events', thread, '--no-follow', '--format', format], { env });
  expect(eventsOf(again.stdout).at(-1)).toEqual(lines.at(-1));
});

test('the text of a model is streamed to the screen of another process, and no word is printed twice', async () => {
  const running = watch('tell me a story');
  await until('the story has begun', () => running.stdout().includes('One line'), 15_000);
  expect(running.stdout()).not.toContain('twice.');
  const { code, stdout } = await running.ended;
  expect(stdout.split('One line at a time')).toHaveLength(2);
  expect(stdout).toContain(`${long}\n`);
  expect(code).toBe(0);
});

test('live events are between the others, without a seq', async () => {
  const { stdout } = await run('--json', 'tell it as JSON');
  const deltas = eventsOf(stdout).filter((event) => event.type === 'thread.message.delta');
  expect(deltas.length).toBeGreaterThan(0);
  for (const delta of deltas) expect(delta).not.toHaveProperty('seq');
});

test('without a person to ask, a run that needs an approval exits with 3, says how to answer, and continues when it is given', async () => {
  const waiting = await run('--thread', `ask-${rig.taskQueue}`, 'deploy this');
  expect(waiting.code).toBe(3);
  const [, command = ''] = /longhaul (approve \S+ \S+)/.exec(waiting.stderr) ?? [];
  const [, thread = '', call = ''] = command.split(' ');
  expect(thread).toBe(`ask-${rig.taskQueue}`);

  expect(await longhaul(['approve', thread, call, '--by', 'dana', '--reason', 'looks right'], { env })).toMatchObject({
    code: 0,
    stdout: '',
  });
  // The same request under the same id attaches: it shows all of it, and asks for nothing that was decided.
  const attached = await run('--thread', thread, 'deploy this');
  expect(attached.stdout).toContain('approved by dana: looks right');
  expect(attached.stdout).toContain('deployed to production');
  expect(attached.code).toBe(0);
});

test('--yes approves', async () => {
  const { code, stdout } = await run('--yes', 'deploy at once');
  expect(stdout).toContain('approved by longhaul run --yes');
  expect(stdout).toContain('deployed to production');
  expect(code).toBe(0);
});

test('[B77] a failed run exits with 1 and shows the code and the advice', async () => {
  const { code, stdout } = await run('fail');
  expect(stdout).toMatch(/✖ failed \(auth\) .*key/);
  expect(code).toBe(1);
});

test('a run that reaches a limit exits with 1', async () => {
  const { code, stdout } = await run('circle');
  expect(stdout).toContain('✖ incomplete The run reached its limit of 3 turns.');
  expect(code).toBe(1);
});

test('a run waits for an agent that no worker has, and the available agents are listed', async () => {
  const thread = `nobody-${rig.taskQueue}`;
  const running = start(['run', '--agent', 'testr', '--thread', thread, 'add'], { env });
  await running.says(/Waiting for a worker that has the agent. Unknown agent 'testr'. Did you mean 'tester'\?/);
  await rig.client.attach(thread).cancel();
  expect((await running.ended).code).toBe(130);
});

test('a run that is cancelled by another client exits with 130', async () => {
  const thread = `cancel-${rig.taskQueue}`;
  const running = watch('--thread', thread, 'forever');
  await running.says('One line');
  expect(await longhaul(['cancel', thread, '--by', 'dana', '--reason', 'enough'], { env })).toMatchObject({
    code: 0,
    stderr: 'The run is being cancelled.\n',
  });
  const { code, stdout } = await running.ended;
  expect(stdout).toContain('✖ cancelled by dana: enough');
  expect(code).toBe(130);
});

test('a second Ctrl-C exits; the thread continues', async () => {
  const thread = `leave-${rig.taskQueue}`;
  const running = watch('--thread', thread, 'forever');
  await running.says('One line');
  running.child.kill('SIGINT');
  await running.says(`longhaul cancel ${thread}`);
  running.child.kill('SIGINT');
  const { code, stderr } = await running.ended;
  expect(stderr).toContain(`The thread continues. Follow it again with: longhaul events ${thread}`);
  expect(code).toBe(130);
  expect(await rig.client.attach(thread).status()).toMatchObject({ status: 'in_progress' });
  await rig.client.attach(thread).cancel();
});

test('an id that another start has used is refused', async () => {
  const thread = `taken-${rig.taskQueue}`;
  await run('--thread', thread, 'add 1');
  const second = await run('--thread', thread, 'add 2');
  expectOneLine(second, /^error: Thread "taken-.*exists already .*Choose another id/);
  expect(second.code).toBe(1);
});

test.each([
  ['no input', ['run']],
  ['an empty input', ['run', '  ']],
  ['an unknown option', ['run', '--colour', 'x']],
  ['an unknown command', ['rum', 'x']],
  ['an unknown word after the input', ['run', 'a', 'b']],
  ['an unknown format', ['run', 'a', '--format', 'x']],
  ['two formats', ['events', 't', '--json', '--format', 'agentb']],
  ['a seq that is no number', ['events', 't', '--from', 'x']],
])('%s is a usage error: exit code 2, and nothing is started', async (_, args) => {
  const { code, stdout, stderr } = await longhaul(args, { env });
  expect(stderr).toMatch(/^error: /);
  expect(stdout).toBe('');
  expect(code).toBe(2);
});

test('an input that is too large is a usage error that says what to do', async () => {
  const ended = await longhaul(['run', '-'], { env, input: 'x'.repeat(1_600_000) });
  expectOneLine(ended, /^error: The thread was not started: the input has 16000\d\d bytes; at most 1500000 fit into a message/);
  expect(ended.code).toBe(2);
});

test('a namespace that does not exist is reported in one line', async () => {
  const ended = await longhaul(['run', 'hello'], { env: { ...env, TEMPORAL_NAMESPACE: 'nowhere' } });
  expectOneLine(ended, /^error: run: Temporal has no namespace "nowhere"\. Set TEMPORAL_NAMESPACE/);
  expect(ended.code).toBe(1);
});

test('an unreachable Temporal server is reported in one line', async () => {
  const unreachable = await longhaul(['run', 'hello'], { env: { TEMPORAL_ADDRESS: '127.0.0.1:9' } });
  expectOneLine(unreachable, /^error: Temporal can't be reached at 127\.0\.0\.1:9\..*longhaul dev.*TEMPORAL_ADDRESS/);
  expect(unreachable.code).toBe(1);
});

test('without a worker the run says so immediately and ends with a clear message', async () => {
  await alone.says(/waiting for a worker on task queue nobody-/);
  const ended = await alone.ended;
  const [, id = ''] = /^thread (\S+) ·/.exec(ended.stderr) ?? [];
  expect(ended.stderr).toContain(`\nThread ${id} is not lost. Follow it again with: longhaul events ${id}\nerror: `);
  expectOneLine(ended, /no worker answers.*The thread is safe.*longhaul worker/);
  expect(ended.code).toBe(1);
});
