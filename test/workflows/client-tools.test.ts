import { randomUUID } from 'node:crypto';
import { defineAgent } from '../../src/agents';
import { workflowType } from '../../src/contract/thread';
import { callTools, say } from '../../src/testing/model-server';
import { type Rig, startRig, until } from '../support/rig';
import { ask, handleOf, happened, logOf, reaches, refusal } from './asking';
import { ofType, requestsOf, scenes, textOf, thrownBy } from './scenes';

const { script, scene } = scenes();
const clerk = defineAgent({ name: 'clerk', model: 'test-model', instructions: 'Help.', tools: [] });
const parameters = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] };
const lookup = { name: 'lookup', description: 'Looks an order up.', parameters };

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ script, agents: [clerk] });
});

const callLookup = (id: string) => callTools([{ name: 'lookup', args: { id: 'A1' }, id }]);
const answerOf = (toolCallId: string, output: string) => [{ toolCallId, output }];

test('[B166] a tool that the client brings is called there, with the arguments of the model, and its output is the result', async () => {
  const input = scene([callLookup('call_1'), say('Sent.')]);
  const thread = await rig.client.start(clerk, input, { tools: [{ ...lookup, deadlineMs: 3_600_000 }] });
  const { pending } = await reaches(thread, 'requires_action', 1);
  expect(pending).toMatchObject([{ kind: 'output', toolCallId: 'call_1', name: 'lookup', arguments: '{"id":"A1"}' }]);
  await thread.submitToolOutputs(answerOf('call_1', 'sent on Monday'));
  expect(await thread.result()).toMatchObject({ output: 'Sent.' });
  const [offered, answered] = requestsOf(rig, input);
  // The provider does not get the deadline.
  expect(offered?.body.tools?.map((tool) => tool.function)).toEqual([lookup]);
  expect(textOf(answered?.body.messages.at(-1))).toBe('sent on Monday');
});

test('[B166] after its deadline the client is told that the call is over, the model gets an error, and a late answer is refused', async () => {
  const input = scene([callLookup('call_1'), say('It takes too long.'), say('Bye.')]);
  const options = { mode: 'conversation' as const, tools: [{ ...lookup, deadlineMs: 500 }] };
  const thread = await rig.client.start(clerk, input, options);
  await reaches(thread, 'idle');
  const log = await logOf(thread);
  const types = log.map(({ type }) => type);
  const [expired, ended] = [types.indexOf('agent.input.expired'), types.indexOf('agent.tool.execution.completed')];
  expect(types.indexOf('thread.run.requires_action')).toBeLessThan(expired);
  expect(ended).toBeGreaterThan(expired);
  expect(ofType(log, 'agent.input.expired').map(({ data }) => data)).toEqual([{ toolCallId: 'call_1' }]);
  expect(ofType(log, 'agent.tool.execution.completed')[0]?.data).toMatchObject({ toolCallId: 'call_1', status: 'failed', isError: true });
  const told = () => requestsOf(rig, input).map(({ body }) => body.messages.filter(({ role }) => role === 'tool').map(textOf));
  const result = ['Error: nobody answered lookup in time.'];
  expect(told()).toEqual([[], result]);

  expect(await refusal(ask(thread, 'submitToolOutputs', { outputs: answerOf('call_1', 'late') }))).toMatch(/call_1/);
  await handleOf(thread).signal('submitToolOutputs', { outputs: answerOf('call_1', 'late') });
  const rejected = ofType(await happened(thread, 'agent.request.rejected'), 'agent.request.rejected');
  expect(rejected.map(({ data }) => data.request)).toEqual(['submitToolOutputs']);
  await thread.send('Goodbye.');
  await until(told, (requests) => requests.length === 3);
  expect(told()[2]).toEqual(result);
  await thread.close();
});

const wrong: [string, object[], RegExp][] = [
  ['a name that comes twice', [lookup, { ...lookup, description: 'Another.' }], /tools\[1\]: two tools are named "lookup"/],
  ['a name with a blank', [{ ...lookup, name: 'look up' }], /tools\[0\]\.name must be 1 to 64 letters, digits, _ or -; it is "look up"/],
  ['an empty name', [{ ...lookup, name: '' }], /tools\[0\]\.name must be/],
  ['a name of 65 letters', [{ ...lookup, name: 'x'.repeat(65) }], /tools\[0\]\.name must be/],
  ['no name', [{ description: 'Nameless.', parameters }], /tools\[0\]\.name must be/],
];

test.each(wrong)('[B167] %s refuses the start of a run: by the client, by hand, and with a message', async (_, tools, words) => {
  const input = scene([say('Hello.'), say('Again.')]);
  const { workflow } = rig.client.temporal;
  const options = { tools: tools as (typeof lookup)[] };
  expect(await thrownBy(rig.client.start(clerk, input, options))).toMatchObject({
    code: 'invalid-input',
    message: expect.stringMatching(words),
  });
  const args = [{ agent: 'clerk', input, ...options }];
  const byHand = await workflow.start(workflowType, { workflowId: `bad-${randomUUID()}`, taskQueue: rig.taskQueue, args });
  expect((await thrownBy(byHand.result())).cause).toMatchObject({ type: 'InvalidInput', message: expect.stringMatching(words) });
  expect(requestsOf(rig, input)).toEqual([]);

  const thread = await rig.client.start(clerk, input, { mode: 'conversation' });
  await reaches(thread, 'idle');
  expect(await refusal(ask(thread, 'sendMessage', { input: 'And?', ...options }))).toMatch(words);
  await handleOf(thread).signal('sendMessage', { input: 'And?', ...options });
  await happened(thread, 'agent.request.rejected');
  expect(await thread.status()).toMatchObject({ status: 'idle', queued: 0 });
  expect(requestsOf(rig, input)).toHaveLength(1);
  await thread.close();
});

test.each([0, -1, 1.5, '5s', 1e15])('a deadline of %p is refused', async (deadlineMs) => {
  const tools = [{ ...lookup, deadlineMs: deadlineMs as number }];
  expect(await thrownBy(rig.client.start(clerk, 'x', { tools }))).toMatchObject({
    code: 'invalid-input',
    message: expect.stringMatching(/tools\[0\] \("lookup"\)\.deadlineMs must be a whole number of milliseconds from 1/),
  });
});
