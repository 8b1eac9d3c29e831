import fc from 'fast-check';
import { z } from 'zod';
import { splitGroups } from '../../src/agents';
import { defaultModels } from '../../src/models/registry';
import { fail, type Reply, say, startModelServer } from '../../src/testing/model-server';
import { defineTool, groupTools } from '../../src/tools';
import { closeBeforeServers } from '../support/temporal';

const tools = ['find', 'pay', 'ship', 'track'].map((name) =>
  defineTool({ name, description: `Does ${name}.`, input: z.object({}), tags: ['orders'] }),
);
const small = defineTool({ name: 'ping', description: 'Pings.', input: z.object({}), tags: ['health'] });
const groups = groupTools([...tools, small]);

/** Splits the groups with a model that gives this answer. */
async function split(reply: Reply, options: { timeoutMs?: number } = {}) {
  const server = await startModelServer(() => reply);
  closeBeforeServers(() => server.stop());
  const models = defaultModels({ openai: { baseUrl: server.url, apiKey: 'test' } });
  const made = await splitGroups(groups, { models, model: 'openai/scripted', maxTools: 3, ...options });
  await server.stop();
  return { made, requests: server.requests };
}

const answer = (parts: Record<string, string[]>) =>
  JSON.stringify({ groups: Object.entries(parts).map(([name, names]) => ({ name, description: `For ${name}.`, tools: names })) });

test('[A173] a model splits a group that is too large into groups that have each tool once, and others stay', async () => {
  const { made, requests } = await split(say(answer({ money: ['pay'], parcels: ['track', 'find', 'ship'] })));
  expect(made.map(({ id, name, description, tools: some }) => [id, name, description, some.map((tool) => tool.name)])).toEqual([
    ['orders_money', 'orders: money', 'For money.', ['pay']],
    ['orders_parcels', 'orders: parcels', 'For parcels.', ['track', 'find', 'ship']],
    ['health', 'health', 'Tools with the tag health.', ['ping']],
  ]);
  expect(made.every((group) => group.unsplit === undefined)).toBe(true);
  expect(requests).toHaveLength(1);
  expect(JSON.stringify(requests[0]?.body.messages)).toContain('Does track.');
});

test('[A173] an answer in a block of code is read', async () => {
  const { made } = await split(say(`\`\`\`json\n${answer({ a: ['pay', 'find'], b: ['ship', 'track'] })}\n\`\`\``));
  expect(made.map(({ name }) => name)).toEqual(['orders: a', 'orders: b', 'health']);
});

test.each([
  ['fails', fail(400, { message: 'no such model' }), 'The model call failed'],
  ['is empty', say(' '), 'The model'],
  ['is not JSON', say('Sure! Here are your groups.'), "The model's answer is not JSON."],
  ['has another form', say('{"money":["pay"]}'), "The model's answer does not have the form that was asked for."],
  ['has an empty group', say(answer({ a: ['find', 'pay', 'ship', 'track'], b: [] })), "The model's answer does not have the form"],
  ['has only one group', say(answer({ a: ['find', 'pay', 'ship', 'track'] })), 'The model made fewer than two groups.'],
  ['invents a tool', say(answer({ a: ['find', 'pay', 'ship'], b: ['track', 'fly'] })), "has 'fly' which is not one of the tools."],
  ['repeats a tool', say(answer({ a: ['find', 'pay', 'ship'], b: ['track', 'pay'] })), "has 'pay' more than once."],
  ['leaves out a tool', say(answer({ a: ['find', 'pay'], b: ['track'] })), "leaves out 1 of the tools, such as 'ship'."],
])('[A173] the group stays as it is, with the reason, if the answer %s', async (_, reply, reason) => {
  const { made } = await split(reply);
  expect(made.map(({ name, tools: some }) => [name, some.length])).toEqual([
    ['orders', 4],
    ['health', 1],
  ]);
  expect(made[0]?.unsplit).toContain(reason);
  expect(made[1]).not.toHaveProperty('unsplit');
});

test('[A173] a model that never answers is given up', async () => {
  const { made } = await split({ kind: 'hang' }, { timeoutMs: 100 });
  expect(made[0]?.unsplit).toContain('The model call failed');
});

test('[A173] whatever the model answers, each tool is in exactly one of the groups', async () => {
  const name = fc.constantFrom('find', 'pay', 'ship', 'track', 'other');
  const group = fc.record({ name: fc.string({ maxLength: 5 }), tools: fc.array(name, { maxLength: 4 }) });
  const answers = fc.sample(
    fc.oneof(
      fc.record({ groups: fc.array(group, { maxLength: 3 }) }),
      fc.json().map((text) => JSON.parse(text) as unknown),
    ),
    100,
  );
  const server = await startModelServer(({ n }) => say(JSON.stringify(answers[n])));
  closeBeforeServers(() => server.stop());
  const models = defaultModels({ openai: { baseUrl: server.url, apiKey: 'test' } });
  for (const _ of answers) {
    const made = await splitGroups(groups, { models, model: 'openai/scripted', maxTools: 3 });
    expect(made.flatMap((one) => one.tools.map((tool) => tool.name)).sort()).toEqual(['find', 'pay', 'ping', 'ship', 'track']);
  }
});
