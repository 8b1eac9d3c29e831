import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import { callTools, fail, type Reply, type ScriptedCall, type ScriptRequest, say } from '../../src/testing/model-server';
import { defineTool, suspend } from '../../src/tools';
import { collect, type Rig, startRig, until } from '../support/rig';
import { ask, handleOf, logOf, reaches, refusal } from './asking';
import { ofType, requestsOf, scenes, story, textOf, thrownBy, typesOf } from './scenes';

const { script, scene } = scenes();
const mail = defineTool({
  name: 'mail',
  description: 'Asks someone by mail.',
  input: z.object({ to: z.string(), ttlMs: z.number().optional(), metadata: z.record(z.string(), z.string()).optional() }),
  execute: ({ to, ttlMs, metadata }) =>
    suspend({ result: `sent to ${to}`, correlationId: `mail-${to}`, ...(ttlMs && { ttlMs }), ...(metadata && { metadata }) }),
});
const note = defineTool({ name: 'note', description: 'Notes.', input: z.object({}), effect: 'pure', execute: () => 'noted' });
const model = { model: 'test-model', instructions: 'Write letters.', tools: [mail, note] };
const agent = defineAgent({ name: 'clerk', ...model });
const impatient = defineAgent({ name: 'impatient', ...model, retry: { maxAttempts: 1 } });

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ script, agents: [agent, impatient], bus: true });
});

const mailing = (to: string, more: object = {}, id = `call_${to}`): ScriptedCall => ({ name: 'mail', args: { to, ...more }, id });
/** Of a request without tools, which only wants words. */
const wantsWords = ({ body }: ScriptRequest) => body.tools === undefined || body.tools.length === 0;

/** Answers by turn, and closing words where nothing else is wanted. */
function letters(replies: Reply[], closing: Reply = say('I wait for an answer.')): string {
  return scene((request) => (wantsWords(request) ? closing : (replies[request.turn] ?? fail(400, { message: 'no such turn' }))));
}
async function suspended(replies: Reply[], options: { mode?: 'conversation'; agent?: { name: string }; closing?: Reply } = {}) {
  const said = letters(replies, options.closing);
  const thread = await rig.client.start(options.agent ?? agent, said, options.mode ? { mode: options.mode } : {});
  await reaches(thread, 'suspended');
  return { thread, said, requests: () => requestsOf(rig, said) };
}
const day = 24 * 3_600_000;

