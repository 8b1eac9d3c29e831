import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';
import { type AgentDefinition, defineAgent } from '../../src/agents';
import type { Thread } from '../../src/client';
import { anthropic } from '../../src/models/anthropic/client';
import { google } from '../../src/models/google/client';
import { openAi } from '../../src/models/openai/client';
import { openAiResponses } from '../../src/models/openai-responses/client';
import { createModels } from '../../src/models/registry';
import { callTools, type ScriptedCall, say } from '../../src/testing/model-server';
import { createToolset, defineTool, openApiTools } from '../../src/tools';
import { type Rig, startRig, until } from '../support/rig';
import { closeBeforeServers } from '../support/temporal';
import { startVendors, type Vendor } from '../support/vendor-streams';
import { largeDocument } from '../tools/search/many-tools';
import { executionsOf, handleOf, logOf, reaches } from './asking';
import { ofType, requestsOf, scenes, story, textOf } from './scenes';

const { script, scene } = scenes();
const call = (name: string, args: object = {}): ScriptedCall => ({ name, args });
const find = (query: string) => callTools([call('find_tools', { query })]);

const own = defineTool({ name: 'greet', description: 'Greets.', input: z.object({}), effect: 'pure', execute: () => 'hello' });
const animal = (name: string, more: { approval?: 'always' } = {}) =>
  defineTool({
    name,
    description: `Feeds a ${name}.`,
    input: z.object({ food: z.string() }),
    effect: 'pure',
    execute: ({ food }) => `${name} eats ${food}`,
    ...more,
  });
const zoo = createToolset([animal('lion'), animal('tiger'), animal('zebra'), animal('bear', { approval: 'always' })]);
const common = { model: 'openai/scripted', instructions: 'Work.' };
const agents = (more: Partial<AgentDefinition> = {}) => [
  defineAgent({ ...common, name: 'keeper', tools: [own, zoo], toolSearch: true, ...more }),
  defineAgent({ ...common, name: 'small', tools: [own, zoo], toolSearch: { threshold: 3, limit: 2 } }),
  defineAgent({ ...common, name: 'all', tools: [own, zoo] }),
  defineAgent({ ...common, name: 'none', tools: [own, zoo], toolSearch: false }),
  defineAgent({ ...common, name: 'chosen', tools: [own, zoo], toolSearch: { threshold: 0, always: ['lion'] } }),
  defineAgent({ ...common, name: 'forced', tools: [own, zoo], toolSearch: true, settings: { toolChoice: { tool: 'zebra' } } }),
];

let rig: Rig;
let vendorUrl: string;
let vendorRequests: Awaited<ReturnType<typeof startVendors>>['requests'];
beforeAll(async () => {
  const service = createServer(({ method, url }, response) => response.end(`${method} ${url}`));
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  closeBeforeServers(async () => void service.close().closeAllConnections());
  const server = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
  const shop = await openApiTools({ document: largeDocument(server) });
  ({ url: vendorUrl, requests: vendorRequests } = await startVendors(1, () => false));
  const [options, key] = [{ baseUrl: vendorUrl }, { apiKey: 'test' }];
  rig = await startRig({
    agents: [...agents(), defineAgent({ ...common, name: 'clerk', tools: [own, shop] })],
    script,
    worker: { continueAsNewAfter: { events: 60, bytes: 4_000_000 } },
    workers: 0,
  });
  await rig.addWorker({
    models: createModels({
      openai: openAi({ baseUrl: rig.model.url, ...key }),
      chat: openAi({ baseUrl: `${vendorUrl}/v1`, ...key }),
      'openai-responses': openAiResponses({ baseUrl: `${vendorUrl}/v1`, ...key }),
      anthropic: anthropic({ ...options, ...key }),
      google: google({ ...options, ...key }),
    }),
  });
});

const sent = (input: string) => requestsOf(rig, input).map(({ body }) => body.tools?.map((tool) => tool.function.name) ?? []);
const results = (input: string) => (requestsOf(rig, input).at(-1)?.body.messages ?? []).filter(({ role }) => role === 'tool').map(textOf);
async function historyOf(thread: Thread) {
  const { events = [] } = await handleOf(thread).fetchHistory();
  return JSON.stringify(events).length;
}

