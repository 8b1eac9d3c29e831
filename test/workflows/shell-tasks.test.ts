import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { defineAgent } from '../../src/agents';
import { callTools, say } from '../../src/testing/model-server';
import { createShellTools } from '../../src/tools';
import { type Rig, startRig, until } from '../support/rig';
import { newFolder, removeFolders } from '../tools/tool-host';
import { handleOf } from './asking';

const agent = defineAgent({ name: 'worker', model: 'test-model', instructions: 'Work.', tools: createShellTools() });
const command = 'echo $$ > pid; exec sleep 300';

let rig: Rig;
let workspace: string;
beforeAll(async () => {
  workspace = await newFolder();
  rig = await startRig({
    agents: [agent],
    // The first message starts a command, and the next one lists what runs.
    script: ({ turn }) =>
      [callTools([{ name: 'shell', args: { command, background: true } }]), say('started'), callTools([{ name: 'shell_task', args: {} }])][
        turn
      ] ?? say('listed'),
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

test('a command in the background ends with its worker', async () => {
  const { thread, pid } = await started();
  await rig.workers[0]?.stop();
  expect(runs(pid)).toBe(false);
  await handleOf(thread).terminate();
});
