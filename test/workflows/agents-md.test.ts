import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { defineAgent } from '../../src/agents';
import { callTools, say } from '../../src/testing/model-server';
import { projectInstructions, readFile } from '../../src/tools';
import { type Rig, startRig, until } from '../support/rig';
import { newFolder, removeFolders } from '../tools/tool-host';
import { executionsOf, flood, reaches } from './asking';
import { requestsOf, scenes, textOf } from './scenes';

const { script, scene } = scenes();
let rig: Rig;
let workspace: string;
beforeAll(async () => {
  workspace = await newFolder();
  await mkdir(join(workspace, 'app'));
  await writeFile(join(workspace, 'app/x.ts'), 'x\n');
  const agent = defineAgent({
    name: 'reader',
    model: 'test-model',
    instructions: async ({ workspace: folder, toolCalls }) => `Read. ${await projectInstructions(folder, { toolCalls })}`,
    tools: [readFile],
    workspace,
  });
  rig = await startRig({ script, agents: [agent], worker: { continueAsNewAfter: { events: 150, bytes: 4_000_000 } } });
});
afterAll(removeFolders);

test('[B164] from the call after a tool touched its folder on, an AGENTS.md is in each request once, on other workers and executions too', async () => {
  const write = (text: string) => writeFile(join(workspace, 'app/AGENTS.md'), text);
  await write('Use tabs.');
  const input = scene([callTools([{ name: 'read_file', args: { path: 'app/x.ts' } }]), say('one'), say('two'), say('three')]);
  const thread = await rig.client.start('reader', input, { mode: 'conversation' });
  const goesOn = async (words: string, requests: number) => {
    await thread.send(words);
    await until(
      () => requestsOf(rig, input).length,
      (count) => count === requests,
    );
    await reaches(thread, 'idle');
  };
  await reaches(thread, 'idle');
  await goesOn('And?', 3);
  // Another worker, and another execution: nothing but the transcript is left.
  await Promise.all(rig.workers.map((worker) => worker.stop()));
  await rig.addWorker();
  await flood(thread);
  expect((await executionsOf(thread)).length).toBeGreaterThan(1);
  await write('Use blanks.');
  await goesOn('And now?', 4);
  const system = requestsOf(rig, input).map(({ body }) => textOf(body.messages[0]));
  const shown = system.map((text) => [...text.matchAll(/<project_instructions path="app\/AGENTS.md">\n(.*)\n/g)].map(([, said]) => said));
  expect(shown).toEqual([[], ['Use tabs.'], ['Use tabs.'], ['Use blanks.']]);
  await thread.close();
});