test('of an agent with 1,000 operations, the model gets its own tools and a search, and then what it finds, and calls it', async () => {
  const input = scene([find('update parcel region 7'), callTools([call('updateParcelRegion7', { id: '12' })]), say('Done.')]);
  const thread = await rig.client.start('clerk', input);
  const told = await story(thread);
  const [first = [], second = [], third] = sent(input);
  expect(first).toEqual(['greet', 'find_tools']);
  expect(second.slice(0, 3)).toEqual(['greet', 'find_tools', 'updateParcelRegion7']);
  expect(second.length).toBeLessThanOrEqual(12);
  expect(third).toEqual(second);
  expect(results(input)[0]).toContain('- updateParcelRegion7 [parcels]: update a parcel of region 7');
  expect(results(input)[1]).toContain('PUT /region7/parcels/12');
  const [loaded] = ofType(told, 'agent.tools.loaded');
  expect(loaded?.data).toEqual({ toolCallId: expect.any(String), tools: second.slice(2) });
  // The schemas of the tools are not in the history, and neither are the names of those that were not found.
  expect(await historyOf(thread)).toBeLessThan(80_000);
  expect(requestsOf(rig, input).every(({ body }) => JSON.stringify(body.tools).length < 20_000)).toBe(true);
});

test('found tools stay loaded when the thread continues as new, in later runs, and when the thread is closed and reopened', async () => {
  const more = Array.from({ length: 6 }, () => callTools([call('greet')]));
  const input = scene([find('zebra'), ...more, say('One.'), say('Two.'), say('Three.')]);
  const thread = await rig.client.start('keeper', input, { mode: 'conversation' });
  await reaches(thread, 'idle');
  expect((await executionsOf(thread)).length).toBeGreaterThan(1);
  await thread.send('Again');
  await until(
    () => logOf(thread),
    (log) => ofType(log, 'thread.run.completed').length > 0 && requestsOf(rig, input).length === 9,
  );
  await reaches(thread, 'idle');
  await thread.close();
  await until(
    () => handleOf(thread).describe(),
    ({ status }) => status.name !== 'RUNNING',
  );
  await rig.client.reopen(thread.id, { by: 'dana' });
  await thread.send('And again');
  await until(
    async () => requestsOf(rig, input).length,
    (count) => count === 10,
  );
  const [first, ...later] = sent(input);
  expect(first).toEqual(['greet', 'find_tools']);
  for (const tools of later) expect(tools).toEqual(['greet', 'find_tools', 'zebra']);
  expect((await thread.status()).loadedTools).toEqual(['zebra']);
  await reaches(thread, 'idle');
  await thread.close();
});

test('a request begins like the one before it, with what was found last at the end', async () => {
  const input = scene([find('zebra'), find('lion tiger'), callTools([call('zebra', { food: 'hay' })]), say('Done.')]);
  await story(await rig.client.start('keeper', input));
  expect(sent(input)).toEqual([
    ['greet', 'find_tools'],
    ['greet', 'find_tools', 'zebra'],
    ['greet', 'find_tools', 'zebra', 'lion', 'tiger'],
    ['greet', 'find_tools', 'zebra', 'lion', 'tiger'],
  ]);
});

test('above the limit, the tools that were used least recently are unloaded', async () => {
  const input = scene([find('zebra'), find('lion'), callTools([call('zebra', { food: 'hay' })]), find('tiger'), say('Done.')]);
  const told = await story(await rig.client.start('small', input));
  expect(sent(input).map((tools) => tools.slice(1))).toEqual([
    ['find_tools'],
    ['find_tools', 'zebra'],
    ['find_tools', 'zebra', 'lion'],
    ['find_tools', 'zebra', 'lion'],
    ['find_tools', 'zebra', 'tiger'],
  ]);
  expect(ofType(told, 'agent.tools.loaded').map(({ data: { toolCallId: _, ...data } }) => data)).toEqual([
    { tools: ['zebra'] },
    { tools: ['lion'] },
    { tools: ['tiger'], unloaded: ['lion'] },
  ]);
});

