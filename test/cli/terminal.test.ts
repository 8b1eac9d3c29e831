import { type ChildProcess, spawn } from 'node:child_process';
import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import { callTools, type Reply, type ScriptRequest, say } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { inPackage } from '../support/in-package';
import { type Rig, startRig } from '../support/rig';
import { until } from '../support/until';

const ran: string[] = [];
let goOn = () => {};
let mayAnswer = Promise.resolve();

async function model({ turn, messages }: ScriptRequest): Promise<Reply> {
  if (turn > 0) return say(`The last word was: ${messages.at(-1)?.content}`);
  await mayAnswer;
  return callTools([{ name: 'deploy', args: { to: 'production \u202etset' }, id: 'call_1' }]);
}

let rig: Rig;
beforeAll(async () => {
  const deploy = defineTool({
    name: 'deploy',
    description: 'Deploys.',
    input: z.object({ to: z.string() }),
    approval: 'always',
    execute({ to }, { threadId }) {
      ran.push(threadId);
      return `deployed to ${to}`;
    },
  });
  rig = await startRig({
    script: model,
    agents: [defineAgent({ name: 'tester', model: 'test-model', instructions: 'Test.', tools: [deploy] })],
  });
});

const open = new Set<ChildProcess>();
afterAll(() => {
  for (const child of open) child.kill('SIGKILL');
});

/** The program at a real terminal, a pseudo terminal of the system's `script`. */
function atTerminal(threadId: string) {
  const command = `"${process.execPath}" "${inPackage('bin/longhaul.js')}" run deploy --agent tester --thread ${threadId} --by dana`;
  const args = process.platform === 'darwin' ? ['-q', '/dev/null', 'sh', '-c', command] : ['-qec', command, '/dev/null'];
  const child = spawn('script', args, {
    env: { ...process.env, TERM: 'xterm', COLUMNS: '120', TEMPORAL_ADDRESS: rig.address, LONGHAUL_TASK_QUEUE: rig.taskQueue },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  open.add(child);
  let screen = '';
  child.stdout?.on('data', (chunk) => {
    screen += chunk;
  });
  const ended = new Promise<number | null>((resolve) => {
    child.once('close', (code) => {
      open.delete(child);
      resolve(code);
    });
  });
  return {
    type: (text: string) => child.stdin?.write(text),
    shows: (text: string) => until(`the terminal shows "${text}"`, () => screen.includes(text), 45_000).then(() => screen),
    ended,
  };
}

test('a person at a terminal sees what will run, and text that was typed before the question does not answer it', async () => {
  mayAnswer = new Promise((resolve) => {
    goOn = resolve;
  });
  const terminal = atTerminal('terminal-1');
  await until('the model was asked', () => rig.model.requests.length === 1, 45_000);
  terminal.type('y\r');
  goOn();
  const screen = await terminal.shows('deploy?');
  // Once: the run's own text leaves the question to the prompt.
  expect(screen.match(/production <U\+202E>tset/g)).toHaveLength(1);
  expect(screen).not.toContain('\u202e');
  expect(ran).not.toContain('terminal-1');
  const [call] = await rig.client.attach('terminal-1').pending();
  expect(call?.digest && screen.includes(call.digest)).toBe(true);
  terminal.type('y\r');
  expect(await terminal.ended).toBe(0);
  expect(ran.filter((id) => id === 'terminal-1')).toHaveLength(1);
  const log = [];
  for await (const event of rig.client.attach('terminal-1').events()) log.push(event);
  expect(log.find(({ type }) => type === 'agent.approval.decided')?.data).toMatchObject({ approved: true, by: 'dana' });

  const again = atTerminal('terminal-1');
  // It was answered before, so no prompt has shown it.
  expect(await again.shows('completed')).toMatch(/needs an approval[\s\S]*production <U\+202E>tset[\s\S]*approved/);
  expect(await again.ended).toBe(0);
});
