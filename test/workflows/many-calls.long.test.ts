import { generateKeyPairSync } from 'node:crypto';
import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import { createSigner, type Thread } from '../../src/client';
import { defineHooks } from '../../src/hooks';
import { callTools, say } from '../../src/testing/model-server';
import { createPermissions, createShell, defineTool, readFile } from '../../src/tools';
import { createVerifier } from '../../src/worker/verifier';
import { type Rig, startRig, until } from '../support/rig';
import { newFolder, removeFolders } from '../tools/tool-host';
import { handleOf } from './asking';
import { gate, ofType, scenes, story, textOf } from './scenes';

const { script, scene } = scenes();
const image = `data:image/png;base64,${'A'.repeat(1_040_000)}`;
const picture = (name: string, more = '') =>
  defineTool({
    name,
    description: 'Renders a page.',
    input: z.object({ html: z.string().default('') }),
    effect: 'pure',
    execute: () => [
      { type: 'text' as const, text: `seen${more}` },
      { type: 'image' as const, url: image },
    ],
  });
const settings = { model: 'test-model', instructions: 'Look.' };
const looker = defineAgent({ ...settings, name: 'looker', tools: [picture('look')] });
// Control characters are six times as long in JSON.
const checked = defineAgent({
  ...settings,
  name: 'checked',
  tools: [picture('shot', '\u0001'.repeat(51_000))],
  hooks: defineHooks({ 'after:tool': () => undefined }),
});
const repeating = defineAgent({
  ...settings,
  name: 'repeating',
  tools: [picture('shot', '\u0001'.repeat(51_000))],
  hooks: defineHooks({ 'after:tool': () => ({ retry: true }) }),
});
const common = gate();
const later = defineTool({
  name: 'later',
  description: 'Renders a page later.',
  input: z.object({}),
  effect: 'pure',
  background: true,
  async execute() {
    await common.opened;
    return [{ type: 'image' as const, url: image }];
  },
});
const waiter = defineAgent({ ...settings, name: 'waiter', tools: [later] });
const coder = defineAgent({
  ...settings,
  name: 'helper',
  tools: [createShell(), readFile],
  permissions: createPermissions({ mode: 'minimal' }),
});

const outside = defineAgent({
  ...settings,
  name: 'outside',
  tools: [defineTool({ name: 'fetch', description: 'Fetches a page.', input: z.object({}) })],
});

const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const verifier = createVerifier({ dana: { publicKey: String(publicKey.export({ format: 'pem', type: 'spki' })) } });
const signer = createSigner({ by: 'dana', privateKey: String(privateKey.export({ format: 'pem', type: 'pkcs8' })) });

let rig: Rig;
let signing: Rig;
beforeAll(async () => {
  signing = await startRig({ script, agents: [outside], worker: { verifier }, client: { signer } });
  const workspace = await newFolder();
  rig = await startRig({ script, agents: [looker, checked, coder, outside, repeating, waiter], worker: { workspace } });
});
afterAll(removeFolders);

const callEach = (count: number, name: string, args: object = {}) =>
  callTools(Array.from({ length: count }, (_, i) => ({ name, args, id: `${name}_${i}` })));

const outcomesOf = async (thread: Thread, name: string) =>
  ofType(await story(thread), 'agent.tool.execution.completed').flatMap(({ data }) => (data.name === name ? [data] : []));

test('an answer whose calls return 128 MB of images fills only a part of the history', async () => {
  const input = scene(({ messages }) => (messages.at(-1)?.role === 'tool' ? say('Seen.') : callEach(128, 'look')));
  const thread = await rig.client.start(looker, input);
  expect(await thread.result()).toMatchObject({ status: 'completed', output: 'Seen.' });
  const outcomes = await outcomesOf(thread, 'look');
  expect(outcomes.map(({ status }) => status)).toEqual(Array(128).fill('success'));
  expect(JSON.stringify(outcomes[0]?.output)).toMatch(/image left out: \d+ bytes, too large for the conversation/);
  expect((await handleOf(thread).describe()).raw.workflowExecutionInfo?.historySizeBytes?.toNumber()).toBeLessThan(10_000_000);
});

