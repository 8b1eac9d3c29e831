import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import { callTools, say } from '../../src/testing/model-server';
import { createToolProvider, createToolset, defineTool, type Tool } from '../../src/tools';
import { type Rig, startRig } from '../support/rig';
import { requestsOf, scenes, story, textOf } from '../workflows/scenes';

const { script, scene } = scenes();
const tool = (name: string, by: string) =>
  defineTool({ name, description: `By ${by}.`, input: z.object({}), effect: 'pure', execute: () => `${name} by ${by}` });
const provider = (name: string, tools: () => readonly Tool[] | Promise<readonly Tool[]>) => createToolProvider({ name, tools });
const agentWith = (tools: Parameters<typeof defineAgent>[0]['tools']) =>
  defineAgent({ name: 'clerk', model: 'openai/scripted', instructions: 'Work.', tools });
const thread = { threadId: 't-1' };

const first = provider('first', () => [tool('look', 'first'), tool('pay', 'first')]);
const second = provider('second', async () => [tool('look', 'second'), tool('ship', 'second')]);

test('[A171] the first provider of a list that has a tool of a name supplies it, and own tools come before all', async () => {
  const set = createToolset([tool('ship', 'set'), tool('stay', 'set')]);
  const box = await agentWith([first, set, second, tool('pay', 'agent')]).toolsFor(thread);
  expect(box.specs().map(({ name, description }) => `${name} ${description}`)).toEqual([
    'pay By agent.',
    'look By first.',
    'ship By set.',
    'stay By set.',
  ]);
  set.remove('ship');
});

test('[A171] a toolset in a list may change, and is known without a thread', async () => {
  const set = createToolset([tool('a', 'set')]);
  const agent = agentWith([set, tool('own', 'agent')]);
  expect(agent.toolbox.names()).toEqual(['own', 'a']);
  set.add(tool('b', 'set'));
  expect((await agent.toolsFor(thread)).names()).toEqual(['own', 'a', 'b']);
});

test.each([
  ['throws', () => Promise.reject(new Error('registry down')), 'registry down'],
  ['throws something that is no error', () => Promise.reject('gone'), 'gone'],
  ['returns no tools', () => [{ name: 'x' }] as never, 'tools[0] was not made by defineTool.'],
  ['returns no list', () => 'none' as never, 'tools must be a list of tools that defineTool returned.'],
])('[A171] a provider that %s is left out, and operators are warned once', async (_, tools, why) => {
  const broken = provider('broken', tools);
  const warnings: string[] = [];
  const release = broken.hold({ warn: (text) => warnings.push(text) });
  const agent = agentWith([broken, second]);
  for (const _turn of [1, 2]) expect((await agent.toolsFor(thread)).names()).toEqual(['look', 'ship']);
  expect(warnings).toEqual([`The tools of the provider 'broken' are left out: ${why}.`]);
  await release();
});

test('[A171] a provider that works again is used again, and its next failure is another warning', async () => {
  let works = false;
  const changing = provider('changing', () => {
    if (!works) throw new Error('down');
    return [tool('look', 'changing')];
  });
  const warnings: string[] = [];
  changing.hold({ warn: (text) => warnings.push(text) });
  const agent = agentWith([changing]);
  expect((await agent.toolsFor(thread)).names()).toEqual([]);
  works = true;
  expect((await agent.toolsFor(thread)).names()).toEqual(['look']);
  works = false;
  expect((await agent.toolsFor(thread)).names()).toEqual([]);
  expect(warnings).toHaveLength(2);
});

test('[A171] a provider that never answers is left out after 30 s', async () => {
  jest.useFakeTimers();
  try {
    const read = agentWith([provider('stuck', () => new Promise(() => {})), second]).toolsFor(thread);
    await jest.advanceTimersByTimeAsync(30_000);
    expect((await read).names()).toEqual(['look', 'ship']);
  } finally {
    jest.useRealTimers();
  }
});

test('a provider without a name or a function is refused', () => {
  expect(() => createToolProvider({ name: ' ', tools: () => [] })).toThrow('createToolProvider: give a name');
  expect(() => createToolProvider({ name: 'crm', tools: [] as never })).toThrow("createToolProvider 'crm': tools is not a function.");
});

describe('in a run', () => {
  let rig: Rig;
  const down = provider('crm', () => Promise.reject(new Error('crm is down')));
  beforeAll(async () => {
    rig = await startRig({ agents: [agentWith([down, second])], script });
  });

  test('[A171] the run goes on with the tools of the other providers, and the model that calls a missing tool is told why', async () => {
    const input = scene([callTools([{ name: 'crm_find', args: {} }]), callTools([{ name: 'ship', args: {} }]), say('Done.')]);
    const running = await rig.client.start('clerk', input);
    await story(running);
    const [, , last] = requestsOf(rig, input);
    expect(last?.body.tools?.map((one) => one.function.name)).toEqual(['look', 'ship']);
    const results = last?.body.messages.filter(({ role }) => role === 'tool').map(textOf);
    expect(results).toEqual([
      "Error: Unknown tool 'crm_find'. Available tools: look, ship. Some tools are not available at the moment: those of the provider 'crm' (crm is down).",
      'ship by second',
    ]);
    expect(await running.result()).toMatchObject({ status: 'completed' });
  });
});