test('[A118] a run that a tool suspends waits: the model gets the result and writes closing words without tools, and the run has its correlation id', async () => {
  const { thread, requests } = await suspended([
    callTools([mailing('kim', { ttlMs: 3 * day, metadata: { about: 'paint' } })]),
    say('thanks'),
  ]);
  const [, closing] = requests();
  expect(closing?.body.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool', 'user']);
  expect(textOf(closing?.body.messages[3])).toBe('sent to kim');
  expect(closing?.body).not.toHaveProperty('tools');
  const log = await logOf(thread);
  const [event] = ofType(log, 'agent.run.suspended');
  expect(event?.data).toEqual({
    correlationId: 'mail-kim',
    expiresAt: new Date(Date.parse(event?.timestamp ?? '') + 3 * day).toISOString(),
    metadata: { about: 'paint' },
    output: 'I wait for an answer.',
  });
  expect(typesOf(log).slice(-3)).toEqual(['agent.run.summarized', 'agent.run.suspended', 'agent.run.status.changed']);
  expect(await thread.status()).toMatchObject({ status: 'suspended', pending: [{ kind: 'reply', toolCallId: 'mail-kim' }] });
  expect((await thread.usage()).run?.outputTokens).toBeGreaterThan(0);
  // The closing words are only in the log.
  expect((await thread.messages()).map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
  await thread.cancel();
});

test('[A118] without a duration of its own it waits for seven days; of several signals in one answer the first counts', async () => {
  const { thread, requests } = await suspended([callTools([mailing('kim'), mailing('lee', { ttlMs: 5_000 })]), say('thanks')]);
  const [event] = ofType(await logOf(thread), 'agent.run.suspended');
  expect(event?.data).toMatchObject({
    correlationId: 'mail-kim',
    expiresAt: new Date(Date.parse(event?.timestamp ?? '') + 7 * day).toISOString(),
  });
  expect(requests()).toHaveLength(2);
  expect(requests()[1]?.body.messages.map(textOf).slice(3, 5)).toEqual(['sent to kim', 'sent to lee']);
  await thread.cancel();
});

test('[A119] the closing words stream like any answer, and the tool result is text, not a signal', async () => {
  const said = letters([callTools([mailing('kim')], 'I write to Kim.'), say('thanks')]);
  const thread = await rig.client.start(agent, said);
  const live = collect(thread.events());
  await reaches(thread, 'suspended');
  await ask(thread, 'sendMessage', { input: 'Yes.', correlationId: 'mail-kim' });
  const events = await live;
  expect(events.flatMap((event) => (event.type === 'thread.message.delta' ? [event.data.contentChunk ?? ''] : [])).join('')).toMatch(
    /^I write to Kim\..*thanks$/s,
  );
  expect(ofType(events, 'agent.tool.execution.completed')[0]?.data).toMatchObject({ status: 'success', output: 'sent to kim' });
  expect(typesOf(events)).toContain('agent.run.suspended');
});

test('[A120] a reply continues the same run with the whole history, and the run may be suspended again', async () => {
  const { thread, requests, said } = await suspended([callTools([mailing('kim')]), callTools([mailing('lee')]), say('both said yes')]);
  await ask(thread, 'sendMessage', { input: 'Kim says yes.', correlationId: 'mail-kim', id: 'reply-1' });
  await until(
    () => thread.pending(),
    ([first]) => first?.toolCallId === 'mail-lee',
  );
  await thread.send('Lee says yes.');
  const told = await story(thread);
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'both said yes', turns: 3 } });
  expect(ofType(told, 'agent.run.created')).toHaveLength(1);
  expect(ofType(told, 'agent.run.suspended').map(({ data }) => data.correlationId)).toEqual(['mail-kim', 'mail-lee']);
  expect(requests().at(-1)?.body.messages.slice(1).map(textOf)).toEqual([
    said,
    '',
    'sent to kim',
    'Kim says yes.',
    '',
    'sent to lee',
    'Lee says yes.',
  ]);
  expect(ofType(told, 'agent.run.status.changed').map(({ data }) => data.details)).toContain('Resumed by a reply.');
});

test('a reply to something else is refused with a code, and the run stays suspended', async () => {
  const { thread } = await suspended([callTools([mailing('kim')]), say('thanks')]);
  expect(await refusal(ask(thread, 'sendMessage', { input: 'Hm.', correlationId: 'mail-lee' }))).toBe(
    `sendMessage: no reply to "mail-lee" is waited for in thread "${thread.id}"; one to "mail-kim" is`,
  );
  expect(await refusal(ask(thread, 'approve', { toolCallId: 'mail-kim' }))).toMatch(/does not wait for an approval/);
  await handleOf(thread).signal('sendMessage', { input: 'Hm.', correlationId: 'mail-lee' });
  await until(
    () => logOf(thread),
    (log) => typesOf(log).includes('agent.request.rejected'),
  );
  expect((await thread.status()).status).toBe('suspended');
  await ask(thread, 'sendMessage', { input: 'Yes.', correlationId: 'mail-kim' });
  expect((await story(thread)).at(-1)?.type).toBe('thread.run.completed');
  expect(JSON.stringify(await thread.messages())).not.toContain('Hm.');
});

test('without a reply in time the run expires, with the correlation id', async () => {
  const said = letters([callTools([mailing('kim', { ttlMs: 300 })])]);
  const thread = await rig.client.start(agent, said);
  const told = await story(thread);
  expect(told.at(-1)).toMatchObject({
    type: 'thread.run.expired',
    data: { reason: 'suspended', message: expect.stringMatching(/No reply to "mail-kim" came until .*Z/) },
  });
  expect(await thrownBy(thread.result())).toMatchObject({ message: expect.stringContaining('mail-kim') });
  await until(
    async () => (await handleOf(thread).describe()).status.name,
    (status) => status === 'FAILED',
  );
});

