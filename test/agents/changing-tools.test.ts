import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import { callTools, type ScriptedCall, say, type WireMessage } from '../../src/testing/model-server';
import { createToolset, defineTool } from '../../src/tools';
import { type Rig, startRig } from '../support/rig';
import { requestsOf, scenes, story, textOf } from '../workflows/scenes';

const { script, scene } = scenes();
const call = (name: string, args: object = {}): ScriptedCall => ({ name, args });

const sing = defineTool({ name: 'sing', description: 'Sing.', input: z.object({}), effect: 'pure', execute: () => 'la' });
const learned = createToolset([
  defineTool({
    name: 'learn',
    description: 'Learn to sing.',
    input: z.object({}),
    execute() {
      learned.add(sing);
      learned.remove('learn');
      return 'learned';
    },
  }),
]);
const ofThread = new Map<string, number>();
const counted = ({ threadId }: { threadId: string }) => {
  const turn = (ofThread.get(threadId) ?? 0) + 1;
  ofThread.set(threadId, turn);
  return [defineTool({ name: 'sing', description: `Asked for the ${turn}. time.`, input: z.object({}), execute: () => 'la' })];
};
const adopt = defineTool({
  name: 'adopt',
  description: 'Adopt a pet.',
  input: { type: 'object', properties: { pet: { $ref: '#/components/schemas/Pet' } }, required: ['pet'] },
  definitions: { components: { schemas: { Pet: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } } } },
  execute: ({ pet }) => `welcome ${(pet as { name: string }).name}`,
});

let rig: Rig;
beforeAll(async () => {
  const common = { model: 'openai/scripted', instructions: 'Work.' };
  rig = await startRig({
    agents: [
      defineAgent({ ...common, name: 'pupil', tools: learned }),
      defineAgent({ ...common, name: 'counted', tools: counted }),
      defineAgent({ ...common, name: 'keeper', tools: [adopt] }),
    ],
    script,
  });
});

const offered = (input: string) => requestsOf(rig, input).map(({ body }) => body.tools?.map((tool) => tool.function));
const results = (input: string) =>
  (requestsOf(rig, input).at(-1)?.body.messages ?? []).filter((m: WireMessage) => m.role === 'tool').map((m) => textOf(m));

test('[A46] [A67] [A68] tools that a set gains or loses in the middle of a run are added and removed at the next turn', async () => {
  const input = scene([callTools([call('learn')]), callTools([call('sing'), call('learn')]), say('Done.')]);
  await story(await rig.client.start('pupil', input));
  expect(offered(input).map((tools) => tools?.map(({ name }) => name))).toEqual([['learn'], ['sing'], ['sing']]);
  expect(results(input)).toEqual(['learned', 'la', "Error: Unknown tool 'learn'. Available tools: sing."]);
});

test('[A46] a function is called again at every turn, and the tools that it returns run', async () => {
  const input = scene([callTools([call('sing')]), say('Done.')]);
  await story(await rig.client.start('counted', input));
  const [first, second] = offered(input).map((tools) => tools?.[0]?.description);
  expect(first).toBe('Asked for the 1. time.');
  expect(second).not.toBe(first);
  expect(results(input)).toEqual(['la']);
});

test('[A42] the model gets a schema with its components, and an error that lists what does not match them', async () => {
  const input = scene([callTools([call('adopt', { pet: {} })]), callTools([call('adopt', { pet: { name: 'Tom' } })]), say('Done.')]);
  await story(await rig.client.start('keeper', input));
  expect(offered(input)[0]?.[0]?.parameters).toMatchObject({
    properties: { pet: { $ref: '#/$defs/Pet' } },
    $defs: { Pet: { required: ['name'] } },
  });
  expect(results(input)).toEqual([expect.stringContaining('- pet.name: is required'), 'welcome Tom']);
});