test('a result that is too large for hooks together with its call is withheld, and the run goes on', async () => {
  const args = { html: 'h'.repeat(790_000) };
  const input = scene(({ messages }) => (messages.at(-1)?.role === 'tool' ? say('Done.') : callEach(1, 'shot', args)));
  const thread = await rig.client.start(checked, input);
  expect(await thread.result()).toMatchObject({ status: 'completed', output: 'Done.' });
  const withheld =
    /^\[shot has run \(success\); its result is withheld\. The call and its result have \d+ bytes of JSON, and hooks can be sent 1900000\.\]$/;
  expect(await outcomesOf(thread, 'shot')).toMatchObject([{ status: 'success', output: expect.stringMatching(withheld) }]);
});

test('results that reach their hooks at the same time are sent to them in several workflow tasks', async () => {
  const input = scene(({ messages }) => (messages.at(-1)?.role === 'tool' ? say('Done.') : callEach(8, 'shot')));
  const thread = await rig.client.start(checked, input);
  expect(await thread.result()).toMatchObject({ status: 'completed', output: 'Done.' });
  const outcomes = await outcomesOf(thread, 'shot');
  expect(outcomes.map(({ status, output }) => [status, typeof output])).toEqual(Array(8).fill(['success', 'object']));
});

test.each(['signed', 'plain'])('large outputs that are submitted at the same time are all taken in: %s', async (how) => {
  const input = scene(({ messages }) => (messages.at(-1)?.role === 'tool' ? say('Done.') : callEach(5, 'fetch')));
  const { client } = how === 'signed' ? signing : rig;
  const thread = await client.start(outside, input);
  const calls = await until(
    () => thread.pending(),
    ({ length }) => length === 5,
  );
  const output = 'o'.repeat(1_400_000);
  const [last, ...first] = calls.map(({ toolCallId }) => toolCallId);
  const submit = (toolCallId = '', answer = output) => thread.submitToolOutputs([{ toolCallId, output: answer }], { by: 'dana' });
  await Promise.all(first.map((toolCallId) => submit(toolCallId)));
  // What the answer's calls return together is bounded; a short result is always taken in.
  await expect(submit(last)).rejects.toThrow(/together they may have 6000000\. Store it elsewhere and give a reference/);
  await submit(last, 'It is in the store.');
  expect(await thread.result()).toMatchObject({ status: 'completed', output: 'Done.' });
});

test('calls in the background that end at the same time leave room in the history', async () => {
  const input = scene(({ messages }) => {
    const results = messages.filter(({ content }) => textOf({ role: 'user', content }).includes('[Result of later')).length;
    const turn = messages.filter(({ role }) => role === 'assistant').length;
    if (turn < 8) return callEach(7, 'later');
    if (turn === 8) common.open();
    return results === 56 ? say('Done.') : say('Waiting.');
  });
  const thread = await rig.client.start(waiter, input);
  expect(await thread.result()).toMatchObject({ status: 'completed', output: 'Done.' });
});

test('a hook that wants calls with large results again gets them while they have room', async () => {
  const input = scene([callEach(7, 'shot'), say('Done.')]);
  const thread = await rig.client.start(repeating, input);
  expect(await thread.result()).toMatchObject({ status: 'completed', output: 'Done.' });
  const hooks = ofType(await story(thread), 'agent.hook.completed').map(({ data }) => data.ignored ?? '');
  expect(hooks).toContainEqual(expect.stringContaining("retry: the results of this answer's calls are too large"));
});

test('a thread that remembers many rules runs only as many calls at once as their requests allow', async () => {
  const command = (n: number) => Array.from({ length: 40 }, (_, i) => `true${n}x${i}${'y'.repeat(235)}`).join(';');
  const commands = callTools([0, 1, 2, 3, 4, 5].map((n) => ({ name: 'shell', args: { command: command(n) }, id: `shell_${n}` })));
  const input = scene([commands, callEach(128, 'read_file', { path: 'a.txt' }), say('Done.')]);
  const thread = await rig.client.start(coder, input);
  const pending = () => thread.pending();
  for (const { toolCallId } of await until(pending, (calls) => calls.length === 6)) {
    await thread.approve(toolCallId, { remember: 'thread' });
  }
  expect(await thread.result()).toMatchObject({ status: 'completed', output: 'Done.' });
  expect(await outcomesOf(thread, 'read_file')).toHaveLength(128);
});
