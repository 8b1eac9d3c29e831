import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import { createModelCatalog } from '../../src/models/catalog/model-catalog';
import { callTools, type Script, say } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { type Rig, startRig, until } from '../support/rig';
import { requestsOf, scenes, story } from './scenes';

const look = defineTool({ name: 'look', description: 'Looks.', input: z.object({}), effect: 'pure', execute: () => 'seen' });
const catalog = createModelCatalog({
  overrides: {
    'openai/small': { contextWindow: 32_000, maxOutputTokens: 2_000, capabilities: { images: false, pdf: false, structuredOutput: false } },
    'openai/no-tools': { capabilities: { tools: false } },
  },
});
const { script, scene } = scenes();
const base = { model: 'openai/small', instructions: 'Be brief.' };
const plain = defineAgent({ ...base, name: 'plain', settings: { maxTokens: 8_000 } });
const tooled = defineAgent({ ...base, name: 'tooled', tools: [look] });
const typed = defineAgent({ ...base, name: 'typed', output: z.object({ sum: z.number() }) });

/** Notes in place of images and files join the text by which scenes are told apart. */
const toScene: Script = (request) => script({ ...request, input: request.input.replace(/\[.*/s, '') });

/** The bodies of the requests of a scene that began with images or files. */
const sentWith = (input: string) =>
  rig.model.requests.map(({ body }) => JSON.stringify(body.messages)).filter((text) => text.includes(`"${input}"`));

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ script: toScene, agents: [plain, tooled, typed], worker: { catalog } });
});

const picture = { type: 'image' as const, url: 'data:image/png;base64,iVBORw0KGgo=' };
const invoice = { type: 'file' as const, url: 'https://shop.example/812.pdf', mediaType: 'application/pdf', name: '812.pdf' };
const notes = { type: 'file' as const, url: 'data:text/plain;base64,aGk=', mediaType: 'text/plain', name: 'notes.txt' };

test('a request never asks for more output than the model can write', async () => {
  const input = scene([say('Done.')]);
  await (await rig.client.start('plain', input)).result();
  expect(requestsOf(rig, input)[0]?.body.max_completion_tokens ?? requestsOf(rig, input)[0]?.body.max_tokens).toBe(2_000);
});

test('a lower maximum, and the maximum for a model of which nothing is known, stay', async () => {
  const [first, second] = [scene([say('Done.')]), scene([say('Done.')])];
  await (await rig.client.start('plain', first, { settings: { maxTokens: 50 } })).result();
  await (await rig.client.start('plain', second, { model: 'openai/unknown' })).result();
  const most = (input: string) => requestsOf(rig, input)[0]?.body.max_completion_tokens ?? requestsOf(rig, input)[0]?.body.max_tokens;
  expect([most(first), most(second)]).toEqual([50, 8_000]);
});

test('[B93] the window of the thread is that of the catalog, and what is kept free is at most what the model can write', async () => {
  const input = scene([say('Done.')]);
  const thread = await rig.client.start('plain', input);
  const told = await story(thread);
  const answered = told.find(({ type }) => type === 'thread.message.completed');
  expect(answered).toMatchObject({ data: { context: { windowTokens: 32_000, reserveTokens: 2_000 } } });
});

test('images and PDF files become a text for a model that does not read them, and other files stay', async () => {
  const input = scene([say('I see.')]);
  await (await rig.client.start('plain', [{ type: 'text', text: input }, picture, invoice, notes])).result();
  const [sent, ...more] = sentWith(input);
  expect(sent).toContain("[image not shown: model 'small' does not read images]");
  expect(sent).toContain("[file not shown: model 'small' does not read PDF files]");
  expect(sent).not.toContain('iVBORw0KGgo=');
  expect(sent).toContain('notes.txt');
  expect(more).toEqual([]);
});

test('the transcript keeps them, so that another model of the thread reads them', async () => {
  const input = scene([say('I see nothing.'), say('I see a picture.')]);
  const thread = await rig.client.start('plain', [{ type: 'text', text: input }, picture], { mode: 'conversation' });
  await until(
    () => thread.status(),
    ({ status }) => status === 'idle',
  );
  await thread.send('Look again.', { model: 'openai/unknown' });
  await until(
    () => sentWith(input),
    ({ length }) => length === 2,
  );
  const [first, second] = sentWith(input);
  expect(first).not.toContain('iVBORw0KGgo=');
  expect(second).toContain('iVBORw0KGgo=');
});

test('an agent with tools fails at once with a model that takes none, and nothing is sent', async () => {
  const input = scene([say('Never.')]);
  const thread = await rig.client.start('tooled', input, { model: 'openai/no-tools' });
  const told = await story(thread);
  expect(told.at(-1)).toMatchObject({
    type: 'thread.run.failed',
    data: {
      code: 'bad-request',
      message: expect.stringMatching(/^Agent 'tooled' has tools, and model 'openai\/no-tools' takes none .*LONGHAUL_MODELS/),
    },
  });
  expect(requestsOf(rig, input)).toEqual([]);
});

test('without tools that model is called, and other models take the tools', async () => {
  const [first, second] = [scene([say('Done.')]), scene([callTools([{ name: 'look' }]), say('Seen.')])];
  expect(await (await rig.client.start('plain', first, { model: 'openai/no-tools' })).result()).toMatchObject({ output: 'Done.' });
  expect(await (await rig.client.start('tooled', second)).result()).toMatchObject({ output: 'Seen.' });
});

test('a model that takes no answer schema is told it in words', async () => {
  const input = scene([say('{"sum":3}')]);
  await (await rig.client.start('typed', input)).result();
  const [request] = requestsOf(rig, input);
  expect(request?.body.response_format).toBeUndefined();
  expect(JSON.stringify(request?.body.messages[0])).toMatch(/Your final answer must be JSON that fits this JSON Schema.*sum/);
});

test('a model of which that is not known gets the schema', async () => {
  const input = scene([say('{"sum":3}')]);
  await (await rig.client.start('typed', input, { model: 'openai/unknown' })).result();
  expect(requestsOf(rig, input)[0]?.body.response_format).toMatchObject({ type: 'json_schema' });
});