test('a conversation whose run expired takes the next message as a run of its own', async () => {
  const said = letters([callTools([mailing('kim', { ttlMs: 300 })]), say('well then')]);
  const thread = await rig.client.start(agent, said, { mode: 'conversation' });
  await until(
    () => logOf(thread),
    (log) => typesOf(log).includes('thread.run.expired'),
  );
  expect(await refusal(ask(thread, 'sendMessage', { input: 'Late.', correlationId: 'mail-kim' }))).toMatch(/no reply to "mail-kim"/);
  await thread.send('Never mind Kim.');
  const told = await until(
    () => story(thread),
    (events) => ofType(events, 'thread.run.completed').length === 1,
  );
  expect(ofType(told, 'agent.run.created')).toHaveLength(2);
  await thread.close();
});

test('a cancel ends a suspended run, and a pause holds the reply back', async () => {
  const first = await suspended([callTools([mailing('kim')]), say('thanks')]);
  await first.thread.cancel({ reason: 'settled' });
  expect((await story(first.thread)).at(-1)).toMatchObject({ type: 'thread.run.cancelled', data: { reason: 'settled' } });

  const { thread, requests } = await suspended([callTools([mailing('kim')]), say('thanks')]);
  await ask(thread, 'pause');
  await thread.send('Yes.');
  await reaches(thread, 'paused');
  expect(requests()).toHaveLength(2);
  await ask(thread, 'resume');
  expect((await story(thread)).at(-1)?.type).toBe('thread.run.completed');
});

test('a message for after the run does not continue it', async () => {
  const { thread } = await suspended([callTools([mailing('kim')]), say('thanks'), say('next')], { mode: 'conversation' });
  await ask(thread, 'sendMessage', { input: 'Something else.', delivery: 'after-run' });
  expect(await thread.status()).toMatchObject({ status: 'suspended', queued: 1 });
  await ask(thread, 'sendMessage', { input: 'Yes.', correlationId: 'mail-kim' });
  const told = await until(
    () => story(thread),
    (events) => ofType(events, 'thread.run.completed').length === 2,
  );
  expect(ofType(told, 'agent.run.created')[1]?.data.initialMessages).toMatchObject([{ content: 'Something else.' }]);
  await thread.close();
});

test('failed closing words do not prevent the suspension', async () => {
  const { thread } = await suspended([callTools([mailing('kim')]), say('thanks')], {
    agent: impatient,
    closing: fail(500, { message: 'out of words' }),
  });
  const log = await logOf(thread);
  expect(ofType(log, 'agent.run.summarized')[0]?.data).toMatchObject({ failed: expect.stringContaining('out of words') });
  expect(ofType(log, 'agent.run.suspended')[0]?.data.output).toBe('The run rests until a reply comes.');
  await thread.send('Yes.');
  expect((await story(thread)).at(-1)?.type).toBe('thread.run.completed');
});

test('a reply to a suspended thread of many turns is in the next request, completely', async () => {
  const notes = Array.from({ length: 12 }, (_, n) => callTools([{ name: 'note', args: {}, id: `call_${n}` }]));
  const { thread, requests } = await suspended([...notes, callTools([mailing('kim')]), say('thanks')]);
  // Nothing of it is in memory any more: neither its workflow nor its transcript.
  await Promise.all(rig.workers.splice(0).map((running) => running.stop()));
  await rig.addWorker();
  // The first request to a new worker also pays for its sandbox.
  await rig.client.start(agent, letters([say('warm')])).then((other) => other.result());
  await ask(thread, 'sendMessage', { input: 'Yes.', correlationId: 'mail-kim' });
  const last = await until(requests, (all) => all.length === 15);
  expect(last.at(-1)?.body.messages).toHaveLength(2 + 2 * 13 + 1);
  expect((await story(thread)).at(-1)?.type).toBe('thread.run.completed');
});