test('a tool that is not loaded runs when it is called, and invalid arguments are answered with how to see its parameters', async () => {
  const input = scene([
    callTools([call('lion', { food: 'meat' }), call('tiger', { wrong: 1 })]),
    callTools([call('unicorn')]),
    say('Done.'),
  ]);
  await story(await rig.client.start('keeper', input));
  const [lion, tiger, unicorn] = results(input);
  expect(lion).toBe('lion eats meat');
  expect(tiger).toContain('- food: Invalid input');
  expect(tiger).toContain("The tool is not in your list of tools: find_tools with the query 'tiger' adds it, with its parameters.");
  expect(unicorn).toBe("Error: Unknown tool 'unicorn'. Available tools: greet, find_tools. find_tools finds others.");
  expect(sent(input).at(-1)).toEqual(['greet', 'find_tools']);
});

test('a tool that needs an approval needs it whether it is loaded or not', async () => {
  const input = scene([
    callTools([call('bear', { food: 'honey' })]),
    find('bear'),
    callTools([call('bear', { food: 'fish' })]),
    say('Done.'),
  ]);
  const thread = await rig.client.start('keeper', input);
  for (const _ of [1, 2]) {
    await reaches(thread, 'requires_action', 1);
    const [pending] = await thread.pending();
    expect(pending?.name).toBe('bear');
    await thread.approve(pending?.toolCallId ?? '');
    await until(
      () => thread.status(),
      ({ status, pending: open }) => status !== 'requires_action' || open[0]?.toolCallId !== pending?.toolCallId,
    );
  }
  await story(thread);
  expect(results(input)).toEqual(['bear eats honey', expect.stringContaining('- bear'), 'bear eats fish']);
});

test('all tools are sent to agents with few tools, and to agents without tool search', async () => {
  for (const agent of ['all', 'none']) {
    const input = scene([say('Done.')]);
    await story(await rig.client.start(agent, input));
    expect(sent(input)).toEqual([['greet', 'lion', 'tiger', 'zebra', 'bear']]);
  }
});

test('tools that are always sent can be chosen, and a tool that the model must call is sent', async () => {
  const [chosen, forced] = [scene([say('Done.')]), scene([say('Done.')])];
  await story(await rig.client.start('chosen', chosen));
  await story(await rig.client.start('forced', forced));
  expect(sent(chosen)).toEqual([['lion', 'find_tools']]);
  expect(sent(forced)).toEqual([['greet', 'find_tools', 'zebra']]);
});

const names: Record<Exclude<Vendor, 'compat'>, (body: any) => string[]> = {
  openai: (body) => body.tools.map((tool: any) => tool.function.name),
  'openai-responses': (body) => body.tools.map((tool: any) => tool.name),
  anthropic: (body) => body.tools.map((tool: any) => tool.name),
  google: (body) => body.tools[0].functionDeclarations.map((tool: any) => tool.name),
};

test.each([
  ['openai', 'chat/gpt-5'],
  ['openai-responses', 'openai-responses/gpt-5'],
  ['anthropic', 'anthropic/claude-sonnet-4-5'],
  ['google', 'google/gemini-2.5-pro'],
] as const)('a request to %s has the loaded tools and no others', async (vendor, model) => {
  const input = scene([find('zebra'), say('Done.')]);
  const thread = await rig.client.start('keeper', input, { mode: 'conversation' });
  await reaches(thread, 'idle');
  await thread.send('It is turn 1.', { model });
  const asked = await until(
    () => vendorRequests.find((request) => request.vendor === vendor),
    (request) => request !== undefined,
  );
  expect(names[vendor](asked?.body)).toEqual(['greet', 'find_tools', 'zebra']);
  expect(JSON.stringify(asked?.body)).not.toContain('Feeds a lion');
  await thread.close();
});
