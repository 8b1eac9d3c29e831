import { execFileSync } from 'node:child_process';
import fs, { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCoder } from '../../src/agents';
import { callTools, say } from '../../src/testing/model-server';
import { type Rig, startRig } from '../support/rig';
import { reaches } from './asking';
import { ofType, scenes, story } from './scenes';

const { script, scene } = scenes();
const workspace = mkdtempSync(join(tmpdir(), 'longhaul-judged-'));
const outside = mkdtempSync(join(tmpdir(), 'longhaul-outside-'));
afterAll(() => {
  for (const folder of [workspace, outside]) rmSync(folder, { recursive: true, force: true });
});

let rig: Rig;
beforeAll(async () => {
  writeFileSync(join(outside, 'words'), 'kept from the model');
  writeFileSync(join(workspace, 'words'), 'for the model');
  rig = await startRig({ script, agents: [createCoder({ workspace, model: 'test-model' })] });
});

const shell = (command: string, id: string) => ({ name: 'shell', args: { command }, id });

test('a call that needed no approval when it was checked, and does when it is to run, does not run; called again it needs approval', async () => {
  const said = scene([
    callTools([shell(`ln -s ${outside} out`, 'call_link'), shell('cat out/words', 'call_cat')]),
    callTools([shell('cat out/words', 'call_again')]),
    say('done'),
  ]);
  const thread = await rig.client.start('coder', said);
  const { pending } = await reaches(thread, 'requires_action', 1);
  expect(pending.map(({ toolCallId }) => toolCallId)).toEqual(['call_link']);
  await thread.approve('call_link', { by: 'dana' });
  const asked = await reaches(thread, 'requires_action', 1);
  expect(asked.pending.map(({ toolCallId }) => toolCallId)).toEqual(['call_again']);
  await thread.reject('call_again');
  const done = ofType(await story(thread), 'agent.tool.execution.completed').map(({ data }) => data);
  expect(done.map(({ toolCallId, status }) => [toolCallId, status])).toEqual([
    ['call_link', 'success'],
    ['call_cat', 'denied'],
    ['call_again', 'denied'],
  ]);
  expect(done[1]?.output).toMatch(/shell was not run: something changed .* Call it again, and a person is asked/);
  expect(JSON.stringify(done)).not.toContain('kept from the model');
});

test('a call that still needs none runs without approval, also by a rule that was just remembered for the thread', async () => {
  const said = scene([
    callTools([shell('cat words', 'call_free'), shell('touch made', 'call_touch')]),
    callTools([shell('touch made', 'call_touch_again')]),
    say('done'),
  ]);
  const thread = await rig.client.start('coder', said);
  await reaches(thread, 'requires_action', 1);
  await thread.approve('call_touch', { by: 'dana', remember: 'thread' });
  const log = await story(thread);
  const done = ofType(log, 'agent.tool.execution.completed').map(({ data }) => [data.toolCallId, data.status]);
  expect(done).toEqual([
    ['call_free', 'success'],
    ['call_touch', 'success'],
    ['call_touch_again', 'success'],
  ]);
  expect(ofType(log, 'agent.approval.requested')).toHaveLength(1);
});

test('for all calls of an answer their repository is looked at once, and again before each of them runs', async () => {
  execFileSync('git', ['init', '-q', workspace]);
  writeFileSync(join(workspace, 'words'), 'for the model');
  execFileSync('git', ['add', 'words'], { cwd: workspace });
  const opened = jest.spyOn(fs, 'openSync');
  const looks = () => opened.mock.calls.filter(([path]) => String(path) === join(workspace, '.git/index')).length;
  const said = scene([callTools(Array.from({ length: 20 }, (_, n) => shell('git status', `call_${n}`))), say('done')]);
  const log = await story(await rig.client.start('coder', said));
  const done = ofType(log, 'agent.tool.execution.completed').map(({ data }) => data.status);
  expect(done).toEqual(done.map(() => 'success'));
  expect(done).toHaveLength(20);
  expect(looks()).toBe(21);
  opened.mockRestore();
});
