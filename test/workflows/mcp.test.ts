import { defineAgent } from '../../src/agents';
import { callTools, say } from '../../src/testing/model-server';
import { mcpTools } from '../../src/tools';
import { type Rig, startRig } from '../support/rig';
import { script as server } from '../tools/mcp/mcp-host';
import { requestsOf, scenes, story, textOf } from './scenes';

const { script, scene } = scenes();
const own = mcpTools({ servers: { own: server('server.mjs') } });

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({
    agents: [defineAgent({ name: 'clerk', model: 'openai/scripted', instructions: 'Work.', tools: [own] })],
    script,
  });
});

const offered = (input: string) => requestsOf(rig, input).map(({ body }) => body.tools?.map((tool) => tool.function.name) ?? []);
const results = (input: string) => (requestsOf(rig, input).at(-1)?.body.messages ?? []).filter(({ role }) => role === 'tool').map(textOf);

test('[B168] its tools have names with the name of their server, are not strict, and their output is cut to its head and tail', async () => {
  const input = scene([callTools([{ name: 'own__much', args: {} }]), say('Done.')]);
  await story(await rig.client.start('clerk', input));
  const tools = requestsOf(rig, input)[0]?.body.tools ?? [];
  expect(tools.map((tool) => tool.function.name)).toEqual(tools.map(() => expect.stringMatching(/^own__[a-z]+$/)));
  const much = tools.find((tool) => tool.function.name === 'own__much');
  // In Chat Completions a tool is strict only if it says so.
  expect(much).not.toHaveProperty('function.strict');
  expect(much?.function.parameters).not.toHaveProperty('required');
  const [result = ''] = results(input);
  expect(Buffer.byteLength(result)).toBeLessThanOrEqual(50 * 1024);
  expect(result).toMatch(/^first x+[^x][\s\S]*x last/);
});

test('a server that dies during a call fails the call, and the run goes on', async () => {
  const input = scene([callTools([{ name: 'own__die', args: {} }]), say('Done.')]);
  const thread = await rig.client.start('clerk', input);
  await story(thread);
  expect(results(input)).toEqual([expect.stringContaining("The connection to the MCP server 'own' was lost during the call")]);
  expect(await thread.result()).toMatchObject({ status: 'completed' });
});

test('a tool that is renamed in the middle of a run is offered by its new name at the next model call', async () => {
  const input = scene([callTools([{ name: 'own__rename', args: {} }]), callTools([{ name: 'own__old', args: {} }]), say('Done.')]);
  await story(await rig.client.start('clerk', input));
  const [first, ...later] = offered(input);
  expect(first).toContain('own__old');
  expect(later.at(-1)).toContain('own__new');
  expect(results(input)[1]).toContain("Unknown tool 'own__old'");
});

test('servers end with their worker', async () => {
  const input = scene([callTools([{ name: 'own__pid', args: {} }]), say('Done.')]);
  await story(await rig.client.start('clerk', input));
  const pid = Number(results(input)[0]);
  expect(process.kill(pid, 0)).toBe(true);
  await Promise.all(rig.workers.map((worker) => worker.stop()));
  expect(() => process.kill(pid, 0)).toThrow('ESRCH');
});
