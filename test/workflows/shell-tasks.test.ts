import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { defineAgent } from '../../src/agents';
import { callTools, type ScriptRequest, say } from '../../src/testing/model-server';
import { createShellTools } from '../../src/tools';
import { type Rig, startRig, until } from '../support/rig';
import { startServer } from '../support/temporal';
import { newFolder, removeFolders } from '../tools/tool-host';
import { handleOf } from './asking';

const agent = defineAgent({ name: 'worker', model: 'test-model', instructions: 'Work.', tools: createShellTools() });
const careful = defineAgent({
  name: 'careful',
  model: 'test-model',
  instructions: 'Work.',
  tools: createShellTools({ approval: ({ command }) => (command === 'cat' ? false : { users: ['dana'] }) }),
});
const command = 'echo $$ > pid; exec sleep 300';

/** The first message starts a command, and the next one lists what runs. */
function startAndList(turn: number) {
  const replies = [callTools([{ name: 'shell', args: { command, background: true } }]), say('started')];
  return replies[turn] ?? (turn === 2 ? callTools([{ name: 'shell_task', args: {} }]) : say('listed'));
}

function inputForCat(messages: ScriptRequest['messages']) {
  const shown = messages.find(({ role }) => role === 'tool');
  if (!shown) return callTools([{ name: 'shell', args: { command: 'cat', background: true } }]);
  const id = /"id":"([^"]+)"/.exec(String(shown.content))?.[1];
  return callTools([{ name: 'shell_input', args: { id, text: 'rm -rf work\n' } }]);
}

let rig: Rig;
let workspace: string;
beforeAll(async () => {
  workspace = await newFolder();
  rig = await startRig({
    agents: [agent, careful],
    script: ({ turn, messages }) => (messages.some(({ content }) => content === 'Use cat.') ? inputForCat(messages) : startAndList(turn)),
    worker: { workspace, continueAsNewAfter: { events: 40, bytes: 4_000_000 } },
  });
});
afterAll(removeFolders);

/** Starts a command in the background of a conversation. Returns the conversation and the id of the process. */
async function started() {
  const file = join(workspace, 'pid');
  rmSync(file, { force: true });
  const thread = await rig.client.start('worker', 'Start it.', { mode: 'conversation' });
  expect((await thread.result()).output).toBe('started');
  await until(
    () => existsSync(file) && readFileSync(file, 'utf8').endsWith('\n'),
    (written) => written,
  );
  return { thread, pid: Number(readFileSync(file, 'utf8')) };
}

const runs = (pid: number) => existsSync(`/proc/${pid}`);

test('a command in the background outlives its run, and ends with its thread', async () => {
  const { thread, pid } = await started();
  await thread.send('Which are there?');
  await until(
    () => thread.usage(),
    (usage) => usage.runs === 2,
  );
  const outputs = (await thread.messages()).filter(({ role }) => role === 'tool').map(({ content }) => content);
  expect(outputs.at(-1)).toContain('"state":"running"');
  expect(runs(pid)).toBe(true);
  await thread.close();
  await until(
    () => runs(pid),
    (running) => !running,
  );
});

test('a command in the background ends with a thread that was terminated', async () => {
  const { thread, pid } = await started();
  expect(runs(pid)).toBe(true);
  await handleOf(thread).terminate();
  await until(
    () => runs(pid),
    (running) => !running,
  );
});

test('text for a command waits for the people who must agree to it as a command, and says which command reads it', async () => {
  const thread = await rig.client.start('careful', 'Use cat.');
  const [asked] = await until(
    () => thread.pending(),
    (pending) => pending.length > 0,
  );
  expect(asked).toMatchObject({
    name: 'shell_input',
    users: ['dana'],
    reason: expect.stringMatching(/^Input for the command "cat", started at /),
  });
  await handleOf(thread).terminate();
});

test('threads of two servers that have the same id do not see the commands of each other', async () => {
  const { thread, pid } = await started();
  const other = await startServer();
  const list = await startRig({
    agents: [agent],
    address: other.address,
    script: ({ turn }) => (turn === 0 ? callTools([{ name: 'shell_task', args: {} }]) : say('listed')),
    worker: { workspace },
  });
  const same = await list.client.start('worker', 'Which are there?', { id: thread.id });
  expect((await same.result()).output).toBe('listed');
  const outputs = (await same.messages()).filter(({ role }) => role === 'tool').map(({ content }) => content);
  expect(outputs).toEqual(['(this thread has no commands in the background on this machine)']);
  // It ends with its own thread, although workers of two servers are in this process.
  expect(runs(pid)).toBe(true);
  await thread.close();
  await until(
    () => runs(pid),
    (running) => !running,
  );
});

test('a command in the background ends with its worker', async () => {
  const { thread, pid } = await started();
  await rig.workers[0]?.stop();
  expect(runs(pid)).toBe(false);
  await handleOf(thread).terminate();
});
