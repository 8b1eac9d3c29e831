import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import { callTools, type Reply, say } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { type Rig, startRig } from '../support/rig';
import { ofType, requestsOf, roles, scenes, story, textOf, thrownBy } from './scenes';

const { script, scene } = scenes();
const look = defineTool({ name: 'look', description: 'Looks.', input: z.object({}), effect: 'pure', execute: () => 'it rains' });
const output = z.object({ city: z.string(), degrees: z.number().int() });
const base = { model: 'test-model', instructions: 'Report.', tools: [look], output };
const reporter = defineAgent({ ...base, name: 'reporter' });
const once = defineAgent({ ...base, name: 'once', outputRetries: 0 });
const twice = defineAgent({ ...base, name: 'twice', stop: 'verify' });

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ script, agents: [reporter, once, twice] });
});

async function answered(replies: Reply[], agent = reporter) {
  const input = scene(replies);
  const thread = await rig.client.start(agent, input);
  const told = await story(thread);
  return { thread, told, end: told.at(-1), requests: requestsOf(rig, input), messages: await thread.messages() };
}
const fits = say('{"city":"Oslo","degrees":7}');
const completed = { type: 'thread.run.completed', data: { output: '{"city":"Oslo","degrees":7}' } };

test('an answer that matches the schema of the agent is the output, and the provider gets the schema', async () => {
  const { thread, end, requests, messages } = await answered([callTools([{ name: 'look', args: {} }]), fits]);
  expect(end).toMatchObject(completed);
  expect(JSON.parse((await thread.result()).output)).toEqual({ city: 'Oslo', degrees: 7 });
  expect(roles(messages)).toEqual(['user', 'assistant', 'tool', 'assistant']);
  for (const { body } of requests) {
    expect(body.response_format).toMatchObject({
      type: 'json_schema',
      json_schema: { schema: { type: 'object', required: ['city', 'degrees'], properties: { degrees: { type: 'integer' } } } },
    });
  }
});

test('an answer that does not match is sent back with every problem, and its event has them', async () => {
  const { end, requests, told, messages } = await answered([say('It is mild.'), say('{"degrees":7.5}'), fits]);
  expect(end).toMatchObject(completed);
  const asked = requests.map(({ body }) => textOf(body.messages.at(-1)));
  expect(asked[1]).toMatch(/not valid JSON/);
  expect(asked[2]).toMatch(/city[\s\S]*degrees/);
  expect(ofType(told, 'thread.message.completed').map(({ data }) => data.problems?.length)).toEqual([1, 2, undefined]);
  expect(roles(messages)).toEqual(['user', 'assistant', 'user', 'assistant', 'user', 'assistant']);
});

test('an answer that never matches fails the run after the set number of attempts', async () => {
  const { thread, end, requests } = await answered([say('No.'), say('Never.'), say('{}'), fits]);
  expect(requests).toHaveLength(3);
  expect(end).toMatchObject({
    type: 'thread.run.failed',
    data: { code: 'output_invalid', message: expect.stringMatching(/after 3 attempts: .*city/) },
  });
  expect(await thrownBy(thread.result())).toMatchObject({ code: 'run-failed', runCode: 'output_invalid' });
  const at = await answered([say('No.'), fits], once);
  expect(at.requests).toHaveLength(1);
  expect(at.end).toMatchObject({ data: { code: 'output_invalid', message: expect.stringMatching(/after 1 attempt/) } });
});

test('the output of a run is parsed, and typed, for a caller with the schema of its agent', async () => {
  const { thread } = await answered([fits]);
  const { parsed, output: text } = await thread.result({ schema: reporter.output });
  // Of these types, as the compiler sees it.
  const { city, degrees }: { city: string; degrees: number } = parsed;
  expect([city, degrees, text]).toEqual(['Oslo', 7, '{"city":"Oslo","degrees":7}']);
  const warm = z.object({ city: z.string().toUpperCase(), degrees: z.number().transform((value) => value > 20) });
  const { degrees: isWarm }: { degrees: boolean } = (await thread.result({ schema: warm })).parsed;
  expect(isWarm).toBe(false);
});

test('an output that does not match the schema of the reader is an error with the place, and with the reason why the run had no other', async () => {
  const { thread } = await answered([fits]);
  const other = z.object({ city: z.string(), wind: z.object({ knots: z.number() }) });
  expect(await thrownBy(thread.result({ schema: other }))).toMatchObject({
    name: 'LonghaulError',
    code: 'output-invalid',
    message: expect.stringMatching(new RegExp(`^The output of thread "${thread.id}" does not fit the schema: wind: .*expected object`)),
  });
  const throwing = output.refine(() => {
    throw new Error('no atlas');
  });
  expect(await thrownBy(thread.result({ schema: throwing }))).toMatchObject({
    code: 'output-invalid',
    message: expect.stringMatching('no atlas'),
  });
  const limited = await rig.client.start(reporter, scene([callTools([{ name: 'look', args: {} }]), fits]), { limits: { turns: 1 } });
  expect(await thrownBy(limited.result({ schema: output }))).toMatchObject({
    code: 'output-invalid',
    message: expect.stringMatching(/not valid JSON.* The run is incomplete: .*turns/i),
  });
});

test('an invalid schema is refused before waiting for the run', async () => {
  const schema = { type: 'object' } as unknown as typeof output;
  expect(await thrownBy(rig.client.attach('no-such-thread').result({ schema }))).toMatchObject({
    code: 'invalid-input',
    message: expect.stringMatching('zod'),
  });
});

test('only an answer that matches is verified', async () => {
  const { requests, end } = await answered([say('No.'), fits, fits], twice);
  expect(end).toMatchObject(completed);
  const asked = requests.map(({ body }) => textOf(body.messages.at(-1)));
  expect(asked[1]).toMatch(/does not fit/);
  expect(asked[2]).toMatch(/verify it/);
});
